/* SPDX-License-Identifier: MIT */
/* resmon job: monitors of all nodes of a batch job, from its script: start and stop. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "gather_job.h"
#include "job_files.h"
#include "job_launch.h"
#include "say.h"

#define DIRECTORY  "resmon"
#define TRIES      200 /* to find that the first has begun, or all have ended, */
#define MORE_TRIES 50  /* and that more have begun */
#define WAIT_NS    100000000L

static void pause_a_little(void)
{
    const struct timespec wait = {.tv_nsec = WAIT_NS};
    (void)nanosleep(&wait, NULL);
}

/* Where the files of this job are; false, and a line that says why. */
static bool settle(const struct cli_arguments *arguments, struct cli_job_place *place)
{
    const char *directory = cli_value(arguments, "output");
    char path[CLI_JOB_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/", directory != NULL ? directory : DIRECTORY);
    if (!cli_job_settle("job", path, place)) {
        return false;
    }
    if (strcmp(place->job, "nojob") == 0) {
        cli_say("job",
                "this is not a job of a batch system: use 'resmon run' or 'resmon attach' instead");
        return false;
    }
    return true;
}

/* ---- start ---------------------------------------------------------------------------------- */

/* The words of a command, ended by NULL. */
struct words {
    char **at;
    size_t count;
};

static void add_word(struct words *words, const char *one, const char *two, const char *three)
{
    size_t room = strlen(one) + strlen(two) + strlen(three) + 1;
    words->at = cli_grow(words->at, (words->count + 2) * sizeof *words->at);
    words->at[words->count] = cli_grow(NULL, room);
    (void)snprintf(words->at[words->count++], room, "%s%s%s", one, two, three);
    words->at[words->count] = NULL;
}

static void free_words(struct words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->at[i]);
    }
    free(words->at);
}

/* "PROGRAM attach --job=4711 ... --output=DIRECTORY/", and our own options of the library. */
static bool make_words(const struct cli_arguments *arguments, const struct cli_job_place *place,
                       const char *id, struct words *words)
{
    char *program = realpath("/proc/self/exe", NULL), *directory = realpath(place->directory, NULL);
    if (program == NULL || directory == NULL) {
        cli_say("job", "%s: %s", program == NULL ? "/proc/self/exe" : place->directory,
                strerror(errno));
        free(program);
        free(directory);
        return false;
    }
    add_word(words, program, "", "");
    add_word(words, "attach", "", "");
    add_word(words, "--quiet", "", "");
    add_word(words, "--job=", id, "");
    add_word(words, "--output=", directory, "/");
    for (size_t i = 0; i < arguments->of_library_count; i++) {
        const struct cli_said *said = &arguments->of_library[i];
        char key[CLI_KEY_BYTES + 8];
        (void)snprintf(key, sizeof key, "--%s", said->key);
        add_word(words, key, said->value != NULL ? "=" : "",
                 said->value != NULL ? said->value : "");
    }
    free(program);
    free(directory);
    return true;
}

static size_t monitors_of(const struct cli_job_place *place)
{
    struct cli_job_files files = {.count = 0};
    size_t count = cli_job_list("job", place->directory, place->job, &files) ? files.monitors : 0;
    cli_job_files_free(&files);
    return count;
}

/* How many nodes have a recording: all, or no more have come for a while, or what was started has
 * ended. */
static size_t wait_for_nodes(const struct cli_job_place *place, size_t before, size_t nodes,
                             pid_t pid)
{
    size_t count = 0;
    bool has_ended = false;
    for (int idle = 0; idle < (count > 0 ? MORE_TRIES : TRIES) && count < nodes && !has_ended;
         idle++) {
        pause_a_little();
        has_ended = waitpid(pid, NULL, WNOHANG) == pid;
        size_t now = monitors_of(place);
        idle = now > before + count ? 0 : idle;
        count = now > before ? now - before : 0;
    }
    return count;
}

static int launch(const struct cli_arguments *arguments, const struct cli_job_place *place,
                  const resmon_job *job, char *const *words)
{
    char log[CLI_JOB_PATH_BYTES];
    size_t nodes = cli_job_launch_count(job), before = monitors_of(place);
    (void)snprintf(log, sizeof log, "%s/%s.log", place->directory, place->job);
    pid_t pid = cli_job_launch(job, words, log, cli_value(arguments, "remote-shell"));
    if (pid < 0) {
        cli_say("job", "cannot start the monitors of the nodes: %s", strerror(errno));
        return CLI_FAILED;
    }
    size_t count = wait_for_nodes(place, before, nodes, pid);
    if (count < nodes) {
        cli_say("job", "of %zu nodes, only %zu are observed: see %s", nodes, count, log);
    } else if (!cli_has(arguments, "quiet")) {
        cli_say("job", "%zu node%s observed; 'resmon job stop' ends this and creates %s/%s.json",
                nodes, nodes == 1 ? " is" : "s are", place->directory, place->job);
    }
    return count > 0 ? 0 : CLI_FAILED;
}

static int start(const struct cli_arguments *arguments, const struct cli_job_place *place)
{
    char stop[CLI_JOB_PATH_BYTES];
    resmon_job *job = NULL;
    resmon_job_info info = {.struct_size = sizeof info};
    struct words words = {.at = NULL};
    int result = CLI_FAILED;
    cli_job_stop_path(place, stop);
    (void)unlink(stop); /* of monitors that were stopped before */
    if (resmon_job_detect(&job) != RESMON_OK || resmon_job_get_info(job, &info) != RESMON_OK) {
        cli_say("job", "%s", resmon_last_error());
    } else if (make_words(arguments, place, info.id, &words)) {
        result = launch(arguments, place, job, words.at);
    }
    free_words(&words);
    resmon_job_free(job);
    return result;
}

/* ---- stop ----------------------------------------------------------------------------------- */

/* Until all have ended that had begun; those that were killed do not. */
static void wait_for_ends(const struct cli_job_place *place, struct cli_job_files *files)
{
    for (int tries = 0; tries < TRIES; tries++) {
        cli_job_files_free(files);
        if (!cli_job_list("job", place->directory, place->job, files) || files->monitors == 0) {
            return;
        }
        pause_a_little();
    }
}

static int stop(const struct cli_arguments *arguments, const struct cli_job_place *place)
{
    struct cli_job_files files = {.count = 0};
    char path[CLI_JOB_PATH_BYTES];
    cli_job_stop_path(place, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        cli_say("job", "%s: %s", path, strerror(errno));
        return CLI_FAILED;
    }
    (void)close(fd);
    wait_for_ends(place, &files);
    if (files.monitors == 0) {
        (void)unlink(path);
    }
    bool is_made = cli_gather_files("job", place, &files, cli_has(arguments, "quiet"));
    cli_job_files_free(&files);
    return is_made ? 0 : CLI_FAILED;
}

/* ---- the verb ------------------------------------------------------------------------------- */

int cli_job(const struct cli_arguments *arguments)
{
    static const struct {
        const char *word;
        int (*run)(const struct cli_arguments *arguments, const struct cli_job_place *place);
    } actions[] = {{"start", start}, {"stop", stop}};
    struct cli_job_place place = {.is_monitor = true};
    if (!cli_needs_words(arguments, 1, 1)) {
        return cli_wrong(arguments->command);
    }
    (void)umask(077);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(arguments->words[0], actions[i].word) == 0) {
            return settle(arguments, &place) ? actions[i].run(arguments, &place) : CLI_FAILED;
        }
    }
    cli_say("job", "'%.64s' must be start or stop", arguments->words[0]);
    return cli_wrong(arguments->command);
}
