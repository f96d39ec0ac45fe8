/* SPDX-License-Identifier: MIT */
#include "report/phases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/columns.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "carbon/convert.h"
#include "report/table.h"
#include "run/energy.h"

#define NAME_COLUMNS  40 /* of a scope, indented; */
#define SHORT_COLUMNS 24 /* on a page that is narrower than */
#define DEPTH_COLUMNS 5  /* of "[17] " */
#define NARROW        90
#define MOST_BRIEFLY  40 /* scopes */

typedef char cell[RM_TABLE_CELL_BYTES];
typedef void (*print_fn)(char text[RM_HUMAN_BYTES], double value);

static void set(cell target, const char *text)
{
    (void)rm_text_set(target, RM_TABLE_CELL_BYTES, text);
}

/* ---- cells ------------------------------------------------------------------------------ */

static bool is_sampled(int32_t provenance)
{
    return provenance == RESMON_PROVENANCE_SAMPLED;
}

static void set_estimate(cell target, print_fn print, const resmon_estimate *estimate, double scale,
                         int32_t provenance)
{
    char text[RM_HUMAN_BYTES];
    print(text, estimate->value * scale);
    rm_table_set_estimate(target, text, estimate, is_sampled(provenance));
}

static void set_calls(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    char calls[RM_HUMAN_BYTES], more[RM_HUMAN_BYTES];
    size_t length = 0;
    rm_human_count(calls, (double)scope->calls);
    length += (size_t)snprintf(target, RM_TABLE_CELL_BYTES, "%s", calls);
    if (scope->folded > 0) {
        rm_human_count(more, (double)scope->folded);
        length += (size_t)snprintf(target + length, RM_TABLE_CELL_BYTES - length, " (+%s)", more);
    }
    if (scope->resumed > 0) {
        rm_human_count(more, (double)scope->resumed);
        (void)snprintf(target + length, RM_TABLE_CELL_BYTES - length, " (%s resumed)", more);
    }
}

static void set_wall(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    rm_human_seconds(target, scope->wall_ns * 1e-9);
}

static void set_self(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    rm_human_seconds(target, scope->self_ns * 1e-9);
}

static void set_longest(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    rm_human_seconds(target, scope->wall_max_ns * 1e-9);
}

/* What is the process's counts again in each scope that runs at the same time. */
static bool counts_others(const resmon_run_scope *scope)
{
    return scope->concurrent_ns > 0.0 || scope->threads > 1;
}

static void set_of_process(cell target, print_fn print, const resmon_run_scope *scope,
                           const resmon_estimate *estimate, double scale, int32_t provenance)
{
    cell text;
    set_estimate(text, print, estimate, scale, provenance);
    bool is_figure = strcmp(text, "-") != 0;
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%.70s",
                   is_figure && counts_others(scope) ? "||" : "", text);
}

static void set_pcpu(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    set_of_process(target, rm_human_seconds, scope, &scope->pcpu_ns, 1e-9, scope->pcpu_provenance);
}

static void set_cpu(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    set_estimate(target, rm_human_seconds, &scope->cpu_ns, 1e-9, scope->cpu_provenance);
}

/* A peak that was taken at some of the calls, or only sampled, is at least that. */
static void set_peak(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    char text[RM_HUMAN_BYTES];
    (void)energy;
    rm_human_bytes(text, scope->rss_peak_bytes);
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%s",
                   is_sampled(scope->rss_provenance) ? ">=" : "", text);
}

static void set_read(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    set_of_process(target, rm_human_bytes, scope, &scope->io_read_chars, 1.0, scope->io_provenance);
}

static void set_written(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    set_of_process(target, rm_human_bytes, scope, &scope->io_write_chars, 1.0,
                   scope->io_provenance);
}

/* More than a tenth of it is in doubt. */
static bool is_energy_about(const resmon_run_scope *scope)
{
    return scope->energy_uncertainty_j > 0.1 * scope->energy_j;
}

