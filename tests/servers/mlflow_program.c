/* SPDX-License-Identifier: MIT */
/*
 * A program with the MLflow sink, for test_mlflow_faults.py; it says what happened as lines of
 * JSON.
 *
 *     mlflow_program run [WORD...]              observes itself, with a few scopes and tags
 *     mlflow_program plain [WORD...]            only works; RESMON may observe it
 *     mlflow_program push DOCUMENT [WORD...]    resmon_run_push_mlflow()
 *
 * Words are names of the tables below with "=" and a value, or flags; a text "$NAME" is that
 * variable's, for what must not be in the command line, and so in the document.  `end=` of a run:
 * stop, exit (without stop, in exit handlers), or fork (a child of which exits first).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

struct words {
    resmon_mlflow_options mlflow;
    resmon_monitor_options monitor;
    uint64_t work_ms;
    uint64_t code;    /* of exit */
    const char *save; /* the run's document */
    const char *end;
};

static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    {"uri", offsetof(struct words, mlflow.tracking_uri)},
    {"experiment", offsetof(struct words, mlflow.experiment)},
    {"experiment_id", offsetof(struct words, mlflow.experiment_id)},
    {"run_id", offsetof(struct words, mlflow.run_id)},
    {"run_name", offsetof(struct words, mlflow.run_name)},
    {"user", offsetof(struct words, mlflow.user)},
    {"password", offsetof(struct words, mlflow.password)},
    {"token", offsetof(struct words, mlflow.token)},
    {"ca", offsetof(struct words, mlflow.ca_path)},
    {"cert", offsetof(struct words, mlflow.client_cert)},
    {"workspace", offsetof(struct words, mlflow.workspace)},
    {"spool", offsetof(struct words, mlflow.spool)},
    {"save", offsetof(struct words, save)},
    {"end", offsetof(struct words, end)},
};

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"node", offsetof(struct words, mlflow.node_index)},
    {"batch", offsetof(struct words, mlflow.batch_metrics)},
    {"every", offsetof(struct words, mlflow.interval_ms)},
    {"timeout", offsetof(struct words, mlflow.timeout_ms)},
    {"budget", offsetof(struct words, mlflow.budget_ms)},
    {"interval", offsetof(struct words, monitor.interval_ms)},
    {"stop", offsetof(struct words, monitor.stop_timeout_ms)},
    {"work", offsetof(struct words, work_ms)},
    {"code", offsetof(struct words, code)},
};

static const struct {
    const char *name;
    uint64_t flag;
} flags[] = {
    {"series", RESMON_MLFLOW_SERIES},         {"no_artifact", RESMON_MLFLOW_NO_ARTIFACT},
    {"no_spool", RESMON_MLFLOW_NO_SPOOL},     {"finish", RESMON_MLFLOW_FINISH},
    {"insecure", RESMON_MLFLOW_INSECURE_TLS}, {"spool_only", RESMON_MLFLOW_SPOOL_ONLY},
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static bool read_word(struct words *words, const char *word)
{
    size_t length = strcspn(word, "=");
    const char *value = word + length + (word[length] == '=');
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (strlen(texts[i].name) == length && strncmp(texts[i].name, word, length) == 0) {
            value = value[0] == '$' ? getenv(value + 1) : value;
            memcpy((char *)words + texts[i].offset, &value, sizeof value);
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (strlen(numbers[i].name) == length && strncmp(numbers[i].name, word, length) == 0) {
            uint64_t number = strtoull(value, NULL, 10);
            memcpy((char *)words + numbers[i].offset, &number, sizeof number);
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (strcmp(flags[i].name, word) == 0) {
            words->mlflow.flags |= flags[i].flag;
            return true;
        }
    }
    (void)fprintf(stderr, "mlflow_program: unknown word %s\n", word);
    return false;
}

/* ---- saying ----------------------------------------------------------------------------- */

static void put_text(const char *key, const char *text)
{
    (void)printf(",\"%s\":\"", key);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p < 0x20 || *p == '"' || *p == '\\') {
            (void)printf("\\u%04x", *p);
        } else {
            (void)putchar(*p);
        }
    }
    (void)putchar('"');
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void begin(const char *what, resmon_status status, double begin_s)
{
    double took_s = seconds() - begin_s;
    const char *text = status < RESMON_OK ? resmon_last_error() : "";
    (void)printf("{\"what\":\"%s\",\"status\":\"%s\",\"seconds\":%.3f", what,
                 resmon_status_name(status), took_s);
    put_text("text", text);
}

static void end(void)
{
    (void)printf("}\n");
    (void)fflush(stdout);
}

static resmon_status said(const char *what, resmon_status status, double begin_s)
{
    begin(what, status, begin_s);
    end();
    return status;
}

static void say_sinks(resmon_monitor *monitor)
{
    resmon_sink_info info = {.struct_size = sizeof info};
    for (size_t i = 0; resmon_monitor_get_sink(monitor, i, &info) == RESMON_OK; i++) {
        begin("sink", info.status, seconds());
        put_text("name", info.name);
        put_text("reason", info.reason);
        (void)printf(",\"is_off\":%d,\"failures\":%llu", (int)info.is_off,
                     (unsigned long long)info.failures);
        end();
    }
}

/* Not ru_maxrss, which begins with that of the program that started this one. */
static long peak_rss_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && kb == 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "VmHWM: %ld", &kb);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kb;
}

