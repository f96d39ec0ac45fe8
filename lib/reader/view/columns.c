/* SPDX-License-Identifier: MIT */
#include "view/columns.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/status.h"
#include "run/energy.h"
#include "run/run.h"
#include "store/tally.h"

#define NONE UINT16_MAX

/* ---- the table -------------------------------------------------------------------------- */

#define RM_RECORD(record, type, ...) typedef type record_##record;
#include "run/records.def"

enum {
#define RM_MEMBER(record, type, member, ...) TYPE_##record##_##member = RM_TYPE_##type,
#include "run/records.def"
};

static const struct rm_view_column all[] = {
#define BRIEF  RM_COLUMN_BRIEF
#define FULL   RM_COLUMN_FULL
#define ABOUT  RM_ABOUT
#define LEAST  RM_LEAST
#define WIDE   RM_WIDE
#define OTHERS RM_OTHERS
#define DOUBT  RM_DOUBT
#define RARE   RM_RARE
#define RM_COLUMN(table, record, member, key, title, detail, unit, scale, provenance, traits) \
    {key,                                                                                     \
     title,                                                                                   \
     unit,                                                                                    \
     scale,                                                                                   \
     (uint16_t)offsetof(record_##record, member),                                             \
     PROVENANCE_##provenance(record),                                                         \
     RM_TABLE_##table,                                                                        \
     RM_RECORD_##record,                                                                      \
     TYPE_##record##_##member,                                                                \
     detail,                                                                                  \
     traits},
#define PROVENANCE_NONE(record)                NONE
#define PROVENANCE_OF(record, member)          (uint16_t) offsetof(record_##record, member)
#define PROVENANCE_pcpu_provenance(record)     PROVENANCE_OF(record, pcpu_provenance)
#define PROVENANCE_cpu_provenance(record)      PROVENANCE_OF(record, cpu_provenance)
#define PROVENANCE_rss_provenance(record)      PROVENANCE_OF(record, rss_provenance)
#define PROVENANCE_io_provenance(record)       PROVENANCE_OF(record, io_provenance)
#define PROVENANCE_rss_peak_provenance(record) PROVENANCE_OF(record, rss_peak_provenance)
#include "view/tables.def"
};

static const struct {
    const char *key, *title;
} tables[] = {
#define RM_TABLE(table, record, title) {#table, title},
#include "view/tables.def"
};

const char *rm_table_title(enum rm_table_name table)
{
    return tables[table].title;
}

struct rm_page_table *rm_columns_begin(struct rm_page *page, enum rm_table_name table)
{
    return rm_page_table_begin(page, tables[table].key, tables[table].title);
}

/* ---- members ---------------------------------------------------------------------------- */

static const void *at(const struct rm_view_column *column, const void *record)
{
    return (const char *)record + column->offset;
}

static int32_t code_at(const void *record, uint16_t offset)
{
    int32_t code;
    memcpy(&code, (const char *)record + offset, sizeof code);
    return code;
}

/* Whether the member is known: a document contains only what was measured. */
static bool is_there(const struct rm_view_column *column, const void *record)
{
    const struct rm_record known = rm_record_of(column->record);
    for (size_t i = 0; i < known.count; i++) {
        if (known.members[i].offset == column->offset) {
            return rm_record_has(&known.members[i], record);
        }
    }
    return true;
}

static bool is_text(const struct rm_view_column *column)
{
    return column->type == RM_TYPE_TEXT || column->type >= RM_TYPE_STATUS;
}

static double value_of(const struct rm_view_column *column, const void *record)
{
    double number = RM_NAN;
    uint64_t count;
    int64_t integer;
    resmon_estimate estimate;
    switch (column->type) {
    case RM_TYPE_NUMBER:
        memcpy(&number, at(column, record), sizeof number);
        break;
    case RM_TYPE_ESTIMATE:
        memcpy(&estimate, at(column, record), sizeof estimate);
        number = rm_estimate_is_vague(&estimate) ? RM_NAN : estimate.value;
        break;
    case RM_TYPE_SMALL:
        number = code_at(record, column->offset);
        break;
    case RM_TYPE_INTEGER:
        memcpy(&integer, at(column, record), sizeof integer);
        number = (double)integer;
        break;
    default: /* COUNT, CALLS */
        memcpy(&count, at(column, record), sizeof count);
        number = (double)count;
    }
    bool is_known =
        column->type == RM_TYPE_COUNT || is_there(column, record); /* a count of 0 is 0 */
    return is_known ? number * column->scale : RM_NAN;
}

static const char *text_of(struct rm_page *page, const struct rm_view_column *column,
                           const void *record)
{
    if (column->type == RM_TYPE_TEXT) {
        const char *text;
        memcpy(&text, at(column, record), sizeof text);
        return rm_page_shown(page, text != NULL ? text : "");
    }
    if (column->type == RM_TYPE_STATUS) {
        return resmon_status_name(code_at(record, column->offset));
    }
    const char *word = rm_word_of(column->type, code_at(record, column->offset));
    return word != NULL ? word : "";
}

/* ---- choosing --------------------------------------------------------------------------- */

static bool has_figure(const struct rm_view_column *column, struct rm_records records)
{
    if (records.first == NULL) {
        return true;
    }
    for (size_t i = 0; i < records.count; i++) {
        double value = value_of(column, (const char *)records.first + i * records.size);
        if (isfinite(value) && (value != 0.0 || (column->traits & RM_RARE) == 0)) {
            return true;
        }
    }
    return false;
}

struct rm_view_columns rm_columns_choose(enum rm_table_name table, enum rm_column_detail detail,
                                         struct rm_records records)
{
    struct rm_view_columns columns = {.count = 0};
    for (size_t i = 0; i < RM_ARRAY_LEN(all); i++) {
        const struct rm_view_column *column = &all[i];
        if (column->table == table && column->detail <= detail &&
            (is_text(column) || column->title[0] == '\0' || has_figure(column, records))) {
            columns.items[columns.count++] = column;
        }
    }
    return columns;
}

void rm_columns_add(struct rm_page_table *table, const struct rm_view_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++) {
        const struct rm_view_column *column = columns->items[i];
        struct rm_page_column *added =
            rm_page_column(table, column->key, column->title[0] != '\0' ? column->title : NULL);
        added->is_left = is_text(column);
        added->is_wide = (column->traits & RM_WIDE) != 0;
    }
}