static void set_amount(cell target, const resmon_run_scope *scope, print_fn print, double amount)
{
    char text[RM_HUMAN_BYTES];
    print(text, amount);
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%s", is_energy_about(scope) ? "~" : "", text);
}

static void set_joules(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    (void)energy;
    set_amount(target, scope, rm_human_joules, scope->energy_j);
}

static resmon_carbon_cost cost_of(const resmon_run_scope *scope, const resmon_energy *energy)
{
    return rm_carbon_cost(scope->energy_j, energy->pue, energy->wue, energy->g_per_kwh);
}

static void set_watt_hours(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    set_amount(target, scope, rm_human_watt_hours, cost_of(scope, energy).it_kwh * 1e3);
}

static void set_grams(cell target, const resmon_run_scope *scope, const resmon_energy *energy)
{
    set_amount(target, scope, rm_human_grams, cost_of(scope, energy).gco2eq);
}

/* ---- columns ---------------------------------------------------------------------------- */

static bool has_always(const resmon_run_scope *scope)
{
    (void)scope;
    return true;
}

static bool has_pcpu(const resmon_run_scope *scope)
{
    return scope->pcpu_calls > 0;
}

static bool has_cpu(const resmon_run_scope *scope)
{
    return scope->cpu_calls > 0;
}

static bool has_rss(const resmon_run_scope *scope)
{
    return scope->rss_calls > 0;
}

static bool has_io(const resmon_run_scope *scope)
{
    return scope->io_calls > 0;
}

static bool has_energy(const resmon_run_scope *scope)
{
    return !isnan(scope->energy_j);
}

/* The columns behind the name, those that are asked for first in front.  What at least one scope
 * was metered for has its columns. */
static const struct rm_phase_column all_columns[] = {
    {"calls", true, has_always, set_calls},
    {"wall", true, has_always, set_wall},
    {"self", true, has_always, set_self},
    {"longest", false, has_always, set_longest},
    {"CPU", true, has_pcpu, set_pcpu},
    {"thread CPU", true, has_cpu, set_cpu},
    {"peak RSS", true, has_rss, set_peak},
    {"energy", true, has_energy, set_joules},
    {"in Wh", false, has_energy, set_watt_hours},
    {"CO2eq", false, has_energy, set_grams},
    {"read", true, has_io, set_read},
    {"written", true, has_io, set_written},
};

const struct rm_phase_column *rm_phase_column(size_t index)
{
    return index < RM_ARRAY_LEN(all_columns) ? &all_columns[index] : NULL;
}

/* The columns of the table of one run. */
struct shown {
    const struct rm_phase_column *columns[RM_ARRAY_LEN(all_columns)];
    size_t count;
    size_t name_columns;
    resmon_energy energy;
};

_Static_assert(RM_ARRAY_LEN(all_columns) + 1 <= RM_TABLE_COLUMNS, "a table holds them");

static bool has_any(const struct resmon_run *run, bool (*has)(const resmon_run_scope *scope))
{
    for (size_t i = 0; i < run->scope_count; i++) {
        if (has(&run->scopes[i])) {
            return true;
        }
    }
    return false;
}

static struct shown choose(const struct resmon_run *run, size_t width, bool is_brief)
{
    struct shown shown = {.name_columns = width < NARROW ? SHORT_COLUMNS : NAME_COLUMNS,
                          .energy = rm_run_energy(run)};
    bool has_threads = has_any(run, counts_others); /* whose own CPU time is theirs alone */
    for (size_t i = 0; i < RM_ARRAY_LEN(all_columns); i++) {
        const struct rm_phase_column *column = &all_columns[i];
        bool is_doubled = is_brief && column->has == (has_threads ? has_pcpu : has_cpu) &&
                          has_any(run, has_threads ? has_cpu : has_pcpu);
        if ((column->is_brief || !is_brief) && !is_doubled && has_any(run, column->has)) {
            shown.columns[shown.count++] = column;
        }
    }
    return shown;
}

