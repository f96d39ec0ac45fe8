/* SPDX-License-Identifier: MIT */
/*
 * resmon job: starts and stops a monitor on each node of a batch job, from the job's script.  The
 * monitors run in the background.  Slurm's srun starts them, or else a remote shell for each other
 * node (ssh, OAR's oarsh, LSF's blaunch).
 */
#define _GNU_SOURCE /* pipe2() */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "job.h"
#include "launch.h"
#include "say.h"

extern char **environ;

/* ---- the nodes ------------------------------------------------------------------------------ */

static resmon_job_info info_of(const resmon_job *job)
{
    resmon_job_info info = {.struct_size = sizeof info};
    (void)resmon_job_get_info(job, &info);
    return info;
}

/* A number in an environment variable; 0: it is not set. */
static size_t number_of(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? strtoul(value, NULL, 10) : 0;
}

/* The host list in the script of a heterogeneous job of Slurm does not have all of its parts. */
static size_t nodes_of_part(size_t part)
{
    char name[64];
    (void)snprintf(name, sizeof name, "SLURM_JOB_NUM_NODES_HET_GROUP_%zu", part);
    return number_of(name);
}

static size_t part_count(void)
{
    size_t count = number_of("SLURM_HET_SIZE");
    return count > 1 && count < 1024 ? count : 0;
}

/* The number of nodes of the job. */
static size_t count_nodes(const resmon_job *job)
{
    size_t hosts = resmon_job_host_count(job), parts = 0;
    for (size_t i = 0; i < part_count(); i++) {
        parts += nodes_of_part(i);
    }
    return parts > 0 ? parts : hosts > 0 ? hosts : 1;
}

/* "n1" is the same host as "n1.cluster". */
static bool is_same_host(const char *one, const char *other)
{
    size_t length = strcspn(one, ".");
    return strcmp(one, other) == 0 ||
           (length == strcspn(other, ".") && strncmp(one, other, length) == 0 &&
            (one[length] == '\0' || other[length] == '\0'));
}

/* Whether it is this node; NULL: the only known node. */
static bool is_own(const resmon_job *job, const char *host)
{
    return host == NULL || is_same_host(host, info_of(job).node_name);
}

/* ---- Slurm ---------------------------------------------------------------------------------- */

/* Removes the script's settings for its own steps that would keep this step from running beside
 * them. */
static void unset_step_options(void)
{
    static const char *const names[] = {"SLURM_EXCLUSIVE", "SLURM_EXACT", "SLURM_KILL_BAD_EXIT",
                                        "SLURM_MPI_TYPE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unsetenv(names[i]);
    }
}

/* A job step that runs beside the others without using their resources, and survives the failure of
 * a node.  `part` NULL: the job is not heterogeneous. */
static void exec_srun(size_t count, const char *part, char *const *words)
{
    static char *const options[] = {"--ntasks-per-node=1",
                                    "--overlap",
                                    "--mpi=none",
                                    "--no-kill",
                                    "--kill-on-bad-exit=0",
                                    "--wait=0",
                                    "--input=none",
                                    "--quiet",
                                    NULL};
    struct cli_words all = {.at = NULL};
    cli_words_add(&all, "srun");
    cli_words_add(&all, "--nodes=%zu", count);
    cli_words_add(&all, "--ntasks=%zu", count);
    cli_words_add_all(&all, options);
    if (part != NULL) {
        cli_words_add(&all, "--het-group=%s", part);
    }
    cli_words_add_all(&all, words);
    unset_step_options();
    (void)execvp(all.at[0], all.at);
    cli_say("job", "srun cannot be executed: %s", strerror(errno));
    _exit(CLI_NOT_FOUND);
}

static void wait_for_all(void)
{
    while (wait(NULL) > 0 || errno == EINTR) {
    }
}

