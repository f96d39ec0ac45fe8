/* SPDX-License-Identifier: MIT */
/*
 * Every instruction is a kill instant.  A child changes a shared run block one machine instruction
 * at a time (ptrace); after each one that changed something, the block is read as if the child had
 * been killed there.  What test_kill looks for at random is here looked for everywhere, in what
 * single threads do: samples and halvings, scopes, tags, labels, and trees of threads that end.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, PTRACE_* */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_checks.h"

#include "base/compiler.h"
#include "run/run.h"
#include "scope/session.h"
#include "scope/site.h"
#include "store/layout.h"
#include "store/run_records.h"
#include "store/scope_records.h"
#include "store/series.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define ROWS        4
#define TAGS        4
#define MOST_STEPS  4000000L

/* What the child says of itself; shared. */
static volatile struct progress {
    int is_stepped; /* from the first stop on */
    int is_over;
    uint64_t begun, done; /* of whatever the scenario counts */
} * progress;

static void *memory; /* of the block; shared */
static void *copy;   /* looked at */
static struct rm_block block;

static const struct rm_block_sizes sizes = {
    .columns = 2,
    .rows = ROWS,
    .sources = 1,
    .tags = TAGS,
    .sites = 16,
    .nodes = 32,
    .threads = 3,
    .depth = 4,
    .fact_bytes = 64,
    .scope_tallies = 1,
};

/* ---- the child -------------------------------------------------------------------------- */

static void format_block(void)
{
    struct rm_column *columns;
    memset(memory, 0, BLOCK_BYTES);
    rm_block_format(&block, memory, &sizes);
    columns = rm_block_record(&block, RM_SECTION_COLUMNS, 0);
    columns[0].kind = RESMON_GAUGE;
    columns[1].kind = RESMON_COUNTER;
    rm_series_begin(&block);
    block.header->start = (struct rm_clock_pair){1000, 1000};
    block.header->phase = RM_PHASE_RUNNING;
}

static void add_sample(uint64_t number)
{
    const double values[2] = {(double)(number * 7 % 13), (double)(number * number)};
    struct rm_sample sample = {
        .t_ns = (int64_t)number * 1000000,
        .clock = {1000 + number * 1000000, 1000 + (int64_t)number * 1000000},
        .values = values,
    };
    rm_series_add(&block, &sample, &(struct rm_sampler_cost){0});
}

static void begin_stepping(void)
{
    progress->is_stepped = 1;
    (void)raise(SIGTRAP);
}

static void run_samples(void)
{
    format_block();
    begin_stepping();
    for (uint64_t i = 0; i < 40; i++) {
        progress->begun++;
        add_sample(i);
        progress->done++;
    }
}

static void run_tags(void)
{
    char label[32];
    format_block();
    add_sample(0);
    begin_stepping();
    for (unsigned i = 0; i < 3 * TAGS; i++) {
        (void)snprintf(label, sizeof label, "tag %u", i);
        progress->begun++;
        rm_tags_add(&block, 1000 + (int64_t)i, label);
        progress->done++;
    }
}

static resmon_site sites[] = {{"a", "f", "g", 1, 0}, {"b", "f", "g", 2, 0}, {"c", "f", "g", 3, 0}};

static void keep_block(void *context)
{
    (void)context;
}

static struct rm_scope_session *start_session(uint64_t meters)
{
    struct rm_scope_session *session = NULL;
    format_block();
    add_sample(0);
    if (rm_session_start(&block, &(struct rm_session_terms){.meters = meters, .max_share = 1e9},
                         keep_block, NULL, &session) != RESMON_OK) {
        _exit(81);
    }
    return session;
}

static void visit_scopes(void)
{
    for (int i = 0; i < 6; i++) {
        progress->begun++;
        uint64_t a = resmon_scope_begin(&sites[0]);
        uint64_t b = resmon_scope_begin(&sites[1]);
        uint64_t folded = resmon_scope_begin(&sites[1]);
        resmon_scope_end(folded);
        resmon_scope_end(b);
        resmon_scope_end(a);
        progress->done++;
    }
}

static void run_scopes(void)
{
    (void)start_session(RESMON_METER_WALL);
    begin_stepping();
    visit_scopes();
}

static void run_metered_scopes(void)
{
    (void)start_session(RESMON_METER_ALL);
    begin_stepping();
    visit_scopes();
}

#define CALLS 5
#define TICKS 700

