/* SPDX-License-Identifier: MIT */
/*
 * resmon bench: runs commands repeatedly, in random order.  Each run is a `resmon run` of its own,
 * whose document is read and removed.  Short commands get too few samples, and observing would
 * change them: they are only started and waited for.
 */
#define _GNU_SOURCE /* syscall, SOCK_CLOEXEC */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "launch.h"
#include "output.h"
#include "say.h"

#define MOST_RUNS  10000.0
#define USUAL_RUNS 10.0
#define USUAL_S    3.0 /* least total time of each command, without --runs and --for */
#define CACHES     "/proc/sys/vm/drop_caches"

/* Shorter commands run without a monitor: `resmon run` adds some 5 ms, 1 % of this. */
#define SHORT_S 0.5

#define MOST_COMMANDS 64

struct command {
    char **words; /* ended by NULL */
    char *name;   /* its command line */
    char *shell[4];
    double total_s;   /* of the runs that count */
    double longest_s; /* of the observed runs */
};

struct commands {
    struct command at[MOST_COMMANDS];
    size_t count;
};

struct bench {
    const struct cli_arguments *arguments;
    struct commands commands;
    double runs, for_s, warmup;
    resmon_bench *results;
    char document[CLI_STORE_PATH_BYTES];
    size_t done;     /* runs that count */
    bool is_bare;    /* runs have no monitor */
    bool has_scopes; /* a command has scopes */
};

/* ---- commands, between "--" --------------------------------------------------------------- */

/* One word with spaces is run by the shell. */
static void add_command(struct commands *commands, char **words, size_t count)
{
    struct command *command = &commands->at[commands->count++];
    command->name = cli_line_of(words, count);
    command->words = words;
    if (count == 1 && strchr(words[0], ' ') != NULL) {
        static char shell[] = "/bin/sh", option[] = "-c";
        command->shell[0] = shell;
        command->shell[1] = option;
        command->shell[2] = words[0];
        command->words = command->shell;
    }
}

/* Splits the words at "--". */
static bool split(struct commands *commands, char **words, size_t count)
{
    for (size_t first = 0, at = 0; at <= count; at++) {
        bool is_end = at == count || strcmp(words[at], "--") == 0;
        if (!is_end) {
            continue;
        }
        if (at == first || commands->count == MOST_COMMANDS) {
            cli_say("bench", at == first ? "a command is missing" : "there are too many commands");
            return false;
        }
        words[at] = NULL;
        add_command(commands, words + first, at - first);
        first = at + 1;
    }
    return true;
}

/* Makes the names of equal commands unique. */
static void make_names_unique(struct commands *commands)
{
    for (size_t i = 1; i < commands->count; i++) {
        size_t alike = 1;
        for (size_t k = 0; k < i; k++) {
            alike += strcmp(commands->at[k].name, commands->at[i].name) == 0 ? 1 : 0;
        }
        if (alike > 1) {
            char *name = cli_format("%s (%zu)", commands->at[i].name, alike);
            free(commands->at[i].name);
            commands->at[i].name = name;
        }
    }
}

/* Reads the commands.  False, and a message: one is missing, or there are too many. */
static bool read_commands(struct commands *commands, char **words, size_t count)
{
    bool is_right = split(commands, words, count);
    make_names_unique(commands);
    return is_right;
}

static void free_commands(struct commands *commands)
{
    for (size_t i = 0; i < commands->count; i++) {
        free(commands->at[i].name);
    }
}

/* ---- runs without a monitor --------------------------------------------------------------- */

static int starter_socket = -1;
static pid_t starter = -1;

