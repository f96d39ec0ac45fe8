/* SPDX-License-Identifier: MIT */
/* resmon diff: compares runs or benchmarks by rules. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "output.h"
#include "say.h"

#define GATE_FILE  ".resmon-gate"
#define MOST_RULES 16384

/* ---- the sides ---------------------------------------------------------------------------- */

struct sides {
    resmon_bench *before, *after; /* may be the same object */
};

static void free_sides(struct sides *sides)
{
    if (sides->after != sides->before) {
        resmon_bench_free(sides->after);
    }
    resmon_bench_free(sides->before);
}

/* "A -- B", "A B", or a benchmark of several commands. */
static bool load_sides(const struct cli_arguments *arguments, struct sides *sides)
{
    size_t before = arguments->words_before, after = arguments->word_count - before;
    if (after == 0 && before == 2) {
        before = after = 1;
    }
    if (before == 0 || (after == 0 && before > 2)) {
        cli_say("diff", "runs before and after are needed: resmon diff BEFORE... -- AFTER...");
        return false;
    }
    sides->before = cli_runs_load("diff", arguments->words, before);
    if (sides->before != NULL && after > 0) {
        sides->after = cli_runs_load("diff", arguments->words + before, after);
    } else if (sides->before != NULL && resmon_bench_count(sides->before) > 1) {
        sides->after = sides->before;
    } else if (sides->before != NULL) {
        cli_say("diff", "there is nothing to compare %s with", arguments->words[0]);
    }
    return sides->after != NULL;
}

/* ---- the rules ---------------------------------------------------------------------------- */

