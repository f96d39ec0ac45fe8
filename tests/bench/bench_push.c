/* SPDX-License-Identifier: MIT */
/*
 * A push to MLflow of a run whose series have a million points, against libcurl alone with the same
 * requests, which the server kept and which are ready in memory.  And how many requests the figures
 * of one node are.
 *
 * Against a server that only reads, the floor is the kernel's copying, 0.1 us for a point; to print
 * one takes some 0.05 us more, half of it for the exact decimal number: that row is for looking.
 * The target, 1.2, is for a server of 1 ms a request, still a small part of what a real one takes.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/mlflow.h>

#include "base/compiler.h"
#include "bench.h"
#include "metric/metric.h"
#include "run/record.h"
#include "run/run.h"
#include "tiny_server.h"

#define POINTS 1000000

/* A request that is sent once more. */
struct kept {
    char *path; /* with the query */
    char *body;
    size_t length;
    bool is_get;
};

/* What a request is about. */
enum call {
    CALL_EXPERIMENT, /* looked up or made */
    CALL_RUN,        /* made, got or searched */
    CALL_BATCH,
    CALL_UPDATE,
    CALL_OTHER,
    CALLS
};

struct work {
    struct tiny_server server;
    size_t calls[CALLS];
    long pause_ns; /* of the server, before each answer */
    bool keeps;    /* the requests that come now */
    struct resmon_run *run;
    resmon_mlflow_options options;
    struct kept *kept;
    size_t kept_count;
};

/* ---- a server that knows as much of MLflow as a push asks ------------------------------- */

#define RUN                                                               \
    "{\"info\":{\"run_id\":\"0123456789abcdef0123456789abcdef\","         \
    "\"artifact_uri\":\"mlflow-artifacts:/7/0123456789abcdef/artifacts\"" \
    "}}"

static const struct {
    const char *path; /* part of it */
    enum call call;
    const char *answer;
} routes[] = {
    {"/runs/log-batch", CALL_BATCH, "{}"},
    {"/runs/update", CALL_UPDATE, "{}"},
    {"/runs/create", CALL_RUN, "{\"run\":" RUN "}"},
    {"/runs/get", CALL_RUN, "{\"run\":" RUN "}"},
    {"/runs/search", CALL_RUN, "{\"runs\":[" RUN "]}"},
    {"/experiments/get-by-name", CALL_EXPERIMENT,
     "{\"experiment\":{\"experiment_id\":\"7\",\"lifecycle_stage\":\"active\"}}"},
    {"/experiments/create", CALL_EXPERIMENT, "{\"experiment_id\":\"7\"}"},
    {"/", CALL_OTHER, "{}"},
};

static void keep(struct work *work, const struct tiny_request *request)
{
    const char *path = bench_need(strchr(request->text, ' '));
    struct kept kept = {.path = bench_need(strndup(path + 1, strcspn(path + 1, " "))),
                        .body = bench_need(malloc(request->length + 1)),
                        .length = request->length,
                        .is_get = tiny_is(request, "GET ")};
    memcpy(kept.body, request->body, request->length + 1);
    work->kept = bench_need(realloc(work->kept, (work->kept_count + 1) * sizeof *work->kept));
    work->kept[work->kept_count++] = kept;
}

static void answer(void *context, const struct tiny_request *request, struct tiny_answer *answer)
{
    struct work *work = context;
    size_t route = 0;
    while (strstr(request->text, routes[route].path) == NULL) {
        route++;
    }
    work->calls[routes[route].call]++;
    if (work->keeps) {
        keep(work, request);
    }
    if (work->pause_ns > 0) {
        (void)nanosleep(&(struct timespec){0, work->pause_ns}, NULL);
    }
    answer->headers = "Content-Type: application/json\r\n";
    answer->body = routes[route].answer;
}

/* ---- a run with all that has a series --------------------------------------------------- */

static const char *const metrics[] = {
    "node.cpu.percent",
    "node.mem.used",
    "node.mem.percent",
    "node.fs.percent",
    "node.fs.used",
    "node.fs.free",
    "node.net.all.recv",
    "node.net.all.sent",
    "tree.cpu.percent",
    "tree.mem.rss",
    "tree.mem.vms",
    "tree.threads",
    "tree.fds",
    "tree.io.read_bytes",
    "tree.io.write_bytes",
    "node.disk.read_bytes",
    "node.disk.write_bytes",
    "cg.mem.current",
};

enum { COLUMNS = sizeof metrics / sizeof *metrics, ROWS = POINTS / COLUMNS };

