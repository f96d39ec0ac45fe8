/* SPDX-License-Identifier: MIT */
#include "view/renderers.h"

#include <string.h>

#include <resmon/version.h>

#include "base/human.h"
#include "view/assets.h"
#include "view/html.h"

#define MOST_BYTES ((size_t)256 << 20)
#define MOST_DEPTH 256 /* of indentation */
#define DOT        " <span aria-hidden=true>\xc2\xb7</span> "

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

/* ---- tables ----------------------------------------------------------------------------- */

static void put_share(struct rm_buffer *out, const struct rm_page_cell *cell)
{
    rm_buffer_puts(out, "<span class=share style=\"--s:");
    rm_html_number(out, cell->share, 4);
    rm_buffer_puts(out, ";--i:");
    rm_html_number(out, cell->inner, 4);
    rm_html_element(out, "\">", cell->text, "</span>");
}

/* A name in a tree, indented by em spaces. */
static void put_name(struct rm_buffer *out, const struct rm_page_cell *cell)
{
    for (uint32_t i = 0; i < cell->depth && i < MOST_DEPTH; i++) {
        rm_buffer_puts(out, "\xe2\x80\x83");
    }
    rm_html_text(out, cell->text);
    rm_html_text(out, cell->marks != NULL ? cell->marks : "");
}

static const char *class_of(const struct rm_page_column *column, bool is_first)
{
    return column->is_code   ? " class=c"
           : column->is_wide ? " class=w"
           : column->is_left ? " class=l"
           : is_first        ? " class=n"
                             : "";
}

static void put_cell(struct rm_buffer *out, const struct rm_page_table *table, size_t row,
                     size_t column, bool is_first)
{
    const struct rm_page_cell *cell = &rm_page_cells(table, row)[column];
    bool leads = table->is_index && is_first && row + (table->has_sum ? 1 : 0) < table->count;
    rm_buffer_printf(out, "<%s%s%s", is_first ? "th" : "td", is_first ? " scope=row" : "",
                     class_of(&table->columns[column], is_first));
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
            put_name(out, cell);
        }
        rm_buffer_puts(out, leads ? "</a>" : "");
    }
    rm_buffer_puts(out, is_first ? "</th>" : "</td>");
}

static void put_headers(struct rm_buffer *out, const struct rm_page_table *table)
{
    bool has_any = false;
    for (size_t i = 0; i < table->column_count; i++) {
        has_any |= table->columns[i].title != NULL && table->columns[i].title[0] != '\0';
    }
    if (!has_any) {
        return;
    }
    rm_buffer_puts(out, "<thead><tr>");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct rm_page_column *column = &table->columns[i];
        if (column->title != NULL) {
            rm_html_element(out,
                            column->is_left || column->is_wide ? "<th scope=col class=l>"
                                                               : "<th scope=col>",
                            column->title, "</th>");
        }
    }
    rm_buffer_puts(out, "</tr></thead>");
}

static void put_row(struct rm_buffer *out, const struct rm_page_table *table, size_t row)
{
    bool is_first = true;
    rm_buffer_puts(out, table->has_sum && row + 1 == table->count ? "<tr class=sum>" : "<tr>");
    for (size_t column = 0; column < table->column_count; column++) {
        if (table->columns[column].title != NULL) {
            put_cell(out, table, row, column, is_first);
            is_first = false;
        }
    }
    rm_buffer_puts(out, "</tr>");
}

void rm_html_table(struct rm_buffer *out, const struct rm_page_table *table, const char *heading)
{
    if (heading != NULL && table->title[0] != '\0') {
        rm_buffer_printf(out, "<%s>", heading);
        rm_html_text(out, table->title);
        rm_buffer_printf(out, "</%s>", heading);
    }
    if (table->lead[0] != '\0') {
        rm_html_element(out, "<p class=lead>", table->lead, "</p>");
    }
    rm_html_element(out, "<div class=scroll tabindex=0 role=region aria-label=\"", table->title,
                    "\"><table>");
    put_headers(out, table);
    rm_buffer_puts(out, "<tbody>");
    for (size_t row = 0; row < table->count; row++) {
        put_row(out, table, row);
    }
    rm_buffer_puts(out, "</tbody></table></div>");
    for (size_t i = 0; i < table->note_count; i++) {
        rm_html_element(out, "<p class=note>", table->notes[i], "</p>");
    }
}

/* ---- tiles, rows, lists ----------------------------------------------------------------- */

static void put_tiles(struct rm_buffer *out, const struct rm_page_tiles *tiles)
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

