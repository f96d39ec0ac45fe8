/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* __WALL */
#include "os/tree_cpu.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"

struct list {
    uint64_t count, rest_ns;
    struct rm_descendant descendants[RM_DESCENDANTS];
};

/* Two copies: that of `version` stays untouched as long as the version does. */
static struct list lists[2];
static uint32_t version;      /* release, after the list that it names */
static const void *publisher; /* atomic */
static uint64_t highest;      /* atomic: what was read of descendants so far */

static void copy(struct rm_descendant *target, const struct rm_descendant *source, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        RM_STORE(&target[i].pid, RM_LOAD(&source[i].pid));
        RM_STORE(&target[i].child, RM_LOAD(&source[i].child));
        RM_STORE(&target[i].own_ns, RM_LOAD(&source[i].own_ns));
        RM_STORE(&target[i].waited_ns, RM_LOAD(&source[i].waited_ns));
    }
}

static void publish(const struct rm_descendant *descendants, size_t count, uint64_t rest_ns)
{
    uint32_t next = RM_LOAD(&version) + 1;
    struct list *list = &lists[next & 1];
    RM_FENCE_BEFORE_REFILL();
    RM_STORE(&list->count, count);
    RM_STORE(&list->rest_ns, rest_ns);
    copy(list->descendants, descendants, count);
    RM_STORE_RELEASE(&version, next);
}

/* The child of a fork has descendants of its own. */
static void after_fork(void)
{
    publish(NULL, 0, 0);
    RM_STORE(&publisher, NULL);
    RM_STORE(&highest, 0);
}

void rm_tree_cpu_publish(const void *owner, const struct rm_descendant *descendants, size_t count,
                         uint64_t rest_ns)
{
    static const struct rm_fork_part at_fork = {.in_child = after_fork};
    const void *nobody = NULL;
    rm_fork_take_part(RM_FORK_CLOCKS, &at_fork);
    bool is_first = __atomic_compare_exchange_n(&publisher, &nobody, owner, false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_ACQUIRE);
    if (is_first) {
        RM_STORE(&highest, 0); /* its rest is of its own time */
    }
    if (is_first || nobody == owner) {
        publish(descendants, count < RM_DESCENDANTS ? count : RM_DESCENDANTS, rest_ns);
    }
}

void rm_tree_cpu_withdraw(const void *owner)
{
    if (__atomic_load_n(&publisher, __ATOMIC_ACQUIRE) == owner) {
        publish(NULL, 0, 0);
        RM_STORE(&highest, 0); /* those that live are not known any more */
        __atomic_store_n(&publisher, NULL, __ATOMIC_RELEASE);
    }
}

/* What cannot be read because it changes all the time is nobody: the sum does not fall for it. */
static void read_list(struct list *list)
{
    list->count = 0;
    list->rest_ns = 0;
    for (int tries = 0; tries < 100; tries++) {
        uint32_t before = RM_LOAD_ACQUIRE(&version);
        const struct list *current = &lists[before & 1];
        uint64_t count = RM_LOAD(&current->count);
        uint64_t rest_ns = RM_LOAD(&current->rest_ns);
        count = count <= RM_DESCENDANTS ? count : 0;
        copy(list->descendants, current->descendants, count);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (RM_LOAD(&version) == before) {
            list->count = count;
            list->rest_ns = rest_ns;
            return;
        }
    }
}

/* To the microsecond, as the kernel gives it. */
static uint64_t waited_for_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        return 0;
    }
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * RM_NS_PER_S +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

/* A clock behind what the descendant had is another's, who has its number now. */
static bool is_alive(const struct rm_descendant *descendant, uint64_t *ret_ns)
{
    struct timespec now;
    if (clock_gettime(rm_clock_of_process((uint32_t)descendant->pid), &now) == 0) {
        uint64_t ns = (uint64_t)now.tv_sec * RM_NS_PER_S + (uint64_t)now.tv_nsec;
        *ret_ns = ns;
        return ns >= descendant->own_ns;
    }
    return false;
}

/* What those in the list have used.  One that is gone is in what our child has waited for through
 * which it descends; when that is gone, too, in what we have. */
static uint64_t used_by_list(const struct list *list, bool *ret_is_sure)
{
    uint64_t ns = 0;
    bool alive[RM_DESCENDANTS];
    *ret_is_sure = true;
    for (uint64_t i = 0; i < list->count; i++) {
        const struct rm_descendant *descendant = &list->descendants[i];
        uint64_t own_ns;
        alive[i] = is_alive(descendant, &own_ns);
        ns += alive[i] ? own_ns + descendant->waited_ns : 0;
        *ret_is_sure &= !alive[i] && descendant->child != 0; /* else it is in getrusage */
    }
    for (uint64_t i = 0; i < list->count; i++) {
        const struct rm_descendant *descendant = &list->descendants[i];
        for (uint64_t k = 0; k < list->count && !alive[i]; k++) {
            if (alive[k] && list->descendants[k].pid == descendant->child) {
                ns += descendant->own_ns + descendant->waited_ns;
            }
        }
    }
    return ns;
}

/* One that is waited for between the two looks would count twice, or not at all. */
static uint64_t used_by_all(const struct list *list, bool *ret_is_sure)
{
    uint64_t ns = 0;
    uint64_t waited = waited_for_ns();
    for (int tries = 0; tries < 4; tries++) {
        uint64_t before = waited;
        ns = waited + list->rest_ns + used_by_list(list, ret_is_sure);
        waited = list->count > 0 ? waited_for_ns() : before;
        if (waited == before) {
            break;
        }
    }
    return ns;
}

/* Between a descendant's end and the next look a part of its time may be nowhere. */
static uint64_t keep_highest(uint64_t ns)
{
    uint64_t so_far = RM_LOAD(&highest);
    while (ns > so_far && !__atomic_compare_exchange_n(&highest, &so_far, ns, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return ns > so_far ? ns : so_far;
}

/* Leaves everything as it is: children, their states, SIGCHLD. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

static void read_descendants(struct rm_tree_cpu *cpu)
{
    struct list list;
    int error = errno;
    read_list(&list);
    bool is_sure;
    cpu->descendants_ns = keep_highest(used_by_all(&list, &is_sure));
    cpu->has_descendants = !is_sure || has_children();
    errno = error;
}

struct rm_tree_cpu rm_tree_cpu_at_begin(void)
{
    struct rm_tree_cpu cpu;
    read_descendants(&cpu);
    cpu.process_ns = (uint64_t)rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    return cpu;
}

struct rm_tree_cpu rm_tree_cpu_at_end(void)
{
    struct rm_tree_cpu cpu = {.process_ns = (uint64_t)rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID)};
    read_descendants(&cpu);
    return cpu;
}
