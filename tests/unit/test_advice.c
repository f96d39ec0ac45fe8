/* SPDX-License-Identifier: MIT */
/*
 * Advice on jobs: each rule speaks of a made job that it is for, with its arithmetic, and is silent
 * on one that is well.
 */
#include "runs.h"

#include "merge/job_use.h"
#include "metric/metric.h"
#include "run/record.h"
#include "run/run.h"
#include "view/builders.h"

#define GIB 1073741824.0

/* A job of two nodes that is well: 1,000 s on 2 x 8 CPUs. */
struct job {
    double seconds, cpu_s, cpus, limit_s;
    double memory_bytes, allotted_bytes;
    double gpu_percent; /* NaN: there are none */
    double io_share, swap_bytes, throttled_s, heat_s, numa_share;
    double longest_s, mean_s; /* of the ranks in a phase */
    int32_t reason;
};

static const struct job well = {.seconds = 1000,
                                .cpu_s = 15000,
                                .cpus = 8,
                                .limit_s = 1200,
                                .memory_bytes = 12 * GIB,
                                .allotted_bytes = 16 * GIB,
                                .gpu_percent = 60,
                                .io_share = 0.05,
                                .swap_bytes = 0,
                                .throttled_s = 0,
                                .heat_s = 0,
                                .numa_share = 0.1,
                                .longest_s = 900,
                                .mean_s = 850,
                                .reason = RESMON_END_FINISHED};

static void add_column(struct resmon_run *run, enum rm_metric_id metric, double mean, double last,
                       double max)
{
    static const char *const instances[] = {"", "n1", "n2"};
    for (size_t i = 0; i < 3; i++) {
        resmon_column *column = &run->columns[run->column_count++];
        rm_record_clear(RM_RECORD_statistics, column);
        column->metric = rm_metric_name(rm_metric_of(metric));
        column->instance = instances[i];
        column->level = i == 0 ? RESMON_LEVEL_JOB : RESMON_LEVEL_NODE;
        column->n = 100;
        column->first = 0.0;
        column->mean = mean;
        column->last = last;
        column->max = max;
    }
}

static struct resmon_run *make(const struct job *job)
{
    static char limit[32];
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.duration_ns = (int64_t)(job->seconds * 1e9);
    run->end.reason = job->reason;
    run->columns = rm_arena_alloc(&run->strings, 32, sizeof *run->columns);
    run->nodes = rm_arena_alloc(&run->strings, 2, sizeof *run->nodes);
    run->ranks = rm_arena_alloc(&run->strings, 4, sizeof *run->ranks);
    run->scopes = rm_arena_alloc(&run->strings, 1, sizeof *run->scopes);
    run->rank_walls = rm_arena_alloc(&run->strings, 4, sizeof *run->rank_walls);
    run->facts = rm_arena_alloc(&run->strings, 2, sizeof *run->facts);
    assert_true(run->columns != NULL && run->nodes != NULL && run->ranks != NULL &&
                run->scopes != NULL && run->rank_walls != NULL && run->facts != NULL);
    for (size_t i = 0; i < 2; i++) {
        rm_record_clear(RM_RECORD_node, &run->nodes[i]);
        run->nodes[i].name = i == 0 ? "n1" : "n2";
        run->nodes[i].state = "stopped";
        run->nodes[i].duration_ns = run->info.duration_ns;
        run->nodes[i].allotted_cpus = job->cpus;
        run->nodes[i].allotted_bytes = job->allotted_bytes;
    }
    run->node_count = 2;
    for (size_t i = 0; i < 4; i++) {
        rm_record_clear(RM_RECORD_rank, &run->ranks[i]);
        run->ranks[i].rank = (int64_t)i;
        run->ranks[i].node = (int64_t)i / 2;
        run->rank_walls[i] =
            1e9 * (i == 3 ? job->longest_s : (4.0 * job->mean_s - job->longest_s) / 3.0);
    }
    run->rank_count = 4;
    rm_record_clear(RM_RECORD_scope, &run->scopes[0]);
    run->scopes[0].name = "train";
    run->scopes[0].parent = -1;
    run->scope_count = 1;
    (void)snprintf(limit, sizeof limit, "%.0f", job->limit_s);
    run->facts[0] = (struct rm_fact){"job", "time_limit_s", limit, RM_FACT_NUMBER};
    run->facts[1] = (struct rm_fact){"machine", "gpus", "4", RM_FACT_NUMBER};
    run->fact_count = 2;
    add_column(run, RM_TREE_CPU_TIME, job->cpu_s / job->seconds, job->cpu_s, 0);
    add_column(run, RM_CG_MEM_WORKING_SET, job->memory_bytes, job->memory_bytes, job->memory_bytes);
    add_column(run, RM_NODE_PSI_IO_SOME, job->io_share, 0, 0);
    add_column(run, RM_NODE_SWAP_USED, 0, 0, job->swap_bytes);
    add_column(run, RM_CG_CPU_THROTTLED_TIME, 0, job->throttled_s, 0);
    add_column(run, RM_NODE_CPU_THROTTLED_TIME, 0, job->heat_s, 0);
    add_column(run, RM_NODE_NUMA_LOCAL, 0, 1e6 * (1.0 - job->numa_share), 0);
    add_column(run, RM_NODE_NUMA_OTHER, 0, 1e6 * job->numa_share, 0);
    if (!isnan(job->gpu_percent)) {
        add_column(run, RM_GPU_UTIL, job->gpu_percent, 0, 0);
    }
    rm_run_find_node_use(run);
    return run;
}

