/* SPDX-License-Identifier: MIT */
#include "engine/needs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <resmon/stack.h>

#include "base/human.h"
#include "base/status.h"

static resmon_status refuse_stacks(const char *what, uint64_t stacks)
{
    bool has_cpu = (stacks & RESMON_STACKS_CPU) != 0;
    bool has_memory = (stacks & RESMON_STACKS_MEMORY) != 0;
    return rm_error(RESMON_EINVAL,
                    "%s needs stacks of %s%s%s, which stacks= does not include: add them there, or "
                    "omit stacks=",
                    what, has_cpu ? "cpu" : "", has_cpu && has_memory ? " or " : "",
                    has_memory ? "memory" : "");
}

resmon_status rm_needs_add(struct rm_needs *needs, const struct rm_options *options,
                           const char *what, uint64_t stacks, uint64_t events)
{
    uint64_t said = options->values.stacks;
    if (stacks != 0 && said != 0 && (said & stacks) == 0) {
        return refuse_stacks(what, stacks);
    }
    needs->stacks |= stacks;
    needs->events = events > needs->events ? events : needs->events;
    return RESMON_OK;
}

static void settle(const struct rm_needs *needs, resmon_monitor_options *values)
{
    values->stacks = values->stacks != 0 ? values->stacks : needs->stacks;
    values->events = values->events != 0 ? values->events : (size_t)needs->events;
}

void rm_needs_settle(const struct rm_needs *needs, struct rm_options *options)
{
    settle(needs, &options->values);
}

static void add_line(char *text, size_t room, const char *line)
{
    size_t length = strlen(text);
    if (line[0] != '\0') {
        (void)snprintf(text + length, room - length, "%s%s", length > 0 ? "\n" : "", line);
    }
}

/* A table that takes as much memory as a program does, said before it is taken. */
static void remark_on_table(size_t rows, uint64_t row_bytes, char *text, size_t room)
{
    static const double large_bytes = 64.0 * 1048576.0;
    char line[160], of_all[RM_HUMAN_BYTES], of_one[RM_HUMAN_BYTES];
    const double bytes = (double)rows * (double)row_bytes;
    if (bytes >= large_bytes) {
        rm_human_bytes(of_all, bytes);
        rm_human_bytes(of_one, (double)row_bytes);
        (void)snprintf(line, sizeof line,
                       "rows=%zu takes up to %s of memory as the table fills, %s a row", rows,
                       of_all, of_one);
        add_line(text, room, line);
    }
}

void rm_needs_remark(const struct rm_needs *needs, const struct rm_options *options,
                     uint64_t row_bytes, char *text, size_t room)
{
    resmon_monitor_options values = options->values;
    settle(needs, &values);
    values.scopes = options->meters; /* scope_counters is one */
    rm_options_remark(&rm_monitor_options, &options->said, &values, text, room);
    bool has_place = options->said.carbon != NULL;
    bool has_energy = (values.domains & RESMON_DOMAIN_ENERGY) != 0;
    const char *of_place = !has_energy && has_place ? "carbon has no effect without domains=energy"
                           : has_energy             ? options->place_remark
                                                    : "";
    add_line(text, room, of_place);
    remark_on_table(values.rows, row_bytes, text, room);
}
