/* SPDX-License-Identifier: MIT */
#include "stack/python_code.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"

#define MOST_CODES      16384U
#define MOST_BYTES      (UINT64_C(16) << 20)
#define MOST_TABLE      (UINT64_C(1) << 20)
#define MOST_TEXT_UNITS 400U /* of a name or path */
#define TEXT_BYTES      512U
#define CHECK_NS        RM_NS_PER_MS /* while a program starts, memory is used again within less */

/* ---- text ------------------------------------------------------------------------------- */

static size_t put_utf8(char *target, size_t room, uint32_t point)
{
    size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes > room || point > 0x10ffff) {
        return 0;
    }
    if (bytes == 1) {
        target[0] = (char)point;
        return 1;
    }
    for (size_t i = bytes - 1; i > 0; i--, point >>= 6) {
        target[i] = (char)(0x80U | (point & 0x3fU));
    }
    target[0] = (char)((0xf00U >> bytes & 0xf0U) | point);
    return bytes;
}

static uint32_t unit_at(const unsigned char *units, size_t index, uint32_t kind)
{
    uint32_t unit = 0;
    memcpy(&unit, units + index * kind, kind);
    return unit;
}

/* The members after `interned`, whose width differs between builds, tell where they begin. */
static bool read_state(uint32_t state, uint32_t *ret_kind, bool *ret_is_ascii)
{
    static const uint32_t shifts[] = {2, 8, 16};
    for (size_t i = 0; i < RM_ARRAY_LEN(shifts); i++) {
        uint32_t bits = state >> shifts[i];
        uint32_t kind = bits & 7U;
        if ((kind == 1 || kind == 2 || kind == 4) && (bits & 8U) != 0) {
            *ret_kind = kind;
            *ret_is_ascii = (bits & 16U) != 0;
            return true;
        }
    }
    return false;
}

/* Appends a str, with its controls replaced. */
static bool add_text(const struct rm_python_memory *memory, const struct rm_python_layout *layout,
                     uint64_t address, char text[TEXT_BYTES], size_t *length)
{
    unsigned char units[MOST_TEXT_UNITS * 4];
    uint64_t count;
    uint32_t state, kind;
    bool is_ascii;
    const struct rm_python_piece pieces[] = {
        {address + layout->text_length, &count, sizeof count},
        {address + layout->text_state, &state, sizeof state},
    };
    if (!memory->read(memory->context, pieces, RM_ARRAY_LEN(pieces)) || count > INT32_MAX ||
        !read_state(state, &kind, &is_ascii)) {
        return false;
    }
    size_t taken = count < MOST_TEXT_UNITS ? (size_t)count : MOST_TEXT_UNITS;
    uint64_t data = address + (is_ascii ? layout->text_ascii : layout->text_wide);
    if (taken > 0 && !rm_python_read(memory, data, units, taken * kind)) {
        return false;
    }
    for (size_t i = 0; i < taken && *length < TEXT_BYTES - 2; i++) {
        uint32_t unit = unit_at(units, i, kind);
        bool is_odd = unit < 0x20 || unit == 0x7f || (unit >= 0xd800 && unit < 0xe000);
        *length += put_utf8(text + *length, TEXT_BYTES - 2 - *length, is_odd ? '?' : unit);
    }
    text[*length] = '\0';
    return true;
}

static bool read_names(const struct rm_python_memory *memory, const struct rm_python_layout *layout,
                       struct rm_python_code *code)
{
    char text[TEXT_BYTES] = "";
    size_t length = 0;
    if (!add_text(memory, layout, code->name, text, &length)) {
        return false;
    }
    text[length++] = '\t';
    if (!add_text(memory, layout, code->file, text, &length)) {
        return false;
    }
    code->text = rm_strdup(text);
    return code->text != NULL;
}

/* ---- one code object -------------------------------------------------------------------- */

