/* SPDX-License-Identifier: MIT */
#include "report/lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "report/sampled_bytes.h"
#include "report/table.h"

#define CONTENT_BYTES 60 /* of a line of the source */
#define TAB_SPACES    4

/* The lines of one function: neighbours in the sorted rows. */
struct group {
    const struct rm_line *lines;
    size_t count;
    double own;
    double sum; /* of what the table is about: all of the function */
};

typedef char cell[RM_TABLE_CELL_BYTES];

static double amount_of(const struct rm_line *line, enum rm_line_table table)
{
    double amount = table == RM_LINES_TIME ? line->time_ns : line->bytes;
    return isfinite(amount) ? amount : 0.0;
}

/* ---- groups ----------------------------------------------------------------------------- */

static int compare_functions(const struct rm_line *a, const struct rm_line *b)
{
    int order = strcmp(a->function, b->function);
    return order != 0 ? order : strcmp(a->file, b->file);
}

static int compare_lines(const void *left, const void *right)
{
    const struct rm_line *a = left, *b = right;
    int order = compare_functions(a, b);
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_groups(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = (a->own < b->own) - (a->own > b->own);
    return order != 0 ? order : compare_functions(a->lines, b->lines);
}

static size_t make_groups(const struct rm_line *lines, size_t count, enum rm_line_table table,
                          struct group *groups)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_functions(&lines[i - 1], &lines[i]) != 0) {
            groups[made++] = (struct group){.lines = &lines[i]};
        }
        struct group *group = &groups[made - 1];
        group->count++;
        group->own += isfinite(lines[i].own) ? lines[i].own : 0.0;
        group->sum = lines[i].function_sum > 0.0 ? lines[i].function_sum
                                                 : group->sum + amount_of(&lines[i], table);
    }
    qsort(groups, made, sizeof *groups, compare_groups);
    return made;
}

