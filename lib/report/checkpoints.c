/* SPDX-License-Identifier: MIT */
#include "report/checkpoints.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "store/line_record.h"

#define MOST_FUNCTIONS 8  /* in the summary */
#define MOST_LINES     32 /* of each of them */

static const char *const titles[] = {
    [RM_LINES_TIME] =
        "\nCheckpoints, by wall time (exact: from one RESMON_LINE() of a function to its next, not "
        "sampled;\n  with the functions called meanwhile, which may have a table of their own)\n",
    [RM_LINES_MEMORY] =
        "\nCheckpoints, by growth of memory (exact: the process's RSS at both RESMON_LINE(), not "
        "sampled;\n  Mem usage: the highest at the second one; Increment: with the functions "
        "called "
        "meanwhile)\n",
};

/* What was marked is shown also where nothing grew: then its own is still more than 0.  Of the
 * first checkpoint of a function only the usage is known. */
static struct rm_line row_of(const resmon_run_line *line, enum rm_line_table table)
{
    bool is_time = table == RM_LINES_TIME;
    double amount = is_time ? line->wall_ns : line->rss_bytes;
    bool has_any = (is_time ? line->hits : line->rss_hits) > 0 && isfinite(amount);
    bool has_usage = !is_time && isfinite(line->rss_max_bytes);
    return (struct rm_line){
        .function = line->function,
        .file = line->file,
        .line = (uint32_t)line->line,
        .hits = line->hits,
        .time_ns = line->wall_ns,
        .bytes = line->rss_bytes,
        .occurrences = line->rss_hits,
        .memory_bytes = line->rss_max_bytes,
        .own = has_any     ? 1.0 + fabs(amount)
               : has_usage ? 1.0
                           : 0.0,
    };
}

static size_t fill(struct rm_line *rows, const struct resmon_run *run, const char *function,
                   enum rm_line_table table)
{
    size_t count = 0;
    for (size_t i = 0; i < run->line_count; i++) {
        const resmon_run_line *line = &run->lines[i];
        const struct rm_line row = row_of(line, table);
        if (row.own > 0.0 && (function == NULL || strcmp(line->function, function) == 0)) {
            rows[count++] = row;
        }
    }
    return count;
}

static size_t write_table(struct rm_buffer *buffer, const struct resmon_run *run,
                          const char *function, const struct rm_line_terms *terms)
{
    struct rm_line *rows = rm_alloc(run->line_count, sizeof *rows);
    if (rows == NULL) {
        rm_buffer_puts(buffer, "\nCheckpoints\n  (not shown: out of memory)\n");
        return 0;
    }
    size_t written = 0;
    size_t count = fill(rows, run, function, terms->table);
    if (count > 0) {
        rm_buffer_puts(buffer, titles[terms->table]);
        written = rm_lines_write(buffer, rows, count, terms);
    }
    rm_free(rows);
    return written;
}

static void write_dropped(struct rm_buffer *buffer, const struct resmon_run *run)
{
    if (run->info.dropped_lines > 0) {
        rm_buffer_printf(buffer,
                         "  and %llu more places of RESMON_LINE() that had no room: %u have\n",
                         (unsigned long long)run->info.dropped_lines, RM_LINES);
    }
}

static size_t write_tables(struct rm_buffer *buffer, const struct resmon_run *run,
                           const char *function, struct rm_line_terms terms)
{
    if (run->line_count == 0) {
        return 0;
    }
    terms.table = RM_LINES_TIME;
    size_t timed = write_table(buffer, run, function, &terms);
    terms.table = RM_LINES_MEMORY;
    size_t grown = write_table(buffer, run, function, &terms);
    write_dropped(buffer, run);
    return timed > grown ? timed : grown;
}

void rm_report_checkpoints(struct rm_buffer *buffer, const struct resmon_run *run,
                           const struct rm_report_terms *report)
{
    const struct rm_line_terms terms = {.sources = report->sources,
                                        .width = report->width,
                                        .most_functions = MOST_FUNCTIONS,
                                        .most_lines = MOST_LINES};
    (void)write_tables(buffer, run, NULL, terms);
}

size_t rm_report_checkpoint_lines(struct rm_buffer *buffer, const struct resmon_run *run,
                                  const char *function, const struct rm_report_terms *report)
{
    const struct rm_line_terms terms = {.sources = report->sources,
                                        .width = report->width,
                                        .most_functions = SIZE_MAX,
                                        .most_lines = 400,
                                        .is_filled = function != NULL};
    return write_tables(buffer, run, function, terms);
}
