/* SPDX-License-Identifier: MIT */
#include "scope/timed.h"

#include <resmon/monitor.h>
#include <resmon/watch.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/log.h"
#include "scope/peak.h"

void resmon_timed_begin(resmon_site *site, uint64_t meter, resmon_timed *ret_timed)
{
    *ret_timed = (resmon_timed){.site = site, .meter = meter};
    ret_timed->scope = rm_scope_begin_forced(site, (uint32_t)(meter & RESMON_METER_RSS));
    bool is_measured = ret_timed->scope != 0 && ret_timed->scope != RM_SCOPE_VOID;
    if (!is_measured && (meter & RESMON_METER_RSS) != 0) {
        (void)resmon_watch_begin(RESMON_METER_RSS, &ret_timed->watch); /* 0 when there is no room */
    }
    ret_timed->start_ns = rm_clock_monotonic_ns();
}

static void log_wall(const resmon_timed *timed, int64_t elapsed_ns)
{
    char text[RM_HUMAN_BYTES];
    rm_human_fixed(text, (double)elapsed_ns / (double)RM_NS_PER_S, 4);
    rm_log(RESMON_LOG_INFO, "%s finished in %s s", timed->site->name, text);
}

static bool end_watch(uint64_t watch, uint64_t *ret_peak)
{
    resmon_watched watched = {.struct_size = sizeof watched};
    if (resmon_watch_end(watch, &watched) != RESMON_OK ||
        watched.rss_provenance == RESMON_PROVENANCE_NONE) {
        return false;
    }
    *ret_peak = (uint64_t)watched.rss_peak_bytes;
    return true;
}

static void log_peak(const resmon_timed *timed, bool is_known, uint64_t peak)
{
    char text[RM_HUMAN_BYTES];
    if (!is_known) {
        rm_log(RESMON_LOG_INFO, "%s peak RSS unknown", timed->site->name);
        return;
    }
    rm_human_bytes(text, (double)peak);
    rm_log(RESMON_LOG_INFO, "%s peak RSS %s (%s)", timed->site->name, text,
           rm_peak_is_exact() ? "exact" : "sampled");
}

void resmon_timed_end(resmon_timed *timed)
{
    int64_t elapsed_ns = rm_clock_monotonic_ns() - timed->start_ns;
    uint64_t peak = 0;
    bool is_known = false;
    if (timed->scope != 0) {
        is_known = rm_scope_end_forced(timed->scope, &peak);
    }
    if (timed->watch != 0) {
        is_known = end_watch(timed->watch, &peak);
    }
    if (!rm_log_wants(RESMON_LOG_INFO)) {
        return;
    }
    if ((timed->meter & RESMON_METER_RSS) != 0) {
        log_peak(timed, is_known, peak);
    } else {
        log_wall(timed, elapsed_ns);
    }
}
