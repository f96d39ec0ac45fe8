/* SPDX-License-Identifier: MIT */
/*
 * os/cgroup_limit: the limit that leaves the least, of groups that nest; what is not told of them;
 * limits that change.  And the watch for peaks, which goes by it.
 */
#include "fixtures/machine.h"

#include "base/fault.h"
#include "os/cgroup.h"
#include "stack/faults.h"

#define MIB UINT64_C(1048576)

struct opened {
    struct machine machine;
    struct rm_root root;
    struct rm_scratch scratch;
    struct rm_cgroup_limits limits;
};

static void open_root(struct opened *opened, const char *fixture)
{
    memset(opened, 0, sizeof *opened);
    machine_set_up(&opened->machine, fixture);
    assert_ok(rm_root_open(&opened->root, opened->machine.root));
    assert_ok(rm_scratch_init(&opened->scratch));
}

static void open_limits(struct opened *opened, int64_t now_ns)
{
    struct rm_cgroup cgroup;
    assert_ok(rm_cgroup_find(&cgroup, &opened->root, &opened->scratch, "proc/self"));
    assert_ok(rm_cgroup_limits_open(&opened->limits, &cgroup.places[RM_CGROUP_MEMORY],
                                    &opened->root, &opened->scratch, now_ns));
}

static void close_all(struct opened *opened)
{
    rm_cgroup_limits_close(&opened->limits);
    rm_scratch_free(&opened->scratch);
    rm_root_close(&opened->root);
    machine_tear_down(&opened->machine);
}

static void assert_least(struct opened *opened, int64_t now_ns, size_t level, uint64_t limit,
                         uint64_t used)
{
    const struct rm_cgroup_headroom least =
        rm_cgroup_limits_look(&opened->limits, &opened->scratch, now_ns);
    assert_int_equal(least.level, level);
    assert_int_equal(least.limit, limit);
    if (limit != UINT64_MAX) {
        assert_int_equal(least.used, used);
        assert_int_equal(least.left, used < limit ? limit - used : 0);
    }
}

#define JOB   "sys/fs/cgroup/outer.slice/middle.slice/job.scope/"
#define OUTER "sys/fs/cgroup/outer.slice/"

TEST(the_least_is_left_above)
{
    struct opened opened;
    open_root(&opened, "cgroup2-outer");
    open_limits(&opened, 1);
    assert_int_equal(opened.limits.count, 4); /* with the root, which has no limit */
    assert_least(&opened, 1, 2, 512 * MIB, 425 * MIB);
    machine_write(&opened.machine, JOB "memory.current", "304087040\n"); /* 290 of 300 MiB */
    assert_least(&opened, 1, 0, 300 * MIB, 290 * MIB);
    machine_write(&opened.machine, OUTER "memory.current", "546308096\n"); /* more than allowed */
    assert_least(&opened, 1, 2, 512 * MIB, 521 * MIB);
    close_all(&opened);
}

TEST(limits_change)
{
    struct opened opened;
    open_root(&opened, "cgroup2-outer");
    machine_write(&opened.machine, OUTER "memory.max", "max\n");
    machine_write(&opened.machine, JOB "memory.max", "max\n");
    open_limits(&opened, 1);
    assert_least(&opened, 1, 0, UINT64_MAX, 0);
    machine_write(&opened.machine, OUTER "memory.high", "470286336\n"); /* slows down, no kill */
    assert_least(&opened, 9 * RM_NS_PER_S, 0, UINT64_MAX, 0);
    assert_least(&opened, 11 * RM_NS_PER_S, 2, UINT64_C(470286336), 425 * MIB);
    machine_write(&opened.machine, OUTER "memory.high", "max\n");
    assert_least(&opened, 22 * RM_NS_PER_S, 0, UINT64_MAX, 0);
    close_all(&opened);
}

TEST(a_failure_is_no_limit_lifted)
{
    struct opened opened;
    open_root(&opened, "cgroup2-outer");
    open_limits(&opened, 1);
    for (int64_t k = 0; k < 6; k++) { /* two files of each of three groups */
        rm_fault_arm(RM_FAULT_OPEN, k);
        assert_least(&opened, 11 * (k + 1) * RM_NS_PER_S, 2, 512 * MIB, 425 * MIB);
        assert_true(rm_fault_fired(RM_FAULT_OPEN));
    }
    rm_fault_arm(RM_FAULT_OPEN, -1);
    close_all(&opened);
}

/* A group that does not tell what is charged has at least what the one below it has. */
TEST(use_that_is_not_told)
{
    struct opened opened;
    char path[PATH_ROOM];
    open_root(&opened, "cgroup2-outer");
    path_join(path, opened.machine.root, OUTER "memory.current");
    assert_int_equal(unlink(path), 0);
    machine_write(&opened.machine, JOB "memory.max", "max\n");
    open_limits(&opened, 1);
    assert_least(&opened, 1, 2, 512 * MIB, UINT64_C(70778880));
    close_all(&opened);
}

TEST(a_hidden_group)
{
    struct opened opened;
    open_root(&opened, "cgroup1-limits");
    open_limits(&opened, 1);
    assert_int_equal(opened.limits.count, 2);
    assert_true(opened.limits.levels[1].is_hidden);
    assert_least(&opened, 1, 1, 1024 * MIB, 400000000);
    close_all(&opened);
}

/* Version 1, before Linux 5.11: such a group charges nothing to those above it. */
TEST(groups_that_are_not_hierarchical)
{
    struct opened opened;
    open_root(&opened, "cgroup1-outer");
    open_limits(&opened, 1);
    assert_least(&opened, 1, 1, 512 * MIB, 425 * MIB);
    rm_cgroup_limits_close(&opened.limits);
    machine_write(&opened.machine, "sys/fs/cgroup/memory/slurm/job_5/memory.use_hierarchy", "0\n");
    open_limits(&opened, 1);
    assert_int_equal(opened.limits.count, 1);
    assert_least(&opened, 1, 0, 300 * MIB, UINT64_C(70778880));
    close_all(&opened);
}

TEST(too_many_levels)
{
    struct opened opened;
    struct rm_cgroup_place place = {.version = 2};
    open_root(&opened, NULL);
    for (int i = 0; i < 30; i++) {
        (void)strcat(place.path, i == 0 ? "g" : "/g");
    }
    place.mount_length = 1;
    assert_ok(rm_cgroup_limits_open(&opened.limits, &place, &opened.root, &opened.scratch, 1));
    assert_int_equal(opened.limits.count, RM_CGROUP_MOST_LEVELS - 1);
    assert_least(&opened, 1, 0, UINT64_MAX, 0);
    close_all(&opened);
}

TEST(the_watch_sees_what_is_left_above)
{
    struct opened opened;
    struct rm_memory_watch watch;
    struct rm_peak_head head;
    open_root(&opened, "cgroup2-outer");
    machine_write(&opened.machine, "proc/thread-self/statm", "100 50 10 1 0 40 0\n");
    rm_memory_watch_open(&watch, &opened.root, &opened.scratch);
    assert_int_equal(watch.next_headroom, 512 * MIB / 10);
    machine_write(&opened.machine, OUTER "memory.current", "482344960\n"); /* 52 MiB are left */
    assert_false(rm_memory_watch_look(&watch, &opened.scratch, &head));
    machine_write(&opened.machine, OUTER "memory.current", "503316480\n"); /* 32 */
    assert_true(rm_memory_watch_look(&watch, &opened.scratch, &head));
    assert_int_equal(head.headroom_bytes, 32 * MIB);
    rm_memory_watch_close(&watch);
    close_all(&opened);
}
