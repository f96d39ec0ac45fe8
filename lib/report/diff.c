/* SPDX-License-Identifier: MIT */
#include "report/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/human.h"
#include "report/table.h"

#define MOST_SCOPES 20U /* rows without a rule, in a brief table */
#define MOST_PATHS  10U

const char *const rm_diff_headings[RM_DIFF_COLUMNS] = {
    "", "before", "after", "change", "verdict", "p", "interval (95 %)"};

static const char *const verdicts[] = {"", "not worse", "cannot tell", "worse"};

const char *rm_verdict_name(enum rm_verdict verdict)
{
    return verdicts[verdict];
}

/* ---- numbers ------------------------------------------------------------------------------ */

static void put_signed(char text[RM_HUMAN_BYTES + 2], double value, const char *unit)
{
    char plain[RM_HUMAN_BYTES];
    rm_human_value(plain, fabs(value), unit, false);
    (void)snprintf(text, RM_HUMAN_BYTES + 2, "%s%s",
                   isnan(value)  ? ""
                   : value < 0.0 ? "-"
                                 : "+",
                   plain);
}

/* Of the median before; "" where that is 0. */
static void put_share(char text[RM_HUMAN_BYTES], double value, double of)
{
    double share = 100.0 * value / of;
    text[0] = '\0';
    if (of > 0.0 && fabs(share) < 1e5) {
        char number[RM_HUMAN_BYTES];
        rm_human_fixed(number, fabs(share), fabs(share) < 100.0 ? 1 : 0);
        (void)snprintf(text, RM_HUMAN_BYTES, "%s%.20s %%", share < 0.0 ? "-" : "+", number);
    }
}

static void put_p(char text[RM_HUMAN_BYTES], double p)
{
    if (isnan(p)) {
        (void)snprintf(text, RM_HUMAN_BYTES, "-");
    } else if (p < 0.001) {
        (void)snprintf(text, RM_HUMAN_BYTES, "<0.001");
    } else {
        rm_human_fixed(text, p, 3);
    }
}

static const char *title_of(const struct rm_diff_row *row)
{
    return rm_figures[row->figure].title;
}

void rm_diff_say_row(char *text, size_t room, const struct rm_diff_row *row)
{
    char by[RM_HUMAN_BYTES + 2], share[RM_HUMAN_BYTES], most[RM_HUMAN_BYTES];
    const char *unit = rm_figures[row->figure].unit;
    put_signed(by, row->shift.value, unit);
    put_share(share, row->shift.value, row->before.value);
    rm_human_value(most, row->allowance, unit, false);
    bool has_share = share[0] != '\0';
    int used = snprintf(text, room, "%s%s%s %s%s%s%s", row->path, row->path[0] != '\0' ? ": " : "",
                        title_of(row), share, has_share ? " (" : "", by, has_share ? ")" : "");
    if (used > 0 && (size_t)used < room && row->rule != NULL) {
        (void)snprintf(text + used, room - (size_t)used, "; %s allows %s", row->rule->text, most);
    }
    used = (int)strlen(text);
    if (row->verdict == RM_VERDICT_CANNOT_TELL && row->runs_wanted > 0 && (size_t)used < room) {
        (void)snprintf(text + used, room - (size_t)used, "; about %lu runs per side are needed",
                       (unsigned long)row->runs_wanted);
    }
}

/* ---- rows --------------------------------------------------------------------------------- */

/* Of the difference; where there is none to tell, the difference. */
static void put_interval(char cell[RM_TABLE_CELL_BYTES], const struct rm_diff_row *row)
{
    char low[RM_HUMAN_BYTES + 2], high[RM_HUMAN_BYTES + 2];
    const char *unit = rm_figures[row->figure].unit;
    put_signed(low, row->shift.low, unit);
    put_signed(high, row->shift.high, unit);
    if (row->is_counted || isnan(row->shift.low)) {
        put_signed(low, row->shift.value, unit);
        (void)snprintf(cell, RM_TABLE_CELL_BYTES, "%s%s", row->is_counted ? "counted, " : "", low);
    } else {
        (void)snprintf(cell, RM_TABLE_CELL_BYTES, "%s to %s", low, high);
    }
}

void rm_diff_say_cells(char (*cells)[RM_TABLE_CELL_BYTES], const struct rm_diff_row *row)
{
    char text[RM_HUMAN_BYTES + 2];
    const char *unit = rm_figures[row->figure].unit;
    (void)snprintf(cells[0], RM_TABLE_CELL_BYTES, "%.50s%s%s", row->path,
                   row->path[0] != '\0' ? ": " : "", title_of(row));
    rm_human_value(text, row->before.value, unit, false);
    (void)snprintf(cells[1], RM_TABLE_CELL_BYTES, "%s", text);
    rm_human_value(text, row->after.value, unit, false);
    (void)snprintf(cells[2], RM_TABLE_CELL_BYTES, "%s", text);
    put_share(text, row->shift.value, row->before.value);
    if (text[0] == '\0') {
        put_signed(text, row->shift.value, unit);
    }
    (void)snprintf(cells[3], RM_TABLE_CELL_BYTES, "%s", text);
    (void)snprintf(cells[4], RM_TABLE_CELL_BYTES, "%s", verdicts[row->verdict]);
    put_p(text, row->rule != NULL ? row->p_of_all : row->p);
    (void)snprintf(cells[5], RM_TABLE_CELL_BYTES, "%s", row->is_counted ? "" : text);
    put_interval(cells[6], row);
}

