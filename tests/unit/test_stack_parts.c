/* SPDX-License-Identifier: MIT */
/*
 * What stacks stand on: the ring of a slot, the list of modules, the mappings of files, the signal,
 * and when memory is at a peak.
 */
#define _GNU_SOURCE /* dladdr */
#include "test.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/libc.h"
#include "os/own_usage.h"
#include "os/proc_pid.h"
#include "os/program.h"
#include "stack/code.h"
#include "stack/faults.h"
#include "stack/slot.h"
#include "unit/pages.h"

#define MIB UINT64_C(1048576)

/* ---- the ring ---------------------------------------------------------------------------- */

static bool put(struct rm_stack_slot *slot, uint32_t depth, uint64_t value)
{
    struct rm_slot_sample *sample = rm_slot_reserve(slot, 1);
    if (sample == NULL) {
        return false;
    }
    *sample = (struct rm_slot_sample){.cause = RM_SAMPLE_CPU, .site_count = (uint32_t)value % 5};
    for (uint32_t i = 0; i < sample->site_count; i++) {
        rm_slot_sites(sample)[i] = i;
    }
    for (uint32_t i = 0; i < depth; i++) {
        rm_slot_addresses(sample)[i] = value + i;
    }
    sample->depth = depth;
    sample->count = value;
    sample->bytes = rm_slot_bytes_of(sample);
    rm_slot_commit(slot, sample);
    return true;
}

static void check_next(struct rm_stack_slot *slot, uint64_t value)
{
    const struct rm_slot_sample *sample = rm_slot_peek(slot, RM_LOAD_ACQUIRE(&slot->head));
    assert_non_null(sample);
    assert_int_equal(sample->count, value);
    struct rm_slot_sample *parts = (struct rm_slot_sample *)(uintptr_t)sample;
    for (uint32_t i = 0; i < sample->depth; i++) {
        assert_int_equal(rm_slot_addresses(parts)[i], value + i);
    }
    rm_slot_release(slot, sample);
}

TEST(samples_come_out_in_order_however_long)
{
    struct rm_stack_slot *slot = calloc(1, sizeof *slot);
    assert_non_null(slot);
    uint64_t in = 0;
    uint64_t out = 0;
    assert_null(rm_slot_peek(slot, RM_LOAD_ACQUIRE(&slot->head)));
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < round % 7; i++) {
            assert_true(put(slot, (uint32_t)(in * 37 % (RM_STACK_DEPTH + 1)), in));
            in++;
        }
        while (out < in) {
            check_next(slot, out++);
        }
        assert_null(rm_slot_peek(slot, RM_LOAD_ACQUIRE(&slot->head)));
    }
    assert_int_equal(slot->full, 0);
    free(slot);
}

TEST(a_full_ring_counts_and_keeps_what_it_has)
{
    struct rm_stack_slot *slot = calloc(1, sizeof *slot);
    assert_non_null(slot);
    for (int round = 0; round < 50; round++) { /* from wherever in the ring */
        uint64_t kept = 0;
        while (put(slot, 20 + (uint32_t)round, kept)) {
            kept++;
        }
        assert_int_equal(slot->full, round + 1);
        assert_true(kept > 20);
        for (uint64_t i = 0; i < kept; i++) {
            check_next(slot, i);
        }
        assert_null(rm_slot_peek(slot, RM_LOAD_ACQUIRE(&slot->head)));
    }
    free(slot);
}

/* ---- unwind cache ------------------------------------------------------------------------- */

TEST(unwind_steps_are_cached_by_address)
{
    struct rm_unwind_cache *cache = rm_unwind_cache_new();
    uint64_t kept = 0;
    assert_non_null(cache);
    assert_null(rm_unwind_cache_find(cache, 0x1000));
    for (uint64_t i = 1; i <= 10000; i++) { /* more than there is room for */
        rm_unwind_cache_add(cache, 16 * i, &i, sizeof i);
        rm_unwind_cache_add(cache, 16 * i, &kept, sizeof kept); /* the first one stays */
    }
    for (uint64_t i = 1; i <= 10000; i++) {
        const uint64_t *found = rm_unwind_cache_find(cache, 16 * i);
        assert_true(found == NULL || *found == i);
        kept += found != NULL;
    }
    assert_true(kept > 1000 && kept < 10000);
    unsigned char large[RM_UNWIND_STEP_BYTES + 1] = {0};
    rm_unwind_cache_add(cache, 7, large, sizeof large);
    assert_null(rm_unwind_cache_find(cache, 7));
    rm_free(cache);
}