/* Runs commands by their numbers, which come from the socket, until it is closed. */
static void serve(const struct commands *commands, bool is_shown, int socket)
{
    size_t number;
    ssize_t got;
    do {
        got = recv(socket, &number, sizeof number, 0);
        if (got == (ssize_t)sizeof number && number < commands->count) {
            char **words = commands->at[number].words;
            const struct cli_child run =
                cli_launch_run(words[0], words, STDIN_FILENO, is_shown ? -1 : STDERR_FILENO);
            got = send(socket, &run, sizeof run, MSG_NOSIGNAL);
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
}

/* Forks a small process that starts the commands and waits for them: the RSS of the parent is a
 * lower bound of ru_maxrss.  False, and a message: it cannot be created. */
static bool open_starter(const struct commands *commands, bool is_shown)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        cli_say("bench", "cannot make a socket: %s", strerror(errno));
        return false;
    }
    starter = fork();
    if (starter < 0) {
        cli_say("bench", "cannot start a process: %s", strerror(errno));
    }
    if (starter == 0) {
        (void)close(ends[0]);
        serve(commands, is_shown, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    starter_socket = ends[0];
    return starter > 0;
}

/* Lets the starter run a command.  False, and a message: the starter has ended. */
static bool run_by_starter(size_t command, struct cli_child *ret_run)
{
    ssize_t got = -1;
    cli_launch_hand_to(starter); /* which forwards signals */
    if (send(starter_socket, &command, sizeof command, MSG_NOSIGNAL) == (ssize_t)sizeof command) {
        do {
            got = recv(starter_socket, ret_run, sizeof *ret_run, 0);
        } while (got < 0 && errno == EINTR);
    }
    cli_launch_hand_to(0);
    if (got != (ssize_t)sizeof *ret_run) {
        cli_say("bench", "the process that starts commands has ended");
        return false;
    }
    return true;
}

static void close_starter(void)
{
    if (starter_socket >= 0) {
        (void)close(starter_socket);
        while (starter > 0 && waitpid(starter, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    starter_socket = -1;
}

/* ---- one run ------------------------------------------------------------------------------ */

/* `resmon run` with the library options of this command. */
static void add_run(struct cli_words *words, const struct bench *bench)
{
    cli_words_add(words, "resmon");
    cli_words_add(words, "run");
    cli_words_add(words, "-q");
    cli_words_add(words, "--output=%s", bench->document);
    cli_words_add_given(words, bench->arguments);
    cli_words_add(words, "--");
}

/* Its stderr is shown in any case. */
static int run_shell(const char *line, bool is_shown)
{
    struct cli_words words = {.at = NULL};
    cli_words_add(&words, "/bin/sh");
    cli_words_add(&words, "-c");
    cli_words_add(&words, "%s", line);
    int last = is_shown ? -1 : STDOUT_FILENO;
    const struct cli_child child = cli_launch_run(words.at[0], words.at, STDOUT_FILENO, last);
    cli_words_free(&words);
    return child.status;
}

/* Prepares a run; false, and a message: that failed. */
static bool prepare(const struct bench *bench)
{
    const char *line = cli_value(bench->arguments, "prepare");
    bool is_shown = cli_has(bench->arguments, "show-output");
    if (line != NULL && run_shell(line, is_shown) != 0) {
        cli_say("bench", "the command of --prepare failed: %s", line);
        return false;
    }
    if (cli_has(bench->arguments, "each-cold")) {
        sync();
        int fd = open(CACHES, O_WRONLY | O_CLOEXEC);
        bool is_empty = fd >= 0 && write(fd, "3", 1) == 1;
        if (!is_empty) {
            cli_say("bench", "cannot empty the page cache (" CACHES ": %s): only root can",
                    strerror(errno));
        }
        (void)(fd >= 0 ? close(fd) : 0);
        return is_empty;
    }
    return true;
}

static void say_failure(const struct command *command, int status)
{
    if (WIFSIGNALED(status)) {
        cli_say("bench", "%s was ended by signal %d; use -i to continue after failures",
                command->name, WTERMSIG(status));
    } else {
        const char *why = WEXITSTATUS(status) == CLI_NOT_FOUND        ? ": it was not found"
                          : WEXITSTATUS(status) == CLI_NOT_EXECUTABLE ? ": it cannot be executed"
                          : WEXITSTATUS(status) == CLI_RUN_FAILED     ? ": see --show-output"
                                                                      : "";
        cli_say("bench", "%s ended with exit status %d%s; use -i to continue after failures",
                command->name, WEXITSTATUS(status), why);
    }
}

/* Reads the document of a run, and adds the run if it counts; false, and a message: that failed. */
static bool take_result(struct bench *bench, struct command *command, bool counts)
{
    resmon_headline headline = {.struct_size = sizeof headline};
    resmon_run *run = cli_output_load("bench", bench->document);
    (void)unlink(bench->document);
    if (run == NULL) {
        return false;
    }
    bool is_added =
        !counts || cli_check("bench", resmon_bench_add(bench->results, command->name, run));
    (void)resmon_run_get_headline(run, &headline);
    command->longest_s = fmax(command->longest_s, headline.wall_s);
    command->total_s += counts ? headline.wall_s : 0.0;
    bench->has_scopes |= resmon_run_scope_count(run) > 0;
    resmon_run_free(run);
    bench->done += counts ? 1 : 0;
    return is_added;
}

static bool take_bare(struct bench *bench, struct command *command, const struct cli_child *bare)
{
    bool is_signal = WIFSIGNALED(bare->status);
    const struct cli_launch launch = {.wait_code = is_signal ? CLD_KILLED : CLD_EXITED,
                                      .wait_status = is_signal ? WTERMSIG(bare->status)
                                                               : WEXITSTATUS(bare->status),
                                      .usage = bare->usage};
    const resmon_run_end end = cli_launch_end(&launch);
    resmon_run_usage usage = cli_launch_usage(&launch);
    usage.wall_s = bare->wall_s;
    if (bare->usage.ru_maxrss <= bare->least_maxrss) {
        usage.rss_peak_bytes = (double)NAN; /* it may be that of the starter */
    }
    command->total_s += bare->wall_s;
    bench->done++;
    return cli_check("bench", resmon_bench_add_usage(bench->results, command->name, &usage, &end));
}

static int run_observed(const struct bench *bench, const struct command *command)
{
    struct cli_words words = {.at = NULL};
    add_run(&words, bench);
    cli_words_add_all(&words, command->words);
    int last = cli_has(bench->arguments, "show-output") ? -1 : STDERR_FILENO;
    const struct cli_child child = cli_launch_run("/proc/self/exe", words.at, STDIN_FILENO, last);
    cli_words_free(&words);
    if (child.error != 0) {
        cli_say("bench", "cannot start a process: %s", strerror(child.error));
    }
    return child.status;
}

/* Returns the status as a shell would; -1: the benchmark ends. */
static int run_bare(struct bench *bench, const struct command *command, struct cli_child *ret_run)
{
    if (!run_by_starter((size_t)(command - bench->commands.at), ret_run)) {
        return -1;
    }
    int missing = ret_run->error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
    return ret_run->error != 0 ? missing << 8 : ret_run->status;
}

/* False: the benchmark ends. */
static bool run_once(struct bench *bench, struct command *command, bool counts)
{
    struct cli_child bare;
    if (cli_launch_noted() != 0 || !prepare(bench)) {
        return false;
    }
    int status = bench->is_bare ? run_bare(bench, command, &bare) : run_observed(bench, command);
    if (cli_launch_noted() != 0 || status == -1) {
        return false;
    }
    if (status != 0 && !cli_has(bench->arguments, "ignore-failure")) {
        say_failure(command, status);
        return false;
    }
    return bench->is_bare ? !counts || take_bare(bench, command, &bare)
                          : take_result(bench, command, counts);
}

/* ---- all of them -------------------------------------------------------------------------- */

static size_t below(size_t bound)
{
    unsigned number = 0;
    if (syscall(SYS_getrandom, &number, sizeof number, 1U /* GRND_NONBLOCK */) != sizeof number) {
        number = (unsigned)(cli_now_s() * 1e6);
    }
    return number % bound;
}

/* R. Durstenfeld: Algorithm 235, Random permutation, 1964. */
static void shuffle(size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (size_t i = count; i > 1; i--) {
        size_t other = below(i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static void say_progress(const struct bench *bench, size_t round)
{
    if (isatty(STDERR_FILENO) != 0 && !cli_has(bench->arguments, "show-output")) {
        char line[64];
        int length = snprintf(line, sizeof line, "\rround %zu ... ", round + 1);
        ssize_t unused = write(STDERR_FILENO, line, (size_t)length);
        (void)unused;
    }
}

static void end_progress(const struct bench *bench)
{
    if (isatty(STDERR_FILENO) != 0 && !cli_has(bench->arguments, "show-output")) {
        ssize_t unused = write(STDERR_FILENO, "\r                \r", 18);
        (void)unused;
    }
}

static bool wants_round(const struct bench *bench, size_t round, double begin_s)
{
    if (bench->for_s > 0.0) {
        return round == 0 || cli_now_s() - begin_s < bench->for_s;
    }
    if (bench->runs > 0.0) {
        return (double)round < bench->runs;
    }
    double least_s = bench->commands.at[0].total_s;
    for (size_t i = 1; i < bench->commands.count; i++) {
        double total_s = bench->commands.at[i].total_s;
        least_s = total_s < least_s ? total_s : least_s;
    }
    return (double)round < USUAL_RUNS || (least_s < USUAL_S && (double)round < 10 * USUAL_RUNS);
}

/* False: the benchmark ends. */
static bool run_round(struct bench *bench, bool counts)
{
    size_t order[MOST_COMMANDS] = {0};
    bool is_well = true;
    shuffle(order, bench->commands.count);
    for (size_t i = 0; i < bench->commands.count && is_well; i++) {
        is_well = run_once(bench, &bench->commands.at[order[i]], counts);
    }
    return is_well;
}

static bool begin_results(struct bench *bench)
{
    resmon_bench_free(bench->results);
    bench->results = NULL;
    bench->done = 0;
    if (!cli_check("bench", resmon_bench_new(&bench->results))) {
        return false;
    }
    for (size_t i = 0; i < bench->commands.count; i++) { /* in the order of the command line */
        (void)resmon_bench_add(bench->results, bench->commands.at[i].name, NULL);
        bench->commands.at[i].total_s = 0.0;
    }
    return true;
}

/* After an observed round: whether further runs need no monitor. */
static bool is_short(const struct bench *bench)
{
    bool is_short = bench->arguments->of_library_count == 0 && !bench->has_scopes;
    for (size_t i = 0; i < bench->commands.count; i++) {
        is_short = is_short && bench->commands.at[i].longest_s < SHORT_S;
    }
    return is_short;
}

static bool run_all(struct bench *bench)
{
    bool is_well = true;
    for (size_t i = 0; (double)i < bench->warmup && is_well; i++) {
        is_well = run_round(bench, false);
        bench->is_bare = is_well && is_short(bench);
    }
    double begin_s = cli_now_s();
    for (size_t round = 0; is_well && wants_round(bench, round, begin_s); round++) {
        say_progress(bench, round);
        is_well = run_round(bench, true);
        if (round == 0 && is_well && !bench->is_bare && is_short(bench)) {
            bench->is_bare = true; /* this round was the warm-up */
            is_well = begin_results(bench) && run_round(bench, true);
        }
    }
    end_progress(bench);
    return is_well;
}

/* ---- results ------------------------------------------------------------------------------ */

static const char *form_of(const void *context, const char *path)
{
    const struct bench *bench = context;
    const char *format = cli_value(bench->arguments, "format"), *form = cli_output_form(path);
    bool is_html = form != NULL && strcmp(form, "html") == 0;
    return format != NULL ? format : is_html ? "html" : "json";
}

static resmon_status render(const void *context, const char *form, unsigned width, char **ret_text)
{
    const struct bench *bench = context;
    (void)width;
    return resmon_bench_text(bench->results, form, ret_text);
}

static bool print_difference(const struct bench *bench, size_t index)
{
    resmon_diff *diff = NULL;
    char *text = NULL;
    resmon_status status = resmon_diff_make(bench->results, 0, bench->results, index, "", &diff);
    if (status == RESMON_OK) {
        status = resmon_diff_text(diff, "text", cli_columns(STDOUT_FILENO), 0, &text);
    }
    bool is_printed =
        (status != RESMON_OK || cli_print("bench", "\n")) && cli_print_made("bench", status, text);
    resmon_diff_free(diff);
    return is_printed;
}

static bool save(const struct bench *bench, const char *name)
{
    char path[CLI_STORE_PATH_BYTES], *text = NULL;
    if (!cli_store_make("bench", name, path)) {
        return false;
    }
    const resmon_status status = resmon_bench_text(bench->results, "json", &text);
    return cli_store_made("bench", path, status, text);
}

static bool show(const struct bench *bench)
{
    const struct cli_result result = {bench->arguments, bench, form_of, render};
    const char *name = cli_value(bench->arguments, "save");
    bool is_well = cli_result_write(&result);
    is_well &= name == NULL || save(bench, name);
    bool is_printed = cli_result_print(&result);
    if (!cli_has(bench->arguments, "quiet")) {
        for (size_t i = 1; i < resmon_bench_count(bench->results) && is_printed; i++) {
            is_printed = print_difference(bench, i);
        }
    }
    return is_well && is_printed;
}

/* ---- the verb ----------------------------------------------------------------------------- */

static bool read_arguments(struct bench *bench)
{
    static const char *const endings[] = {".json", ".html", ".htm", NULL};
    const struct cli_arguments *arguments = bench->arguments;
    return (cli_has(arguments, "format") || cli_output_may_end(arguments, endings)) &&
           cli_duration(arguments, "for", &bench->for_s) &&
           cli_needs_words(arguments, 1, (size_t)-1) &&
           cli_number(arguments, "runs", 1.0, MOST_RUNS, &bench->runs) &&
           cli_number(arguments, "warmup", 0.0, MOST_RUNS, &bench->warmup) &&
           read_commands(&bench->commands, arguments->words, arguments->word_count);
}

static void free_all(struct bench *bench)
{
    close_starter();
    resmon_bench_free(bench->results);
    free_commands(&bench->commands);
}

/* Creates the file for documents of runs.  False, and a message: it cannot be created. */
static bool create_document(struct bench *bench)
{
    const char *directory = cli_store_temporary();
    int length =
        snprintf(bench->document, sizeof bench->document, "%s/resmon-bench-XXXXXX.json", directory);
    bool does_fit = length > 0 && (size_t)length < sizeof bench->document;
    int fd = does_fit ? mkstemps(bench->document, 5) : -1;
    if (fd < 0) {
        cli_say("bench", "cannot create a file in %.200s: %s", directory,
                does_fit ? strerror(errno) : "its name is too long");
        return false;
    }
    (void)close(fd);
    return true;
}

static int run_bench(struct bench *bench)
{
    cli_launch_note_signals();
    if (!open_starter(&bench->commands, cli_has(bench->arguments, "show-output")) ||
        !create_document(bench) || !begin_results(bench)) {
        return CLI_RUN_FAILED;
    }
    bool is_whole = run_all(bench);
    (void)unlink(bench->document);
    if (cli_launch_noted() != 0 && bench->done > 0) {
        cli_say("bench", "ended by signal %d; the results so far:", cli_launch_noted());
    }
    bool is_well = bench->done == 0 || show(bench);
    return cli_launch_noted() != 0 ? 128 + cli_launch_noted()
           : is_whole && is_well   ? 0
                                   : CLI_FAILED;
}

int cli_bench(const struct cli_arguments *arguments)
{
    struct bench bench = {.arguments = arguments};
    bool is_right = read_arguments(&bench);
    int result = is_right ? run_bench(&bench) : cli_wrong(arguments->command);
    free_all(&bench);
    return result;
}