/* What is always looked at. */
static bool is_first(const struct rm_diff_row *row)
{
    static const enum rm_figure_id first[] = {RM_FIGURE_wall,   RM_FIGURE_cpu,  RM_FIGURE_peak,
                                              RM_FIGURE_energy, RM_FIGURE_read, RM_FIGURE_written};
    for (size_t i = 0; i < RM_ARRAY_LEN(first) && row->path[0] == '\0'; i++) {
        if (row->figure == first[i]) {
            return true;
        }
    }
    return false;
}

/* Of scopes without a rule: where something has changed, beyond chance or without a test. */
static bool has_changed(const struct rm_diff_row *row)
{
    double share = fabs(row->shift.value) / fabs(row->before.value);
    bool is_of_note = row->figure == RM_FIGURE_wall || row->figure == RM_FIGURE_cpu ||
                      row->figure == RM_FIGURE_peak || row->figure == RM_FIGURE_calls;
    return row->path[0] != '\0' && is_of_note && (row->is_counted || row->p <= RM_DIFF_ALPHA) &&
           share > 0.01;
}

bool rm_diff_is_shown(const struct rm_diff_row *row, const struct rm_diff_terms *terms,
                      unsigned *changed)
{
    if (terms->is_full || row->rule != NULL || is_first(row)) {
        return true;
    }
    return has_changed(row) && (*changed)++ < MOST_SCOPES;
}

/* ---- sentences ---------------------------------------------------------------------------- */

static const struct rm_diff_row *find_wall(const struct rm_diff *diff)
{
    for (size_t i = 0; i < diff->row_count; i++) {
        if (diff->rows[i].path[0] == '\0' && diff->rows[i].figure == RM_FIGURE_wall) {
            return &diff->rows[i];
        }
    }
    return NULL;
}

/* What is asked for first: how long it takes now. */
static void write_without_rules(struct rm_buffer *buffer, const struct rm_diff *diff)
{
    char text[512], p[RM_HUMAN_BYTES];
    const struct rm_diff_row *wall = find_wall(diff);
    if (wall == NULL) {
        rm_buffer_puts(buffer, "No verdict: there are no rules.");
        return;
    }
    rm_diff_say_row(text, sizeof text, wall);
    put_p(p, wall->p);
    rm_buffer_printf(buffer, "%s: %s%s%s", diff->after->name, text, isnan(wall->p) ? "" : ", p ",
                     isnan(wall->p) ? "" : p);
}

void rm_diff_say_statement(struct rm_buffer *buffer, const struct rm_diff *diff)
{
    switch (diff->verdict) {
    case RM_VERDICT_WORSE:
        rm_buffer_printf(buffer, "Worse: %zu of %zu values with a rule.",
                         rm_diff_count(diff, RM_VERDICT_WORSE),
                         diff->row_count - rm_diff_count(diff, RM_VERDICT_NONE));
        break;
    case RM_VERDICT_CANNOT_TELL:
        rm_buffer_puts(buffer, "Cannot tell: there are too few runs, or they differ too much.");
        break;
    case RM_VERDICT_NOT_WORSE:
        rm_buffer_puts(buffer, "Not worse: no rule is exceeded.");
        break;
    default:
        write_without_rules(buffer, diff);
    }
}

void rm_diff_say_reasons(const struct rm_diff *diff, const struct rm_sentences *sentences)
{
    char text[768];
    for (int verdict = RM_VERDICT_WORSE; verdict >= RM_VERDICT_CANNOT_TELL; verdict--) {
        for (size_t i = 0; i < diff->row_count; i++) {
            if ((int)diff->rows[i].verdict == verdict) {
                rm_diff_say_row(text, sizeof text, &diff->rows[i]);
                rm_sentences_say(sentences, "%s: %s", verdicts[verdict], text);
            }
        }
    }
    for (size_t i = 0; i < diff->gate->count; i++) {
        if (!diff->is_used[i]) {
            rm_sentences_say(sentences, "cannot tell: '%s' matches nothing that both sides have",
                             diff->gate->rules[i].text);
        }
    }
}

static void say_paths(const struct rm_sentences *sentences, const char *what,
                      const char *const *paths, size_t count)
{
    char text[RM_SENTENCE_BYTES] = "";
    size_t used = 0, shown = 0;
    while (shown < count && shown < MOST_PATHS && used + strlen(paths[shown]) + 64 < sizeof text) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", shown > 0 ? ", " : what,
                                 paths[shown]);
        shown++;
    }
    if (shown < count) {
        (void)snprintf(text + used, sizeof text - used, "%s%zu more", shown > 0 ? " and " : what,
                       count - shown);
    }
    if (count > 0) {
        sentences->put(sentences, text);
    }
}