static char said[4096];

static const char *advice(const struct job *job)
{
    struct rm_page page = {.title = ""};
    struct rm_page_list list = {.count = 0};
    struct resmon_run *run = make(job);
    said[0] = '\0';
    rm_advice_say(&page, run, &list);
    for (size_t i = 0; i < list.count; i++) {
        size_t length = strlen(said);
        (void)snprintf(said + length, sizeof said - length, "%s\n", list.items[i]);
    }
    rm_page_free(&page);
    rm_run_free(run);
    return said;
}

/* One sentence, in which these words are. */
static void assert_says(const struct job *job, const char *const *words, size_t count)
{
    const char *text = advice(job);
    assert_non_null(strchr(text, '\n'));
    assert_string_equal(strchr(text, '\n'), "\n");
    for (size_t i = 0; i < count; i++) {
        if (strstr(text, words[i]) == NULL) {
            fail_msg("no '%s' in: %s", words[i], text);
        }
    }
}

#define SAYS(job, ...)                                                           \
    do {                                                                         \
        const char *const says_words[] = {__VA_ARGS__};                          \
        assert_says(&(job), says_words, sizeof says_words / sizeof *says_words); \
    } while (0)

TEST(a_job_that_is_well)
{
    assert_string_equal(advice(&well), "");
    struct job little = well; /* nothing is known of what it had */
    little.cpus = little.allotted_bytes = little.gpu_percent = NAN;
    assert_string_equal(advice(&little), "");
}

TEST(cpu)
{
    struct job job = well;
    job.cpu_s = 12799; /* of 16,000 */
    SAYS(job, "CPU: 3 h 33 min of the 4 h 26 min that 16 CPUs had were used, 80 %: 12.80 of them");
    job.cpu_s = 12801;
    assert_string_equal(advice(&job), "");
    job.cpu_s = 8000;
    SAYS(job, "50 %, which is little: 8.00 of them were busy on average");
    job.cpu_s = 1000;
    SAYS(job, "1.00 of 16 CPUs was busy on average", "serial");
    job.cpu_s = 1020;
    SAYS(job, "6.4 %, which is little: 1.02 of them");
}

