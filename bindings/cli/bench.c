/* SPDX-License-Identifier: MIT */
/*
 * resmon bench: commands, again and again, in turns.  Each run is a `resmon run` of its own, whose
 * document is read and removed; but of short commands, of which samples tell nothing and which
 * being observed would change, it is a process that is started and waited for, and nothing else.
 */
#define _GNU_SOURCE /* getrandom */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "bench_child.h"
#include "bench_commands.h"
#include "duration.h"
#include "launch.h"
#include "output.h"
#include "say.h"
#include "store.h"

#define MOST_RUNS  10000.0
#define USUAL_RUNS 10.0
#define USUAL_S    3.0 /* that each command runs for, at least, where nobody says how often */
#define CACHES     "/proc/sys/vm/drop_caches"

/* A command is short that takes less: `resmon run` adds some 5 ms, 1 % of this. */
#define SHORT_S 0.5

struct bench {
    const struct cli_arguments *arguments;
    struct cli_bench_commands commands;
    double runs, for_s, warmup;
    resmon_bench *results;
    char document[CLI_STORE_PATH_BYTES];
    char **words; /* of `resmon run`, with room for the command */
    size_t word_count;
    size_t done;     /* runs */
    bool is_bare;    /* runs have no monitor */
    bool has_scopes; /* some of the commands */
};

/* ---- one run ------------------------------------------------------------------------------ */

static void add_word(struct bench *bench, char *word)
{
    bench->words = cli_grow(bench->words, (bench->word_count + 2) * sizeof(char *));
    bench->words[bench->word_count++] = word;
    bench->words[bench->word_count] = NULL;
}

static void add_option(struct bench *bench, const char *key, const char *value)
{
    size_t room = strlen(key) + (value != NULL ? strlen(value) : 0) + 4;
    char *word = cli_grow(NULL, room);
    (void)snprintf(word, room, "--%s%s%s", key, value != NULL ? "=" : "",
                   value != NULL ? value : "");
    add_word(bench, word);
}

/* `resmon run` with the options of ours that are its own. */
static void make_words(struct bench *bench)
{
    static char name[] = "resmon", verb[] = "run", quiet[] = "-q", end_of_options[] = "--";
    add_word(bench, name);
    add_word(bench, verb);
    add_word(bench, quiet);
    add_option(bench, "output", bench->document);
    for (size_t i = 0; i < bench->arguments->of_library_count; i++) {
        const struct cli_said *said = &bench->arguments->of_library[i];
        add_option(bench, said->key, said->value);
    }
    add_word(bench, end_of_options);
}

