/* SPDX-License-Identifier: MIT */
/*
 * The parts that stacks of other processes are taken with: what is mapped where, against a map of
 * single pages; sorted tables of functions, against those of the linker; names of code that was
 * made at run time.
 */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "made_time.h"
#include "os/elf_file.h"
#include "os/perf_tree.h"
#include "os/proc_pid.h"
#include "random.h"
#include "stack/code.h"
#include "stack/images.h"
#include "stack/perf_map.h"
#include "stack/processes.h"
#include "stack/spaces.h"

/* ---- what is mapped ---------------------------------------------------------------------- */

#define PAGES 64U

/* Which of the two files, and which page of it, is mapped at each page; file 0: nothing. */
struct page {
    unsigned file, page;
};

static struct rm_tree_record mapping(uint32_t pid, unsigned first, unsigned count, unsigned file,
                                     unsigned page)
{
    struct rm_tree_record record = {
        .kind = RM_TREE_MAP,
        .pid = pid,
        .start = (uint64_t)(16 + first) * 4096,
        .bytes = (uint64_t)count * 4096,
        .offset = (uint64_t)page * 4096,
        .inode = file,
    };
    (void)snprintf(record.text, sizeof record.text, "/nowhere/%u", file);
    return record;
}

static void check_pages(const struct rm_space *space, const struct page *pages)
{
    for (unsigned i = 0; i < PAGES; i++) {
        uint64_t address = (uint64_t)(16 + i) * 4096 + 7;
        const struct rm_space_map *map = rm_space_find(space, address);
        if (pages[i].file == 0) {
            assert_null(map);
            continue;
        }
        assert_non_null(map);
        assert_int_equal(map->offset + (address - map->start), (uint64_t)pages[i].page * 4096 + 7);
        assert_non_null(map->image);
        char path[32];
        (void)snprintf(path, sizeof path, "/nowhere/%u", pages[i].file);
        (void)rm_image_read(map->image);
        assert_string_equal(rm_image_entry(map->image)->path, path);
    }
}

TEST(maps_lie_over_each_other)
{
    struct random random = {5};
    struct rm_images *images = rm_images_new();
    assert_non_null(images);
    struct rm_spaces *spaces = rm_spaces_new(images);
    assert_non_null(spaces);
    const struct rm_tree_record fork_record = {.kind = RM_TREE_FORK, .pid = 10, .parent = 9};
    for (unsigned round = 0; round < 200; round++) {
        struct page pages[PAGES] = {{0, 0}};
        rm_spaces_note(spaces, &fork_record);
        struct rm_space *space = rm_spaces_find(spaces, 10);
        assert_non_null(space);
        uint64_t code = space->code;
        for (unsigned i = 0; i < 20; i++) {
            unsigned first = (unsigned)random_below(&random, PAGES);
            unsigned count = 1 + (unsigned)random_below(&random, PAGES - first);
            unsigned file = 1 + (unsigned)random_below(&random, 2);
            unsigned page = (unsigned)random_below(&random, 100);
            const struct rm_tree_record record = mapping(10, first, count, file, page);
            rm_spaces_note(spaces, &record);
            for (unsigned k = 0; k < count; k++) {
                pages[first + k] = (struct page){file, page + k};
            }
            check_pages(space, pages);
            assert_true(space->code > code);
            code = space->code;
        }
    }
    rm_spaces_free(spaces);
    rm_images_free(images);
}

static void count_forgotten(void *context, struct rm_space *space)
{
    uint64_t *sum = context;
    *sum += space->used_ns;
}

static void note(struct rm_spaces *spaces, enum rm_tree_record_kind kind, uint32_t pid,
                 uint32_t parent, const char *text)
{
    struct rm_tree_record record = {
        .kind = kind, .pid = pid, .tid = pid, .parent = parent, .t_ns = pid, .count = 100 + pid};
    (void)snprintf(record.text, sizeof record.text, "%s", text);
    rm_spaces_note(spaces, &record);
}