static void start_steps(const resmon_job *job, char *const *words)
{
    char part[24];
    if (part_count() == 0) {
        exec_srun(count_nodes(job), NULL, words);
    }
    for (size_t i = 0; i < part_count(); i++) {
        (void)snprintf(part, sizeof part, "%zu", i);
        if (fork() == 0) {
            exec_srun(nodes_of_part(i), part, words);
        }
    }
    wait_for_all();
}

/* ---- remote shells -------------------------------------------------------------------------- */

static const struct {
    const char *system; /* NULL: any other */
    const char *command;
} shells[] = {{"oar", "oarsh"}, {"lsf", "blaunch"}, {NULL, "ssh -o BatchMode=yes"}};

static const char *shell_of(const char *system)
{
    size_t i = 0;
    while (shells[i].system != NULL && strcmp(shells[i].system, system) != 0) {
        i++;
    }
    return shells[i].command;
}

/* Quotes a word for any shell. */
static void put_word(struct cli_text *line, const char *word)
{
    cli_text_put(line, " '", line->length > 0 ? 2 : 0);
    cli_text_put(line, "'", line->length > 0 ? 0 : 1);
    for (const char *at = word; *at != '\0'; at++) {
        cli_text_put(line, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
    }
    cli_text_put(line, "'", 1);
}

/* Remote shells do not pass variables on.  Adds the variables that describe the job, except those
 * of a single rank, and except values that csh cannot quote. */
static void put_variables(struct cli_text *line)
{
    for (char **at = environ; *at != NULL; at++) {
        if (resmon_job_is_shared_variable(*at) && strpbrk(*at, "\n!") == NULL) {
            put_word(line, *at);
        }
    }
}

static char *remote_line(char *const *words)
{
    struct cli_text line = {.text = NULL};
    put_word(&line, "env");
    put_variables(&line);
    for (size_t i = 0; words[i] != NULL; i++) {
        put_word(&line, words[i]);
    }
    return line.text;
}

static void exec_remote(const char *shell, const char *host, char *const *words)
{
    struct cli_words all = {.at = NULL};
    for (const char *at = shell; *(at += strspn(at, " ")) != '\0'; at += strcspn(at, " ")) {
        cli_words_add(&all, "%.*s", (int)strcspn(at, " "), at);
    }
    cli_words_add(&all, "%s", host);
    cli_words_add(&all, "%s", remote_line(words));
    (void)execvp(all.at[0], all.at);
}

/* Starts a monitor on each node.  Its standard input is a pipe without data, which is closed when
 * this process ends. */
static void start_each(const resmon_job *job, char *const *words, const char *shell)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        cli_say("job", "cannot create a pipe: %s", strerror(errno));
        return;
    }
    for (size_t i = 0; i < count_nodes(job); i++) {
        const char *host = resmon_job_host(job, i);
        if (fork() != 0) {
            continue;
        }
        (void)dup2(ends[0], STDIN_FILENO);
        if (is_own(job, host)) {
            (void)execv(words[0], words);
        } else {
            exec_remote(shell, host, words);
        }
        cli_say("job", "cannot start the monitor on %s: %s", host != NULL ? host : "this node",
                strerror(errno));
        _exit(CLI_NOT_FOUND);
    }
    (void)close(ends[0]);
    wait_for_all();
}

/* ---- the background process ----------------------------------------------------------------- */

/* Leaves the terminal's session, and closes the shell's files, as the shell may wait for that. */
static void detach(const char *log)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    (void)setsid();
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(file >= 0 ? file : null, STDOUT_FILENO);
    (void)dup2(file >= 0 ? file : null, STDERR_FILENO);
}

/* Starts `words`, ended by NULL, on each node; their output goes to the file `log`.  Monitors that
 * are started by a remote shell get "--until-eof": their standard input is closed when the
 * background process ends.  Slurm ends its steps itself.  `shell`: words of another remote shell,
 * separated by spaces; NULL: the remote shell of the batch system.
 * Returns the background process, or -1 with errno. */
