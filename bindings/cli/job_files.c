/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* scandir() */
#include "job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

/* ---- the files of this process ---------------------------------------------------------- */

#define STOP    ".stop"
#define MONITOR ".monitor."

bool cli_job_is_directory(const char *output)
{
    size_t length = strlen(output);
    return length > 0 && output[length - 1] == '/';
}

/* Replaces characters that file names of a job do not have, as path patterns of outputs do. */
static void clean(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        bool is_plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
                        (*at >= 'A' && *at <= 'Z') || strchr("_+=-", *at) != NULL;
        *at = is_plain ? *at : '_'; /* '.' separates the parts of a name */
    }
}

resmon_job *cli_job_detect(resmon_job_info *ret_info)
{
    resmon_job *job = NULL;
    *ret_info = (resmon_job_info){.struct_size = sizeof *ret_info};
    if (resmon_job_detect(&job) != RESMON_OK || resmon_job_get_info(job, ret_info) != RESMON_OK) {
        resmon_job_free(job);
        return NULL;
    }
    return job;
}

static bool make_names(struct cli_job_place *place)
{
    resmon_job_info info;
    resmon_job *job = cli_job_detect(&info);
    if (job == NULL) {
        return false;
    }
    (void)snprintf(place->job, sizeof place->job, "%.120s%s%.0lld",
                   info.id[0] != '\0' ? info.id : "nojob", info.restarts > 0 ? "-restart" : "",
                   (long long)(info.restarts > 0 ? info.restarts : 0));
    (void)snprintf(place->node, sizeof place->node, "%.100s", info.node_name);
    (void)snprintf(place->key, sizeof place->key, "%.250s", info.key);
    clean(place->job);
    clean(place->node);
    clean(place->key);
    char who[32] = MONITOR;
    if (!place->is_monitor) {
        (void)snprintf(who, sizeof who, ".r%lld.", (long long)(info.rank >= 0 ? info.rank : 0));
    }
    (void)snprintf(place->stem, sizeof place->stem, "%s.%s%sp%ld", place->job, place->node, who,
                   (long)getpid());
    place->ranks = info.rank_count > 0 ? (size_t)info.rank_count : 0;
    place->leads = info.local_rank == 0 && info.local_rank_count != 1 && info.key[0] != '\0';
    place->is_first = info.system[0] != '\0' && info.rank == 0;
    resmon_job_free(job);
    return true;
}

/* With its parent directories.  Other ranks may create them at the same time. */
static bool make_directories(char *path)
{
    for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        bool is_made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!is_made) {
            return false;
        }
    }
    struct stat info;
    return mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 &&
                                      (S_ISDIR(info.st_mode) || (errno = ENOTDIR, false)));
}

bool cli_job_settle(const char *verb, const char *output, struct cli_job_place *place)
{
    size_t length = strlen(output);
    while (length > 0 && output[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof place->directory || strchr(output, '%') != NULL) {
        cli_say(verb, "%s cannot be the directory of a job: its path is too long or contains '%%'",
                output);
        return false;
    }
    (void)snprintf(place->directory, sizeof place->directory, "%.*s", (int)length, output);
    if (length == 0) {
        (void)snprintf(place->directory, sizeof place->directory, "/");
    }
    if (!make_directories(place->directory)) {
        cli_say(verb, "cannot create %s: %s", output, strerror(errno));
        return false;
    }
    if (!make_names(place)) {
        cli_say(verb, "%s", resmon_last_error());
        return false;
    }
    return true;
}

void cli_job_path(const struct cli_job_place *place, const char *ending,
                  char path[CLI_JOB_PATH_BYTES])
{
    (void)snprintf(path, CLI_JOB_PATH_BYTES, "%s/%s%s", place->directory, place->stem, ending);
}

void cli_job_stop_path(const struct cli_job_place *place, char path[CLI_JOB_PATH_BYTES])
{
    (void)snprintf(path, CLI_JOB_PATH_BYTES, "%s/%s" STOP, place->directory, place->job);
}

bool cli_job_is_stopped(const struct cli_job_place *place)
{
    char name[sizeof place->job + sizeof STOP];
    bool is_there = false;
    const struct dirent *entry;
    DIR *directory = opendir(place->directory);
    (void)snprintf(name, sizeof name, "%s" STOP, place->job);
    while (directory != NULL && !is_there && (entry = readdir(directory)) != NULL) {
        is_there = strcmp(entry->d_name, name) == 0;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return is_there;
}

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

/* "4711" is the job of "4711.n1.r3.p815.rec" and of "4711-restart1.n1.r3.p815.rec".  Returns the
 * length of the prefix that all files of one start share; 0: the file is of another job, or it is
 * the merged run "4711.json". */
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

/* The recording of a run whose document exists: its process still observes the machine, or merges.
 */
static bool is_old_recording(const char *path)
{
    struct stat info;
    size_t stem = strlen(path) - (sizeof RECORDING - 1);
    char *document = cli_format("%.*s" DOCUMENT, (int)stem, path);
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

/* A file of a monitor, not of a rank. */
static bool is_monitor(const char *path)
{
    return strstr(path, MONITOR) != NULL;
}

static void count_recording(struct cli_job_files *files, const char *path)
{
    size_t *count = is_monitor(path) ? &files->monitors : &files->recordings;
    *count += ends_in(path, RECORDING) ? 1 : 0;
}

void cli_job_add(struct cli_job_files *files, const char *path)
{
    files->paths = cli_grow(files->paths, (files->count + 1) * sizeof *files->paths);
    files->paths[files->count++] = cli_format("%s", path);
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
        char *path = cli_format("%s/%s", directory, entries[i]->d_name);
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

/* ---- the ranks of this node ------------------------------------------------------------- */

void cli_node_ranks_enter(struct cli_node_ranks *ranks, const struct cli_job_place *place)
{
    ranks->fd = -1;
    if (place->key[0] == '\0') {
        return;
    }
    (void)snprintf(ranks->path, sizeof ranks->path, "%.512s/resmon-%lu-%s-%s.ranks",
                   cli_store_temporary(), (unsigned long)geteuid(), place->key, place->node);
    ranks->fd = open(ranks->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat info;
    bool is_own = ranks->fd >= 0 && fstat(ranks->fd, &info) == 0 && info.st_uid == geteuid();
    if (ranks->fd >= 0 && (!is_own || flock(ranks->fd, LOCK_SH | LOCK_NB) != 0)) {
        (void)close(ranks->fd);
        ranks->fd = -1;
    }
}

/* An exclusive lock is granted only if no other rank has a lock. */
bool cli_node_ranks_are_left(const struct cli_node_ranks *ranks)
{
    if (ranks->fd < 0) {
        return false;
    }
    if (flock(ranks->fd, LOCK_EX | LOCK_NB) != 0) {
        /* A failed upgrade may have released the shared lock: flock(2). */
        return flock(ranks->fd, LOCK_SH | LOCK_NB) == 0;
    }
    return false;
}

void cli_node_ranks_leave(struct cli_node_ranks *ranks)
{
    if (ranks->fd >= 0 && flock(ranks->fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlink(ranks->path);
    }
    if (ranks->fd >= 0) {
        (void)close(ranks->fd);
    }
    ranks->fd = -1;
}
