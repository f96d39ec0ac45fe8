/* SPDX-License-Identifier: MIT */
#include "parquet.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/table.h>
#include <resmon/version.h>

#include "say.h"

bool cli_parquet_is_named(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending != NULL && (strcmp(ending, ".parquet") == 0 || strcmp(ending, ".pq") == 0);
}

/* ---- bytes -------------------------------------------------------------------------------- */

struct bytes {
    unsigned char *at;
    size_t length, room;
};

static void put(struct bytes *bytes, const void *data, size_t length)
{
    if (bytes->length + length > bytes->room) {
        bytes->room = 2 * (bytes->length + length);
        bytes->at = cli_grow(bytes->at, bytes->room);
    }
    if (length > 0) {
        memcpy(bytes->at + bytes->length, data, length);
    }
    bytes->length += length;
}

static void put_byte(struct bytes *bytes, unsigned byte)
{
    const unsigned char one = (unsigned char)byte;
    put(bytes, &one, 1);
}

/* Least significant byte first, as all fixed numbers of the format. */
static void put_fixed(struct bytes *bytes, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        put_byte(bytes, (unsigned)(value >> (8 * i)) & 0xffU);
    }
}

/* ---- Thrift's compact protocol ------------------------------------------------------------ */

enum { TRUE_ = 1, I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12 };

static void put_varint(struct bytes *bytes, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        put_byte(bytes, (unsigned)(value & 0x7f) | 0x80U);
    }
    put_byte(bytes, (unsigned)value);
}

/* Of a struct: `last` is the field before, 0 at first. */
static void begin_field(struct bytes *bytes, int *last, int field, unsigned type)
{
    put_byte(bytes, (unsigned)(field - *last) << 4 | type); /* no gap is wider than 15 */
    *last = field;
}

static void put_number(struct bytes *bytes, int *last, int field, unsigned type, int64_t value)
{
    begin_field(bytes, last, field, type);
    put_varint(bytes, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_text(struct bytes *bytes, const char *text)
{
    put_varint(bytes, strlen(text));
    put(bytes, text, strlen(text));
}

static void put_text_field(struct bytes *bytes, int *last, int field, const char *text)
{
    begin_field(bytes, last, field, BINARY);
    put_text(bytes, text);
}

static void begin_list(struct bytes *bytes, int *last, int field, unsigned type, size_t count)
{
    begin_field(bytes, last, field, LIST);
    put_byte(bytes, (unsigned)(count < 15 ? count : 15) << 4 | type);
    if (count >= 15) {
        put_varint(bytes, count);
    }
}

static void end_struct(struct bytes *bytes)
{
    put_byte(bytes, 0);
}

/* ---- columns ------------------------------------------------------------------------------ */

enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, ENCODING_PLAIN = 0, ENCODING_RLE = 3 };
enum { REQUIRED, OPTIONAL };

struct column {
    char name[256];
    char unit[32];
    bool is_time;
    bool is_number;         /* doubles, of which NaN is null; else whole numbers */
    const double *values;   /* of doubles */
    const int64_t *numbers; /* of whole numbers */
    size_t offset, size;    /* in the file */
};

struct table {
    const resmon_run *run;
    struct column *columns;
    size_t column_count, row_count;
    int64_t *times, *samples; /* of each row */
    double *seconds;
};

/* Definition levels: 1 bit a value, 0 for null, as one bit-packed run; with its length in front. */
static void put_levels(struct bytes *page, const double *values, size_t count)
{
    struct bytes levels = {.at = NULL};
    size_t groups = (count + 7) / 8;
    put_varint(&levels, (uint64_t)groups << 1 | 1);
    for (size_t group = 0; group < groups; group++) {
        unsigned byte = 0;
        for (size_t i = 8 * group; i < count && i < 8 * group + 8; i++) {
            byte |= isnan(values[i]) ? 0U : 1U << (i % 8);
        }
        put_byte(&levels, byte);
    }
    put_fixed(page, levels.length, 4);
    put(page, levels.at, levels.length);
    free(levels.at);
}

static void put_values(struct bytes *page, const struct column *column, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        if (column->is_number && !isnan(column->values[i])) {
            memcpy(&bits, &column->values[i], sizeof bits);
            put_fixed(page, bits, 8);
        } else if (!column->is_number) {
            put_fixed(page, (uint64_t)column->numbers[i], 8);
        }
    }
}

