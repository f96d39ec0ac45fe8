/* SPDX-License-Identifier: MIT */
#include "run/decode_processes.h"

#include "base/compiler.h"
#include "base/status.h"
#include "store/end.h"
#include "store/process_row.h"

static void set_end(const struct rm_process_row *row, uint32_t known, resmon_run_process *process)
{
    process->reason = (known & RM_PROCESS_HAS_ENDED) == 0 ? RESMON_END_RUNNING : RESMON_END_UNKNOWN;
    if ((known & RM_PROCESS_HAS_STATUS) != 0) {
        const resmon_run_end end = rm_end_of_status((int)row->wait_status);
        process->reason = end.reason;
        process->exit_status = end.exit_status;
        process->signal_number = end.signal_number;
    }
}

static resmon_run_process decode(const struct rm_process_row *row, int64_t duration_ns)
{
    uint32_t known = RM_LOAD_ACQUIRE(&row->known);
    int64_t end_ns = (known & RM_PROCESS_HAS_ENDED) != 0 ? RM_LOAD(&row->end_ns) : duration_ns;
    bool has_cpu = (known & RM_PROCESS_HAS_CPU) != 0;
    bool has_peak = (known & RM_PROCESS_HAS_PEAK) != 0;
    resmon_run_process process = {
        .pid = (int64_t)(row->pid & UINT32_MAX),
        .parent_pid = (int64_t)(row->parent & UINT32_MAX),
        .start_ns = row->start_ns,
        .duration_ns = end_ns > row->start_ns ? end_ns - row->start_ns : 0,
        .cpu_s = has_cpu ? (double)RM_LOAD(&row->cpu_ns) * 1e-9 : RM_NAN,
        .cpu_provenance = !has_cpu                                   ? RESMON_PROVENANCE_NONE
                          : (known & RM_PROCESS_CPU_IS_SAMPLED) != 0 ? RESMON_PROVENANCE_SAMPLED
                                                                     : RESMON_PROVENANCE_MEASURED,
        .rss_peak_bytes = has_peak ? (double)RM_LOAD(&row->rss_peak) : RM_NAN,
        .rss_peak_provenance = !has_peak ? RESMON_PROVENANCE_NONE
                               : (known & RM_PROCESS_PEAK_IS_EXACT) != 0
                                   ? RESMON_PROVENANCE_MEASURED
                                   : RESMON_PROVENANCE_SAMPLED,
    };
    set_end(row, known, &process);
    return process;
}

resmon_status rm_run_decode_processes(const struct rm_block *block, struct resmon_run *run)
{
    uint64_t room = block->header->sections[RM_SECTION_PROCESSES].count;
    uint64_t count = RM_LOAD_ACQUIRE(&block->header->process_count);
    count = count < room ? count : room;
    run->info.dropped_processes = RM_LOAD(&block->header->dropped_processes);
    if (count == 0) {
        return RESMON_OK;
    }
    run->processes = rm_arena_alloc(&run->strings, count, sizeof *run->processes);
    for (uint64_t i = 0; run->processes != NULL && i < count; i++) {
        const struct rm_process_row *row = rm_block_record(block, RM_SECTION_PROCESSES, i);
        resmon_run_process *process = &run->processes[i];
        *process = decode(row, run->info.duration_ns);
        process->name = rm_arena_text(&run->strings, row->name, sizeof row->name);
        if (process->name == NULL) {
            break;
        }
        run->process_count++;
    }
    return run->process_count == count
               ? RESMON_OK
               : rm_error(RESMON_ENOMEM, "out of memory for the processes of a run");
}
