/* SPDX-License-Identifier: MIT */
/*
 * Watches: what the process used between two moments, without a monitor.  They are in a static
 * table, not in the caller's memory: after a longjmp() past an end, no pointer leads into a
 * stack that is gone, and only a slot of the table is lost.  And RESMON_TIMED and
 * RESMON_PEAK_RSS, which use a scope or a watch and write a log line.
 */
#include "scope/timed.h"

#include <time.h>

#include <resmon/monitor.h>
#include <resmon/watch.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/human.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "os/own_io.h"
#include "scope/peak.h"
#include "scope/session.h"

/* ---- watches -------------------------------------------------------------------------------- */

#define WATCHES 64

struct watch {
    uint32_t is_taken; /* atomic */
    uint32_t uses;     /* atomic: distinguishes an ended watch from the next one in its slot */
    uint32_t forks;    /* rm_forks() at the begin */
    uint64_t meters;
    int64_t start_ns;
    int64_t cpu_ns;
    struct rm_tree_cpu tree;
    uint64_t io[RM_IO_FIELDS];
    struct rm_kept io_file;
    struct rm_peak_watch peak;
};

static struct watch watches[WATCHES];

/* A watch's number: the use count of its slot, and the slot. */
static uint64_t number_of(size_t place)
{
    return (uint64_t)RM_LOAD(&watches[place].uses) * WATCHES + place;
}

static struct watch *watch_of(uint64_t number)
{
    size_t place = (size_t)(number % WATCHES);
    bool is_open = RM_LOAD(&watches[place].is_taken) != 0 && number_of(place) == number;
    return is_open ? &watches[place] : NULL;
}