/* ---- modules ----------------------------------------------------------------------------- */

TEST(modules_are_those_of_the_loader)
{
    struct rm_modules *modules = NULL;
    Dl_info info;
    assert_true(rm_modules_are_old(NULL));
    assert_ok(rm_modules_list(&modules));
    assert_false(rm_modules_are_old(modules));
    const struct rm_module *own = rm_modules_find(modules, (uint64_t)(uintptr_t)put);
    const struct rm_module *libc =
        rm_modules_find(modules, (uint64_t)(uintptr_t)dlsym(NULL, "qsort"));
    assert_non_null(own);
    assert_non_null(libc);
    assert_ptr_not_equal(own, libc);
    assert_true(dladdr(dlsym(NULL, "qsort"), &info) != 0);
    assert_string_equal(libc->entry.path, info.dli_fname);
    assert_int_equal(libc->entry.bias, (uint64_t)(uintptr_t)info.dli_fbase);
    assert_true(libc->unwind_count > 100);
    assert_true(libc->entry.build_id_length > 0);
    char exe[RM_MODULE_PATH_BYTES] = "";
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    assert_string_equal(own->entry.path, exe);
    assert_null(rm_modules_find(modules, 1));
    for (size_t i = 1; i < modules->count; i++) {
        assert_true(modules->rows[i - 1].entry.start <= modules->rows[i].entry.start);
    }
    rm_free(modules);
}

TEST(libraries_that_come_make_the_list_old)
{
    struct rm_modules *modules = NULL;
    assert_ok(rm_modules_list(&modules));
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        rm_free(modules);
        print_message("skipped: neither libz nor libresolv can be loaded\n");
        skip();
    }
    assert_true(rm_modules_are_old(modules));
    rm_free(modules);
    assert_ok(rm_modules_list(&modules));
    assert_int_equal(dlclose(library), 0);
    assert_true(rm_modules_are_old(modules));
    rm_free(modules);
}

/* ---- mappings of files --------------------------------------------------------------------- */

TEST(pages_of_files_are_told_from_others)
{
    struct rm_root root;
    struct rm_scratch scratch;
    struct rm_file_mappings mappings = {.ranges = NULL};
    assert_ok(rm_root_open(&root, NULL));
    assert_ok(rm_scratch_init(&scratch));
    int fd = rm_memory_file("data");
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 8192), 0);
    char *file = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    char *none = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(file, MAP_FAILED);
    assert_ptr_not_equal(none, MAP_FAILED);
    rm_file_mappings_read(&mappings, "proc/thread-self/maps", &root, &scratch);
    const struct rm_mapped_range *range =
        rm_file_mappings_find(&mappings, (uint64_t)(uintptr_t)file + 4096);
    assert_non_null(range);
    assert_true(range->is_file);
    range = rm_file_mappings_find(&mappings, (uint64_t)(uintptr_t)none);
    assert_non_null(range);
    assert_false(range->is_file);
    range = rm_file_mappings_find(&mappings, (uint64_t)(uintptr_t)put);
    assert_non_null(range);
    assert_true(range->is_file);
    assert_null(rm_file_mappings_find(&mappings, 1));
    assert_null(rm_file_mappings_find(&mappings, UINT64_MAX));
    rm_file_mappings_free(&mappings);
    rm_scratch_free(&scratch);
    rm_root_close(&root);
    (void)munmap(file, 8192);
    (void)munmap(none, 8192);
    (void)close(fd);
}

