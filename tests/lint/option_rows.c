/* SPDX-License-Identifier: MIT */
/*
 * The tables of options, sinks, metrics and the command, a line for each, of fields that tabs part:
 * what texts are made from and checked against (check_options.py).
 */
#include <stdio.h>

#include <resmon/resmon.h>

#include "../../bindings/cli/command.h"

/* A line; paragraphs of a text are parted by "\\n" in it. */
static void print_row(const char *const *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (const char *at = fields[i]; *at != '\0'; at++) {
            (void)(*at == '\n' ? printf("\\n") : putchar(*at));
        }
        (void)putchar(i + 1 < count ? '\t' : '\n');
    }
}

#define ROW(...)                                  \
    print_row((const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *));

/* clang-format off */
static void print_command(void)
{
#define CLI_COMMAND(name, traits, arguments, summary, text)                                       \
    ROW("verb", #name, ((traits) & CLI_TABLE) != 0 ? "1" : "0",                                   \
        ((traits) & CLI_OBSERVES) != 0 ? "1" : "0", arguments, summary, text)
#include "../../bindings/cli/commands.def"
#define CLI_OPTION(name, key, letter, argument, help)                                             \
    ROW("own", #name, key, (letter) != '\0' ? (const char[]){letter, '\0'} : "",                  \
        (argument) != NULL ? (argument) : "", help)
#include "../../bindings/cli/commands.def"
#define CLI_EXAMPLE(name, line, what) ROW("example", #name, line, what)
#include "../../bindings/cli/commands.def"
#define CLI_COMMON(group, key) ROW("common", group, key)
#include "../../bindings/cli/commands.def"
}
/* clang-format on */

int main(void)
{
    print_command();
    resmon_sink_kind kind = {.struct_size = sizeof kind};
    for (size_t i = 0; resmon_sink_kind_at(i, &kind) == RESMON_OK; i++) {
        printf("sink\t%s\t%s\t%s\n", kind.name, kind.main, kind.help);
    }
    resmon_option option = {.struct_size = sizeof option};
    for (size_t i = 0; resmon_option_at(i, &option) == RESMON_OK; i++) {
        printf("option\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", option.owner, option.key,
               option.type, (int)option.is_needed, (int)option.has_bare, option.low, option.high,
               option.default_text, option.values, option.help);
    }
    resmon_metric metric = {.struct_size = sizeof metric};
    for (size_t i = 0; resmon_metric_at(i, &metric) == RESMON_OK; i++) {
        printf("metric\t%s\t%s\t%s\t%s\n", metric.name, metric.unit,
               metric.kind == RESMON_COUNTER ? "counter" : "gauge", metric.help);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