/* ---- cells ------------------------------------------------------------------------------ */

/* Each metric has its own unit.  Counters are shown as rates, except for their last value. */
static const char *print_metric(struct rm_page *page, const struct rm_view_column *column,
                                const resmon_column *metric, double value)
{
    char text[RM_HUMAN_BYTES];
    bool is_rate = metric->kind == RESMON_COUNTER && strcmp(column->unit, "rate") == 0;
    rm_human_value(text, value, metric->unit, is_rate);
    return rm_page_print(page, "%s", text);
}

static const char *print(struct rm_page *page, const struct rm_view_column *column,
                         const void *record, double value)
{
    if (strcmp(column->unit, "#") == 0) {
        return rm_page_print(page, "%" PRId64, (int64_t)value);
    }
    if (strcmp(column->unit, "ratio") == 0) {
        return rm_page_fixed(page, value, 2);
    }
    if (column->table == RM_TABLE_metrics && column->unit[0] != '\0') {
        return print_metric(page, column, record, value);
    }
    return rm_page_value(page, value, column->unit);
}

static const char *mark_of(const struct rm_view_column *column, const void *record)
{
    bool is_sampled = column->provenance != NONE &&
                      code_at(record, column->provenance) == RESMON_PROVENANCE_SAMPLED;
    return !is_sampled                        ? ""
           : (column->traits & RM_ABOUT) != 0 ? "~"
           : (column->traits & RM_LEAST) != 0 ? ">="
                                              : "";
}

static const char *why_vague(const struct rm_view_column *column, const void *record,
                             const char *why)
{
    resmon_estimate estimate = {.value = RM_NAN};
    if (column->type == RM_TYPE_ESTIMATE) {
        memcpy(&estimate, at(column, record), sizeof estimate);
    }
    return isfinite(estimate.value) && rm_estimate_is_vague(&estimate)
               ? "the error may exceed the value"
               : why;
}

void rm_column_set(struct rm_page *page, struct rm_page_cell *cell,
                   const struct rm_view_column *column, const void *record, const char *why)
{
    if (is_text(column)) {
        rm_page_set(cell, text_of(page, column, record));
        return;
    }
    double value = value_of(column, record);
    if (!isfinite(value)) {
        rm_page_set_missing(page, cell, why_vague(column, record, why));
        return;
    }
    rm_page_set(cell, print(page, column, record, value));
    rm_page_mark(page, cell, mark_of(column, record));
    cell->value = value;
    cell->is_figure = true;
}

void rm_columns_set(struct rm_page *page, struct rm_page_cell *cells,
                    const struct rm_view_columns *columns, const void *record, const char *why)
{
    for (size_t i = 0; i < columns->count; i++) {
        rm_column_set(page, &cells[i], columns->items[i], record, why);
    }
}

struct rm_page_table *rm_columns_table(struct rm_page *page, enum rm_table_name table,
                                       enum rm_column_detail detail, struct rm_records records,
                                       const char *why)
{
    const struct rm_view_columns columns = rm_columns_choose(table, detail, records);
    struct rm_page_table *made = rm_columns_begin(page, table);
    if (made == NULL) {
        return NULL;
    }
    rm_columns_add(made, &columns);
    rm_page_room(page, made, records.count);
    for (size_t i = 0; i < records.count; i++) {
        rm_columns_set(page, rm_page_row(page, made), &columns,
                       (const char *)records.first + i * records.size, why);
    }
    return made;
}
