/* SPDX-License-Identifier: MIT */
/*
 * What memory the process can still have: the tightest of the limits of its control group, of those
 * around that, of its own and of the machine; in trees that are made here.
 */
#include "test.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory_room.h"

#define MIB (UINT64_C(1) << 20)

static void put(const char *path, const char *text)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s/%s", test_directory, path);
    for (char *slash = full + strlen(test_directory) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_group(const char *group, const char *limit, const char *used, const char *stat)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", group, "memory.max");
    put(path, limit);
    (void)snprintf(path, sizeof path, "%s/%s", group, "memory.current");
    put(path, used);
    (void)snprintf(path, sizeof path, "%s/%s", group, "memory.stat");
    put(path, stat);
}

TEST(groups_around_it_count)
{
    struct rm_memory_room room;
    put_group("sys/fs/cgroup/outer/inner", "104857600\n", "10485760\n", "inactive_file 0\n");
    put_group("sys/fs/cgroup/outer", "20971520\n", "19922944\n",
              "anon 1\ninactive_file 4194304\nactive_file 99\n");
    rm_memory_room_look(test_directory, &room);
    assert_int_equal(room.bytes, 5 * MIB); /* 20 less 19, and 4 that can be had back */
    assert_string_equal(room.limit, "the limit of cgroup /outer");
    put_group("sys/fs/cgroup/outer", "max\n", "19922944\n", "");
    rm_memory_room_look(test_directory, &room);
    assert_int_equal(room.bytes, 90 * MIB);
    assert_string_equal(room.limit, "the limit of cgroup /outer/inner");
    put_group("sys/fs/cgroup/outer/inner", "104857600\n", "204857600\n", "");
    rm_memory_room_look(test_directory, &room);
    assert_int_equal(room.bytes, 0);
}

TEST(the_machine_counts)
{
    struct rm_memory_room room;
    put_group("sys/fs/cgroup/outer/inner", "max\n", "1\n", "");
    put_group("sys/fs/cgroup/outer", "max\n", "1\n", "");
    rm_memory_room_look(test_directory, &room);
    assert_int_equal(room.bytes, 2048 * MIB);
    assert_string_equal(room.limit, "the memory of the machine");
}

TEST(nothing_known_is_no_limit)
{
    struct rm_memory_room room;
    char nowhere[128];
    (void)snprintf(nowhere, sizeof nowhere, "%s/nowhere", test_directory);
    rm_memory_room_look(nowhere, &room);
    assert_true(room.bytes == UINT64_MAX);
    assert_string_equal(room.limit, "");
}

static void limit_and_look(int which, const char *name)
{
    struct rm_memory_room room;
    const struct rlimit limit = {16 * MIB, RLIM_INFINITY};
    struct rlimit before;
    assert_int_equal(getrlimit(which, &before), 0);
    assert_int_equal(setrlimit(which, &limit), 0);
    rm_memory_room_look(test_directory, &room);
    assert_int_equal(setrlimit(which, &before), 0);
    assert_string_equal(room.limit, name);
    assert_int_equal(room.bytes, 6 * MIB); /* 2560 pages are in use */
}

TEST(limits_of_the_process_count)
{
    if (sysconf(_SC_PAGESIZE) != 4096) {
        print_message("skipped: made for pages of 4 KiB\n");
        skip();
    }
    put("proc/thread-self/statm", "2560 100 50 10 0 1 0\n");
    limit_and_look(RLIMIT_AS, "RLIMIT_AS");
    put("proc/thread-self/statm", "1 100 50 10 0 2560 0\n");
    limit_and_look(RLIMIT_DATA, "RLIMIT_DATA");
    put("proc/thread-self/statm", "1 1 1 1 0 1 0\n");
}

FIXTURE(set_up)
{
    put("proc/self/cgroup", "0::/outer/inner\n");
    put("proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup rw\n");
    put("proc/meminfo", "MemTotal:  4194304 kB\nMemAvailable:  2097152 kB\n");
    put("proc/thread-self/statm", "1 1 1 1 0 1 0\n");
    return 0;
}

TEST_FILE(.set_up = set_up);