static struct resmon_run *make_run(void)
{
    struct resmon_run *run = bench_need(rm_run_new());
    size_t values = (size_t)COLUMNS * RM_SERIES_KINDS * ROWS;
    run->info.state = "stopped";
    run->info.start_realtime_ns = INT64_C(1763670000000000000);
    run->info.duration_ns = (int64_t)ROWS * 100000000;
    run->column_count = COLUMNS;
    run->row_count = ROWS;
    run->columns = bench_need(rm_arena_alloc(&run->strings, COLUMNS, sizeof *run->columns));
    run->t_first = bench_need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_first));
    run->t_last = bench_need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_last));
    run->row_samples = bench_need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->row_samples));
    run->values = bench_need(rm_arena_alloc(&run->strings, values, sizeof *run->values));
    for (size_t c = 0; c < COLUMNS; c++) {
        run->columns[c] = (resmon_column){.metric = rm_metric_own_text(metrics[c]),
                                          .unit = "1",
                                          .instance = "",
                                          .source = "",
                                          .n = ROWS};
    }
    for (size_t i = 0; i < ROWS; i++) {
        run->t_first[i] = run->t_last[i] = (int64_t)i * 100000000;
        run->row_samples[i] = 1;
    }
    for (size_t i = 0; i < values; i++) {
        run->values[i] = (double)rand() / 7.0;
    }
    return run;
}

/* ---- ours ------------------------------------------------------------------------------- */

static double push(void *context, size_t count)
{
    const struct work *work = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (resmon_run_push_mlflow(work->run, &work->options) != RESMON_OK) {
            fprintf(stderr, "no push: %s\n", resmon_last_error());
            exit(2);
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

/* ---- libcurl alone ---------------------------------------------------------------------- */

static size_t swallow(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return size * count;
}

static double bare_curl(void *context, size_t count)
{
    const struct work *work = context;
    char url[4096];
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        CURL *easy = bench_need(curl_easy_init());
        struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
        headers = bench_need(curl_slist_append(headers, "Content-Type: application/json"));
        (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
        (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
        for (size_t k = 0; k < work->kept_count; k++) {
            const struct kept *kept = &work->kept[k];
            (void)snprintf(url, sizeof url, "%s%s", work->server.url, kept->path);
            (void)curl_easy_setopt(easy, CURLOPT_URL, url);
            if (kept->is_get) {
                (void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
            } else {
                (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, kept->body);
                (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)kept->length);
            }
            if (curl_easy_perform(easy) != CURLE_OK) {
                abort();
            }
        }
        curl_easy_cleanup(easy);
        curl_slist_free_all(headers);
    }
    return (bench_now_ns() - start) / (double)count;
}

/* ---- rows ------------------------------------------------------------------------------- */

static void bench_points(struct bench *bench, struct work *work)
{
    double bytes = 0.0;
    work->keeps = true;
    (void)push(work, 1);
    work->keeps = false;
    for (size_t i = 0; i < work->kept_count; i++) {
        bytes += (double)work->kept[i].length;
    }
    printf("  %d points are %zu requests of %.1f MB together\n", ROWS * COLUMNS, work->kept_count,
           bytes / 1e6);
    bench->is_quick = true; /* a round takes half a second */
    bench_ratio(bench, "push of 1e6 points, server of no time", bare_curl, push, work, 1, 0.0);
    double own = bench_median(bench, push, work, 1) - bench_median(bench, bare_curl, work, 1);
    bench_value(bench, "of that our own, for a point", own / (ROWS * COLUMNS), "ns", 0.0);
    work->pause_ns = 1000000;
    bench_ratio(bench, "the same, server of 1 ms a request", bare_curl, push, work, 1, 1.2);
    work->pause_ns = 0;
}

static void bench_requests(struct bench *bench, struct work *work)
{
    static const struct {
        const char *what;
        enum call call;
        size_t wanted;
    } rows[] = {
        {"figures of a node: look-ups of the experiment", CALL_EXPERIMENT, 1},
        {"calls that make the run", CALL_RUN, 1},
        {"batches", CALL_BATCH, 1},
        {"calls that finish the run", CALL_UPDATE, 1},
        {"others: the description", CALL_OTHER, 1},
    };
    work->options.flags &= ~RESMON_MLFLOW_SERIES;
    memset(work->calls, 0, sizeof work->calls);
    size_t connections = tiny_connections(&work->server);
    (void)push(work, 1);
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        bench_count(bench, rows[i].what, work->calls[rows[i].call], rows[i].wanted);
    }
    bench_value(bench, "connections", (double)(tiny_connections(&work->server) - connections), "",
                2.0);
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_push");
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    static struct work work = {.server = {.answer = answer, .context = &work}};
    if (!tiny_start(&work.server)) {
        abort();
    }
    work.run = make_run();
    work.options = (resmon_mlflow_options){
        .struct_size = sizeof work.options,
        .flags = RESMON_MLFLOW_SERIES | RESMON_MLFLOW_NO_ARTIFACT | RESMON_MLFLOW_NO_SPOOL,
        .tracking_uri = work.server.url,
        .experiment = "bench",
    };
    bench_points(&bench, &work);
    bench_requests(&bench, &work);
    tiny_stop(&work.server);
    for (size_t i = 0; i < work.kept_count; i++) {
        free(work.kept[i].path);
        free(work.kept[i].body);
    }
    free(work.kept);
    rm_run_free(work.run);
    return bench_end(&bench);
}
