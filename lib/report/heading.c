/* SPDX-License-Identifier: MIT */
#include "report/heading.h"

#include <string.h>

#include "base/human.h"
#include "run/headline.h"

/* "  failed: ValueError: no such column (exit status 1)" */
void rm_report_failure(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    if (end.reason == RESMON_END_FAILED && (end.text[0] != '\0' || end.exit_status != 0)) {
        rm_buffer_printf(buffer, "  failed: %s", end.text);
        if (end.exit_status != 0) {
            rm_buffer_printf(buffer, end.text[0] != '\0' ? " (exit status %d)" : "exit status %d",
                             end.exit_status);
        }
        rm_buffer_puts(buffer, "\n");
    } else if (end.reason == RESMON_END_UNKNOWN && end.text[0] != '\0') {
        rm_buffer_printf(buffer, "  %s\n", end.text);
    }
    const char *cut = rm_run_fact_text(run, "run", RM_FACT_CUT);
    if (cut[0] != '\0') {
        rm_buffer_printf(buffer, "  the end of the recording is missing: there are %s\n", cut);
    }
}

void rm_report_heading(struct rm_buffer *buffer, const struct resmon_run *run)
{
    char duration[RM_HUMAN_BYTES], memory[RM_HUMAN_BYTES], cpus[RM_HUMAN_BYTES], end[64];
    const char *name = rm_run_fact_text(run, "run", "name");
    rm_human_seconds(duration, rm_run_headline(run).wall_s);
    rm_human_bytes(memory, rm_run_fact_number(run, "machine", "memory_bytes"));
    rm_human_count(cpus, rm_run_fact_number(run, "machine", "cpus"));
    rm_end_describe(run, end);
    rm_buffer_printf(buffer, "resmon %s%s%s: %s after %s, %llu samples\n",
                     name[0] != '\0' ? "'" : "run", name, name[0] != '\0' ? "'" : "", end, duration,
                     (unsigned long long)run->info.samples);
    rm_report_failure(buffer, run);
    rm_buffer_printf(buffer, "  %.90s\n", rm_run_fact_text(run, "run", "command_line"));
    rm_buffer_printf(buffer, "  %.24s: %.30s, Linux %.24s, %.40s, %s CPUs, %s\n",
                     rm_run_fact_text(run, "machine", "host_name"),
                     rm_run_fact_text(run, "machine", "os"),
                     rm_run_fact_text(run, "machine", "kernel"),
                     rm_run_fact_text(run, "machine", "cpu_model"), cpus, memory);
    if (run->info.label[0] != '\0') {
        rm_buffer_printf(buffer, "  label: %s\n", run->info.label);
    }
    bool is_observed = rm_run_fact_text(run, "run", RM_FACT_OBSERVED)[0] != '\0';
    if (strcmp(run->info.state, "interrupted") == 0 && !is_observed) {
        rm_buffer_puts(buffer,
                       "  The program ended without stopping its monitor (killed, or out of "
                       "memory); this is what it had\n  recorded.\n");
    }
}