static void say_side(const struct rm_sentences *sentences, const char *what,
                     const struct rm_group *group)
{
    char failed[64] = "";
    size_t failures = rm_group_failures(group);
    if (failures > 0) {
        (void)snprintf(failed, sizeof failed, ", of which %zu failed", failures);
    }
    rm_sentences_say(sentences, "%s: %.600s, %zu run%s%s%s", what, group->name, group->run_count,
                     group->run_count == 1 ? "" : "s", failed,
                     group->is_mixed ? ", of different machines" : "");
}

void rm_diff_say_remarks(const struct rm_diff *diff, const struct rm_sentences *sentences)
{
    say_side(sentences, "before", diff->before);
    say_side(sentences, "after", diff->after);
    if (diff->machines[0] != '\0') {
        rm_sentences_say(sentences, "the machines differ: %s", diff->machines);
    }
    say_paths(sentences, "scopes that are gone: ", diff->gone, diff->gone_count);
    say_paths(sentences, "new scopes: ", diff->fresh, diff->fresh_count);
    for (size_t i = 0; i < diff->gone_count; i++) {
        const char *now = rm_diff_renamed(diff, i);
        if (now != NULL) {
            rm_sentences_say(sentences,
                             "%.400s may be called %.400s now: its values are not compared",
                             diff->gone[i], now);
        }
    }
    rm_sentences_say(sentences, "change: the median of all differences between a run before and "
                                "one after; interval: where the true median lies");
    rm_sentences_say(sentences, "p: probability that equal programs differ this much by chance "
                                "(Mann-Whitney); with rules, corrected for their number (Holm)");
}

/* ---- all ---------------------------------------------------------------------------------- */

static void put_plain(const struct rm_sentences *sentences, const char *text)
{
    struct rm_buffer *buffer = sentences->context;
    rm_buffer_printf(buffer, "  %s\n", text);
}

static void put_item(const struct rm_sentences *sentences, const char *text)
{
    struct rm_buffer *buffer = sentences->context;
    rm_buffer_printf(buffer, "- %s\n", text);
}

void rm_diff_write_text(struct rm_buffer *buffer, const struct rm_diff *diff,
                        const struct rm_diff_terms *terms)
{
    const struct rm_sentences sentences = {put_plain, buffer};
    struct rm_table table;
    unsigned changed = 0;
    rm_diff_say_statement(buffer, diff);
    rm_buffer_puts(buffer, "\n");
    rm_diff_say_reasons(diff, &sentences);
    rm_buffer_puts(buffer, "\n");
    rm_table_begin(&table, rm_diff_headings, RM_DIFF_COLUMNS, 1);
    table.width = terms->width;
    for (size_t i = 0; i < diff->row_count; i++) {
        if (rm_diff_is_shown(&diff->rows[i], terms, &changed)) {
            char(*cells)[RM_TABLE_CELL_BYTES] = rm_table_row(&table);
            if (cells != NULL) {
                rm_diff_say_cells(cells, &diff->rows[i]);
            }
        }
    }
    rm_table_end(&table, buffer);
    rm_buffer_puts(buffer, "\n");
    rm_diff_say_remarks(diff, &sentences);
}

/* A cell of Markdown ends at a bar. */
static void write_cell(struct rm_buffer *buffer, const char *text)
{
    for (; *text != '\0'; text++) {
        rm_buffer_puts(buffer, *text == '|' ? "\\" : "");
        rm_buffer_add(buffer, text, 1);
    }
    rm_buffer_puts(buffer, " | ");
}

void rm_diff_write_markdown(struct rm_buffer *buffer, const struct rm_diff *diff,
                            const struct rm_diff_terms *terms)
{
    const struct rm_sentences sentences = {put_item, buffer};
    unsigned changed = 0;
    rm_buffer_puts(buffer, "**");
    rm_diff_say_statement(buffer, diff);
    rm_buffer_puts(buffer, "**\n\n");
    rm_diff_say_reasons(diff, &sentences);
    rm_buffer_puts(buffer, "\n| ");
    for (size_t k = 0; k < RM_DIFF_COLUMNS; k++) {
        write_cell(buffer, rm_diff_headings[k]);
    }
    rm_buffer_puts(buffer, "\n|---|---:|---:|---:|---|---:|---:|\n");
    for (size_t i = 0; i < diff->row_count; i++) {
        char cells[RM_DIFF_COLUMNS][RM_TABLE_CELL_BYTES];
        if (rm_diff_is_shown(&diff->rows[i], terms, &changed)) {
            rm_diff_say_cells(cells, &diff->rows[i]);
            rm_buffer_puts(buffer, "| ");
            for (size_t k = 0; k < RM_DIFF_COLUMNS; k++) {
                write_cell(buffer, cells[k]);
            }
            rm_buffer_puts(buffer, "\n");
        }
    }
    rm_buffer_puts(buffer, "\n");
    rm_diff_say_remarks(diff, &sentences);
}