static void put_page_header(struct bytes *file, size_t size, size_t count)
{
    int last = 0, inner = 0;
    put_number(file, &last, 1, I32, 0); /* a data page */
    put_number(file, &last, 2, I32, (int64_t)size);
    put_number(file, &last, 3, I32, (int64_t)size);
    begin_field(file, &last, 5, STRUCT);
    put_number(file, &inner, 1, I32, (int64_t)count);
    put_number(file, &inner, 2, I32, ENCODING_PLAIN);
    put_number(file, &inner, 3, I32, ENCODING_RLE);
    put_number(file, &inner, 4, I32, ENCODING_RLE);
    end_struct(file);
    end_struct(file);
}

static void put_column(struct bytes *file, struct column *column, size_t count)
{
    struct bytes page = {.at = NULL};
    if (column->is_number) {
        put_levels(&page, column->values, count);
    }
    put_values(&page, column, count);
    column->offset = file->length;
    put_page_header(file, page.length, count);
    put(file, page.at, page.length);
    column->size = file->length - column->offset;
    free(page.at);
}

/* ---- what is said of them ----------------------------------------------------------------- */

/* TIMESTAMP(isAdjustedToUTC, NANOS) */
static void put_time_type(struct bytes *file, int *last)
{
    int of_union = 0, of_time = 0, of_unit = 0;
    begin_field(file, last, 10, STRUCT);
    begin_field(file, &of_union, 8, STRUCT);
    begin_field(file, &of_time, 1, TRUE_);
    begin_field(file, &of_time, 2, STRUCT);
    begin_field(file, &of_unit, 3, STRUCT);
    for (int i = 0; i < 4; i++) {
        end_struct(file);
    }
}

static void put_schema(struct bytes *file, const struct table *table, int *last)
{
    int of_root = 0;
    begin_list(file, last, 2, STRUCT, table->column_count + 1);
    put_text_field(file, &of_root, 4, "run");
    put_number(file, &of_root, 5, I32, (int64_t)table->column_count);
    end_struct(file);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i];
        int of_column = 0;
        put_number(file, &of_column, 1, I32, column->is_number ? TYPE_DOUBLE : TYPE_INT64);
        put_number(file, &of_column, 3, I32, column->is_number ? OPTIONAL : REQUIRED);
        put_text_field(file, &of_column, 4, column->name);
        if (column->is_time) {
            put_time_type(file, &of_column);
        }
        end_struct(file);
    }
}

static void put_chunk(struct bytes *file, const struct column *column, size_t rows)
{
    int of_chunk = 0, last = 0;
    put_number(file, &of_chunk, 2, I64, (int64_t)column->offset);
    begin_field(file, &of_chunk, 3, STRUCT);
    put_number(file, &last, 1, I32, column->is_number ? TYPE_DOUBLE : TYPE_INT64);
    begin_list(file, &last, 2, I32, 2);
    put_varint(file, (uint64_t)ENCODING_PLAIN << 1);
    put_varint(file, (uint64_t)ENCODING_RLE << 1);
    begin_list(file, &last, 3, BINARY, 1);
    put_text(file, column->name);
    put_number(file, &last, 4, I32, 0); /* not compressed */
    put_number(file, &last, 5, I64, (int64_t)rows);
    put_number(file, &last, 6, I64, (int64_t)column->size);
    put_number(file, &last, 7, I64, (int64_t)column->size);
    put_number(file, &last, 9, I64, (int64_t)column->offset);
    end_struct(file);
    end_struct(file);
}

static void put_row_group(struct bytes *file, const struct table *table, size_t size, int *last)
{
    int of_group = 0;
    begin_list(file, last, 4, STRUCT, 1);
    begin_list(file, &of_group, 1, STRUCT, table->column_count);
    for (size_t i = 0; i < table->column_count; i++) {
        put_chunk(file, &table->columns[i], table->row_count);
    }
    put_number(file, &of_group, 2, I64, (int64_t)size);
    put_number(file, &of_group, 3, I64, (int64_t)table->row_count);
    end_struct(file);
}

static void put_units(struct bytes *file, const struct table *table, int *last)
{
    begin_list(file, last, 5, STRUCT, table->column_count);
    for (size_t i = 0; i < table->column_count; i++) {
        char key[300];
        int of_pair = 0;
        (void)snprintf(key, sizeof key, "unit:%s", table->columns[i].name);
        put_text_field(file, &of_pair, 1, key);
        put_text_field(file, &of_pair, 2, table->columns[i].unit);
        end_struct(file);
    }
}

