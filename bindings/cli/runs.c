/* SPDX-License-Identifier: MIT */
#include "runs.h"

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