static int compare_amounts(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

/* The amount, or loss, that a line must have to be shown: the `most_lines` largest have it. */
static double smallest_shown(const struct group *group, const struct rm_line_terms *terms)
{
    if (group->count <= terms->most_lines || terms->most_lines == 0) {
        return -HUGE_VAL;
    }
    double *amounts = rm_alloc(group->count, sizeof *amounts);
    if (amounts == NULL) {
        return -HUGE_VAL;
    }
    for (size_t i = 0; i < group->count; i++) {
        amounts[i] = fabs(amount_of(&group->lines[i], terms->table));
    }
    qsort(amounts, group->count, sizeof *amounts, compare_amounts);
    double bound = amounts[terms->most_lines - 1];
    rm_free(amounts);
    return bound;
}

/* ---- cells ------------------------------------------------------------------------------ */

static void set_content(cell target, const struct rm_line_terms *terms, const char *file,
                        uint32_t line)
{
    char text[CONTENT_BYTES];
    size_t length = 0, out = 0;
    const char *source = terms->sources != NULL
                             ? terms->sources->get(terms->sources->context, file, line, &length)
                             : NULL;
    for (size_t i = 0; source != NULL && i < length && out + TAB_SPACES < sizeof text; i++) {
        for (int k = 0; source[i] == '\t' && k < TAB_SPACES; k++) {
            text[out++] = ' ';
        }
        if (source[i] != '\t' && source[i] != '\r') {
            text[out++] = source[i];
        }
    }
    while (out > 0 && text[out - 1] == ' ') {
        out--;
    }
    (void)rm_text_copy(target, RM_TABLE_CELL_BYTES, text, out);
}

static void set_time_cells(cell *cells, const struct rm_line *line, const struct group *group)
{
    bool is_known = isfinite(line->time_ns);
    rm_human_count(cells[0], (double)line->hits);
    rm_human_seconds(cells[1], line->time_ns * 1e-9);
    rm_human_seconds(cells[2], line->hits > 0 ? line->time_ns * 1e-9 / (double)line->hits : RM_NAN);
    rm_human_percent(cells[3],
                     is_known && group->sum > 0.0 ? 100.0 * line->time_ns / group->sum : RM_NAN);
}

static void set_memory_cells(cell *cells, const struct rm_line *line)
{
    rm_human_bytes(cells[0], line->memory_bytes);
    const struct rm_sampled_bytes grown = {line->bytes, line->error, line->most};
    (void)rm_sampled_bytes_print(cells[1], &grown);
    rm_human_count(cells[2], (double)line->occurrences);
}

/* `line` NULL: a line that has nothing. */
static void add_row(struct rm_table *table, const struct rm_line_terms *terms,
                    const struct group *group, uint32_t number, const struct rm_line *line)
{
    cell *cells = rm_table_row(table);
    if (cells == NULL) {
        return;
    }
    (void)snprintf(cells[0], sizeof cells[0], "%u", number);
    if (line != NULL && terms->table == RM_LINES_TIME) {
        set_time_cells(&cells[1], line, group);
    } else if (line != NULL) {
        set_memory_cells(&cells[1], line);
    }
    set_content(cells[table->columns - 1], terms, group->lines->file, number);
}

/* ---- tables ----------------------------------------------------------------------------- */

static void add_rows(struct rm_table *table, const struct rm_line_terms *terms,
                     const struct group *group)
{
    double bound = smallest_shown(group, terms);
    const struct rm_line *lines = group->lines;
    size_t range = (size_t)(lines[group->count - 1].line - lines[0].line) + 1;
    bool is_filled = terms->is_filled && range <= terms->most_lines;
    size_t shown = 0;
    for (size_t i = 0; i < group->count && shown < terms->most_lines; i++) {
        uint32_t last = i > 0 ? lines[i - 1].line : lines[i].line;
        for (uint32_t between = last + 1; is_filled && between < lines[i].line; between++) {
            add_row(table, terms, group, between, NULL);
        }
        if (fabs(amount_of(&lines[i], terms->table)) >= bound) {
            shown++;
            add_row(table, terms, group, lines[i].line, &lines[i]);
        }
    }
}

static void write_group(struct rm_buffer *buffer, const struct rm_line_terms *terms,
                        const struct group *group)
{
    static const char *const time_headings[] = {"Line #",  "Hits",   "Time",
                                                "Per Hit", "% Time", "Line Contents"};
    static const char *const memory_headings[] = {"Line #", "Mem usage", "Increment", "Occurrences",
                                                  "Line Contents"};
    bool is_time = terms->table == RM_LINES_TIME;
    struct rm_table table;
    char sum[RM_HUMAN_BYTES];
    if (is_time) {
        rm_human_seconds(sum, group->sum * 1e-9);
    } else {
        rm_human_bytes(sum, group->sum);
    }
    rm_buffer_printf(buffer, "\n  Function: %.120s, %s\n  File: %.200s\n", group->lines->function,
                     sum, group->lines->file);
    rm_table_begin(&table, is_time ? time_headings : memory_headings, is_time ? 6 : 5, 0);
    table.is_left[table.columns - 1] = true;
    table.width = terms->width;
    add_rows(&table, terms, group);
    rm_table_end(&table, buffer);
}

size_t rm_lines_write(struct rm_buffer *buffer, struct rm_line *lines, size_t count,
                      const struct rm_line_terms *terms)
{
    size_t written = 0;
    struct group *groups = rm_alloc(count, sizeof *groups);
    if (groups == NULL) {
        if (count > 0) {
            rm_buffer_puts(buffer, "  (no tables by line: out of memory)\n");
        }
        return 0;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    size_t made = make_groups(lines, count, terms->table, groups);
    double least = 0.0;
    for (size_t i = 0; i < made; i++) {
        least += terms->least_share * groups[i].own;
    }
    while (written < made && written < terms->most_functions && groups[written].own > 0.0 &&
           groups[written].own >= least) {
        write_group(buffer, terms, &groups[written++]);
    }
    rm_free(groups);
    return written;
}