static void say_usage(void)
{
    (void)printf("{\"what\":\"end\",\"peak_rss_kb\":%ld}\n", peak_rss_kb());
    (void)fflush(stdout);
}

static void log_line(void *context, int32_t level, const char *text)
{
    (void)context, (void)level;
    (void)fprintf(stderr, "%s\n", text);
}

/* ---- doing ------------------------------------------------------------------------------ */

static double step(void)
{
    RESMON_SCOPE("work");
    volatile double sum = 0.0;
    const struct timespec pause = {0, 2000000};
    {
        RESMON_SCOPE("inner/\"step\"");
        for (int i = 0; i < 20000; i++) {
            sum = sum + i;
        }
    }
    (void)nanosleep(&pause, NULL);
    return sum;
}

static void work(uint64_t work_ms, resmon_monitor *monitor)
{
    double until_s = seconds() + (double)work_ms / 1e3;
    for (int i = 0; seconds() < until_s; i++) {
        (void)step();
        if (monitor != NULL && i % 20 == 0) {
            (void)resmon_monitor_tag(monitor, "a tag \"with\" quotes");
        }
    }
}

static int work_plainly(const struct words *words)
{
    work(words->work_ms, NULL);
    say_usage();
    return (int)words->code;
}

/* A child that has the monitor too, and ends by exit(). */
static void fork_child(resmon_monitor *monitor)
{
    pid_t child = fork();
    if (child == 0) {
        (void)said("child", resmon_monitor_stop(monitor), seconds());
        resmon_monitor_free(monitor);
        exit(0);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    (void)printf("{\"what\":\"waited\",\"code\":%d}\n", status);
}

static int observe(const struct words *words)
{
    resmon_monitor *monitor = NULL;
    resmon_status status = resmon_monitor_new(&words->monitor, &monitor);
    if (status != RESMON_OK) {
        (void)said("new", status, seconds());
        return 1;
    }
    double begin_s = seconds();
    (void)said("add", resmon_monitor_add_mlflow(monitor, &words->mlflow), begin_s);
    begin_s = seconds();
    (void)said("start", resmon_monitor_start(monitor), begin_s);
    work(words->work_ms / 2, monitor);
    if (strcmp(words->end, "fork") == 0) {
        fork_child(monitor);
    }
    work(words->work_ms / 2, monitor);
    if (strcmp(words->end, "exit") == 0) {
        exit(0);
    }
    begin_s = seconds();
    (void)said("stop", resmon_monitor_stop(monitor), begin_s);
    if (words->save != NULL) {
        (void)said("save", resmon_monitor_save(monitor, words->save), seconds());
    }
    say_sinks(monitor);
    resmon_monitor_free(monitor);
    say_usage();
    return 0;
}

static int push(const char *path, const struct words *words)
{
    resmon_run *run = NULL;
    if (said("load", resmon_run_load(path, &run), seconds()) != RESMON_OK) {
        return 1;
    }
    double begin_s = seconds();
    (void)said("push", resmon_run_push_mlflow(run, &words->mlflow), begin_s);
    resmon_run_free(run);
    say_usage();
    return 0;
}

int main(int count, char **arguments)
{
    struct words words = {
        .mlflow = {.struct_size = sizeof words.mlflow},
        .monitor = {.struct_size = sizeof words.monitor, .interval_ms = 10, .rows = 100},
        .work_ms = 100,
        .end = "stop",
    };
    const char *mode = count > 1 ? arguments[1] : "";
    bool has_file = strcmp(mode, "push") == 0;
    bool is_good = count > (has_file ? 2 : 1);
    for (int i = has_file ? 3 : 2; i < count && is_good; i++) {
        is_good = read_word(&words, arguments[i]);
    }
    if (!is_good) {
        return 2;
    }
    resmon_set_log(log_line, NULL, RESMON_LOG_INFO);
    if (has_file) {
        return push(arguments[2], &words);
    }
    return strcmp(mode, "plain") == 0 ? work_plainly(&words) : observe(&words);
}
