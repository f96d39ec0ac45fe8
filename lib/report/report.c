/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <resmon/report.h>

#include "report/brief.h"
#include "report/checkpoints.h"
#include "report/cost.h"
#include "report/counters.h"
#include "report/energy.h"
#include "report/figures.h"
#include "report/heading.h"
#include "report/job.h"
#include "report/missing.h"
#include "report/phases.h"
#include "report/processes.h"
#include "report/profile.h"
#include "report/wrap.h"

static void write_full(struct rm_buffer *buffer, const struct resmon_run *run,
                       const struct rm_report_terms *terms)
{
    rm_report_heading(buffer, run);
    rm_report_phases(buffer, run, terms->width);
    rm_report_processes(buffer, run, terms->width);
    rm_report_job(buffer, run, terms->width, RM_REPORT_JOB_FULL);
    rm_report_counters(buffer, run, terms->width);
    rm_report_figures(buffer, run, terms->width);
    rm_report_energy(buffer, run);
    rm_report_checkpoints(buffer, run, terms);
    rm_report_profile(buffer, run, terms);
    rm_report_missing(buffer, run);
    rm_report_cost(buffer, run);
}

void rm_report_write(struct rm_buffer *buffer, const struct resmon_run *run,
                     const struct rm_report_terms *terms)
{
    struct rm_buffer text;
    if (terms->detail == RESMON_REPORT_ROWS) {
        rm_report_brief(buffer, run, terms);
        return;
    }
    rm_buffer_init(&text, buffer->bound);
    if (terms->detail == RESMON_REPORT_FULL) {
        write_full(&text, run, terms);
    } else {
        rm_report_brief(&text, run, terms);
    }
    if (text.status == RESMON_OK && text.text != NULL) {
        rm_report_wrap(buffer, text.text, terms->width);
    } else {
        buffer->status = text.status;
    }
    rm_buffer_free(&text);
}