TEST(pages_that_were_written_to_are_the_programs)
{
    struct rm_root root;
    struct rm_scratch scratch;
    struct rm_own_pages pages;
    struct rm_file_mappings mappings = {.ranges = NULL};
    uint64_t before[2], after[2];
    const size_t bytes = 8 * MIB;
    assert_ok(rm_root_open(&root, NULL));
    assert_ok(rm_scratch_init(&scratch));
    int fd = rm_memory_file("data");
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    char *private = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(private, MAP_FAILED);
    assert_ptr_not_equal(shared, MAP_FAILED);
    rm_own_pages_open(&pages, &root, (uint64_t)sysconf(_SC_PAGESIZE));
    assert_true(rm_own_pages_rss(&pages, &scratch, &before[0], &before[1]));
    memset(shared, 1, bytes);
    private[0] = 2;
    assert_int_equal(((volatile char *)private)[bytes - 1], 1);
    assert_true(rm_own_pages_rss(&pages, &scratch, &after[0], &after[1]));
    /* Many kernels (from 6.2 on) keep these counts by CPU, and tell them roughly. */
    assert_near((double)after[1] - (double)before[1], (double)bytes, (double)(2 * MIB));
    assert_true(after[0] < before[0] + 2 * MIB);
    rm_file_mappings_read(&mappings, "proc/thread-self/maps", &root, &scratch);
    assert_true(rm_file_mappings_find(&mappings, (uint64_t)(uintptr_t) private)->is_private);
    assert_false(rm_file_mappings_find(&mappings, (uint64_t)(uintptr_t)shared)->is_private);
    if (rm_file_is_open(&pages.pagemap)) {
        assert_true(rm_own_pages_is_own(&pages, (uint64_t)(uintptr_t) private));
        assert_false(rm_own_pages_is_own(&pages, (uint64_t)(uintptr_t) private + bytes - 1));
        assert_false(rm_own_pages_is_own(&pages, (uint64_t)(uintptr_t)shared));
        assert_false(rm_own_pages_is_own(&pages, UINT64_C(1) << 62)); /* no such address */
    } else {
        print_message("/proc/thread-self/pagemap cannot be read here\n");
    }
    rm_own_pages_close(&pages);
    assert_false(rm_own_pages_rss(&pages, &scratch, &after[0], &after[1]));
    rm_file_mappings_free(&mappings);
    rm_scratch_free(&scratch);
    rm_root_close(&root);
    (void)munmap(private, bytes);
    (void)munmap(shared, bytes);
    (void)close(fd);
}

/* ---- the signal ---------------------------------------------------------------------------- */

static volatile sig_atomic_t ours, theirs;

static bool take_raised(const siginfo_t *info, void *context)
{
    (void)context;
    ours++;
    return info->si_code == SI_TKILL;
}

static void on_theirs(int number)
{
    (void)number;
    theirs++;
}