TEST(memory)
{
    struct job job = well;
    job.memory_bytes = 4 * GIB;
    SAYS(job, "memory: at most 4.00 GiB of 16.0 GiB for a node were in use (on n1), 25 %",
         "ask for 4.80 GiB next time, 1.2 times");
    job.memory_bytes = 15.9 * GIB;
    SAYS(job, "15.9 GiB of 16.0 GiB", "99 %", "ask for 19.1 GiB");
    job.memory_bytes = 0.70 * 16 * GIB;
    assert_string_equal(advice(&job), "");
}

TEST(gpus)
{
    struct job job = well;
    job.gpu_percent = 20;
    SAYS(job, "GPUs: the 4 had work for 20 % of the time\n");
    job.gpu_percent = 14;
    SAYS(job, "GPUs: the 4 had work for 14 % of the time, which is little");
    job.gpu_percent = 25;
    assert_string_equal(advice(&job), "");
}

TEST(time)
{
    struct job job = well;
    job.limit_s = 86400;
    SAYS(job, "time: 16 min 40 s of 24 h", "1.2 %", "with a limit of 20 min", ", by much");
    job.reason = RESMON_END_KILLED; /* who knows how long it would have taken */
    assert_string_equal(advice(&job), "");
}

TEST(what_held_it_up)
{
    struct job job = well;
    job.io_share = 0.4;
    SAYS(job, "I/O: some task of a node waited for it in 40 % of the time");
    job = well;
    job.swap_bytes = 2 * GIB;
    SAYS(job, "swap: 2.00 GiB were moved out of memory on n1");
    job = well;
    job.throttled_s = 3000;
    SAYS(job, "quota: threads that could have run were throttled for 50 min",
         "more threads than CPUs");
    job = well;
    job.heat_s = 120;
    SAYS(job, "heat: the processors of n1 were slowed down for 2 min 00 s of 16 min 40 s");
    job.heat_s = 50;
    assert_string_equal(advice(&job), "");
    job = well;
    job.numa_share = 0.4;
    SAYS(job, "NUMA: 40 % of the memory that was allocated on n1", "bind ranks to NUMA nodes");
    job.numa_share = 0.2;
    assert_string_equal(advice(&job), "");
}

TEST(imbalance)
{
    struct job job = well;
    job.longest_s = 900;
    job.mean_s = 450;
    SAYS(job, "imbalance: in train rank 3 on n2 took 15 min",
         "the mean of 4 is 7 min 30 s (1.00 more)", "30 min 00 s of the ranks' time are lost");
    job.longest_s = 90; /* as uneven, and of no weight */
    job.mean_s = 45;
    assert_string_equal(advice(&job), "");
}

TEST(machines_that_differ)
{
    char text[RM_DIFFERENCES_BYTES];
    struct resmon_run *run = make(&well);
    run->nodes[0].cpu_model = run->nodes[1].cpu_model = "EPYC";
    run->nodes[0].gpu_model = run->nodes[1].gpu_model = "";
    run->nodes[0].kernel = run->nodes[1].kernel = "6.1";
    run->nodes[0].memory_bytes = 64 * GIB;
    run->nodes[1].memory_bytes = 62 * GIB;
    rm_run_node_differences(run, text);
    assert_string_equal(text, "");
    run->nodes[1].cpu_model = "Xeon";
    run->nodes[1].memory_bytes = 128 * GIB;
    run->nodes[0].cpus = 64;
    run->nodes[1].cpus = 128;
    run->nodes[1].gpu_model = "2 x H100"; /* the other one may not know its own */
    run->nodes[1].kernel = "5.14";
    rm_run_node_differences(run, text);
    assert_string_equal(text, "CPU model, number of CPUs, memory, kernel");
    rm_run_free(run);
}

TEST(short_jobs_get_none)
{
    struct job job = well;
    job.seconds = 299;
    job.cpu_s = 1;
    assert_string_equal(advice(&job), "");
    job.seconds = 301;
    assert_string_not_equal(advice(&job), "");
}
