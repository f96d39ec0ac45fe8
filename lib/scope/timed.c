/* SPDX-License-Identifier: MIT */
#include "scope/timed.h"

#include <pthread.h>
#include <stddef.h>

#include <resmon/monitor.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/log.h"
#include "scope/peak.h"

/*
 * Watches for peaks without a monitor.  They stand here and not in the caller's resmon_timed, so
 * that a longjmp() past its end leaves no pointer into a stack that is gone: only a watch too few.
 */
#define WATCHES 64

static struct {
    struct rm_peak_watch watch;
    bool is_taken; /* atomic */
} watches[WATCHES];

static uint64_t take_watch(void)
{
    for (uint64_t i = 0; i < WATCHES; i++) {
        if (!__atomic_test_and_set(&watches[i].is_taken, __ATOMIC_ACQUIRE)) {
            rm_peak_begin(&watches[i].watch);
            return i + 1;
        }
    }
    return 0;
}

static uint64_t give_watch_back(uint64_t number)
{
    uint64_t peak = rm_peak_end(&watches[number - 1].watch);
    __atomic_clear(&watches[number - 1].is_taken, __ATOMIC_RELEASE);
    return peak;
}

void resmon_timed_begin(resmon_site *site, uint64_t meter, resmon_timed *ret_timed)
{
    *ret_timed = (resmon_timed){.site = site, .meter = meter};
    ret_timed->scope = rm_scope_begin_forced(site, (uint32_t)(meter & RESMON_METER_RSS));
    bool is_measured = ret_timed->scope != 0 && ret_timed->scope != RM_SCOPE_VOID;
    if (!is_measured && (meter & RESMON_METER_RSS) != 0) {
        ret_timed->watch = take_watch();
    }
    ret_timed->start_ns = rm_clock_monotonic_ns();
}

static void log_wall(const resmon_timed *timed, int64_t elapsed_ns)
{
    char text[RM_HUMAN_BYTES];
    rm_human_fixed(text, (double)elapsed_ns / (double)RM_NS_PER_S, 4);
    rm_log(RESMON_LOG_INFO, "%s finished in %s s", timed->site->name, text);
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
        peak = give_watch_back(timed->watch);
        is_known = peak != 0;
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