static struct rm_scope_node *grow_node(struct rm_scope_thread *thread, struct rm_scope_node *parent,
                                       resmon_site *site)
{
    struct rm_scope_node *node = rm_session_child(thread, parent, site, rm_site_number(site));
    if (node == NULL) {
        _exit(82);
    }
    node->min = 100;
    node->max = 200;
    node->sums[node->wall_version & 1] = (struct rm_wall_sums){
        .calls = CALLS, .total = TICKS, .squares = {.low = TICKS * TICKS / CALLS + 9}};
    node->meters[node->meter_version & 1].folded = 1;
    struct rm_tallies_record *record =
        rm_scope_tallies_record(&block, rm_node_ref_to(&block, node));
    record->copies[record->version & 1] =
        (struct rm_tallies){.tallies = {[RM_TALLY_CPU] = {.calls = CALLS}},
                            .fields = {[RM_FIELD_CPU_NS] = {.sum = 60, .total = 60.0}}};
    return node;
}

/* The tree of a thread: a/b, a/c, c. */
static struct rm_scope_thread *grow_thread(struct rm_scope_session *session)
{
    __atomic_add_fetch(&session->references, 1, __ATOMIC_RELAXED);
    struct rm_scope_thread *thread = rm_session_attach(session);
    if (thread == NULL || thread->record == NULL) {
        _exit(83);
    }
    struct rm_scope_node *root = rm_node_at(&block, thread->record->root);
    struct rm_scope_node *a = grow_node(thread, root, &sites[0]);
    (void)grow_node(thread, a, &sites[1]);
    (void)grow_node(thread, a, &sites[2]);
    (void)grow_node(thread, root, &sites[2]);
    return thread;
}

/* Two threads whose trees join the retired, the second onto the first; a third takes the nodes that
 * they leave. */
static void run_ending_threads(void)
{
    struct rm_scope_session *session = start_session(RESMON_METER_WALL);
    struct rm_scope_thread *first = grow_thread(session);
    struct rm_scope_thread *second = grow_thread(session);
    begin_stepping();
    rm_session_detach(first);
    rm_session_detach(second);
    (void)rm_session_attach(session);
}

/* ---- looking ---------------------------------------------------------------------------- */

static bool check_samples(const resmon_run *run, struct verdict *verdict)
{
    uint64_t samples = info_of(run).samples;
    return (samples >= progress->done && samples <= progress->begun &&
            check_spans(run, ROWS, verdict) && check_columns(run, verdict)) ||
           object(verdict, "%llu samples", (unsigned long long)samples);
}

static bool check_tags(const resmon_run *run, struct verdict *verdict)
{
    uint64_t next = 0;
    uint64_t kept = resmon_run_tag_count(run);
    uint64_t least = progress->done < TAGS ? progress->done : TAGS - 1;
    return check_numbered_tags(run, &next, verdict) &&
           ((kept >= least && kept <= TAGS && next >= progress->done && next <= progress->begun) ||
            object(verdict, "%llu tags up to %llu", (unsigned long long)kept,
                   (unsigned long long)next));
}

static bool check_visits(const resmon_run *run, struct verdict *verdict)
{
    int64_t a = find_scope(run, -1, "a");
    int64_t b = a >= 0 ? find_scope(run, a, "b") : -1;
    const int64_t found[] = {a, b};
    for (size_t i = 0; i < RM_ARRAY_LEN(found); i++) {
        resmon_run_scope scope = {.name = i == 0 ? "a" : "b"};
        if (found[i] >= 0) {
            scope = ended_of(scope_of(run, (size_t)found[i]));
        }
        if (scope.calls < progress->done || scope.calls > progress->begun ||
            scope.calls + scope.open > progress->begun + 1) {
            return object(verdict, "%s: %llu calls, %llu open", scope.name,
                          (unsigned long long)scope.calls, (unsigned long long)scope.open);
        }
        /* A recursion is counted a moment before the instance that it was inside of. */
        if (i == 1 && scope.folded != scope.calls && scope.folded != scope.calls + 1) {
            return object(verdict, "b: %llu calls, %llu folded", (unsigned long long)scope.calls,
                          (unsigned long long)scope.folded);
        }
    }
    return check_scopes(run, 1e12, verdict);
}