/* A process has ended when its last thread has, whichever that is; an exec leaves one. */
TEST(a_process_lives_as_long_as_a_thread_of_it)
{
    struct rm_images *images = rm_images_new();
    struct rm_spaces *spaces = rm_spaces_new(images);
    struct rm_tree_record end = {.kind = RM_TREE_EXIT, .pid = 7, .tid = 7, .t_ns = 100};
    note(spaces, RM_TREE_FORK, 7, 1, "");
    note(spaces, RM_TREE_THREAD, 7, 7, "");
    note(spaces, RM_TREE_THREAD, 7, 7, "");
    rm_spaces_note(spaces, &end);
    assert_int_equal(rm_spaces_find(spaces, 7)->ended_ns, 0);
    end.tid = 9;
    rm_spaces_note(spaces, &end);
    assert_int_equal(rm_spaces_find(spaces, 7)->ended_ns, 0);
    note(spaces, RM_TREE_EXEC, 7, 0, "true"); /* by the third, which has the first number now */
    assert_int_equal(rm_spaces_find(spaces, 7)->ended_ns, 0);
    end.tid = 7;
    end.t_ns = 200;
    rm_spaces_note(spaces, &end);
    assert_int_equal(rm_spaces_find(spaces, 7)->ended_ns, 200);
    rm_spaces_free(spaces);
    rm_images_free(images);
}

TEST(processes_come_and_go)
{
    uint64_t sum = 0;
    struct rm_images *images = rm_images_new();
    struct rm_spaces *spaces = rm_spaces_new(images);
    note(spaces, RM_TREE_FORK, 1, 0, "");
    note(spaces, RM_TREE_NAME, 1, 0, "shell-of-a-long-name");
    const struct rm_tree_record record = mapping(1, 3, 4, 1, 0);
    rm_spaces_note(spaces, &record);
    for (uint32_t pid = 2; pid <= 1000; pid++) {
        note(spaces, RM_TREE_FORK, pid, 1, "");
        assert_string_equal(rm_spaces_find(spaces, pid)->name, "shell-of-a-long");
        assert_non_null(rm_space_find(rm_spaces_find(spaces, pid), 19 * 4096));
        note(spaces, RM_TREE_EXEC, pid, 0, "true");
        assert_null(rm_space_find(rm_spaces_find(spaces, pid), 19 * 4096));
        note(spaces, RM_TREE_EXIT, pid, 0, "");
        note(spaces, RM_TREE_USED, pid, 0, ""); /* which comes behind the end */
    }
    rm_spaces_forget(spaces, 501, count_forgotten, &sum);
    assert_int_equal(sum, 499 * 100 + (2 + 500) * 499 / 2);
    assert_null(rm_spaces_find(spaces, 500));
    assert_non_null(rm_spaces_find(spaces, 501));
    assert_string_equal(rm_spaces_find(spaces, 1000)->name, "true");
    note(spaces, RM_TREE_FORK, 777, 1, ""); /* the number again: another process */
    assert_string_equal(rm_spaces_find(spaces, 777)->name, "shell-of-a-long");
    note(spaces, RM_TREE_EXEC, 4242, 0, "of nobody that is known");
    assert_null(rm_spaces_find(spaces, 4242));
    rm_spaces_free(spaces);
    rm_images_free(images);
}

/* ---- tables of functions ----------------------------------------------------------------- */

TEST(the_table_is_the_linkers)
{
    struct rm_elf elf;
    char *header = NULL, *frames = NULL;
    struct rm_frame_index index = {.rows = NULL};
    size_t found = 0;
    uint32_t linkers = 0;
    assert_int_equal(rm_elf_open(&elf, "/proc/self/exe"), RESMON_OK);
    const struct rm_elf_section *hdr = rm_elf_find(&elf, ".eh_frame_hdr", 0);
    const struct rm_elf_section *eh = rm_elf_find(&elf, ".eh_frame", 0);
    assert_non_null(hdr);
    assert_non_null(eh);
    assert_int_equal(rm_elf_read(&elf, hdr, 1 << 24, &header), RESMON_OK);
    assert_int_equal(rm_elf_read(&elf, eh, 1 << 24, &frames), RESMON_OK);
    index.origin = hdr->address;
    assert_true(rm_frame_index_add(&index, frames, eh->bytes, eh->address));
    rm_frame_index_sort(&index);
    memcpy(&linkers, header + 8, sizeof linkers);
    assert_int_equal(index.count, linkers);
    for (size_t i = 0; i < index.count; i++) {
        int32_t pair[2];
        memcpy(pair, header + 12 + 8 * i, sizeof pair);
        found += pair[0] == index.rows[i].function && pair[1] == index.rows[i].entry ? 1 : 0;
    }
    assert_int_equal(found, index.count);
    assert_true(index.count > 100);
    rm_frame_index_free(&index);

    /* Damaged, cut, or nothing at all. */
    struct random random = {3};
    for (unsigned round = 0; round < 2000; round++) {
        uint64_t bytes = random_below(&random, eh->bytes < 4096 ? eh->bytes : 4096);
        char *copy = malloc(bytes + 1);
        memcpy(copy, frames, bytes);
        copy[bytes] = '\0';
        for (unsigned i = 0; bytes > 0 && i < 8; i++) {
            copy[random_below(&random, bytes)] = (char)random_u64(&random);
        }
        (void)rm_frame_index_add(&index, copy, bytes, eh->address);
        rm_frame_index_convert(copy, bytes, 4096);
        (void)rm_frame_index_add(&index, copy, bytes, eh->address);
        rm_frame_index_sort(&index);
        rm_frame_index_free(&index);
        free(copy);
    }
    rm_free(header);
    rm_free(frames);
    rm_elf_close(&elf);
}

