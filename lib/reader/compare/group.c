/* SPDX-License-Identifier: MIT */
#include "compare/group.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/map.h"
#include "base/status.h"

#define PATH_BYTES 2048

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the figures of runs");
}

static const char *copy(struct rm_group *group, const char *text)
{
    return rm_arena_text(&group->strings, text, strlen(text));
}

resmon_status rm_group_begin(struct rm_group *group, const char *name)
{
    static const struct rm_group_machine unknown = {"", "", "", "", RM_NAN, RM_NAN};
    *group = (struct rm_group){.machine = unknown};
    group->name = copy(group, name);
    return group->name != NULL ? RESMON_OK : out_of_memory();
}

void rm_group_free(struct rm_group *group)
{
    for (size_t i = 0; i < group->row_count; i++) {
        rm_free(group->rows[i].values);
    }
    rm_free(group->rows);
    rm_free(group->runs);
    rm_map_free(&group->row_of);
    rm_arena_free(&group->strings);
    *group = (struct rm_group){.name = NULL};
}

/* ---- rows --------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *path, enum rm_figure_id figure)
{
    return rm_hash_u64(rm_hash_bytes(RM_HASH_START, path, strlen(path)), (uint64_t)figure);
}

static struct rm_group_row *find(const struct rm_group *group, const char *path,
                                 enum rm_figure_id figure)
{
    struct rm_map_search search = {.hash = hash_of(path, figure)};
    for (uint32_t i; rm_map_next(&group->row_of, &search, &i);) {
        if (group->rows[i].figure == figure && strcmp(group->rows[i].path, path) == 0) {
            return &group->rows[i];
        }
    }
    return NULL;
}

const struct rm_group_row *rm_group_find(const struct rm_group *group, const char *path,
                                         enum rm_figure_id figure)
{
    return find(group, path, figure);
}

static struct rm_group_row *add_row(struct rm_group *group, const char *path,
                                    enum rm_figure_id figure)
{
    struct rm_group_row *rows =
        rm_grow(group->rows, group->row_count, &group->row_room, sizeof *group->rows);
    group->rows = rows != NULL ? rows : group->rows;
    const char *own = copy(group, path);
    if (rows == NULL || own == NULL || !rm_map_reserve(&group->row_of, group->row_count + 1)) {
        return NULL;
    }
    rm_map_add(&group->row_of, hash_of(path, figure), (uint32_t)group->row_count);
    struct rm_group_row *row = &group->rows[group->row_count++];
    *row = (struct rm_group_row){.path = own, .figure = figure, .is_counted = true};
    return row;
}

static bool append(struct rm_group_row *row, double value)
{
    double *fresh = rm_append(&row->values, &row->count, &row->room, sizeof *fresh);
    if (fresh != NULL) {
        *fresh = value;
    }
    return fresh != NULL;
}

/* Runs without the value get NaN. */
resmon_status rm_group_put(struct rm_group *group, const char *path, enum rm_figure_id figure,
                           bool is_counted, double value)
{
    struct rm_group_row *row = find(group, path, figure);
    if (isnan(value) || isinf(value)) {
        return RESMON_OK;
    }
    row = row != NULL ? row : add_row(group, path, figure);
    bool is_put = row != NULL;
    while (is_put && row->count + 1 < group->run_count) {
        is_put = append(row, RM_NAN);
    }
    if (is_put && row->count == group->run_count) {
        return RESMON_OK; /* two paths of one name: the first counts */
    }
    if (!is_put || !append(row, value)) {
        return out_of_memory();
    }
    row->is_counted &= is_counted;
    return RESMON_OK;
}

/* ---- runs --------------------------------------------------------------------------------- */

resmon_status rm_group_add_empty(struct rm_group *group, struct rm_group_run run)
{
    struct rm_group_run *fresh =
        rm_append(&group->runs, &group->run_count, &group->run_room, sizeof *fresh);
    if (fresh == NULL) {
        return out_of_memory();
    }
    *fresh = run;
    return RESMON_OK;
}

