/* SPDX-License-Identifier: MIT */
#include "page/markdown.h"

#include <string.h>

#include "page/counters.h"
#include "page/headline.h"
#include "page/names.h"
#include "page/profile.h"
#include "page/scopes.h"
#include "page/tables.h"

#define MOST_ROWS 40 /* of a table: this is read from top to bottom */

/* ---- elements --------------------------------------------------------------------------- */

/* Text of any origin: what would be markup is not. */
static void put_text(struct rm_buffer *out, const char *text)
{
    static const char markup[] = "\\`*_[]<>|#~&";
    while (*text != '\0') {
        size_t plain = strcspn(text, markup);
        rm_buffer_add(out, text, plain);
        text += plain;
        if (*text != '\0') {
            const char escaped[] = {'\\', *text++};
            rm_buffer_add(out, escaped, sizeof escaped);
        }
    }
}

static void put_cell(struct rm_buffer *out, const char *text)
{
    rm_buffer_puts(out, " ");
    put_text(out, text);
    rm_buffer_puts(out, " |");
}

static void put_rule(struct rm_buffer *out, size_t columns, size_t left, uint64_t wide)
{
    rm_buffer_puts(out, "|");
    for (size_t i = 0; i < columns; i++) {
        rm_buffer_puts(out, i < left || (wide >> i & 1) != 0 ? "---|" : "---:|");
    }
    rm_buffer_puts(out, "\n");
}

static void put_table(struct rm_buffer *out, const struct rm_page_table *table)
{
    if (table == NULL) {
        return;
    }
    rm_buffer_puts(out, "\n### ");
    put_text(out, table->title);
    rm_buffer_puts(out, "\n\n|");
    for (size_t i = 0; i < table->columns; i++) {
        put_cell(out, table->headers[i]);
    }
    rm_buffer_puts(out, "\n");
    put_rule(out, table->columns, table->left, table->wide);
    for (size_t row = 0; row < table->count && row < MOST_ROWS; row++) {
        rm_buffer_puts(out, "|");
        for (size_t i = 0; i < table->columns; i++) {
            put_cell(out, rm_page_cells(table, row)[i].text);
        }
        rm_buffer_puts(out, "\n");
    }
    if (table->count > MOST_ROWS) {
        rm_buffer_printf(out, "\nand %zu more\n", table->count - MOST_ROWS);
    }
    for (size_t i = 0; i < table->note_count; i++) {
        rm_buffer_puts(out, "\n");
        put_text(out, table->notes[i]);
        rm_buffer_puts(out, "\n");
    }
}

static void put_tiles(struct rm_buffer *out, const struct rm_page_tiles *tiles)
{
    rm_buffer_puts(out, "\n|");
    for (size_t i = 0; i < tiles->count; i++) {
        put_cell(out, tiles->items[i].label);
    }
    rm_buffer_puts(out, "\n");
    put_rule(out, tiles->count, 0, 0);
    rm_buffer_puts(out, "|");
    for (size_t i = 0; i < tiles->count; i++) {
        put_cell(out, tiles->items[i].value);
    }
    rm_buffer_puts(out, "\n");
}

/* ---- the page --------------------------------------------------------------------------- */

static void put_head(struct rm_buffer *out, const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const struct rm_page_tiles tiles = rm_headline_tiles(subject);
    const struct rm_page_answers answers = rm_headline_answers(subject);
    const char *start = rm_subject_start(page, subject->run);
    const char *meta[] = {rm_subject_host(subject->run), start != NULL ? start : RM_PAGE_UNKNOWN,
                          rm_page_value(page, rm_subject_seconds(subject->run), "s"),
                          rm_subject_outcome(page, subject->run), subject->run->info.label};
    rm_buffer_puts(out, "\n");
    put_text(out, rm_page_shown(page, rm_page_join(page, " \xc2\xb7 ", meta, RM_ARRAY_LEN(meta))));
    rm_buffer_puts(out, "\n");
    put_tiles(out, &tiles);
    rm_buffer_puts(out, answers.count > 0 ? "\n" : "");
    for (size_t i = 0; i < answers.count; i++) {
        const char *strong = answers.items[i].value[0] != '\0' ? "**" : "";
        rm_buffer_printf(out, "- %s: %s", answers.items[i].label, strong);
        put_text(out, answers.items[i].value);
        rm_buffer_printf(out, "%s ", strong);
        put_text(out, answers.items[i].small);
        rm_buffer_puts(out, "\n");
    }
}

static void put_run(struct rm_buffer *out, const struct rm_subject *subject)
{
    put_head(out, subject);
    put_table(out, rm_scopes_table(subject));
    put_table(out, rm_counters_table_of_scopes(subject));
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        put_table(out, rm_profile_functions(subject, kind));
    }
    put_table(out, rm_table_of_energy(subject));
    put_table(out, rm_table_of_missing(subject));
}

static void put_all(struct rm_buffer *out, const struct rm_page_set *set)
{
    const struct rm_subject *subjects = set->subjects;
    bool is_job = rm_names_are_of_a_job(set->page, subjects, set->count);
    const struct rm_page_tiles tiles = rm_headline_tiles_of_all(subjects, set->count, is_job);
    rm_buffer_puts(out, "\n");
    put_text(out, rm_names_meta(set->page, subjects, set->count));
    rm_buffer_puts(out, "\n");
    put_tiles(out, &tiles);
    put_table(out, rm_headline_table(subjects, set->count, is_job));
    put_table(out, rm_scopes_table_of_all(subjects, set->count));
}

static void put_page(struct rm_buffer *out, struct rm_page_set *set)
{
    rm_buffer_puts(out, "# ");
    put_text(out, set->title);
    rm_buffer_puts(out, "\n");
    if (set->count == 1) {
        put_run(out, &set->subjects[0]);
        return;
    }
    put_all(out, set);
    for (size_t i = 0; i < set->count; i++) {
        rm_buffer_puts(out, "\n## ");
        put_text(out, set->subjects[i].label);
        rm_buffer_puts(out, "\n");
        put_head(out, &set->subjects[i]);
        put_table(out, rm_scopes_table(&set->subjects[i]));
    }
}

resmon_status rm_markdown_page(struct rm_buffer *out, const struct rm_page_terms *terms)
{
    return rm_page_set_write(out, terms, 1, put_page);
}