/* Before a run; false, and a line that says why. */
static bool prepare(const struct bench *bench)
{
    const char *line = cli_value(bench->arguments, "prepare");
    bool is_shown = cli_has(bench->arguments, "show-output");
    if (line != NULL && cli_bench_run_shell(line, is_shown) != 0) {
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

static void say_failure(const struct cli_bench_command *command, int status)
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

/* Takes what a run was, and adds it if it counts; false, and a line that says why. */
static bool take_result(struct bench *bench, struct cli_bench_command *command, bool counts)
{
    resmon_headline headline = {.struct_size = sizeof headline};
    resmon_run *run = cli_output_load("bench", bench->document);
    (void)unlink(bench->document);
    if (run == NULL) {
        return false;
    }
    bool is_added = !counts || resmon_bench_add(bench->results, command->name, run) == RESMON_OK;
    if (!is_added) {
        cli_say("bench", "%s", resmon_last_error());
    }
    (void)resmon_run_get_headline(run, &headline);
    command->longest_s = fmax(command->longest_s, headline.wall_s);
    command->total_s += counts ? headline.wall_s : 0.0;
    bench->has_scopes |= resmon_run_scope_count(run) > 0;
    resmon_run_free(run);
    bench->done += counts ? 1 : 0;
    return is_added;
}

static bool take_bare(struct bench *bench, struct cli_bench_command *command,
                      const struct cli_bench_bare *bare)
{
    bool is_signal = WIFSIGNALED(bare->status);
    const struct cli_launch launch = {.wait_code = is_signal ? CLD_KILLED : CLD_EXITED,
                                      .wait_status = is_signal ? WTERMSIG(bare->status)
                                                               : WEXITSTATUS(bare->status),
                                      .usage = bare->usage};
    const resmon_run_end end = cli_launch_end(&launch);
    resmon_run_usage usage = cli_launch_usage(&launch);
    usage.wall_s = bare->wall_s;
    if (bare->usage.ru_maxrss <= bare->starter_maxrss) {
        usage.rss_peak_bytes = (double)NAN; /* it may be that of who started it */
    }
    command->total_s += bare->wall_s;
    bench->done++;
    if (resmon_bench_add_usage(bench->results, command->name, &usage, &end) != RESMON_OK) {
        cli_say("bench", "%s", resmon_last_error());
        return false;
    }
    return true;
}

static int run_observed(struct bench *bench, const struct cli_bench_command *command)
{
    size_t before = bench->word_count;
    for (size_t i = 0; command->words[i] != NULL; i++) {
        add_word(bench, command->words[i]);
    }
    int status = cli_bench_run_self(bench->words, cli_has(bench->arguments, "show-output"));
    bench->word_count = before;
    bench->words[before] = NULL;
    return status;
}

/* As a shell has it; -1: it is the end. */
static int run_bare(struct bench *bench, const struct cli_bench_command *command,
                    struct cli_bench_bare *ret_run)
{
    if (!cli_bench_bare_run((size_t)(command - bench->commands.at), ret_run)) {
        return -1;
    }
    int missing = ret_run->error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
    return ret_run->error != 0 ? W_EXITCODE(missing, 0) : ret_run->status;
}

/* False: the end. */
static bool run_once(struct bench *bench, struct cli_bench_command *command, bool counts)
{
    struct cli_bench_bare bare;
    if (cli_bench_told_by() != 0 || !prepare(bench)) {
        return false;
    }
    int status = bench->is_bare ? run_bare(bench, command, &bare) : run_observed(bench, command);
    if (cli_bench_told_by() != 0 || status == -1) {
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
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
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

static bool goes_on(const struct bench *bench, size_t round, double begin_s)
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

/* Whether it came to its end. */
static bool run_round(struct bench *bench, bool counts)
{
    size_t order[CLI_BENCH_COMMANDS] = {0};
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
    if (resmon_bench_new(&bench->results) != RESMON_OK) {
        cli_say("bench", "%s", resmon_last_error());
        return false;
    }
    for (size_t i = 0; i < bench->commands.count; i++) { /* in the order in which they were said */
        (void)resmon_bench_add(bench->results, bench->commands.at[i].name, NULL);
        bench->commands.at[i].total_s = 0.0;
    }
    return true;
}

/* After a round that was observed: whether the others need not be, and should not. */
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
    for (size_t round = 0; is_well && goes_on(bench, round, begin_s); round++) {
        say_progress(bench, round);
        is_well = run_round(bench, true);
        if (round == 0 && is_well && !bench->is_bare && is_short(bench)) {
            bench->is_bare = true; /* and this round has warmed up */
            is_well = begin_results(bench) && run_round(bench, true);
        }
    }
    end_progress(bench);
    return is_well;
}

/* ---- results ------------------------------------------------------------------------------ */

static char *text_of(const struct bench *bench, const char *form)
{
    char *text = NULL;
    if (resmon_bench_text(bench->results, form, &text) != RESMON_OK) {
        cli_say("bench", "%s", resmon_last_error());
    }
    return text;
}

static bool write_to(const struct bench *bench, const char *path, const char *form)
{
    char *text = text_of(bench, form);
    bool is_written = text != NULL && cli_store_write("bench", path, text);
    resmon_text_free(text);
    return is_written;
}

static bool print_differences(const struct bench *bench)
{
    bool is_well = true;
    for (size_t i = 1; i < resmon_bench_count(bench->results) && is_well; i++) {
        resmon_diff *diff = NULL;
        char *text = NULL;
        if (resmon_diff_make(bench->results, 0, bench->results, i, "", &diff) != RESMON_OK ||
            resmon_diff_text(diff, "text", cli_columns(STDOUT_FILENO), 0, &text) != RESMON_OK) {
            cli_say("bench", "%s", resmon_last_error());
            is_well = false;
        }
        is_well = is_well && cli_print("bench", "\n") && cli_print("bench", text);
        resmon_text_free(text);
        resmon_diff_free(diff);
    }
    return is_well;
}

static bool show(const struct bench *bench)
{
    const char *path, *name = cli_value(bench->arguments, "save");
    const char *form = cli_value(bench->arguments, "format");
    char kept[CLI_STORE_PATH_BYTES];
    bool is_well = true;
    for (size_t i = 0; (path = cli_value_at(bench->arguments, "output", i)) != NULL; i++) {
        uint64_t page;
        is_well &= write_to(bench, path,
                            form != NULL                                                  ? form
                            : cli_output_is_page(path, &page) && page == RESMON_PAGE_HTML ? "html"
                                                                                          : "json");
    }
    if (name != NULL) {
        is_well &= cli_store_make("bench", name, kept) && write_to(bench, kept, "json");
    }
    if (!cli_has(bench->arguments, "quiet")) {
        char *text = text_of(bench, "text");
        is_well &= text != NULL && cli_print("bench", text) && print_differences(bench);
        resmon_text_free(text);
    }
    return is_well;
}

/* ---- the verb ----------------------------------------------------------------------------- */

static bool read_arguments(struct bench *bench)
{
    const struct cli_arguments *arguments = bench->arguments;
    const char *until = cli_value(arguments, "for");
    bench->for_s = until != NULL ? cli_duration(until) : 0.0;
    if (bench->for_s < 0.0) {
        cli_say("bench", "--for=%.64s must be a duration, such as 30s, 1.5min, 1h", until);
        return false;
    }
    return cli_needs_words(arguments, 1, (size_t)-1) &&
           cli_number(arguments, "runs", 1.0, MOST_RUNS, &bench->runs) &&
           cli_number(arguments, "warmup", 0.0, MOST_RUNS, &bench->warmup) &&
           cli_bench_commands_read(&bench->commands, arguments->words, arguments->word_count);
}

static void free_all(struct bench *bench)
{
    cli_bench_bare_close();
    resmon_bench_free(bench->results);
    cli_bench_commands_free(&bench->commands);
    for (size_t i = 0; i < bench->word_count; i++) {
        if (strncmp(bench->words[i], "--", 2) == 0 && bench->words[i][2] != '\0') {
            free(bench->words[i]); /* the options: add_option() */
        }
    }
    free(bench->words);
}

/* False, and a line that says why. */
static bool make_place(struct bench *bench)
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
    cli_bench_take_signals();
    if (!cli_bench_bare_open(&bench->commands, cli_has(bench->arguments, "show-output")) ||
        !make_place(bench) || !begin_results(bench)) {
        return CLI_RUN_FAILED;
    }
    make_words(bench);
    bool is_whole = run_all(bench);
    (void)unlink(bench->document);
    if (cli_bench_told_by() != 0 && bench->done > 0) {
        cli_say("bench", "ended by signal %d; the results so far:", (int)cli_bench_told_by());
    }
    bool is_well = bench->done == 0 || show(bench);
    return cli_bench_told_by() != 0 ? 128 + (int)cli_bench_told_by()
           : is_whole && is_well    ? 0
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
