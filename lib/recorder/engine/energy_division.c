/* SPDX-License-Identifier: MIT */
#include "engine/energy_division.h"

#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "store/scope_energy.h"

bool rm_energy_division_is_wanted(uint64_t domains)
{
    return (domains & RESMON_DOMAIN_ENERGY) != 0;
}

resmon_status rm_energy_division_open(struct rm_energy_division *division,
                                      struct rm_scope_session *session)
{
    uint64_t threads = session->block.header->sizes.threads;
    division->session = session;
    division->threads = rm_alloc(threads, sizeof *division->threads);
    division->grown_s = rm_alloc(threads, sizeof *division->grown_s);
    if (division->threads == NULL || division->grown_s == NULL) {
        rm_energy_division_close(division);
        return rm_error(RESMON_ENOMEM, "out of memory for the energy of scopes");
    }
    return RESMON_OK;
}

void rm_energy_division_close(struct rm_energy_division *division)
{
    rm_free(division->threads);
    rm_free(division->grown_s);
    *division = (struct rm_energy_division){.session = NULL};
}

/* CPU time of the threads with scopes since the last call, or since their begin. */
static double read_threads(struct rm_energy_division *division)
{
    const struct rm_block *block = &division->session->block;
    const struct rm_scope_thread_record *thread;
    double sum_s = 0.0;
    for (uint64_t i = 0; (thread = rm_scope_thread_at(block, i)) != NULL; i++) {
        struct rm_thread_cpu *seen = &division->threads[i];
        int64_t cpu_ns;
        division->grown_s[i] = 0.0;
        if (thread->state != RM_THREAD_LIVE ||
            !rm_clock_read_cpu((clockid_t)thread->cpu_clock, &cpu_ns)) {
            seen->clock = 0;
            continue;
        }
        bool is_same = seen->clock == thread->cpu_clock && cpu_ns >= seen->ns;
        int64_t grown_ns = cpu_ns - (is_same ? seen->ns : thread->cpu_start_ns);
        division->grown_s[i] = grown_ns > 0 ? (double)grown_ns * 1e-9 : 0.0;
        sum_s += division->grown_s[i];
        *seen = (struct rm_thread_cpu){thread->cpu_clock, cpu_ns};
    }
    return sum_s;
}

static double growth(double now, double last)
{
    return now > last ? now - last : 0.0; /* NaN: none */
}

/* Weight of an interval for GPU energy: power times time, or time alone if the power is not known.
 */
static double weight_of(const struct rm_shared_energy *shared, uint64_t ticks)
{
    double watts = isnan(shared->gpu_w) ? 1.0 : fmax(shared->gpu_w, 1e-3);
    return watts * (double)ticks;
}

static void divide(struct rm_energy_division *division, const struct rm_shared_energy *shared)
{
    bool is_first = division->last.t_ns == 0;
    uint64_t now = rm_clock_ticks();
    double threads_s = read_threads(division);
    double tree_s = growth(shared->cpu_s, division->last.cpu_s) - division->lead_s;
    bool has_gpus = shared->gpu_ns != division->last.gpu_ns;
    double weight = is_first ? 0.0 : weight_of(shared, now - division->last_ticks);
    division->lead_s = threads_s > tree_s ? threads_s - tree_s : 0.0;
    division->late_of += weight;
    const struct rm_energy_slice slice = {
        .now = now,
        .elapsed = is_first ? UINT64_MAX : now - division->last_ticks,
        .cpu_j = is_first ? 0.0 : growth(shared->cpu_j, division->last.cpu_j),
        .other_j = is_first ? 0.0 : growth(shared->ram_j, division->last.ram_j),
        .cpu_s = tree_s > 0.0 ? tree_s : 0.0,
        .thread_cpu_s = division->grown_s,
        .late_weight = weight,
        .late_of = has_gpus ? division->late_of : 0.0,
        .late_j = growth(shared->gpu_j, division->last.gpu_j),
    };
    rm_scope_energy_divide(&division->session->block, &slice);
    double gpu_j = has_gpus ? shared->gpu_j : division->last.gpu_j;
    division->late_of = has_gpus ? 0.0 : division->late_of;
    division->last = *shared;
    division->last.gpu_j = gpu_j; /* already divided */
    division->last_ticks = now;
}

/* The session is over, and the energy of its scopes is known, except for GPU energy, which follows
 * with the next reading. */
static void settle(struct rm_energy_division *division, const struct rm_shared_energy *shared)
{
    uint64_t now = rm_clock_ticks();
    division->late_of += weight_of(shared, now - division->last_ticks);
    division->last_ticks = now;
    if (shared->gpu_ns != division->last.gpu_ns) {
        const struct rm_energy_slice slice = {
            .now = now,
            .thread_cpu_s = division->grown_s,
            .late_of = division->late_of,
            .late_j = growth(shared->gpu_j, division->last.gpu_j),
        };
        rm_session_lock(division->session);
        rm_scope_energy_divide(&division->session->block, &slice);
        rm_session_unlock(division->session);
        division->late_of = 0.0;
    }
}

/* Divisions follow the processors' energy, which is new at each tick; the last division includes
 * other energy since then. */
static bool has_more(const struct rm_energy_division *division,
                     const struct rm_shared_energy *shared, bool is_last)
{
    const struct rm_shared_energy *last = &division->last;
    bool have_others = growth(shared->ram_j, last->ram_j) > 0.0 || shared->gpu_ns != last->gpu_ns;
    return shared->t_ns > last->t_ns || (is_last && last->t_ns != 0 && have_others);
}

/* After the end of a session (by its monitor, or by another monitor that takes the scopes), scopes
 * that were open stay open in the record.  They get energy once more, up to the end. */
void rm_energy_division_take(struct rm_energy_division *division,
                             const struct rm_shared_energy *shared, double share, bool is_last)
{
    int64_t begin_ns = rm_clock_monotonic_ns();
    if (division->session != NULL && division->is_over && division->late_of > 0.0) {
        settle(division, shared);
    }
    if (division->session == NULL || division->is_over || !has_more(division, shared, is_last) ||
        (begin_ns < division->next_ns && !is_last)) {
        return;
    }
    rm_session_lock(division->session);
    division->is_over = division->session->is_over;
    divide(division, shared);
    rm_session_unlock(division->session);
    int64_t end_ns = rm_clock_monotonic_ns();
    division->next_ns = end_ns + (int64_t)((double)(end_ns - begin_ns) / share);
}