/* ---- names of made code ------------------------------------------------------------------ */

static void append(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A file that has not what is wanted is looked at again after 50 ms. */
static void wait_a_look(void)
{
    rm_made_time_pass(50 * RM_NS_PER_MS + 1);
}

static const char *name_at(struct rm_perf_map *map, const struct rm_root *root, uint64_t address)
{
    struct rm_perf_map_entry entry = {.name = NULL};
    return rm_perf_map_find(map, address, root, &entry) ? entry.name : NULL;
}

TEST(names_of_made_code, IN_MADE_TIME)
{
    char path[256];
    struct rm_root root;
    (void)snprintf(path, sizeof path, "%s/tmp", test_directory);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/tmp/perf-4242.map", test_directory);
    assert_int_equal(rm_root_open(&root, test_directory), RESMON_OK);
    struct rm_perf_map *map = rm_perf_map_new(4242);
    assert_null(name_at(map, &root, 0x1000));
    append(path, "1000 10 first\n0x2000 0x20 JS:*fib file:///a b.js:1:2\n"
                 "nonsense\n\n3000 zz x\n4000 10\n5000 8 ha");
    wait_a_look();
    assert_string_equal(name_at(map, &root, 0x1000), "first");
    assert_string_equal(name_at(map, &root, 0x100f), "first");
    assert_null(name_at(map, &root, 0x1010));
    assert_string_equal(name_at(map, &root, 0x201f), "JS:*fib file:///a b.js:1:2");
    assert_null(name_at(map, &root, 0x3000));
    assert_null(name_at(map, &root, 0x5000)); /* the line is not whole yet */
    append(path, "lf\n1000 10 again\n");
    wait_a_look();
    assert_string_equal(name_at(map, &root, 0x5000), "half");
    assert_string_equal(name_at(map, &root, 0x1000), "again"); /* the later one counts */
    char *line = malloc(200001);
    memset(line, 'x', 200000);
    line[200000] = '\0';
    append(path, line);
    append(path, "\n6000 10 after a line that is none\n");
    free(line);
    wait_a_look();
    assert_string_equal(name_at(map, &root, 0x6000), "after a line that is none");
    rm_perf_map_free(map);

    if (geteuid() == 0 && chown(path, 12345, 12345) == 0) { /* somebody else's */
        map = rm_perf_map_new(4242);
        assert_null(name_at(map, &root, 0x1000));
        rm_perf_map_free(map);
    }
    rm_root_close(&root);
}

TEST(made_code_is_not_looked_for_all_the_time, IN_MADE_TIME)
{
    char path[256];
    struct rm_root root;
    (void)snprintf(path, sizeof path, "%s/tmp", test_directory);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/tmp/perf-4243.map", test_directory);
    assert_int_equal(rm_root_open(&root, test_directory), RESMON_OK);
    struct rm_perf_map *map = rm_perf_map_new(4243);
    assert_null(name_at(map, &root, 0x1000));
    append(path, "1000 10 first\n");
    rm_made_time_pass(50 * RM_NS_PER_MS);
    assert_null(name_at(map, &root, 0x1000)); /* looked at a moment ago */
    rm_made_time_pass(1);
    assert_string_equal(name_at(map, &root, 0x1000), "first");
    rm_perf_map_free(map);
    rm_root_close(&root);
}

/* ---- processes of which nothing is told -------------------------------------------------- */

static void *wait_for_end(void *unused)
{
    (void)pause();
    return unused;
}

static pid_t start(bool ends_main)
{
    int pipes[2];
    char byte = 0;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (ends_main && pthread_create(&thread, NULL, wait_for_end, NULL) != 0) {
            _exit(1);
        }
        (void)!write(pipes[1], &byte, 1);
        if (ends_main) {
            pthread_exit(NULL);
        }
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    return pid;
}

static void end(pid_t pid)
{
    siginfo_t info;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

TEST(what_becomes_of_a_process_is_in_proc)
{
    pid_t pid = start(false);
    uint32_t number = (uint32_t)pid;
    int64_t now_ns = rm_clock_monotonic_ns();
    assert_int_equal(rm_process_life_of(number, now_ns), RM_PROCESS_RUNS);
    /* One that began later has only the number of it. */
    assert_int_equal(rm_process_life_of(number, now_ns - 60 * RM_NS_PER_S), RM_PROCESS_IS_OVER);
    end(pid);
    assert_int_equal(rm_process_life_of(number, now_ns), RM_PROCESS_IS_OVER); /* not waited for */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(rm_process_life_of(number, now_ns), RM_PROCESS_IS_OVER);

    pid = start(true);
    number = (uint32_t)pid;
    while (rm_process_life_of(number, INT64_MAX) == RM_PROCESS_RUNS) {
        (void)sched_yield();
    }
    assert_int_equal(rm_process_life_of(number, INT64_MAX), RM_PROCESS_WITHOUT_MAIN);
    end(pid);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Records as the kernel makes them: of an end that is none, and of none where there was an end. */
TEST(an_end_is_believed_when_proc_says_so)
{
    struct rm_root root;
    struct rm_scratch scratch;
    assert_int_equal(rm_root_open(&root, NULL), RESMON_OK);
    assert_int_equal(rm_scratch_init(&scratch), RESMON_OK);
    struct rm_perf_tree *tree;
    const struct rm_perf_tree_terms terms = {.cpu_ns = 0};
    assert_int_equal(rm_perf_tree_new(&terms, &tree), RESMON_OK);
    struct rm_images *images = rm_images_new();
    struct rm_spaces *spaces = rm_spaces_new(images);
    struct rm_hidden hidden = {.tree = tree, .spaces = spaces, .root = &root, .scratch = &scratch};
    pid_t pid = start(false);
    uint32_t number = (uint32_t)pid;
    struct rm_tree_record record = {
        .kind = RM_TREE_FORK, .pid = number, .tid = number, .t_ns = rm_clock_monotonic_ns()};
    rm_spaces_note(spaces, &record);
    record.kind = RM_TREE_EXEC;
    rm_spaces_note(spaces, &record);
    record.kind = RM_TREE_EXIT;
    rm_spaces_note(spaces, &record);
    struct rm_space *space = rm_spaces_find(spaces, number);
    assert_true(space->ended_ns != 0);
    rm_hidden_check(&hidden, space);
    assert_int_equal(space->ended_ns, 0);
    assert_true(space->was_hidden && !rm_space_is_accounted(space));
    assert_int_equal(hidden.total, 1);
    rm_hidden_look(&hidden);
    assert_int_equal(space->ended_ns, 0);
    end(pid);
    if (hidden.opened > 0) { /* where this user may have its events, it is observed again */
        rm_spaces_note(spaces, &record);
        rm_hidden_check(&hidden, space);
    } else {
        rm_hidden_look(&hidden);
    }
    assert_true(space->ended_ns != 0);
    assert_int_equal(hidden.count, 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);

    pid = start(false);
    number = (uint32_t)pid;
    record = (struct rm_tree_record){.kind = RM_TREE_FORK, .pid = number, .tid = number};
    rm_spaces_note(spaces, &record);
    space = rm_spaces_find(spaces, number);
    hidden.has_lost = true;
    rm_hidden_look(&hidden);
    assert_int_equal(space->ended_ns, 0);
    end(pid);
    rm_hidden_look(&hidden);
    assert_int_equal(space->ended_ns, 0); /* nothing was lost since */
    hidden.has_lost = true;
    rm_hidden_look(&hidden);
    assert_true(space->ended_ns != 0);
    assert_int_equal(hidden.total, 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    rm_spaces_free(spaces);
    rm_images_free(images);
    rm_perf_tree_free(tree);
    rm_scratch_free(&scratch);
    rm_root_close(&root);
}
