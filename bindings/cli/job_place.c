/* SPDX-License-Identifier: MIT */
#include "job_place.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/job.h>

#include "say.h"

#define STOP    ".stop"
#define MONITOR ".monitor."

bool cli_job_is_directory(const char *output)
{
    size_t length = strlen(output);
    return length > 0 && output[length - 1] == '/';
}

/* What may stand in a name, as in the paths of outputs. */
static void clean(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        bool is_plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
                        (*at >= 'A' && *at <= 'Z') || strchr("_+=-", *at) != NULL;
        *at = is_plain ? *at : '_'; /* a point would end a part of the name */
    }
}

static bool make_names(struct cli_job_place *place)
{
    resmon_job *job = NULL;
    resmon_job_info info = {.struct_size = sizeof info};
    if (resmon_job_detect(&job) != RESMON_OK || resmon_job_get_info(job, &info) != RESMON_OK) {
        resmon_job_free(job);
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

/* With those above it; other tasks may be at it, too. */
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

bool cli_job_is_monitor(const char *name)
{
    return strstr(name, MONITOR) != NULL;
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
