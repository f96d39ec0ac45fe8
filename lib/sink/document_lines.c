/* SPDX-License-Identifier: MIT */
/*
 * "lines" of a run document: checkpoints of lines.  Nobody follows them anywhere, so what cannot be
 * is 0, or not known, and refuses no document.
 */
#include <math.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/status.h"
#include "sink/document_parts.h"

#define LARGEST_LINE 0x1p32

static uint64_t count_in_bounds(uint64_t count)
{
    const uint64_t largest = (uint64_t)RM_DOCUMENT_EXACT - 1;
    return count < largest ? count : largest;
}

static double wall_in_bounds(double ns)
{
    return ns >= 0.0 && ns < RM_DOCUMENT_HEAVIEST ? ns : 0.0;
}

/* Less than 0 when it shrank. */
static double growth_in_bounds(double bytes)
{
    return fabs(bytes) < RM_DOCUMENT_HEAVIEST ? bytes : RM_NAN;
}

static double size_in_bounds(double bytes)
{
    return bytes >= 0.0 && bytes < RM_DOCUMENT_HEAVIEST ? bytes : RM_NAN;
}

/* ---- writing ---------------------------------------------------------------------------- */

static struct rm_json *write_line(const struct rm_run_line *line, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    rm_document_put_clean(object, "file", line->file, is_whole);
    rm_document_put_clean(object, "function", line->function, is_whole);
    rm_json_put_number(object, "line", (double)line->line, is_whole);
    rm_json_put_number(object, "hits", (double)count_in_bounds(line->hits), is_whole);
    rm_json_put_number(object, "wall_ns", wall_in_bounds(line->wall_ns), is_whole);
    rm_json_put_number(object, "rss_hits", (double)count_in_bounds(line->rss_hits), is_whole);
    rm_json_put_number(object, "rss_bytes", growth_in_bounds(line->rss_bytes), is_whole);
    rm_json_put_number(object, "rss_max_bytes", size_in_bounds(line->rss_max_bytes), is_whole);
    return object;
}

resmon_status rm_document_put_lines(const struct rm_output *output, const struct resmon_run *run)
{
    bool is_whole = true;
    if (run->line_count == 0) {
        return RESMON_OK;
    }
    resmon_status status = rm_output_puts(output, ",\n\"lines\":");
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_json *array = rm_json_array(&is_whole);
    for (size_t i = 0; i < run->line_count && is_whole; i++) {
        rm_json_append(array, write_line(&run->lines[i], &is_whole), &is_whole);
    }
    return rm_document_put(output, array, is_whole);
}

/* ---- reading ---------------------------------------------------------------------------- */

static uint64_t whole_of(const struct rm_json *object, const char *key, double bound)
{
    uint64_t number;
    return rm_document_whole(rm_json_get(object, key), bound, &number) ? number : 0;
}

resmon_status rm_document_read_lines(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(document, "lines");
    resmon_status status = RESMON_OK;
    run->lines = rm_arena_alloc(&run->strings, rm_json_count(array), sizeof *run->lines);
    if (run->lines == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the lines of a run document");
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e)) {
        struct rm_run_line *line = &run->lines[run->line_count++];
        line->file = rm_document_text(run, rm_json_get(e, "file"), &status);
        line->function = rm_document_text(run, rm_json_get(e, "function"), &status);
        line->line = (uint32_t)whole_of(e, "line", LARGEST_LINE);
        line->hits = whole_of(e, "hits", RM_DOCUMENT_EXACT);
        line->wall_ns = wall_in_bounds(rm_json_number(rm_json_get(e, "wall_ns")));
        line->rss_hits = whole_of(e, "rss_hits", RM_DOCUMENT_EXACT);
        line->rss_bytes = growth_in_bounds(rm_json_number(rm_json_get(e, "rss_bytes")));
        line->rss_max_bytes = size_in_bounds(rm_json_number(rm_json_get(e, "rss_max_bytes")));
    }
    return status;
}