static void set_handler(int number, void (*function)(int))
{
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = function;
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

TEST(a_free_signal_is_taken_and_given_back)
{
    int number = 0;
    int second = 0;
    ours = theirs = 0;
    assert_ok(rm_claimed_signal_take(take_raised, &number));
    assert_int_equal(number, SIGURG);
    assert_status(RESMON_EBUSY, rm_claimed_signal_take(take_raised, &second));
    assert_true(rm_claimed_signal_is_ours());
    assert_int_equal(raise(number), 0);
    assert_int_equal(ours, 1);
    set_handler(number, on_theirs); /* the program comes later */
    assert_false(rm_claimed_signal_is_ours());
    rm_claimed_signal_release();
    assert_int_equal(raise(number), 0);
    assert_int_equal(theirs, 1); /* and keeps it */
    set_handler(number, SIG_DFL);
}

TEST(signals_that_are_taken_are_left_alone)
{
    int number = 0;
    set_handler(SIGURG, on_theirs);
    assert_ok(rm_claimed_signal_take(take_raised, &number));
    assert_int_not_equal(number, SIGURG);
    rm_claimed_signal_release();
    struct sigaction after;
    assert_int_equal(sigaction(number, NULL, &after), 0);
    assert_true(after.sa_handler == SIG_DFL);
#ifdef SIGSTKFLT
    set_handler(SIGSTKFLT, on_theirs);
#endif
    set_handler(SIGPROF, on_theirs);
    assert_status(RESMON_EBUSY, rm_claimed_signal_take(take_raised, &number));
    assert_non_null(strstr(resmon_last_error(), "SIGURG"));
    set_handler(SIGURG, SIG_DFL);
#ifdef SIGSTKFLT
    set_handler(SIGSTKFLT, SIG_DFL);
#endif
    set_handler(SIGPROF, SIG_DFL);
}

/* One that waits in a thread that has it blocked is thrown away, and not left to kill. */
TEST(what_is_pending_goes_with_the_claim)
{
    int number = 0;
    sigset_t set;
    sigset_t pending;
    ours = 0;
    assert_ok(rm_claimed_signal_take(take_raised, &number));
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    assert_int_equal(raise(number), 0);
    (void)sigpending(&pending);
    assert_int_equal(sigismember(&pending, number), 1);
    rm_claimed_signal_release();
    (void)sigpending(&pending);
    assert_int_equal(sigismember(&pending, number), 0);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    assert_int_equal(ours, 0);
}

/* ---- peaks --------------------------------------------------------------------------------- */

static bool decide(struct rm_memory_watch *watch, uint64_t rss, int64_t at_ms, uint64_t headroom)
{
    const struct rm_seen_rss seen = {rss, at_ms * RM_NS_PER_MS};
    return rm_memory_watch_decide(watch, &seen, headroom);
}

TEST(peaks_are_growth_by_a_tenth)
{
    struct rm_memory_watch watch = {.next_headroom = 0};
    assert_true(decide(&watch, 100 * MIB, 0, UINT64_MAX));
    assert_false(decide(&watch, 115 * MIB, 20, UINT64_MAX));
    assert_true(decide(&watch, 116 * MIB, 40, UINT64_MAX));
    assert_false(decide(&watch, 50 * MIB, 60, UINT64_MAX));
    assert_true(decide(&watch, 1000 * MIB, 80, UINT64_MAX));
    assert_false(decide(&watch, 1099 * MIB, 100, UINT64_MAX));
    assert_true(decide(&watch, 1100 * MIB, 120, UINT64_MAX));
}

/* Else the stacks of what grows slowly would be of a moment a tenth below its highest. */
TEST(peaks_are_growth_by_a_hundredth_in_a_second)
{
    struct rm_memory_watch watch = {.next_headroom = 0};
    assert_true(decide(&watch, 1000 * MIB, 0, UINT64_MAX));
    assert_false(decide(&watch, 1010 * MIB, 999, UINT64_MAX));
    assert_true(decide(&watch, 1010 * MIB, 1000, UINT64_MAX));
    assert_false(decide(&watch, 1015 * MIB, 9000, UINT64_MAX)); /* less than a hundredth */
    assert_false(decide(&watch, 900 * MIB, 9000, UINT64_MAX));
    assert_true(decide(&watch, 1021 * MIB, 9000, UINT64_MAX));
    watch = (struct rm_memory_watch){.next_headroom = 0};
    assert_true(decide(&watch, 10 * MIB, 0, UINT64_MAX));
    assert_false(decide(&watch, 11 * MIB - 1, 2000, UINT64_MAX)); /* less than a MiB */
    assert_true(decide(&watch, 11 * MIB, 2000, UINT64_MAX));
}

TEST(the_highest_is_known_where_it_is_no_peak)
{
    struct rm_memory_watch watch = {.next_headroom = 0};
    assert_true(decide(&watch, 100 * MIB, 10, UINT64_MAX));
    assert_false(decide(&watch, 110 * MIB, 20, UINT64_MAX));
    assert_false(decide(&watch, 105 * MIB, 30, UINT64_MAX));
    assert_int_equal(watch.highest.bytes, 110 * MIB);
    assert_int_equal(watch.highest.at_ns, 20 * RM_NS_PER_MS);
}

TEST(peaks_are_less_and_less_headroom)
{
    struct rm_memory_watch watch = {.next_rss = UINT64_MAX, .next_headroom = 100 * MIB};
    assert_false(decide(&watch, 1, 0, 100 * MIB));
    assert_true(decide(&watch, 1, 0, 90 * MIB));
    assert_false(decide(&watch, 1, 0, 50 * MIB));
    assert_true(decide(&watch, 1, 0, 40 * MIB));
    assert_true(decide(&watch, 1, 0, 0));
    assert_false(decide(&watch, 1, 0, 0));
}

TEST_FILE(.set_up = stay_on_one_of_many_cpus);
