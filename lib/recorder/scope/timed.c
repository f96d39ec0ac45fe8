/* SPDX-License-Identifier: MIT */
#include "scope/timed.h"

#include <resmon/monitor.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "scope/peak.h"
#include "scope/watch.h"

static void begin(resmon_site *site, uint64_t meter, bool is_wanted, resmon_timed *ret_timed)
{
    RM_KEEP_ERRNO;
    *ret_timed = (resmon_timed){.site = site, .meter = meter};
    ret_timed->scope = rm_scope_begin_forced(site, (uint32_t)(meter & RESMON_METER_RSS));
    bool is_measured = ret_timed->scope != 0 && ret_timed->scope != RM_SCOPE_VOID;
    if (is_wanted && !is_measured && (meter & RESMON_METER_RSS) != 0) {
        (void)resmon_watch_begin(RESMON_METER_RSS, &ret_timed->watch); /* 0 when there is no room */
    }
    ret_timed->start_ns = rm_clock_monotonic_ns();
}

/* A watch sets the kernel's mark back, and with it what job accounting reads as ru_maxrss: not for
 * a figure that nobody will see. */
void resmon_timed_begin(resmon_site *site, uint64_t meter, resmon_timed *ret_timed)
{
    RM_KEEP_ERRNO;
    begin(site, meter, rm_log_wants(RESMON_LOG_INFO), ret_timed);
}

void resmon_timed_watch(resmon_site *site, uint64_t meter, resmon_timed *ret_timed)
{
    RM_KEEP_ERRNO;
    begin(site, meter, true, ret_timed);
}

static void log_wall(const resmon_timed *timed, double elapsed_ns)
{
    char text[RM_HUMAN_BYTES];
    rm_human_fixed(text, elapsed_ns / (double)RM_NS_PER_S, 4);
    rm_log(RESMON_LOG_INFO, "%s finished in %s s", timed->site->name, text);
}

static void log_peak(const resmon_timed *timed, const resmon_watched *watched)
{
    char text[RM_HUMAN_BYTES];
    if (watched->rss_provenance == RESMON_PROVENANCE_NONE) {
        rm_log(RESMON_LOG_INFO, "%s peak RSS unknown", timed->site->name);
        return;
    }
    rm_human_bytes(text, watched->rss_peak_bytes);
    rm_log(RESMON_LOG_INFO, "%s peak RSS %s (%s)", timed->site->name, text,
           watched->rss_provenance == RESMON_PROVENANCE_MEASURED ? "exact" : "sampled");
}

static resmon_watched end(resmon_timed *timed)
{
    double elapsed_ns = (double)(rm_clock_monotonic_ns() - timed->start_ns);
    resmon_watched watched = rm_watched_nothing();
    uint64_t peak;
    if (timed->scope != 0 && rm_scope_end_forced(timed->scope, &peak)) {
        watched.rss_peak_bytes = (double)peak;
        watched.rss_provenance =
            rm_peak_is_exact() ? RESMON_PROVENANCE_MEASURED : RESMON_PROVENANCE_SAMPLED;
    }
    if (timed->watch != 0) {
        (void)resmon_watch_end(timed->watch, &watched);
    }
    watched.wall_ns = elapsed_ns;
    return watched;
}

resmon_status resmon_timed_take(resmon_timed *timed, resmon_watched *ret_watched)
{
    RM_KEEP_ERRNO;
    const resmon_watched watched = end(timed);
    return rm_struct_give(&watched, RM_STRUCT_SIZE(resmon_watched), ret_watched);
}

void resmon_timed_end(resmon_timed *timed)
{
    RM_KEEP_ERRNO;
    const resmon_watched watched = end(timed);
    if (!rm_log_wants(RESMON_LOG_INFO)) {
        return;
    }
    if ((timed->meter & RESMON_METER_RSS) != 0) {
        log_peak(timed, &watched);
    } else {
        log_wall(timed, watched.wall_ns);
    }
}
