/* SPDX-License-Identifier: MIT */
#include "runs.h"

#include <stdlib.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "output.h"
#include "say.h"
#include "store.h"

/* NULL, and a line that says why. */
static resmon_bench *load_runs(const char *verb, char **words, size_t count)
{
    resmon_bench *bench = NULL;
    if (resmon_bench_new(&bench) != RESMON_OK) {
        cli_say(verb, "%s", resmon_last_error());
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        resmon_run *run = cli_output_load(verb, words[i]);
        bool is_added = run != NULL && resmon_bench_add(bench, words[0], run) == RESMON_OK;
        resmon_run_free(run);
        if (!is_added) {
            if (run != NULL) {
                cli_say(verb, "%s", resmon_last_error());
            }
            resmon_bench_free(bench);
            return NULL;
        }
    }
    return bench;
}

resmon_bench *cli_runs_load(const char *verb, char **words, size_t count)
{
    char path[CLI_STORE_PATH_BYTES];
    resmon_bench *bench = NULL;
    if (count != 1) {
        return load_runs(verb, words, count);
    }
    char *word = cli_store_find(words[0], path) ? path : words[0];
    resmon_status status = resmon_bench_load(word, &bench);
    if (status == RESMON_EFORMAT || status == RESMON_ENOTSUP) {
        return load_runs(verb, &word, 1);
    }
    if (status != RESMON_OK) {
        cli_say(verb, "%s", resmon_last_error());
    }
    return bench;
}

/* ---- the one in the middle ---------------------------------------------------------------- */

struct timed {
    double wall_s;
    const char *path;
};

static int compare_times(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    return (a->wall_s > b->wall_s) - (a->wall_s < b->wall_s);
}

static bool take_time(const char *path, struct timed *ret)
{
    resmon_headline headline = {.struct_size = sizeof headline};
    resmon_run *run = NULL;
    bool is_run = resmon_run_load(path, &run) == RESMON_OK &&
                  resmon_run_get_headline(run, &headline) == RESMON_OK;
    resmon_run_free(run);
    *ret = (struct timed){headline.wall_s, path};
    return is_run;
}

resmon_run *cli_runs_median(char **words, size_t count)
{
    resmon_run *run = NULL;
    size_t taken = 0;
    struct timed *times = cli_grow(NULL, (count + 1) * sizeof *times);
    while (taken < count && take_time(words[taken], &times[taken])) {
        taken++;
    }
    if (taken == count && count > 0) {
        qsort(times, count, sizeof *times, compare_times);
        (void)resmon_run_load(times[(count - 1) / 2].path, &run);
    }
    free(times);
    return run;
}