static bool check_thread_path(const resmon_run *run, int64_t parent, const char *name,
                              int64_t *ret_index, struct verdict *verdict)
{
    *ret_index = find_scope(run, parent, name);
    if (*ret_index < 0) {
        return object(verdict, "%s is gone", name);
    }
    resmon_run_scope scope = scope_of(run, (size_t)*ret_index);
    if (scope.calls != 2 * CALLS || scope.folded != 2 || scope.wall_ns != 2 * TICKS ||
        scope.wall_min_ns != 100 || scope.wall_max_ns != 200) {
        return object(verdict, "%s: %llu calls, %llu folded, %g ns, %g ... %g", name,
                      (unsigned long long)scope.calls, (unsigned long long)scope.folded,
                      scope.wall_ns, scope.wall_min_ns, scope.wall_max_ns);
    }
    if (scope.threads > 2) {
        return object(verdict, "%s: visited by %llu threads of 2", name,
                      (unsigned long long)scope.threads);
    }
    if (scope.cpu_calls > 2 * CALLS) {
        return object(verdict, "%s: %llu calls, %llu of them metered", name,
                      (unsigned long long)scope.calls, (unsigned long long)scope.cpu_calls);
    }
    return true;
}

static bool check_ending_threads(const resmon_run *run, struct verdict *verdict)
{
    int64_t a, other;
    return check_thread_path(run, -1, "a", &a, verdict) &&
           check_thread_path(run, a, "b", &other, verdict) &&
           check_thread_path(run, a, "c", &other, verdict) &&
           check_thread_path(run, -1, "c", &other, verdict) &&
           (resmon_run_scope_count(run) == 4 ||
            object(verdict, "%zu scopes", resmon_run_scope_count(run)));
}

typedef bool check_fn(const resmon_run *run, struct verdict *verdict);

/* ---- stepping --------------------------------------------------------------------------- */

static bool look(size_t bytes, check_fn *check, struct verdict *verdict)
{
    struct rm_block view;
    struct rm_decode how = {.parts = RM_PART_ALL};
    resmon_run *run = NULL;
    if (memcmp(copy, memory, bytes) == 0) {
        return true;
    }
    memcpy(copy, memory, bytes);
    if (rm_block_attach(&view, copy, bytes) != RESMON_OK ||
        rm_run_decode(&view, &how, &run) != RESMON_OK) {
        return object(verdict, "unreadable: %s", resmon_last_error());
    }
    bool is_good = check(run, verdict);
    resmon_run_free(run);
    return is_good;
}

static pid_t start_child(void (*run)(void))
{
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(77);
        }
        run();
        progress->is_over = 1;
        _exit(0);
    }
    return child;
}

static void end_child(pid_t child)
{
    int status;
    (void)kill(child, SIGKILL);
    while (waitpid(child, &status, 0) == child && !WIFSIGNALED(status) && !WIFEXITED(status)) {
    }
}

static void step_through(void (*run)(void), check_fn *check)
{
    uint64_t bytes = 0;
    int status;
    long steps = 0, bad = 0;
#if !defined(__x86_64__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: made for x86-64 without ThreadSanitizer\n");
    skip();
#endif
    memset((void *)(uintptr_t)progress, 0, sizeof *progress);
    assert_ok(rm_block_measure(&sizes, &bytes));
    assert_true(bytes <= BLOCK_BYTES);
    memset(copy, 0, BLOCK_BYTES);
    pid_t child = start_child(run);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status) || !progress->is_stepped) {
        end_child(child);
        print_message("skipped: no ptrace here (status %d)\n", status);
        skip();
    }
    while (!progress->is_over && steps < MOST_STEPS) {
        struct verdict verdict = {0};
        if (!look(bytes, check, &verdict) && bad++ < 5) {
            print_error("step %ld, %llu begun, %llu done: %s\n", steps,
                        (unsigned long long)progress->begun, (unsigned long long)progress->done,
                        verdict.why);
        }
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 ||
            waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
            break;
        }
        steps++;
    }
    end_child(child);
    print_message("%ld steps, %ld bad\n", steps, bad);
    assert_true(progress->is_over);
    assert_int_equal(bad, 0);
}

TEST(samples)
{
    step_through(run_samples, check_samples);
}

TEST(tags)
{
    step_through(run_tags, check_tags);
}

TEST(scopes)
{
    step_through(run_scopes, check_visits);
}

TEST(metered_scopes)
{
    step_through(run_metered_scopes, check_visits);
}

TEST(ending_threads)
{
    step_through(run_ending_threads, check_ending_threads);
}

static void *shared_bytes(size_t bytes)
{
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return mapped != MAP_FAILED ? mapped : NULL;
}

FIXTURE(set_up)
{
    memory = shared_bytes(BLOCK_BYTES);
    copy = shared_bytes(BLOCK_BYTES);
    progress = shared_bytes(sizeof *progress);
    return memory != NULL && copy != NULL && progress != NULL ? 0 : -1;
}

TEST_FILE(.set_up = set_up);