static void put_file(struct bytes *file, struct table *table)
{
    char creator[64];
    int last = 0;
    put(file, "PAR1", 4);
    for (size_t i = 0; i < table->column_count; i++) {
        put_column(file, &table->columns[i], table->row_count);
    }
    size_t begin = file->length;
    put_number(file, &last, 1, I32, 2);
    put_schema(file, table, &last);
    put_number(file, &last, 3, I64, (int64_t)table->row_count);
    put_row_group(file, table, begin - 4, &last);
    put_units(file, table, &last);
    (void)snprintf(creator, sizeof creator, "libresmon version %s", resmon_version());
    put_text_field(file, &last, 6, creator);
    end_struct(file);
    put_fixed(file, file->length - begin, 4);
    put(file, "PAR1", 4);
}

/* ---- of a run ----------------------------------------------------------------------------- */

static void add_metric(struct table *table, size_t index)
{
    resmon_column known = {.struct_size = sizeof known};
    if (resmon_run_get_column(table->run, index, &known) != RESMON_OK) {
        return;
    }
    struct column *column = &table->columns[table->column_count++];
    bool has_instance = known.instance[0] != '\0';
    *column = (struct column){
        .is_number = true,
        .values = resmon_run_series(table->run, index, RESMON_SERIES_VALUE),
    };
    (void)snprintf(column->name, sizeof column->name, "%s%s%s%s", known.metric,
                   has_instance ? "[" : "", known.instance, has_instance ? "]" : "");
    (void)snprintf(column->unit, sizeof column->unit, "%s", known.unit);
}

static void fill_rows(struct table *table, int64_t start_ns)
{
    const int64_t *first = resmon_run_row_first_ns(table->run);
    const uint64_t *samples = resmon_run_row_samples(table->run);
    for (size_t i = 0; i < table->row_count; i++) {
        table->times[i] = start_ns + first[i];
        table->seconds[i] = (double)first[i] * 1e-9;
        table->samples[i] = (int64_t)samples[i];
    }
}

static struct table table_of(const resmon_run *run)
{
    resmon_run_info info = {.struct_size = sizeof info};
    size_t metrics = resmon_run_column_count(run);
    struct table table = {.run = run, .column_count = 3, .row_count = resmon_run_row_count(run)};
    size_t rows = table.row_count > 0 ? table.row_count : 1;
    (void)resmon_run_get_info(run, &info);
    table.columns = cli_grow(NULL, (metrics + 3) * sizeof(struct column));
    table.times = cli_grow(NULL, rows * sizeof *table.times);
    table.samples = cli_grow(NULL, rows * sizeof *table.samples);
    table.seconds = cli_grow(NULL, rows * sizeof *table.seconds);
    fill_rows(&table, info.start_realtime_ns);
    table.columns[0] = (struct column){"time", "ns", true, false, NULL, table.times, 0, 0};
    table.columns[1] = (struct column){"time_s", "s", false, true, table.seconds, NULL, 0, 0};
    table.columns[2] = (struct column){"samples", "1", false, false, NULL, table.samples, 0, 0};
    for (size_t i = 0; i < metrics; i++) {
        add_metric(&table, i);
    }
    return table;
}

/* Beside the file, and renamed over it. */
static bool save(const struct bytes *bytes, const char *path)
{
    size_t room = strlen(path) + sizeof ".XXXXXX";
    char *fresh = cli_grow(NULL, room);
    (void)snprintf(fresh, room, "%s.XXXXXX", path);
    mode_t mask = umask(077);
    (void)umask(mask);
    int fd = mkstemp(fresh);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool is_saved = file != NULL && fwrite(bytes->at, 1, bytes->length, file) == bytes->length;
    is_saved = is_saved && fchmod(fd, 0666 & ~mask) == 0 && fflush(file) == 0 && fsync(fd) == 0;
    int error = errno;
    is_saved = file != NULL && fclose(file) == 0 && is_saved && rename(fresh, path) == 0;
    error = is_saved || error != 0 ? error : errno;
    if (!is_saved && fd >= 0) {
        (void)unlink(fresh);
    }
    free(fresh);
    errno = error;
    return is_saved;
}

bool cli_parquet_write(const char *verb, const resmon_run *run, const char *path)
{
    struct bytes bytes = {.at = NULL};
    struct table table = table_of(run);
    put_file(&bytes, &table);
    errno = 0;
    bool is_saved = save(&bytes, path);
    if (!is_saved) {
        cli_say(verb, "cannot write %s: %s", path, strerror(errno));
    }
    free(table.columns);
    free(table.times);
    free(table.samples);
    free(table.seconds);
    free(bytes.at);
    return is_saved;
}