/* Called last, so that the clocks exclude the other meters. */
static void begin_clocks(struct watch *watch)
{
    if ((watch->meters & RESMON_METER_PCPU) != 0) {
        watch->tree = rm_tree_cpu_at_begin();
    }
    watch->start_ns = rm_clock_monotonic_ns();
    watch->cpu_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void open_meters(struct watch *watch)
{
    if ((watch->meters & RESMON_METER_RSS) != 0) {
        rm_peak_begin(&watch->peak);
    }
    if ((watch->meters & RESMON_METER_IO) != 0 &&
        !(rm_own_io_open(&watch->io_file) && rm_own_io_read(&watch->io_file, watch->io))) {
        rm_kept_close(&watch->io_file);
        watch->meters &= ~RESMON_METER_IO;
    }
    begin_clocks(watch);
}

static void close_meters(struct watch *watch)
{
    if ((watch->meters & RESMON_METER_RSS) != 0) {
        rm_peak_abandon(&watch->peak);
    }
    rm_kept_close(&watch->io_file);
}

resmon_status resmon_watch_begin(uint64_t meters, uint64_t *ret_watch)
{
    RM_KEEP_ERRNO;
    if (ret_watch == NULL || (meters & ~RESMON_METER_ALL) != 0) {
        return rm_error(RESMON_EINVAL, "resmon_watch_begin: %s",
                        ret_watch == NULL ? "an argument is NULL" : "unknown meters");
    }
    rm_fork_watch();
    for (size_t place = 0; place < WATCHES; place++) {
        struct watch *watch = &watches[place];
        if (__atomic_exchange_n(&watch->is_taken, 1, __ATOMIC_ACQUIRE) != 0) {
            continue;
        }
        RM_STORE(&watch->uses, watch->uses + 1);
        watch->meters = meters;
        watch->forks = rm_forks();
        open_meters(watch);
        *ret_watch = number_of(place);
        return RESMON_OK;
    }
    return rm_error(RESMON_ENOSPC, "%d watches are open already: end those that are not needed",
                    WATCHES);
}

static void take_io(struct watch *watch, resmon_watched *watched)
{
    double *const targets[RM_IO_FIELDS] = {
        [RM_IO_READ_BYTES] = &watched->io_read_bytes,
        [RM_IO_WRITE_BYTES] = &watched->io_write_bytes,
        [RM_IO_READ_CHARS] = &watched->io_read_chars,
        [RM_IO_WRITE_CHARS] = &watched->io_write_chars,
    };
    uint64_t now[RM_IO_FIELDS];
    if (!rm_own_io_read(&watch->io_file, now)) {
        return;
    }
    for (size_t field = 0; field < RM_IO_FIELDS; field++) {
        uint64_t before = watch->io[field];
        if (targets[field] != NULL) {
            *targets[field] = now[field] > before ? (double)(now[field] - before) : 0.0;
        }
        watch->io[field] = now[field];
    }
}

static void take_rss(struct watch *watch, resmon_watched *watched)
{
    uint64_t rss;
    uint64_t peak = rm_peak_lap(&watch->peak, &rss);
    watched->rss_bytes = rss != 0 ? (double)rss : RM_NAN;
    if (peak != 0) {
        /* The kernel's two values are read one after the other: a peak is at least the RSS. */
        watched->rss_peak_bytes = (double)(peak > rss ? peak : rss);
        watched->rss_provenance =
            rm_peak_is_exact() ? RESMON_PROVENANCE_MEASURED : RESMON_PROVENANCE_SAMPLED;
    }
}

/* All NaN. */
static resmon_watched nothing_watched(void)
{
    return (resmon_watched){
        .struct_size = sizeof(resmon_watched),
        .wall_ns = RM_NAN,
        .cpu_ns = RM_NAN,
        .rss_bytes = RM_NAN,
        .rss_peak_bytes = RM_NAN,
        .io_read_bytes = RM_NAN,
        .io_write_bytes = RM_NAN,
        .io_read_chars = RM_NAN,
        .io_write_chars = RM_NAN,
        .tree_cpu_ns = RM_NAN,
    };
}

static double tree_growth_ns(const struct rm_tree_cpu *from, const struct rm_tree_cpu *to)
{
    uint64_t before = from->process_ns + from->descendants_ns;
    uint64_t now = to->process_ns + to->descendants_ns;
    return now > before ? (double)(now - before) : 0.0;
}

/* The clocks are read first, so that they exclude the other meters. */
static resmon_watched take(struct watch *watch)
{
    int64_t cpu_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t now_ns = rm_clock_monotonic_ns();
    resmon_watched watched = nothing_watched();
    watched.wall_ns = (double)(now_ns - watch->start_ns);
    if ((watch->meters & RESMON_METER_PCPU) != 0) {
        const struct rm_tree_cpu tree = rm_tree_cpu_at_end();
        watched.tree_cpu_ns = tree_growth_ns(&watch->tree, &tree);
    }
    if ((watch->meters & RESMON_METER_CPU) != 0) {
        watched.cpu_ns = (double)(cpu_ns - watch->cpu_ns);
    }
    if ((watch->meters & RESMON_METER_IO) != 0) {
        take_io(watch, &watched);
    }
    if ((watch->meters & RESMON_METER_RSS) != 0) {
        take_rss(watch, &watched);
    }
    begin_clocks(watch);
    return watched;
}

static resmon_status lap(struct watch *watch, resmon_watched *ret_watched)
{
    if (watch->forks != rm_forks()) {
        return rm_error(RESMON_ESTATE, "the watch was begun before a fork, by the parent process");
    }
    const resmon_watched watched = take(watch);
    return rm_struct_give(&watched, RM_STRUCT_SIZE(resmon_watched), ret_watched);
}

static resmon_status no_such_watch(uint64_t number)
{
    return rm_error(RESMON_EINVAL, "there is no watch %llu: it ended, or never began",
                    (unsigned long long)number);
}

resmon_status resmon_watch_lap(uint64_t watch, resmon_watched *ret_watched)
{
    RM_KEEP_ERRNO;
    struct watch *found = watch_of(watch);
    return found != NULL ? lap(found, ret_watched) : no_such_watch(watch);
}

resmon_status resmon_watch_end(uint64_t watch, resmon_watched *ret_watched)
{
    RM_KEEP_ERRNO;
    struct watch *found = watch_of(watch);
    if (found == NULL) {
        return no_such_watch(watch);
    }
    resmon_status status = ret_watched != NULL ? lap(found, ret_watched) : RESMON_OK;
    close_meters(found);
    __atomic_store_n(&found->is_taken, 0, __ATOMIC_RELEASE);
    return status;
}

/* ---- RESMON_TIMED and RESMON_PEAK_RSS ------------------------------------------------------- */

static void begin_timed(resmon_site *site, uint64_t meter, bool is_wanted, resmon_timed *ret_timed)
{
    RM_KEEP_ERRNO;
    *ret_timed = (resmon_timed){.site = site, .meter = meter};
    ret_timed->scope = rm_scope_begin_forced(site, (uint32_t)(meter & RESMON_METER_RSS));
    bool is_measured = ret_timed->scope != 0 && ret_timed->scope != RM_SCOPE_VOID;
    if (is_wanted && !is_measured && (meter & RESMON_METER_RSS) != 0) {
        (void)resmon_watch_begin(RESMON_METER_RSS, &ret_timed->watch); /* 0: no free slot */
    }
    ret_timed->start_ns = rm_clock_monotonic_ns();
}

/* A watch resets the kernel's mark, which changes ru_maxrss for job accounting: not done for a
 * value that is not shown. */
void resmon_timed_begin(resmon_site *site, uint64_t meter, resmon_timed *ret_timed)
{
    RM_KEEP_ERRNO;
    begin_timed(site, meter, rm_log_wants(RESMON_LOG_INFO), ret_timed);
}

void resmon_timed_watch(resmon_site *site, uint64_t meter, resmon_timed *ret_timed)
{
    RM_KEEP_ERRNO;
    begin_timed(site, meter, true, ret_timed);
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

static resmon_watched end_timed(resmon_timed *timed)
{
    double elapsed_ns = (double)(rm_clock_monotonic_ns() - timed->start_ns);
    resmon_watched watched = nothing_watched();
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
    const resmon_watched watched = end_timed(timed);
    return rm_struct_give(&watched, RM_STRUCT_SIZE(resmon_watched), ret_watched);
}

void resmon_timed_end(resmon_timed *timed)
{
    RM_KEEP_ERRNO;
    const resmon_watched watched = end_timed(timed);
    if (!rm_log_wants(RESMON_LOG_INFO)) {
        return;
    }
    if ((timed->meter & RESMON_METER_RSS) != 0) {
        log_peak(timed, &watched);
    } else {
        log_wall(timed, watched.wall_ns);
    }
}