static void begin(struct rm_table *table, const struct shown *shown, const char *first,
                  size_t width)
{
    const char *headings[RM_TABLE_COLUMNS] = {first};
    for (size_t i = 0; i < shown->count; i++) {
        headings[i + 1] = shown->columns[i]->heading;
    }
    rm_table_begin(table, headings, shown->count + 1, 1);
    table->width = width;
}

static bool is_open(const resmon_run_scope *scope)
{
    return scope->open + scope->ended_at_exit > 0;
}

static bool has_failed(const resmon_run_scope *scope)
{
    return scope->failed > 0;
}

/* "  load_and_a_very_long_n..e ||": indented, cut in its middle, with its marks. */
static void set_name(cell target, const resmon_run_scope *scope, size_t columns)
{
    char marks[8], name[3 * RM_TABLE_CELL_BYTES], text[4 * RM_TABLE_CELL_BYTES];
    bool is_deep = scope->depth >= columns / 4; /* no room to indent it: "[17] parse" */
    size_t indent = is_deep ? columns / 2 - DEPTH_COLUMNS : 2 * (size_t)scope->depth;
    char depth[16] = "";
    (void)snprintf(marks, sizeof marks, "%s%s%s", scope->concurrent_ns > 0.0 ? " ||" : "",
                   is_open(scope) ? " *" : "", has_failed(scope) ? " !" : "");
    if (is_deep) {
        (void)snprintf(depth, sizeof depth, "[%u] ", (unsigned)scope->depth);
    }
    size_t room = columns - indent - rm_columns(marks) - rm_columns(depth);
    rm_columns_shorten(name, sizeof name, scope->name, room);
    (void)snprintf(text, sizeof text, "%*s%s%s%s", (int)indent, "", depth, name, marks);
    set(target, text);
}

static void add_scope(struct rm_table *table, const resmon_run_scope *scope,
                      const struct shown *shown)
{
    cell *cells = rm_table_row(table);
    if (cells != NULL) {
        set_name(cells[0], scope, shown->name_columns);
        for (size_t i = 0; i < shown->count; i++) {
            shown->columns[i]->set(cells[i + 1], scope, &shown->energy);
        }
    }
}

/* ---- what the marks say ----------------------------------------------------------------- */

/* Taken at some of its calls only. */
static bool is_about(const resmon_run_scope *scope)
{
    bool is_pcpu_about =
        is_sampled(scope->pcpu_provenance) && scope->pcpu_calls < rm_scope_ended(scope);
    return is_pcpu_about || is_sampled(scope->cpu_provenance) || is_sampled(scope->io_provenance) ||
           is_sampled(scope->rss_provenance);
}

static bool has_unknown_children(const resmon_run_scope *scope)
{
    return is_sampled(scope->pcpu_provenance) && scope->pcpu_calls >= rm_scope_ended(scope);
}

static bool calls_itself(const resmon_run_scope *scope)
{
    return scope->folded > 0;
}

static bool is_concurrent(const resmon_run_scope *scope)
{
    return scope->concurrent_ns > 0.0;
}

static bool is_counted_again(const resmon_run_scope *scope)
{
    return counts_others(scope) && (has_pcpu(scope) || has_io(scope));
}

static const struct {
    bool (*has)(const resmon_run_scope *scope);
    const char *text;
} notes[] = {
    {is_counted_again, "CPU, read and written with ||: values of the whole process; parallel "
                       "scopes each count all of it (scopes=wall+cpu measures each thread)"},
    {is_concurrent,
     "||: runs in parallel to the scope above (other threads or tasks), not part of its time"},
    {is_open, "*: open when the run ended"},
    {calls_itself, "calls (+N): N direct recursive calls, included in the time of these calls"},
    {has_failed, "!: some of its calls ended with an error"},
    {is_energy_about, "energy ~: an estimate, as more than a tenth of it lies between two samples"},
    {is_about, "~, >=: from a random subset of calls, as measuring all would cost too much.  -: "
               "unknown, the error may exceed the value"},
    {has_unknown_children,
     "CPU ~: children were alive when it began or ended; their CPU time is sampled"},
};

