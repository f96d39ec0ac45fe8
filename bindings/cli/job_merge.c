/* SPDX-License-Identifier: MIT */
#include "job_merge.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <resmon/merge.h>

#include "say.h"

#define MOST_SAID    20 /* files that are left out, by name */
#define MOST_AT_ONCE 16 /* files that are loaded, each by a thread */

/* ---- loading -------------------------------------------------------------------------------- */

struct loading {
    const char *path;
    resmon_run *run;
    resmon_status status;
    char why[512];
    pthread_t thread;
    bool has_thread;
};

static void *load(void *context)
{
    struct loading *loading = context;
    loading->status = resmon_run_load(loading->path, &loading->run);
    if (loading->status != RESMON_OK) {
        (void)snprintf(loading->why, sizeof loading->why, "%s", cli_reason(loading->path));
    }
    return NULL;
}

/* As many files as there are CPUs, from `first` on; one that gets no thread is loaded here. */
static size_t load_some(const struct cli_job_files *files, size_t first,
                        struct loading loadings[MOST_AT_ONCE])
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cpus < 1 ? 1 : cpus < MOST_AT_ONCE ? (size_t)cpus : MOST_AT_ONCE;
    size_t count = files->count - first < most ? files->count - first : most;
    for (size_t i = 0; i < count; i++) {
        loadings[i] = (struct loading){.path = files->paths[first + i]};
        loadings[i].has_thread =
            i + 1 < count && pthread_create(&loadings[i].thread, NULL, load, &loadings[i]) == 0;
        if (!loadings[i].has_thread) {
            (void)load(&loadings[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (loadings[i].has_thread) {
            (void)pthread_join(loadings[i].thread, NULL);
        }
    }
    return count;
}

/* ---- merging -------------------------------------------------------------------------------- */

struct merging {
    const char *verb;
    resmon_merge *merge;
    bool is_quiet;
    bool has_merged; /* runs that were merged before were passed over, as others may be parts of
                        them */
    size_t added, left_out;
};

static void leave_out(struct merging *merging, const struct loading *loading)
{
    merging->left_out++;
    if (!merging->is_quiet && merging->left_out <= MOST_SAID) {
        cli_say(merging->verb, "%s is left out: %s", loading->path, loading->why);
    }
}

/* False: there is no memory for more. */
static bool add(struct merging *merging, struct loading *loading, bool is_merged)
{
    if (loading->status == RESMON_OK && (resmon_run_node_count(loading->run) > 0) != is_merged) {
        merging->has_merged = merging->has_merged || !is_merged;
        return true;
    }
    if (loading->status == RESMON_OK) {
        loading->status = resmon_merge_add(merging->merge, loading->run);
        (void)snprintf(loading->why, sizeof loading->why, "%s", resmon_last_error());
    }
    if (loading->status == RESMON_OK) {
        merging->added++;
    } else {
        leave_out(merging, loading);
    }
    return loading->status != RESMON_ENOMEM;
}

/* Those that were merged before, or those that were not. */
static bool add_files(struct merging *merging, const struct cli_job_files *files, bool is_merged)
{
    struct loading *loadings = cli_grow(NULL, MOST_AT_ONCE * sizeof *loadings);
    bool is_well = true;
    for (size_t first = 0; first < files->count && is_well;) {
        size_t count = load_some(files, first, loadings);
        for (size_t i = 0; i < count; i++) {
            is_well = is_well && add(merging, &loadings[i], is_merged);
            resmon_run_free(loadings[i].run);
        }
        first += count;
    }
    free(loadings);
    return is_well;
}

/* Runs of processes first.  A merged run that has some of them is what was made of them before, and
 * no part of this: that needs no word. */
static bool add_all(struct merging *merging, const struct cli_job_files *files)
{
    bool is_well = add_files(merging, files, false);
    merging->is_quiet = merging->added > 0;
    if (is_well && merging->has_merged) {
        is_well = add_files(merging, files, true);
    }
    merging->is_quiet = false;
    return is_well;
}

static resmon_run *make(struct merging *merging)
{
    resmon_run *run = NULL;
    if (merging->added == 0) {
        cli_say(merging->verb, "there is no run to merge");
    } else if (resmon_merge_run(merging->merge, &run) != RESMON_OK) {
        cli_say(merging->verb, "%s", resmon_last_error());
    }
    return run;
}

resmon_run *cli_job_merge(const char *verb, const struct cli_job_files *files)
{
    struct merging merging = {.verb = verb};
    bool is_well = resmon_merge_new(&merging.merge) == RESMON_OK && add_all(&merging, files);
    if (!is_well) {
        cli_say(verb, "out of memory for the runs of a job");
    }
    if (merging.left_out > MOST_SAID) {
        cli_say(verb, "and %zu more files are left out", merging.left_out - MOST_SAID);
    }
    resmon_run *run = is_well ? make(&merging) : NULL;
    resmon_merge_free(merging.merge);
    return run;
}