resmon_status rm_group_note_machine(struct rm_group *group, const struct rm_group_machine *machine)
{
    char text[256];
    if (group->run_count > 1) {
        group->is_mixed |= !rm_group_is_same_machine(&group->machine, machine, text, sizeof text);
        return RESMON_OK;
    }
    group->machine = *machine;
    group->machine.cpu_model = copy(group, machine->cpu_model);
    group->machine.governor = copy(group, machine->governor);
    group->machine.kernel = copy(group, machine->kernel);
    group->machine.host = copy(group, machine->host);
    bool is_whole = group->machine.cpu_model != NULL && group->machine.governor != NULL &&
                    group->machine.kernel != NULL && group->machine.host != NULL;
    return is_whole ? RESMON_OK : out_of_memory();
}

static resmon_status note_machine_of(struct rm_group *group, const struct resmon_run *run)
{
    const struct rm_group_machine machine = {
        .cpu_model = rm_run_fact_text(run, "machine", "cpu_model"),
        .governor = rm_run_fact_text(run, "machine", "cpu_governor"),
        .kernel = rm_run_fact_text(run, "machine", "kernel"),
        .host = rm_run_fact_text(run, "machine", "host_name"),
        .cpus = rm_run_fact_number(run, "machine", "cpus"),
        .memory_bytes = rm_run_fact_number(run, "machine", "memory_bytes"),
    };
    return rm_group_note_machine(group, &machine);
}

static resmon_status put_figures_of_run(struct rm_group *group, const struct resmon_run *run)
{
    const struct rm_run_figures figures = rm_run_figures_of(run);
    resmon_status status = RESMON_OK;
    for (unsigned id = 0; id < RM_FIGURE_COUNT && status == RESMON_OK; id++) {
        bool is_counted =
            rm_figures[id].is_counted && (id != RM_FIGURE_peak || figures.is_peak_exact);
        status = rm_group_put(group, "", (enum rm_figure_id)id, is_counted,
                              rm_figures[id].of_run(&figures));
    }
    return status;
}

/* Whether a value is exact.  The value of a scope that is measured at only some of its calls is an
 * estimate. */
static bool is_exact(const resmon_run_scope *scope, enum rm_figure_id id)
{
    if (id == RM_FIGURE_peak) {
        return scope->rss_provenance == RESMON_PROVENANCE_MEASURED;
    }
    return (id != RM_FIGURE_read && id != RM_FIGURE_written) ||
           scope->io_provenance == RESMON_PROVENANCE_MEASURED;
}

static resmon_status put_scope(struct rm_group *group, const resmon_run_scope *scope,
                               const char *path)
{
    resmon_status status = RESMON_OK;
    for (unsigned id = 0; id < RM_FIGURE_COUNT && status == RESMON_OK; id++) {
        bool is_counted = rm_figures[id].is_counted && is_exact(scope, (enum rm_figure_id)id);
        status = rm_group_put(group, path, (enum rm_figure_id)id, is_counted,
                              rm_figures[id].of_scope(scope));
    }
    return status;
}

/* Appends a name to a path.  '/' and '\\' in a name are escaped, to distinguish them from the '/'
 * between names. */
static void add_name(char path[PATH_BYTES], const char *name)
{
    size_t length = strlen(path);
    for (; *name != '\0' && length + 3 < PATH_BYTES; name++) {
        if (*name == '/' || *name == '\\') {
            path[length++] = '\\';
        }
        path[length++] = *name;
    }
    path[length] = '\0';
}

/* Outer scopes come first, so the path of the parent is known. */
static resmon_status put_scopes(struct rm_group *group, const struct resmon_run *run)
{
    char path[PATH_BYTES];
    resmon_status status = RESMON_OK;
    const char **paths = rm_alloc(run->scope_count + 1, sizeof *paths);
    if (paths == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < run->scope_count && status == RESMON_OK; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        bool has_parent = scope->parent >= 0 && (size_t)scope->parent < i;
        (void)snprintf(path, sizeof path, "%s%s", has_parent ? paths[scope->parent] : "",
                       has_parent ? "/" : "");
        add_name(path, scope->name);
        paths[i] = copy(group, path);
        status = paths[i] != NULL ? put_scope(group, scope, paths[i]) : out_of_memory();
    }
    rm_free(paths);
    return status;
}