static pid_t start_on_nodes(const resmon_job *job, struct cli_words *words, const char *log,
                            const char *shell)
{
    const resmon_job_info info = info_of(job);
    bool is_alone = count_nodes(job) == 1 && is_own(job, resmon_job_host(job, 0));
    pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    detach(log);
    if (shell == NULL && !is_alone && strcmp(info.system, "slurm") == 0) {
        start_steps(job, words->at);
        _exit(0);
    }
    cli_words_add(words, "--until-eof");
    start_each(job, words->at, shell != NULL ? shell : shell_of(info.system));
    _exit(0);
}

/* ---- the directory ---------------------------------------------------------------------- */

#define DIRECTORY  "resmon"
#define TRIES      200 /* checks whether the first monitor has begun, or all have ended */
#define MORE_TRIES 50  /* checks whether more monitors have begun */
#define WAIT_S     0.1

/* Sets the directory of this job; false, and a message: there is no job, or no directory. */
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

/* "PROGRAM attach --job=4711 ... --output=DIRECTORY/", and this command's library options. */
static bool make_words(const struct cli_arguments *arguments, const struct cli_job_place *place,
                       const char *id, struct cli_words *words)
{
    char *program = realpath("/proc/self/exe", NULL), *directory = realpath(place->directory, NULL);
    if (program == NULL || directory == NULL) {
        cli_say("job", "%s: %s", program == NULL ? "/proc/self/exe" : place->directory,
                strerror(errno));
        free(program);
        free(directory);
        return false;
    }
    cli_words_add(words, "%s", program);
    cli_words_add(words, "attach");
    cli_words_add(words, "--quiet");
    cli_words_add(words, "--job=%s", id);
    cli_words_add(words, "--output=%s/", directory);
    if (cli_has(arguments, "verbose")) {
        cli_words_add(words, "--verbose");
    }
    cli_words_add_given(words, arguments);
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

/* Counts nodes that have a recording.  Returns when all have one, when no more appear for a while,
 * or when the background process has ended. */
static size_t wait_for_nodes(const struct cli_job_place *place, size_t before, size_t nodes,
                             pid_t pid)
{
    size_t count = 0;
    bool has_ended = false;
    for (int idle = 0; idle < (count > 0 ? MORE_TRIES : TRIES) && count < nodes && !has_ended;
         idle++) {
        cli_sleep(WAIT_S);
        has_ended = waitpid(pid, NULL, WNOHANG) == pid;
        size_t now = monitors_of(place);
        idle = now > before + count ? 0 : idle;
        count = now > before ? now - before : 0;
    }
    return count;
}

static int launch(const struct cli_arguments *arguments, const struct cli_job_place *place,
                  const resmon_job *job, struct cli_words *words)
{
    char log[CLI_JOB_PATH_BYTES];
    size_t nodes = count_nodes(job), before = monitors_of(place);
    (void)snprintf(log, sizeof log, "%s/%s.log", place->directory, place->job);
    pid_t pid = start_on_nodes(job, words, log, cli_value(arguments, "remote-shell"));
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
    resmon_job_info info;
    resmon_job *job = cli_job_detect(&info);
    struct cli_words words = {.at = NULL};
    int result = CLI_FAILED;
    cli_job_stop_path(place, stop);
    (void)unlink(stop); /* of monitors that were stopped before */
    if (job == NULL) {
        cli_say("job", "%s", resmon_last_error());
    } else if (make_words(arguments, place, info.id, &words)) {
        result = launch(arguments, place, job, &words);
    }
    cli_words_free(&words);
    resmon_job_free(job);
    return result;
}

/* ---- stop ----------------------------------------------------------------------------------- */

/* Waits until all monitors have ended.  Monitors that were killed leave a recording; waiting for
 * them is limited. */
static void wait_for_ends(const struct cli_job_place *place, struct cli_job_files *files)
{
    for (int tries = 0; tries < TRIES; tries++) {
        cli_job_files_free(files);
        if (!cli_job_list("job", place->directory, place->job, files) || files->monitors == 0) {
            return;
        }
        cli_sleep(WAIT_S);
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
