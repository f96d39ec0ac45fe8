/* SPDX-License-Identifier: MIT */
#include "view/diff.h"

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"

/* XML 1.0 knows no control characters: rm_text_copy() has replaced them. */
static void put(struct rm_buffer *buffer, const char *text)
{
    static const struct {
        char letter;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    char clean[1024];
    (void)rm_text_set(clean, sizeof clean, text);
    for (const char *at = clean; *at != '\0'; at++) {
        const char *entity = NULL;
        for (size_t i = 0; i < RM_ARRAY_LEN(entities); i++) {
            entity = *at == entities[i].letter ? entities[i].entity : entity;
        }
        if (entity != NULL) {
            rm_buffer_puts(buffer, entity);
        } else {
            rm_buffer_add(buffer, at, 1);
        }
    }
}

static void put_case(struct rm_buffer *buffer, struct rm_page *page, const struct rm_diff_row *row)
{
    const char *text = rm_diff_row_text(page, row);
    rm_buffer_puts(buffer, "    <testcase classname=\"");
    put(buffer, row->path[0] != '\0' ? row->path : "run");
    rm_buffer_printf(buffer, "\" name=\"%s\">", rm_figures[row->figure].title);
    if (row->verdict == RM_VERDICT_WORSE) {
        rm_buffer_puts(buffer, "<failure message=\"");
        put(buffer, text);
        rm_buffer_puts(buffer, "\"/>");
    } else if (row->verdict == RM_VERDICT_CANNOT_TELL) {
        rm_buffer_puts(buffer, "<skipped message=\"cannot tell: ");
        put(buffer, text);
        rm_buffer_puts(buffer, "\"/>");
    } else {
        rm_buffer_puts(buffer, "<system-out>");
        put(buffer, text);
        rm_buffer_puts(buffer, "</system-out>");
    }
    rm_buffer_puts(buffer, "</testcase>\n");
}

resmon_status rm_diff_write_junit(struct rm_buffer *buffer, const struct rm_diff *diff)
{
    struct rm_page page = {.title = ""};
    rm_buffer_puts(buffer, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                           "  <testsuite name=\"resmon diff\"");
    rm_buffer_printf(buffer, " tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" errors=\"0\">\n",
                     diff->row_count - rm_diff_count(diff, RM_VERDICT_NONE),
                     rm_diff_count(diff, RM_VERDICT_WORSE),
                     rm_diff_count(diff, RM_VERDICT_CANNOT_TELL));
    for (size_t i = 0; i < diff->row_count; i++) {
        if (diff->rows[i].rule != NULL) {
            put_case(buffer, &page, &diff->rows[i]);
        }
    }
    rm_buffer_puts(buffer, "  </testsuite>\n</testsuites>\n");
    bool is_broken = page.is_broken;
    rm_page_free(&page);
    return is_broken ? rm_error(RESMON_ENOMEM, "out of memory for a comparison") : RESMON_OK;
}