/* Reads a file of rules; false, and a message: it cannot be read, or is too long. */
static bool read_rules(const char *path, char *text)
{
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(text, 1, MOST_RULES - 1, file) : 0;
    bool is_read = file != NULL && ferror(file) == 0 && feof(file) != 0;
    text[length] = '\0';
    if (!is_read) {
        cli_say("diff", "%s cannot be read: %s", path,
                file == NULL || ferror(file) != 0 ? strerror(errno) : "it is too long");
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_read;
}

/* The rules of --fail and --gate, else of the file .resmon-gate.  `ret_is_given` false: no rules
 * are given, and the defaults apply. */
static bool collect_rules(const struct cli_arguments *arguments, char *text, bool *ret_is_given)
{
    const char *rule, *path = cli_value(arguments, "gate");
    size_t used = 0;
    text[0] = '\0';
    path = path == NULL && !cli_has(arguments, "fail") && access(GATE_FILE, F_OK) == 0 ? GATE_FILE
                                                                                       : path;
    *ret_is_given = path != NULL || cli_has(arguments, "fail");
    if (path != NULL && !read_rules(path, text)) {
        return false;
    }
    used = strlen(text);
    for (size_t i = 0; (rule = cli_value_at(arguments, "fail", i)) != NULL; i++) {
        int length = snprintf(text + used, MOST_RULES - used, "\n%s", rule);
        if (length < 0 || (size_t)length >= MOST_RULES - used) {
            cli_say("diff", "the rules are too long");
            return false;
        }
        used += (size_t)length;
    }
    return true;
}

/* ---- results ------------------------------------------------------------------------------ */

struct shown {
    const resmon_diff *diff;
    bool is_full;
};

static const char *form_of(const void *context, const char *path)
{
    const char *form = cli_output_form(path);
    (void)context;
    return form != NULL ? form : "text";
}

static resmon_status render(const void *context, const char *form, unsigned width, char **ret_text)
{
    const struct shown *shown = context;
    return resmon_diff_text(shown->diff, form, width, shown->is_full ? 1 : 0, ret_text);
}

/* ---- pairs -------------------------------------------------------------------------------- */

static size_t find_group(const resmon_bench *bench, const char *name)
{
    size_t at = 0;
    while (at < resmon_bench_count(bench) && strcmp(resmon_bench_name(bench, at), name) != 0) {
        at++;
    }
    return at;
}

static bool has_one(const resmon_bench *bench)
{
    return resmon_bench_count(bench) == 1;
}

/* Chooses the two groups; false, and a message: a side does not have the command. */
static bool choose(const struct cli_arguments *arguments, const struct sides *sides,
                   size_t *ret_before, size_t *ret_after)
{
    const char *name = cli_value(arguments, "command");
    *ret_before = *ret_after = 0;
    if (name != NULL) {
        *ret_before = find_group(sides->before, name);
        *ret_after = find_group(sides->after, name);
    } else if (sides->before == sides->after) {
        *ret_after = 1;
    } else if (!has_one(sides->before) || !has_one(sides->after)) {
        *ret_after = find_group(sides->after, resmon_bench_name(sides->before, 0));
        cli_say("diff",
                "of several commands '%.200s' is compared; --command=NAME selects another one",
                resmon_bench_name(sides->before, 0));
    }
    if (*ret_before >= resmon_bench_count(sides->before) ||
        *ret_after >= resmon_bench_count(sides->after)) {
        cli_say("diff", "a side does not have the command '%.200s'",
                name != NULL ? name : resmon_bench_name(sides->before, 0));
        return false;
    }
    return true;
}

/* ---- the verb ----------------------------------------------------------------------------- */

static int status_of(const struct cli_arguments *arguments, int32_t verdict)
{
    const char *inconclusive = cli_value(arguments, "inconclusive");
    if (verdict == RESMON_VERDICT_CANNOT_TELL && inconclusive != NULL) {
        return strcmp(inconclusive, "pass") == 0 ? 0 : CLI_FAILED;
    }
    return verdict == RESMON_VERDICT_WORSE         ? CLI_FAILED
           : verdict == RESMON_VERDICT_CANNOT_TELL ? CLI_INCONCLUSIVE
                                                   : 0;
}

/* Checks the options before files are read. */
static bool check(const struct cli_arguments *arguments)
{
    static const char *const endings[] = {".html", ".htm", ".md",  ".markdown",
                                          ".json", ".xml", ".txt", NULL};
    const char *inconclusive = cli_value(arguments, "inconclusive");
    if (!cli_output_may_end(arguments, endings)) {
        return false;
    }
    if (inconclusive != NULL && strcmp(inconclusive, "pass") != 0 &&
        strcmp(inconclusive, "fail") != 0) {
        cli_say("diff", "--inconclusive=%.64s must be pass or fail", inconclusive);
        return false;
    }
    return true;
}

/* Loads a run of each side for the HTML report, if the sides are files of runs. */
static void load_shown(const struct cli_arguments *arguments, resmon_run *runs[2])
{
    const char *path;
    bool is_wanted = false;
    size_t before = arguments->words_before, count = arguments->word_count;
    before = before == count && count == 2 ? 1 : before;
    for (size_t i = 0; (path = cli_value_at(arguments, "output", i)) != NULL; i++) {
        is_wanted |= strcmp(form_of(NULL, path), "html") == 0;
    }
    if (is_wanted && before < count) {
        runs[0] = cli_runs_median(arguments->words, before);
        runs[1] = cli_runs_median(arguments->words + before, count - before);
    }
}

static int compare(const struct cli_arguments *arguments, const struct sides *sides)
{
    static char rules[MOST_RULES];
    resmon_diff *diff = NULL;
    size_t before, after;
    bool is_given;
    if (!choose(arguments, sides, &before, &after) || !collect_rules(arguments, rules, &is_given)) {
        return CLI_USAGE;
    }
    if (!cli_check("diff", resmon_diff_make(sides->before, before, sides->after, after,
                                            is_given ? rules : NULL, &diff))) {
        return CLI_USAGE;
    }
    resmon_run *runs[2] = {NULL};
    load_shown(arguments, runs);
    (void)resmon_diff_set_runs(diff, runs[0], runs[1]);
    const struct shown shown = {diff, cli_has(arguments, "full")};
    const struct cli_result result = {arguments, &shown, form_of, render};
    bool is_well = cli_result_write(&result);
    is_well &= cli_result_print(&result);
    int status = is_well ? status_of(arguments, resmon_diff_verdict(diff)) : CLI_USAGE;
    resmon_diff_free(diff);
    resmon_run_free(runs[0]);
    resmon_run_free(runs[1]);
    return status;
}

int cli_diff(const struct cli_arguments *arguments)
{
    struct sides sides = {.before = NULL};
    if (!cli_needs_words(arguments, 1, (size_t)-1) || !check(arguments)) {
        return cli_wrong(arguments->command);
    }
    int status = load_sides(arguments, &sides) ? compare(arguments, &sides) : CLI_USAGE;
    free_sides(&sides);
    return status;
}
