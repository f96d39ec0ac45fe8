/* SPDX-License-Identifier: MIT */
/* Run block -> checkpoints of lines of a run. */
#include "base/compiler.h"
#include "base/status.h"
#include "run/run.h"
#include "store/line_record.h"

size_t rm_run_lines_result(void)
{
    size_t texts = RM_LINE_FILE_BYTES + RM_LINE_FUNCTION_BYTES + (size_t)3 * RM_ARENA_SLACK;
    return RM_LINES * (sizeof(resmon_run_line) + texts);
}

resmon_status rm_run_decode_lines(const struct rm_block *block, double ns_per_tick,
                                  struct resmon_run *run)
{
    uint64_t room = block->header->sections[RM_SECTION_LINES].count;
    uint64_t count = RM_LOAD_ACQUIRE(&block->header->line_count);
    count = count < room ? count : room;
    run->lines = rm_arena_alloc(&run->strings, count, sizeof *run->lines);
    for (uint64_t i = 0; run->lines != NULL && i < count; i++) {
        const struct rm_line_record *record = rm_block_record(block, RM_SECTION_LINES, i);
        resmon_run_line *line = &run->lines[i];
        line->file = rm_arena_text(&run->strings, record->file, sizeof record->file);
        line->function = rm_arena_text(&run->strings, record->function, sizeof record->function);
        if (line->file == NULL || line->function == NULL) {
            break;
        }
        line->line = (uint32_t)record->line;
        line->hits = RM_LOAD(&record->hits);
        line->wall_ns = (double)RM_LOAD(&record->ticks) * ns_per_tick;
        line->rss_hits = RM_LOAD(&record->rss_hits);
        line->rss_bytes =
            line->rss_hits > 0 ? (double)(int64_t)RM_LOAD(&record->rss_bytes) : RM_NAN;
        uint64_t highest = RM_LOAD(&record->rss_highest);
        line->rss_max_bytes = highest > 0 ? (double)highest : RM_NAN;
        run->line_count++;
    }
    return run->line_count == count
               ? RESMON_OK
               : rm_error(RESMON_ENOMEM, "out of memory for the lines of a run");
}