static void put_answers(struct rm_buffer *out, const struct rm_page_rows *rows)
{
    rm_buffer_puts(out, rows->count > 0 ? "<dl class=answers>" : "");
    for (size_t i = 0; i < rows->count; i++) {
        const struct rm_page_row *row = &rows->items[i];
        rm_html_element(out, "<div><dt>", row->label, "</dt>");
        rm_html_element(out, "<dd><b>", row->value, "</b> ");
        for (size_t k = 0; k < row->count; k++) {
            rm_html_element(out, k > 0 ? "; " : "", row->clauses[k], "");
        }
        rm_buffer_puts(out, "</dd></div>");
    }
    rm_buffer_puts(out, rows->count > 0 ? "</dl>" : "");
}

static void put_list(struct rm_buffer *out, const struct rm_page_list *list, const char *class_name)
{
    if (list->count > 0) {
        rm_buffer_printf(out, "<ul class=%s>", class_name);
        for (size_t i = 0; i < list->count; i++) {
            rm_html_element(out, "<li>", list->items[i], "</li>\n");
        }
        rm_buffer_puts(out, "</ul>\n");
    }
}

/* ---- the file ----------------------------------------------------------------------------- */

/* The frame of the file: at its begin a head with the style and a content security policy, which
 * allows only the scripts of the file, by their hashes, and no requests; at its end the numbers of
 * the charts and the scripts that draw them. */
struct file {
    struct rm_buffer *out;
    const char *title; /* text of any origin */
    bool has_charts;   /* drawn by scripts; without charts there are no scripts */
};

/* A hash in base64, from hexadecimal. */
static void put_hash(struct rm_buffer *out, const char *hexadecimal)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned count = 0;
    rm_buffer_puts(out, " 'sha256-");
    for (const char *at = hexadecimal; *at != '\0'; at++) {
        bits = bits << 4 | (uint32_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        count += 4;
        if (count >= 6) {
            count -= 6;
            rm_buffer_add(out, &letters[bits >> count & 63], 1);
        }
    }
    if (count > 0) {
        rm_buffer_add(out, &letters[bits << (6 - count) & 63], 1);
    }
    rm_buffer_puts(out, "='");
}

static void put_policy(const struct file *file)
{
    rm_buffer_puts(file->out, "<meta http-equiv=Content-Security-Policy content=\"default-src "
                              "'none'; style-src 'unsafe-inline'; img-src data:; script-src");
    if (file->has_charts) {
        put_hash(file->out, rm_asset_uplot_script.sha256);
        put_hash(file->out, rm_asset_script.sha256);
    } else {
        rm_buffer_puts(file->out, " 'none'");
    }
    rm_buffer_puts(file->out, "\">\n");
}

static void put_asset(struct rm_buffer *out, const char *opening, const struct rm_asset *asset,
                      const char *closing)
{
    rm_buffer_puts(out, opening);
    rm_buffer_add(out, asset->text, asset->length);
    rm_buffer_puts(out, closing);
}