static uint64_t word_at(const unsigned char *bytes, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static void take_code(const struct rm_python_layout *layout, const unsigned char *bytes,
                      struct rm_python_code *code)
{
    code->file = word_at(bytes, layout->code_file);
    code->name = word_at(bytes, layout->code_name);
    code->lines = word_at(bytes, layout->code_lines);
    code->first_line = (uint32_t)word_at(bytes, layout->code_first_line);
    code->bytecode_units = (uint32_t)word_at(bytes, layout->size); /* from 3.11 on */
}

static bool is_same(const struct rm_python_code *a, const struct rm_python_code *b)
{
    return a->file == b->file && a->name == b->name && a->lines == b->lines &&
           a->first_line == b->first_line;
}

/* The first one found decides which type code objects have. */
static bool is_code(struct rm_python_codes *codes, const struct rm_python_memory *memory,
                    const struct rm_python_layout *layout, uint64_t type)
{
    uint64_t name;
    char text[5];
    if (codes->type == 0 && rm_python_read(memory, type + layout->size + 8, &name, sizeof name) &&
        rm_python_read(memory, name, text, sizeof text) && memcmp(text, "code", 5) == 0) {
        codes->type = type;
    }
    return type != 0 && type == codes->type;
}

/* A table that is too long or cannot be read leaves the code with its first line. */
static void read_table(const struct rm_python_memory *memory, const struct rm_python_layout *layout,
                       struct rm_python_code *code)
{
    uint64_t bytes;
    if (!rm_python_read(memory, code->lines + layout->size, &bytes, sizeof bytes) || bytes == 0 ||
        bytes > MOST_TABLE) {
        return;
    }
    code->table = rm_alloc((size_t)bytes, 1);
    if (code->table == NULL ||
        !rm_python_read(memory, code->lines + layout->bytes_data, code->table, (size_t)bytes)) {
        rm_free(code->table);
        code->table = NULL;
        return;
    }
    code->table_bytes = (uint32_t)bytes;
}

static void drop_content(struct rm_python_codes *codes, struct rm_python_code *code)
{
    codes->bytes -= code->table_bytes + (code->text != NULL ? strlen(code->text) : 0);
    rm_free(code->table);
    rm_free(code->text);
    *code = (struct rm_python_code){.address = code->address};
}

static void forget_all(struct rm_python_codes *codes)
{
    for (size_t i = 0; i < codes->count; i++) {
        drop_content(codes, &codes->rows[i]);
    }
    codes->count = 0;
    rm_map_clear(&codes->by_address);
}

void rm_python_codes_free(struct rm_python_codes *codes)
{
    forget_all(codes);
    rm_free(codes->rows);
    rm_map_free(&codes->by_address);
    *codes = (struct rm_python_codes){0};
}

static bool read_content(struct rm_python_codes *codes, const struct rm_python_memory *memory,
                         const struct rm_python_layout *layout, struct rm_python_code *code)
{
    if (!read_names(memory, layout, code)) {
        return false;
    }
    read_table(memory, layout, code);
    codes->bytes += code->table_bytes + strlen(code->text);
    return true;
}

/* ---- finding ---------------------------------------------------------------------------- */

static int64_t find(const struct rm_python_codes *codes, uint64_t address)
{
    struct rm_map_search search = {.hash = rm_hash_u64(RM_HASH_START, address)};
    for (uint32_t i; rm_map_next(&codes->by_address, &search, &i);) {
        if (codes->rows[i].address == address) {
            return i;
        }
    }
    return -1;
}

static int64_t add(struct rm_python_codes *codes, uint64_t address)
{
    struct rm_python_code *rows = rm_grow(codes->rows, codes->count, &codes->room, sizeof *rows);
    if (rows == NULL) {
        return -1;
    }
    codes->rows = rows;
    if (!rm_map_reserve(&codes->by_address, codes->count + 1)) {
        return -1;
    }
    codes->rows[codes->count] = (struct rm_python_code){.address = address};
    rm_map_add(&codes->by_address, rm_hash_u64(RM_HASH_START, address), (uint32_t)codes->count);
    return (int64_t)codes->count++;
}

/* Reads the code objects at `due`, in one system call. */
static bool check(struct rm_python_codes *codes, const struct rm_python_memory *memory,
                  const struct rm_python_layout *layout, const uint32_t *due, size_t count)
{
    unsigned char bytes[RM_PYTHON_PIECES / 4][RM_PYTHON_CODE_BYTES];
    struct rm_python_piece pieces[RM_PYTHON_PIECES / 4];
    for (size_t i = 0; i < count; i++) {
        pieces[i] =
            (struct rm_python_piece){codes->rows[due[i]].address, bytes[i], layout->code_bytes};
    }
    if (count > 0 && !memory->read(memory->context, pieces, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct rm_python_code *code = &codes->rows[due[i]];
        struct rm_python_code now = {.address = code->address};
        if (!is_code(codes, memory, layout, word_at(bytes[i], layout->object_type))) {
            return false;
        }
        take_code(layout, bytes[i], &now);
        if (code->text == NULL || !is_same(code, &now)) {
            drop_content(codes, code);
            *code = now;
            if (!read_content(codes, memory, layout, code)) {
                return false;
            }
        }
        code->checked_ns = codes->now_ns;
    }
    return true;
}

/* They are checked at the next search. */
static void leave_due(struct rm_python_codes *codes, const uint32_t *due, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        codes->rows[due[i]].checked_ns = 0;
    }
}

bool rm_python_codes_find(struct rm_python_codes *codes, const struct rm_python_memory *memory,
                          const struct rm_python_layout *layout, const uint64_t *addresses,
                          size_t count, struct rm_python_code **ret_codes)
{
    uint32_t due[RM_PYTHON_PIECES / 4];
    size_t due_count = 0;
    if (codes->count + count > MOST_CODES || codes->bytes > MOST_BYTES) {
        forget_all(codes);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t at = find(codes, addresses[i]);
        at = at >= 0 ? at : add(codes, addresses[i]);
        if (at < 0) {
            return false;
        }
        struct rm_python_code *code = &codes->rows[at];
        if (code->text == NULL || codes->now_ns - code->checked_ns > CHECK_NS) {
            due[due_count++] = (uint32_t)at;
            code->checked_ns = code->text != NULL ? codes->now_ns : 0; /* once, if it repeats */
        }
        if ((due_count == RM_ARRAY_LEN(due) || i + 1 == count) &&
            !check(codes, memory, layout, due, due_count)) {
            leave_due(codes, due, due_count);
            return false;
        }
        due_count = due_count == RM_ARRAY_LEN(due) ? 0 : due_count;
    }
    for (size_t i = 0; i < count; i++) {
        ret_codes[i] = &codes->rows[find(codes, addresses[i])];
    }
    return true;
}

/* ---- lines ------------------------------------------------------------------------------ */

/* co_lnotab of 3.9 (Objects/lnotab_notes.txt): pairs of an unsigned step of the position and a
 * signed step of the line, which holds from the position on. */
static uint32_t line_of_notes(const struct rm_python_code *code, int64_t position)
{
    int64_t line = code->first_line;
    int64_t at = 0;
    for (uint32_t i = 0; i + 1 < code->table_bytes; i += 2) {
        at += code->table[i];
        if (at > position) {
            break;
        }
        line += (int8_t)code->table[i + 1];
    }
    return line > 0 ? (uint32_t)line : 0;
}

/* co_linetable of 3.10 (PEP 626): the step of the line holds for the range that ends after the step
 * of the position; -128: a range without a line. */
static uint32_t line_of_ranges(const struct rm_python_code *code, int64_t position)
{
    int64_t line = code->first_line;
    int64_t end = 0;
    for (uint32_t i = 0; i + 1 < code->table_bytes; i += 2) {
        int8_t step = (int8_t)code->table[i + 1];
        bool has_line = step != INT8_MIN;
        end += code->table[i];
        line += has_line ? step : 0;
        if (code->table[i] != 0 && position < end) {
            return has_line && line > 0 ? (uint32_t)line : 0;
        }
    }
    return code->first_line;
}

/* 6 bits in each byte, the lowest first; bit 6: there are more. */
static uint32_t take_number(const struct rm_python_code *code, uint32_t *at)
{
    uint32_t number = 0;
    for (uint32_t shift = 0; *at < code->table_bytes && shift < 30; shift += 6) {
        uint32_t byte = code->table[(*at)++];
        number |= (byte & 0x3fU) << shift;
        if ((byte & 0x40U) == 0) {
            break;
        }
    }
    return number;
}

static int64_t take_signed(const struct rm_python_code *code, uint32_t *at)
{
    uint32_t number = take_number(code, at);
    return (number & 1U) != 0 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* The location table from 3.11 on (InternalDocs/code_objects.md of CPython). */
static uint32_t line_of_locations(const struct rm_python_code *code, int64_t position)
{
    int64_t line = code->first_line;
    int64_t end = 0;
    for (uint32_t at = 0; at < code->table_bytes;) {
        uint32_t first = code->table[at++];
        uint32_t kind = first >> 3 & 15U;
        if ((first & 0x80U) == 0) {
            break; /* damaged */
        }
        end += (first & 7U) + 1;
        if (kind >= 10 && kind <= 12) {
            line += kind - 10;
        } else if (kind == 13 || kind == 14) {
            line += take_signed(code, &at);
        }
        if (position < end) {
            return kind != 15 && line > 0 ? (uint32_t)line : 0;
        }
        for (int i = 0; kind == 14 && i < 3; i++) {
            (void)take_number(code, &at);
        }
        at += kind < 10 ? 1 : kind <= 12 ? 2 : 0;
    }
    return code->first_line;
}

uint32_t rm_python_code_line(const struct rm_python_code *code, uint32_t minor, int64_t position)
{
    if (position < 0 || code->table == NULL) {
        return code->first_line;
    }
    return minor >= 11   ? line_of_locations(code, position)
           : minor == 10 ? line_of_ranges(code, position)
                         : line_of_notes(code, position);
}
