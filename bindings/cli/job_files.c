/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* scandir() */
#include "job_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "job_place.h"
#include "say.h"

#define RECORDING ".rec"
#define DOCUMENT  ".json"

/* ---- files ---------------------------------------------------------------------------------- */

struct found {
    char *path;
    struct timespec changed;
};

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), more = strlen(ending);
    return length > more && strcmp(name + length - more, ending) == 0;
}

#define RESTART      "-restart"
#define FIRST_START  RESTART "0" /* which no name of a file has */
#define LENGTH(text) (sizeof(text) - 1)

/* "4711" is the job of "4711.n1.r3.p815.rec", and of "4711-restart1.n1.r3.p815.rec": as much of the
 * name as is the same for all of one start; 0: it is of another job.  "4711.json" was made of all.
 */
static size_t start_length(const char *name, const char *job)
{
    size_t length = strlen(job);
    bool is_first_wanted = ends_in(job, FIRST_START);
    length -= is_first_wanted ? LENGTH(FIRST_START) : 0;
    bool begins = strncmp(name, job, length) == 0;
    if (begins && !is_first_wanted && strncmp(name + length, RESTART, LENGTH(RESTART)) == 0) {
        length += LENGTH(RESTART);
        length += strspn(name + length, "0123456789");
    }
    return begins && name[length] == '.' && strcmp(name + length, DOCUMENT) != 0 ? length : 0;
}

static bool is_of_start(const char *name, const char *other, const char *job)
{
    size_t length = start_length(name, job);
    return length == start_length(other, job) && strncmp(name, other, length) == 0;
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

static char *path_in(const char *directory, const char *name)
{
    size_t room = strlen(directory) + strlen(name) + 2;
    char *path = cli_grow(NULL, room);
    (void)snprintf(path, room, "%s/%s", directory, name);
    return path;
}

/* Beside the document of a process that has not done all: it watches the machine on, for one. */
static bool is_old_recording(const char *path)
{
    struct stat info;
    size_t stem = strlen(path) - (sizeof RECORDING - 1);
    char *document = cli_grow(NULL, stem + sizeof DOCUMENT);
    (void)snprintf(document, stem + sizeof DOCUMENT, "%.*s" DOCUMENT, (int)stem, path);
    bool is_old = ends_in(path, RECORDING) && stat(document, &info) == 0;
    free(document);
    return is_old;
}

static int latest_first(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->changed.tv_sec != b->changed.tv_sec) {
        return a->changed.tv_sec > b->changed.tv_sec ? -1 : 1;
    }
    if (a->changed.tv_nsec != b->changed.tv_nsec) {
        return a->changed.tv_nsec > b->changed.tv_nsec ? -1 : 1;
    }
    return strcmp(a->path, b->path);
}

static int is_run(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (ends_in(entry->d_name, RECORDING) || ends_in(entry->d_name, DOCUMENT));
}

static void count_recording(struct cli_job_files *files, const char *path)
{
    size_t *count = cli_job_is_monitor(path) ? &files->monitors : &files->recordings;
    *count += ends_in(path, RECORDING) ? 1 : 0;
}

void cli_job_add(struct cli_job_files *files, const char *path)
{
    files->paths = cli_grow(files->paths, (files->count + 1) * sizeof *files->paths);
    files->paths[files->count] = cli_grow(NULL, strlen(path) + 1);
    (void)memcpy(files->paths[files->count++], path, strlen(path) + 1);
    count_recording(files, path);
}

bool cli_job_list(const char *verb, const char *directory, const char *job,
                  struct cli_job_files *files)
{
    struct dirent **entries = NULL;
    struct stat info;
    int count = scandir(directory, &entries, is_run, NULL);
    size_t found_count = 0;
    if (count < 0) {
        cli_say(verb, "cannot read %s: %s", directory, strerror(errno));
        return false;
    }
    struct found *found = cli_grow(NULL, ((size_t)count + 1) * sizeof *found);
    for (int i = 0; i < count; i++) {
        char *path = path_in(directory, entries[i]->d_name);
        bool is_wanted = (job == NULL || start_length(entries[i]->d_name, job) > 0) &&
                         stat(path, &info) == 0 && S_ISREG(info.st_mode);
        bool is_old = is_wanted && is_old_recording(path);
        if (is_old) {
            count_recording(files, path);
        }
        if (is_wanted && !is_old) {
            found[found_count++] = (struct found){path, info.st_mtim};
        } else {
            free(path);
        }
        free(entries[i]);
    }
    free(entries);
    qsort(found, found_count, sizeof *found, latest_first);
    for (size_t i = 0; i < found_count; i++) {
        if (job == NULL || is_of_start(name_of(found[i].path), name_of(found[0].path), job)) {
            cli_job_add(files, found[i].path);
        }
    }
    for (size_t i = 0; i < found_count; i++) {
        free(found[i].path);
    }
    free(found);
    return true;
}

void cli_job_files_free(struct cli_job_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->paths[i]);
    }
    free(files->paths);
    *files = (struct cli_job_files){.count = 0};
}