static void begin_file(const struct file *file)
{
    struct rm_buffer *out = file->out;
    rm_buffer_puts(out, "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    put_policy(file);
    rm_buffer_puts(out, "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                        "<meta name=color-scheme content=\"light dark\">\n<meta name=generator "
                        "content=\"resmon ");
    rm_buffer_puts(out, resmon_version());
    rm_buffer_puts(out, "\">\n<title>");
    rm_html_text(out, file->title);
    rm_buffer_puts(out, "</title>\n<link rel=icon href=\"data:,\">\n");
    if (file->has_charts) {
        put_asset(out, "<style>", &rm_asset_uplot_style, "</style>");
    }
    put_asset(out, "<style>", &rm_asset_style, "</style>\n</head>\n<body>\n<header><h1><bdi>");
    rm_html_text(out, file->title);
    rm_buffer_puts(out, "</bdi></h1>");
}

static void begin_main(const struct file *file)
{
    rm_buffer_puts(file->out, "</header>\n<main>\n");
    if (file->has_charts) {
        rm_buffer_puts(file->out,
                       "<noscript><p class=empty>The charts are drawn by a script, and scripts "
                       "are switched off here.\nThe tables are complete.</p></noscript>\n");
    }
}

/* JSON for a script element: without "<". */
static void put_json(struct rm_buffer *out, const char *text)
{
    static const char unsafe[] = "<>&";
    while (text != NULL && *text != '\0') {
        size_t plain = strcspn(text, unsafe);
        rm_buffer_add(out, text, plain);
        text += plain;
        if (*text != '\0') {
            rm_buffer_printf(out, "\\u%04x", (unsigned)(unsigned char)*text++);
        }
    }
}

static void end_file(const struct file *file, const char *numbers)
{
    struct rm_buffer *out = file->out;
    rm_buffer_puts(out, "\n</main>\n<footer>resmon ");
    rm_buffer_puts(out, resmon_version());
    if (file->has_charts) {
        rm_buffer_puts(out, ". In the charts: drag to zoom, double click to see all, click a name "
                            "to hide its line.\nCharts by uPlot, copyright Leon Sorokin, MIT "
                            "license.</footer>\n<script type=application/json id=resmon-data>");
        put_json(out, numbers);
        put_asset(out, "</script>\n<script>", &rm_asset_uplot_script, "</script>\n");
        put_asset(out, "<script>", &rm_asset_script, "</script>\n");
    } else {
        rm_buffer_puts(out, ".</footer>\n");
    }
    rm_buffer_puts(out, "</body>\n</html>\n");
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* A page while it is written. */
struct html {
    struct rm_buffer *out;
    struct rm_report *view; /* NULL: the page is not about runs */
    struct rm_html_charts charts;
    bool is_in_run;     /* of several runs, in a part that can be collapsed */
    const char *beside; /* the class of the group of blocks side by side; NULL: none */
};

static void put(struct html *html, const char *text)
{
    rm_buffer_puts(html->out, text);
}

static void put_text(struct html *html, const char *opening, const char *text, const char *closing)
{
    rm_html_element(html->out, opening, text, closing);
}

/* "host · 2026-11-22 01:47:03 UTC · 3 min 20 s · stopped". */
static void put_meta(struct html *html, const struct rm_subject *subject)
{
    struct rm_page *page = html->view->page;
    const struct resmon_run *run = subject->run;
    const char *start = rm_subject_start(page, run), *outcome = rm_subject_outcome(page, run);
    const char *state = strcmp(outcome, run->info.state) == 0 ? run->info.state : "interrupted";
    const char *job = rm_run_fact_text(run, "job", "id");
    put_text(html, "<p class=meta><bdi>", rm_page_shown(page, rm_subject_host(run)), "</bdi>" DOT);
    if (job[0] != '\0') {
        put_text(html, "job ", rm_page_shown(page, job), DOT);
    }
    put_text(html, "", start != NULL ? start : RM_PAGE_UNKNOWN, DOT);
    put_text(html, "", rm_page_value(page, rm_subject_seconds(run), "s"),
             DOT "<span class=\"state ");
    put_text(html, "", state, "\"><bdi>");
    put_text(html, "", rm_page_shown(page, outcome), "</bdi></span>");
    if (run->info.label[0] != '\0') {
        put_text(html, DOT "<bdi>", rm_page_shown(page, run->info.label), "</bdi>");
    }
    put(html, "</p>");
}

static void put_title(struct html *html, const struct rm_page_block *block)
{
    put_text(html, "<h3>", block->text, "</h3>");
    if (block->note[0] != '\0') {
        put_text(html, "<p class=note>", block->note, "</p>");
    }
}

static void put_table(struct html *html, const struct rm_page_block *block)
{
    const struct rm_page_table *table = block->what;
    if (block->is_folded) {
        put_text(html, "<details><summary>", table->title, "</summary>");
        rm_html_table(html->out, table, NULL);
        put(html, "</details>");
        return;
    }
    bool is_fact = html->beside != NULL;
    put(html, is_fact ? "<section>" : "");
    rm_html_table(html->out, table, html->is_in_run || html->view == NULL ? "h3" : "h2");
    put(html, is_fact ? "</section>" : "");
}

/* Facts and plots are placed side by side if the window is wide enough. */
static void begin_group(struct html *html, const struct rm_page_block *block)
{
    const char *wanted = block == NULL                      ? NULL
                         : strcmp(block->note, "fact") == 0 ? "facts"
                         : strcmp(block->note, "plot") == 0 ? "charts"
                                                            : NULL;
    if (wanted != html->beside) {
        put(html, html->beside != NULL ? "</div>" : "");
        if (wanted != NULL) {
            put_text(html, "<div class=", wanted, ">");
        }
        html->beside = wanted;
    }
}

/* Behind the comparison of several runs, each run has a part that can be collapsed. */
static void put_run(struct html *html, const struct rm_page_block *block)
{
    if (html->view->count > 1) {
        put(html, block->number == 0 ? "<h2>One by one</h2>" : "</details>");
        rm_buffer_printf(html->out, "<details class=run id=run%zu%s><summary><h2><bdi>",
                         block->number, block->is_folded ? "" : " open");
        put_text(html, "", block->text, "</bdi></h2></summary>");
        put_meta(html, block->what);
    }
    html->is_in_run = true;
}

static void put_alignment(struct html *html)
{
    const struct rm_report *view = html->view;
    const double *offsets = rm_names_offsets(view->page, view->subjects, view->count);
    bool are_apart = false;
    for (size_t i = 0; offsets != NULL && i < view->count; i++) {
        are_apart |= offsets[i] > 0.0;
    }
    put(html, "<div class=bar><h2>All together</h2>");
    if (are_apart) {
        put(html,
            "<div class=align role=group aria-label=\"Time of the charts\"><button type=button "
            "aria-pressed=false data-align=start>from the start of each</button><button "
            "type=button "
            "aria-pressed=true data-align=clock>by the clock</button></div>");
    }
    put(html, "</div>");
}

static void put_charts(struct html *html, const struct rm_page_block *block)
{
    struct rm_report *view = html->view;
    if (block->what == NULL) {
        rm_html_charts_put_all(&html->charts,
                               rm_names_offsets(view->page, view->subjects, view->count));
        return;
    }
    const struct rm_subject *subject = block->what;
    rm_html_charts_put(&html->charts, (size_t)(subject - view->subjects));
    if (subject->quiet_count > 0) {
        put_text(html, "<p class=note>Always zero: ",
                 rm_page_join(view->page, ", ", subject->quiet, subject->quiet_count), ".</p>");
    }
}

static void put_block(struct html *html, const struct rm_page_block *block)
{
    begin_group(html, block);
    switch (block->kind) {
    case RM_BLOCK_TITLE:
        put_title(html, block);
        break;
    case RM_BLOCK_LINE:
        rm_buffer_printf(html->out, "<p class=\"verdict %s\">", block->note);
        put_text(html, "", block->text, "</p>\n");
        break;
    case RM_BLOCK_NOTE:
        put_text(html, "<p class=note>", block->text, "</p>");
        break;
    case RM_BLOCK_ROWS:
        put_answers(html->out, block->what);
        break;
    case RM_BLOCK_TILES:
        put_tiles(html->out, block->what);
        break;
    case RM_BLOCK_TABLE:
        put_table(html, block);
        break;
    case RM_BLOCK_LIST:
        put_list(html->out, block->what, block->note[0] != '\0' ? block->note : "remarks");
        break;
    case RM_BLOCK_CHARTS:
        put_charts(html, block);
        break;
    case RM_BLOCK_DRAWING:
        block->draw(html->out, block->what);
        break;
    case RM_BLOCK_RUN:
        put_run(html, block);
        break;
    case RM_BLOCK_ALL:
        put_alignment(html);
        break;
    }
}

static void put_blocks(struct html *html, const struct rm_page *page)
{
    for (const struct rm_page_block *block = page->first; block != NULL; block = block->next) {
        put_block(html, block);
    }
    begin_group(html, NULL);
    put(html, html->view != NULL && html->view->count > 1 ? "</details>" : "");
}

/* ---- the page ----------------------------------------------------------------------------- */

/* The line below the title: `meta`, or the data of the only run. */
static void put_subtitle(struct html *html, const char *meta)
{
    if (meta == NULL) {
        put_meta(html, &html->view->subjects[0]);
    } else if (html->view != NULL && html->view->count > 1) {
        put_text(html, "<p class=meta>", meta, "</p>");
    } else if (meta[0] != '\0') {
        put_text(html, "<p class=meta><bdi>", meta, "</bdi></p>");
    }
}

static void write_page(struct html *html, struct rm_page *page, const char *meta, bool has_charts)
{
    const struct file file = {html->out, page->title, has_charts};
    struct rm_buffer numbers;
    rm_buffer_init(&numbers, MOST_BYTES);
    begin_file(&file);
    put_subtitle(html, meta);
    begin_main(&file);
    put_blocks(html, page);
    if (has_charts) {
        rm_html_charts_write(&html->charts, &numbers);
    }
    end_file(&file, numbers.text);
    page->is_broken |= numbers.status != RESMON_OK;
    rm_html_charts_close(&html->charts);
    rm_buffer_free(&numbers);
}

void rm_html_write(struct rm_buffer *out, struct rm_report *view)
{
    struct html html = {.out = out, .view = view};
    const char *meta =
        view->count > 1 ? rm_names_meta(view->page, view->subjects, view->count) : NULL;
    rm_html_charts_open(&html.charts, out, view->page, view->subjects, view->count);
    write_page(&html, view->page, meta, true);
}

void rm_html_write_compared(struct rm_buffer *out, struct rm_page *page, const char *meta,
                            struct rm_subject *subjects, size_t count)
{
    struct rm_report view = {.page = page, .subjects = subjects, .count = 1};
    struct html html = {.out = out, .view = count > 0 ? &view : NULL};
    rm_html_charts_open(&html.charts, out, page, subjects, count);
    write_page(&html, page, meta, count > 0);
}