resmon_status rm_group_add_run(struct rm_group *group, const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    resmon_status status =
        rm_group_add_empty(group, (struct rm_group_run){end.exit_status, end.signal_number});
    status = status == RESMON_OK ? note_machine_of(group, run) : status;
    group->realtime_ns = group->realtime_ns != 0 ? group->realtime_ns : run->info.start_realtime_ns;
    status = status == RESMON_OK ? put_figures_of_run(group, run) : status;
    return status == RESMON_OK ? put_scopes(group, run) : status;
}

resmon_status rm_group_known(const struct rm_group_row *row, double **ret_copy,
                             struct rm_values *ret_values)
{
    size_t count = 0;
    double *copy = rm_alloc(row->count + 1, sizeof *copy);
    if (copy == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < row->count; i++) {
        if (!isnan(row->values[i])) {
            copy[count++] = row->values[i];
        }
    }
    *ret_copy = copy;
    *ret_values = (struct rm_values){copy, count};
    return RESMON_OK;
}

size_t rm_group_failures(const struct rm_group *group)
{
    size_t failures = 0;
    for (size_t i = 0; i < group->run_count; i++) {
        failures += group->runs[i].exit_status != 0 || group->runs[i].signal_number != 0 ? 1 : 0;
    }
    return failures;
}

/* ---- several groups ----------------------------------------------------------------------- */

void rm_groups_free(struct rm_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        rm_group_free(&groups->at[i]);
    }
    rm_free(groups->at);
    *groups = (struct rm_groups){.at = NULL};
}

struct rm_group *rm_groups_add(struct rm_groups *groups, const char *name)
{
    struct rm_group *at = rm_grow(groups->at, groups->count, &groups->room, sizeof *groups->at);
    if (at == NULL) {
        return NULL;
    }
    groups->at = at;
    if (rm_group_begin(&at[groups->count], name) != RESMON_OK) {
        rm_group_free(&at[groups->count]);
        return NULL;
    }
    return &at[groups->count++];
}

struct rm_group *rm_groups_find(const struct rm_groups *groups, const char *name)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->at[i].name, name) == 0) {
            return &groups->at[i];
        }
    }
    return NULL;
}

/* ---- machines ----------------------------------------------------------------------------- */

static void add_text(char *text, size_t room, const char *what, const char *one, const char *other)
{
    size_t used = strlen(text);
    if (one[0] != '\0' && other[0] != '\0' && strcmp(one, other) != 0 && used < room) {
        (void)snprintf(text + used, room - used, "%s%s %s and %s", used > 0 ? "; " : "", what, one,
                       other);
    }
}

static void add_number(char *text, size_t room, const char *what, const char *unit,
                       const double numbers[2])
{
    char one[RM_HUMAN_BYTES], other[RM_HUMAN_BYTES];
    if (!isnan(numbers[0]) && !isnan(numbers[1]) && numbers[0] != numbers[1]) {
        rm_human_value(one, numbers[0], unit, false);
        rm_human_value(other, numbers[1], unit, false);
        add_text(text, room, what, one, other);
    }
}

bool rm_group_is_same_machine(const struct rm_group_machine *one,
                              const struct rm_group_machine *other, char *text, size_t room)
{
    text[0] = '\0';
    add_text(text, room, "CPU", one->cpu_model, other->cpu_model);
    add_text(text, room, "CPU frequency governor", one->governor, other->governor);
    add_text(text, room, "kernel", one->kernel, other->kernel);
    add_number(text, room, "CPUs", "1", (const double[]){one->cpus, other->cpus});
    add_number(text, room, "memory", "B", (const double[]){one->memory_bytes, other->memory_bytes});
    return text[0] == '\0';
}