static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns;
}

/* Of the scopes that took so long, which are in the table. */
static void write_notes(struct rm_buffer *buffer, const struct resmon_run *run, double least_ns)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(notes); i++) {
        bool is_there = false;
        for (size_t s = 0; s < run->scope_count && !is_there; s++) {
            is_there = wall_of(&run->scopes[s]) >= least_ns && notes[i].has(&run->scopes[s]);
        }
        if (is_there) {
            rm_buffer_printf(buffer, "  %s\n", notes[i].text);
        }
    }
}

/* ---- tables ----------------------------------------------------------------------------- */

/* Beside the tree, where some name is on several paths. */
static void write_names(struct rm_buffer *buffer, const struct resmon_run *run,
                        const struct shown *shown, size_t width)
{
    struct rm_table table;
    if (run->name_count == 0 || run->name_count >= run->scope_count) {
        return;
    }
    rm_buffer_puts(buffer, "\nPhases by name (all paths of a name together; nested scopes of the "
                           "same name count once)\n");
    begin(&table, shown, "scope", width);
    for (size_t i = 0; i < run->name_count; i++) {
        add_scope(&table, &run->names[i], shown);
    }
    rm_table_end(&table, buffer);
}

void rm_report_phases(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    const struct shown shown = choose(run, width, false);
    struct rm_table table;
    if (run->scope_count == 0) {
        return;
    }
    rm_buffer_puts(buffer, "\nPhases (wall and thread CPU are summed over calls and threads; CPU "
                           "includes children; peak RSS and I/O are those of the process)\n");
    begin(&table, &shown, "scope", width);
    for (size_t i = 0; i < run->scope_count; i++) {
        add_scope(&table, &run->scopes[i], &shown);
    }
    rm_table_end(&table, buffer);
    write_names(buffer, run, &shown, width);
    if (has_any(run, has_energy)) {
        rm_buffer_printf(buffer, "  energy: the share of the program, of a machine that is %s\n",
                         shown.energy.provenance == RESMON_PROVENANCE_MODELLED ? "modelled"
                                                                               : "measured");
    }
    write_notes(buffer, run, -1.0);
}

static int compare_walls(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

/* The wall time that a scope must have to be among the first MOST_BRIEFLY. */
static double least_wall(const struct resmon_run *run)
{
    double *walls =
        run->scope_count > MOST_BRIEFLY ? rm_alloc(run->scope_count, sizeof *walls) : NULL;
    if (walls == NULL) {
        return -1.0;
    }
    for (size_t i = 0; i < run->scope_count; i++) {
        walls[i] = wall_of(&run->scopes[i]);
    }
    qsort(walls, run->scope_count, sizeof *walls, compare_walls);
    double least = walls[MOST_BRIEFLY - 1];
    rm_free(walls);
    return least;
}

void rm_report_phases_briefly(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    const struct shown shown = choose(run, width, true);
    double least = least_wall(run);
    size_t written = 0;
    struct rm_table table;
    if (run->scope_count == 0) {
        return;
    }
    rm_buffer_puts(buffer, "\n");
    begin(&table, &shown, "phase", width);
    for (size_t i = 0; i < run->scope_count && written < MOST_BRIEFLY; i++) {
        if (wall_of(&run->scopes[i]) >= least) {
            add_scope(&table, &run->scopes[i], &shown);
            written++;
        }
    }
    rm_table_end(&table, buffer);
    if (written < run->scope_count) {
        rm_buffer_printf(buffer, "  and %zu more\n", run->scope_count - written);
    }
    write_notes(buffer, run, least);
}
