/* SPDX-License-Identifier: MIT */
#include "page/html_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/human.h"

#define MANY_LINES 8  /* of a chart: its legend is short */
#define MOST_SAID  40 /* lines of a chart, for who does not see it */
#define COLOURS    8

/* ---- texts ------------------------------------------------------------------------------ */

void rm_html_text(struct rm_buffer *out, const char *text)
{
    static const struct {
        char character;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    while (*text != '\0') {
        size_t plain = strcspn(text, "&<>\"'");
        rm_buffer_add(out, text, plain);
        text += plain;
        for (size_t i = 0; i < RM_ARRAY_LEN(entities) && *text != '\0'; i++) {
            if (*text == entities[i].character) {
                rm_buffer_puts(out, entities[i].entity);
                text++;
                break;
            }
        }
    }
}

void rm_html_element(struct rm_buffer *out, const char *opening, const char *text,
                     const char *closing)
{
    rm_buffer_puts(out, opening);
    rm_html_text(out, text);
    rm_buffer_puts(out, closing);
}

void rm_html_number(struct rm_buffer *out, double value, int decimals)
{
    char text[RM_HUMAN_BYTES];
    rm_human_fixed(text, value, decimals);
    rm_buffer_puts(out, text);
}

void rm_html_item(const struct rm_sentences *sentences, const char *text)
{
    const struct rm_html_list *list = sentences->context;
    rm_html_element(list->out, "<li>", rm_page_shown(list->page, text), "</li>\n");
}

/* ---- tables ----------------------------------------------------------------------------- */

static bool is_wide(const struct rm_page_table *table, size_t column)
{
    return (table->wide >> column & 1) != 0;
}

static void put_share(struct rm_buffer *out, const struct rm_page_cell *cell)
{
    rm_buffer_puts(out, "<span class=share style=\"--s:");
    rm_html_number(out, cell->share, 4);
    rm_buffer_puts(out, ";--i:");
    rm_html_number(out, cell->inner, 4);
    rm_html_element(out, "\">", cell->text, "</span>");
}

static void put_cell(struct rm_buffer *out, const struct rm_page_table *table, size_t row,
                     size_t column)
{
    const struct rm_page_cell *cell = &rm_page_cells(table, row)[column];
    bool is_first = column == 0;
    bool leads = table->is_index && is_first && row + (table->has_sum ? 1 : 0) < table->count;
    rm_buffer_printf(out, "<%s%s%s", is_first ? "th" : "td", is_first ? " scope=row" : "",
                     is_wide(table, column) ? " class=w"
                     : column < table->left ? " class=l"
                                            : "");
    if (cell->reason != NULL) {
        rm_html_element(out, " title=\"", cell->reason, "\"><span aria-hidden=true>");
        rm_html_text(out, cell->text);
        rm_html_element(out, "</span><span class=vh>not known: ", cell->reason, "</span>");
    } else {
        rm_buffer_puts(out, ">");
        if (leads) {
            rm_buffer_printf(out, "<a href=#run%zu>", row);
        }
        if (cell->share >= 0.0) {
            put_share(out, cell);
        } else {
            rm_html_text(out, cell->text);
        }
        rm_buffer_puts(out, leads ? "</a>" : "");
    }
    rm_buffer_puts(out, is_first ? "</th>" : "</td>");
}

static void put_headers(struct rm_buffer *out, const struct rm_page_table *table)
{
    bool has_any = false;
    for (size_t i = 0; i < table->columns; i++) {
        has_any |= table->headers[i][0] != '\0';
    }
    if (!has_any) {
        return;
    }
    rm_buffer_puts(out, "<thead><tr>");
    for (size_t i = 0; i < table->columns; i++) {
        bool is_text = i < table->left || is_wide(table, i);
        rm_html_element(out, is_text ? "<th scope=col class=l>" : "<th scope=col>",
                        table->headers[i], "</th>");
    }
    rm_buffer_puts(out, "</tr></thead>");
}

void rm_html_table(struct rm_buffer *out, const struct rm_page_table *table, const char *heading)
{
    if (table == NULL) {
        return;
    }
    if (heading != NULL) {
        rm_buffer_printf(out, "<%s>", heading);
        rm_html_text(out, table->title);
        rm_buffer_printf(out, "</%s>", heading);
    }
    rm_html_element(out, "<div class=scroll tabindex=0 role=region aria-label=\"", table->title,
                    "\"><table>");
    put_headers(out, table);
    rm_buffer_puts(out, "<tbody>");
    for (size_t row = 0; row < table->count; row++) {
        rm_buffer_puts(out, table->has_sum && row + 1 == table->count ? "<tr class=sum>" : "<tr>");
        for (size_t column = 0; column < table->columns; column++) {
            put_cell(out, table, row, column);
        }
        rm_buffer_puts(out, "</tr>");
    }
    rm_buffer_puts(out, "</tbody></table></div>");
    for (size_t i = 0; i < table->note_count; i++) {
        rm_html_element(out, "<p class=note>", table->notes[i], "</p>");
    }
}

void rm_html_lines(struct rm_buffer *out, const struct rm_line_text *text)
{
    rm_html_element(out, "<h3>", text->title, "</h3>");
    rm_html_element(out, "<pre class=scroll tabindex=0 role=region aria-label=\"", text->title,
                    "\">");
    rm_html_text(out, text->text);
    rm_buffer_puts(out, "</pre>");
    if (text->meaning[0] != '\0') {
        rm_html_element(out, "<p class=note>", text->meaning, "</p>");
    }
}

/* ---- figures in front ------------------------------------------------------------------- */

void rm_html_tiles(struct rm_buffer *out, const struct rm_page_tiles *tiles)
{
    rm_buffer_puts(out, "<dl class=tiles>");
    for (size_t i = 0; i < tiles->count; i++) {
        rm_html_element(out, "<div><dt>", tiles->items[i].label, "</dt>");
        rm_html_element(out, "<dd>", tiles->items[i].value, "</dd>");
        if (tiles->items[i].small[0] != '\0') {
            rm_html_element(out, "<dd class=small>", tiles->items[i].small, "</dd>");
        }
        rm_buffer_puts(out, "</div>");
    }
    rm_buffer_puts(out, "</dl>");
}

void rm_html_answers(struct rm_buffer *out, const struct rm_page_answers *answers)
{
    if (answers->count == 0) {
        return;
    }
    rm_buffer_puts(out, "<dl class=answers>");
    for (size_t i = 0; i < answers->count; i++) {
        rm_html_element(out, "<div><dt>", answers->items[i].label, "</dt>");
        rm_html_element(out, "<dd><b>", answers->items[i].value, "</b> ");
        rm_html_element(out, "", answers->items[i].small, "</dd></div>");
    }
    rm_buffer_puts(out, "</dl>");
}

/* ---- charts ----------------------------------------------------------------------------- */

/* A line of a chart, and its number there. */
struct keyed {
    const struct rm_chart_line *line;
    size_t index;
};

/* In the order of their colours: the program first; bounds last. */
static int compare_keys(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    bool a_is_bound = a->line->colour < 0, b_is_bound = b->line->colour < 0;
    if (a_is_bound != b_is_bound) {
        return a_is_bound ? 1 : -1;
    }
    if (a->line->colour != b->line->colour) {
        return a->line->colour < b->line->colour ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static void put_key(struct rm_buffer *out, const struct keyed *key)
{
    const struct rm_chart_line *line = key->line;
    rm_buffer_puts(out, "<button type=button class=\"key k");
    if (line->colour < 0) {
        rm_buffer_puts(out, "-limit");
    } else {
        rm_buffer_printf(out, "%d", line->colour % COLOURS);
    }
    rm_buffer_printf(out, "%s\" aria-pressed=true data-line=%zu><i></i>",
                     line->is_level ? " dash" : "", key->index);
    rm_html_element(out, "<bdi>", line->label, "</bdi>");
    rm_html_element(out, "<span class=now>", line->said, "</span></button>");
}

/* What the chart shows, for who does not see it. */
static void put_alternative(struct rm_buffer *out, const struct rm_chart *chart)
{
    bool is_first = true;
    rm_html_text(out, chart->title);
    rm_buffer_puts(out, ". ");
    for (size_t i = 0; i < chart->count && i < MOST_SAID; i++) {
        if (chart->lines[i]->said[0] != '\0') {
            rm_buffer_puts(out, is_first ? "" : ". ");
            rm_html_element(out, "", chart->lines[i]->label, ": ");
            rm_html_text(out, chart->lines[i]->said);
            is_first = false;
        }
    }
}

static void put_keys(struct rm_buffer *out, const struct rm_chart *chart)
{
    struct keyed *keys = rm_alloc(chart->count + 1, sizeof *keys);
    if (keys == NULL) {
        out->status = RESMON_ENOMEM;
        return;
    }
    for (size_t i = 0; i < chart->count; i++) {
        keys[i] = (struct keyed){chart->lines[i], i};
    }
    qsort(keys, chart->count, sizeof *keys, compare_keys);
    rm_buffer_printf(out, "<div class=\"keys%s\">", chart->count > MANY_LINES ? " many" : "");
    for (size_t i = 0; i < chart->count; i++) {
        put_key(out, &keys[i]);
    }
    rm_buffer_puts(out, "</div>");
    rm_free(keys);
}

void rm_html_chart(struct rm_buffer *out, const struct rm_chart *chart, const char *place)
{
    rm_html_element(out, "<figure><figcaption><b>", chart->title, "</b> ");
    if (chart->note[0] != '\0') {
        rm_html_element(out, "<small>", chart->note, "</small>");
    }
    rm_buffer_puts(out, "<span class=at aria-hidden=true></span></figcaption>");
    if (rm_chart_has_points(chart)) {
        rm_html_element(out, "<div class=plot id=\"", place, "\" role=img aria-label=\"");
        put_alternative(out, chart);
        rm_buffer_puts(out, "\"></div>");
        put_keys(out, chart);
    } else {
        rm_html_element(out, "<p class=empty>",
                        chart->missing[0] != '\0' ? chart->missing : "Not measured.", "</p>");
    }
    rm_buffer_puts(out, "</figure>");
}
