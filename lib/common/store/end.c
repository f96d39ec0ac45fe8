/* SPDX-License-Identifier: MIT */
#include "store/end.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/compiler.h"
#include "base/text.h"

/* ---- how the program ended -------------------------------------------------------------- */

/* ---- in a block ------------------------------------------------------------------------- */

/* Writes the copy that is not current, byte by byte: a reader may read either copy at the same
 * time. */
void rm_end_store(struct rm_block_header *header, const resmon_run_end *end)
{
    struct rm_end_record record = {.reason = end->reason,
                                   .exit_status = end->exit_status,
                                   .signal_number = end->signal_number};
    (void)rm_text_set(record.text, sizeof record.text, end->text);
    uint64_t version = header->end_version + 1;
    const char *from = (const char *)&record;
    char *to = (char *)&header->ends[version & 1];
    RM_FENCE_BEFORE_REFILL();
    for (size_t i = 0; i < sizeof record; i++) {
        RM_STORE(&to[i], from[i]);
    }
    RM_STORE_RELEASE(&header->end_version, version);
}

void rm_end_note_signal(struct rm_block_header *header, int signal_number)
{
    RM_STORE(&header->end_signal, (uint32_t)signal_number);
}

void rm_end_load(const struct rm_block_header *header, struct rm_end_record *ret_record)
{
    char *to = (char *)ret_record;
    uint64_t before = 0;
    for (int tries = 0; tries < 100; tries++) {
        before = RM_LOAD_ACQUIRE(&header->end_version);
        const char *from = (const char *)&header->ends[before & 1];
        for (size_t i = 0; i < sizeof *ret_record; i++) {
            to[i] = RM_LOAD(&from[i]);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (RM_LOAD(&header->end_version) == before) {
            break;
        }
    }
    uint32_t signal_number = RM_LOAD(&header->end_signal);
    if (signal_number != 0 && signal_number < 128) {
        *ret_record = (struct rm_end_record){
            .reason = signal_number == SIGINT ? RESMON_END_INTERRUPTED : RESMON_END_KILLED,
            .signal_number = (int32_t)signal_number};
    }
    /* A damaged file may hold anything. */
    bool is_reason =
        ret_record->reason >= RESMON_END_UNKNOWN && ret_record->reason <= RESMON_END_KILLED;
    ret_record->reason = is_reason ? ret_record->reason : RESMON_END_UNKNOWN;
    ret_record->exit_status = ret_record->exit_status > 0 ? ret_record->exit_status : 0;
    ret_record->signal_number = ret_record->signal_number > 0 ? ret_record->signal_number : 0;
}

resmon_run_end rm_end_of_status(int status)
{
    resmon_run_end end = {.struct_size = sizeof end, .text = ""};
    if (WIFSIGNALED(status)) {
        end.signal_number = WTERMSIG(status);
        end.reason = end.signal_number == SIGINT ? RESMON_END_INTERRUPTED : RESMON_END_KILLED;
    } else {
        end.exit_status = WEXITSTATUS(status);
        end.reason = end.exit_status == 0 ? RESMON_END_FINISHED : RESMON_END_FAILED;
    }
    return end;
}

/* ---- what it used ----------------------------------------------------------------------- */

bool rm_usage_store(struct rm_block_header *header, const resmon_run_usage *usage)
{
    if (header->has_usage != 0) {
        return false;
    }
    header->usage = *usage;
    header->usage.wall_s = usage->wall_s > 0.0 ? usage->wall_s : RM_NAN;
    RM_STORE_RELEASE(&header->has_usage, 1);
    return true;
}

bool rm_usage_load(const struct rm_block_header *header, resmon_run_usage *ret_usage)
{
    bool has_usage = RM_LOAD_ACQUIRE(&header->has_usage) == 1;
    if (has_usage) {
        *ret_usage = header->usage;
    }
    return has_usage;
}
