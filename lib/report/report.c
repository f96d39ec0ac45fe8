/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <resmon/metric.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "carbon/convert.h"
#include "report/checkpoints.h"
#include "report/counters.h"
#include "report/profile.h"
#include "report/table.h"
#include "store/node_summary.h"
#include "store/run_energy.h"

typedef char cell[RM_TABLE_CELL_BYTES];

static void set(cell target, const char *text)
{
    (void)rm_text_set(target, RM_TABLE_CELL_BYTES, text);
}

/* ---- heading ---------------------------------------------------------------------------- */

static const char *fact_text(const struct resmon_run *run, const char *group, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, group, key);
    return fact != NULL ? fact->value : "";
}

static double fact_number(const struct resmon_run *run, const char *group, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, group, key);
    return fact != NULL ? rm_fact_number(fact) : RM_NAN;
}

static void write_heading(struct rm_buffer *buffer, const struct resmon_run *run)
{
    char duration[RM_HUMAN_BYTES], memory[RM_HUMAN_BYTES], cpus[RM_HUMAN_BYTES];
    const char *name = fact_text(run, "run", "name");
    rm_human_seconds(duration, (double)run->duration_ns * 1e-9);
    rm_human_bytes(memory, fact_number(run, "machine", "memory_bytes"));
    rm_human_count(cpus, fact_number(run, "machine", "cpus"));
    rm_buffer_printf(buffer, "resmon %s%s%s: %s after %s, %llu samples\n",
                     name[0] != '\0' ? "'" : "run", name, name[0] != '\0' ? "'" : "", run->state,
                     duration, (unsigned long long)run->samples);
    rm_buffer_printf(buffer, "  %.90s\n", fact_text(run, "run", "command_line"));
    rm_buffer_printf(buffer, "  %.24s: %.30s, Linux %.24s, %.40s, %s CPUs, %s\n",
                     fact_text(run, "machine", "host_name"), fact_text(run, "machine", "os"),
                     fact_text(run, "machine", "kernel"), fact_text(run, "machine", "cpu_model"),
                     cpus, memory);
    if (run->label[0] != '\0') {
        rm_buffer_printf(buffer, "  label: %s\n", run->label);
    }
    if (strcmp(run->state, "interrupted") == 0) {
        rm_buffer_puts(buffer,
                       "  The program ended without stopping its monitor (killed, or out of "
                       "memory); this is what it had\n  recorded.  Scopes that were open are "
                       "marked '*'.\n");
    }
}

/* ---- phases ----------------------------------------------------------------------------- */

/* What at least one scope was metered for gets its columns. */
struct phase_columns {
    bool has_cpu, has_rss, has_io, has_energy;
};

static struct phase_columns columns_of(const struct resmon_run *run)
{
    struct phase_columns has = {false, false, false, false};
    for (size_t i = 0; i < run->scope_count; i++) {
        has.has_cpu |= run->scopes[i].cpu_calls > 0;
        has.has_rss |= run->scopes[i].rss_calls > 0;
        has.has_io |= run->scopes[i].io_calls > 0;
        has.has_energy |= !isnan(run->scopes[i].energy_j);
    }
    return has;
}

/* What was taken at some of the calls, or only sampled, is marked: sums are about right ("~"), a
 * peak is at least that (">="). */
static void set_metered(cell target, const char *text, int32_t provenance, const char *mark)
{
    bool is_about = provenance == RESMON_PROVENANCE_SAMPLED;
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%s", is_about ? mark : "", text);
}

static void set_name(cell target, const struct rm_run_scope *scope)
{
    unsigned indent = scope->depth < 12 ? scope->depth * 2 : 24;
    char text[RM_TABLE_CELL_BYTES];
    (void)snprintf(text, sizeof text, "%*s%.40s%s", (int)indent, "", scope->name,
                   scope->open > 0 ? " *" : "");
    set(target, text);
}

/* More than a tenth of it is in doubt. */
static bool is_energy_about(const struct rm_run_scope *scope)
{
    return scope->energy_doubt_j > 0.1 * scope->energy_j;
}

static void set_energy(cell *cells, const struct rm_run_scope *scope, const resmon_energy *energy)
{
    char text[RM_HUMAN_BYTES];
    const char *mark = is_energy_about(scope) ? "~" : "";
    const resmon_carbon_cost cost =
        rm_carbon_cost(scope->energy_j, energy->pue, energy->wue, energy->g_per_kwh);
    rm_human_joules(text, scope->energy_j);
    (void)snprintf(cells[0], RM_TABLE_CELL_BYTES, "%s%s", mark, text);
    rm_human_watt_hours(text, cost.it_kwh * 1e3);
    (void)snprintf(cells[1], RM_TABLE_CELL_BYTES, "%s%s", mark, text);
    rm_human_grams(text, cost.gco2eq);
    (void)snprintf(cells[2], RM_TABLE_CELL_BYTES, "%s%s", mark, text);
}

static void write_phase(struct rm_table *table, const struct rm_run_scope *scope,
                        struct phase_columns has, const resmon_energy *energy)
{
    char text[RM_HUMAN_BYTES];
    cell *cells = rm_table_row(table);
    size_t c = 0;
    if (cells == NULL) {
        return;
    }
    set_name(cells[c++], scope);
    rm_human_count(cells[c++], (double)scope->calls);
    rm_human_seconds(cells[c++], (scope->total_ns + scope->open_ns) * 1e-9);
    rm_human_seconds(cells[c++], scope->self_ns * 1e-9);
    rm_human_seconds(cells[c++], scope->max_ns * 1e-9);
    if (has.has_cpu) {
        rm_human_seconds(text, scope->cpu_ns * 1e-9);
        set_metered(cells[c++], text, scope->cpu_provenance, "~");
    }
    if (has.has_rss) {
        rm_human_bytes(text, scope->rss_peak_bytes);
        set_metered(cells[c++], text, scope->rss_provenance, ">=");
    }
    if (has.has_io) {
        rm_human_bytes(text, scope->io[RM_IO_READ_CHARS]);
        set_metered(cells[c++], text, scope->io_provenance, "~");
        rm_human_bytes(text, scope->io[RM_IO_WRITE_CHARS]);
        set_metered(cells[c++], text, scope->io_provenance, "~");
    }
    if (has.has_energy) {
        set_energy(&cells[c], scope, energy);
    }
}

static void write_phases(struct rm_buffer *buffer, const struct resmon_run *run)
{
    struct phase_columns has = columns_of(run);
    const char *headings[RM_TABLE_COLUMNS] = {"scope", "calls", "wall", "self", "longest"};
    size_t count = 5;
    bool is_about = false;
    bool is_energy_doubtful = false;
    const resmon_energy energy = rm_run_energy(run);
    struct rm_table table;
    if (run->scope_count == 0) {
        return;
    }
    if (has.has_cpu) {
        headings[count++] = "CPU";
    }
    if (has.has_rss) {
        headings[count++] = "peak RSS";
    }
    if (has.has_io) {
        headings[count++] = "read";
        headings[count++] = "written";
    }
    if (has.has_energy) {
        headings[count++] = "energy";
        headings[count++] = "";
        headings[count++] = "CO2eq";
    }
    rm_buffer_puts(buffer,
                   "\nPhases (wall and CPU time summed over calls and threads; peak RSS and "
                   "I/O are the process's)\n");
    rm_table_begin(&table, headings, count, 1);
    for (size_t i = 0; i < run->scope_count; i++) {
        const struct rm_run_scope *scope = &run->scopes[i];
        write_phase(&table, scope, has, &energy);
        is_about |= scope->cpu_provenance == RESMON_PROVENANCE_SAMPLED ||
                    scope->io_provenance == RESMON_PROVENANCE_SAMPLED ||
                    scope->rss_provenance == RESMON_PROVENANCE_SAMPLED;
        is_energy_doubtful |= is_energy_about(scope);
    }
    rm_table_end(&table, buffer);
    if (has.has_energy) {
        rm_buffer_printf(
            buffer, "  energy: the share of the program, %s%s\n",
            energy.provenance == RESMON_PROVENANCE_MODELLED ? "of a machine that is modelled"
                                                            : "of a machine that is measured",
            is_energy_doubtful ? "; ~: more than a tenth of it lies between two samples" : "");
    }
    if (is_about) {
        rm_buffer_puts(
            buffer, "  ~, >=: from the calls that were metered; to meter all would have cost too "
                    "much of their time\n");
    }
}

/* ---- the run ---------------------------------------------------------------------------- */

typedef void (*print_fn)(char text[RM_HUMAN_BYTES], double value);

static void print_ratio(char text[RM_HUMAN_BYTES], double value)
{
    rm_human_fixed(text, value, 2);
}

static const struct {
    const char *label;
    const char *metric;
    print_fn print;
} figures[] = {
    {"CPU of the process (100 % = one CPU)", "proc.cpu.percent", rm_human_percent},
    {"CPU of the process tree", "tree.cpu.percent", rm_human_percent},
    {"CPU of the control group's quota", "cg.cpu.percent", rm_human_percent},
    {"CPU of the machine (100 % = all CPUs)", "node.cpu.percent", rm_human_percent},
    {"memory of the process (RSS)", "proc.mem.rss", rm_human_bytes},
    {"memory of the process tree (RSS)", "tree.mem.rss", rm_human_bytes},
    {"memory of the process tree (PSS)", "tree.mem.pss", rm_human_bytes},
    {"memory of the control group (working set)", "cg.mem.working_set", rm_human_bytes},
    {"memory of the machine in use", "node.mem.used", rm_human_bytes},
    {"threads", "proc.threads", rm_human_count},
    {"storage read by the process", "proc.io.read_bytes", rm_human_bytes},
    {"storage written by the process", "proc.io.write_bytes", rm_human_bytes},
    {"bytes of read calls", "proc.io.read_chars", rm_human_bytes},
    {"bytes of write calls", "proc.io.write_chars", rm_human_bytes},
    {"disks of the machine, read", "node.disk.read_bytes", rm_human_bytes},
    {"disks of the machine, written", "node.disk.write_bytes", rm_human_bytes},
    {"network sent (not loopback)", "node.net.ext.sent", rm_human_bytes},
    {"network received (not loopback)", "node.net.ext.recv", rm_human_bytes},
    {"major page faults", "proc.fault.major", rm_human_count},
    {"tasks waited for a CPU (PSI)", "node.psi.cpu_some", rm_human_seconds},
    {"tasks waited for I/O (PSI)", "node.psi.io_some", rm_human_seconds},
    {"tasks waited for memory (PSI)", "node.psi.memory_some", rm_human_seconds},
    {"instructions", "perf.instructions", rm_human_count},
    {"cycles", "perf.cycles", rm_human_count},
    {"instructions per cycle", "perf.ipc", print_ratio},
    {"cache misses", "perf.cache.misses", rm_human_count},
    {"cache misses of all references", "perf.cache.miss_ratio", rm_human_percent},
    {"branch misses", "perf.branch.misses", rm_human_count},
    {"branch misses of all branches", "perf.branch.miss_ratio", rm_human_percent},
    {"L2 traffic", "perf.l2.bandwidth", rm_human_bytes},
    {"L2 misses of all requests", "perf.l2.miss_ratio", rm_human_percent},
    {"L3 traffic", "perf.l3.bandwidth", rm_human_bytes},
    {"L3 misses of loads that ask it", "perf.l3.miss_ratio", rm_human_percent},
    {"memory read (LLC misses)", "perf.mem.read_bandwidth", rm_human_bytes},
    {"FLOP, single precision", "perf.flops.sp", rm_human_count},
    {"FLOP, double precision", "perf.flops.dp", rm_human_count},
    {"FLOP, of any precision", "perf.flops.any", rm_human_count},
    {"FLOP in vectors", "perf.vector.ratio", rm_human_percent},
    {"CPU time (task-clock)", "perf.task_clock", rm_human_seconds},
    {"context switches", "perf.context_switches", rm_human_count},
    {"migrations between CPUs", "perf.migrations", rm_human_count},
    {"page faults", "perf.page_faults", rm_human_count},
};

static void set_rate(cell target, print_fn print, double value, bool is_rate)
{
    char text[RM_HUMAN_BYTES];
    if (is_rate && print == rm_human_seconds) {
        rm_human_percent(target, 100.0 * value); /* seconds per second */
        return;
    }
    print(text, value);
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%s", text,
                   is_rate && isfinite(value) ? "/s" : "");
}

static void write_figure(struct rm_table *table, const struct rm_run_column *column,
                         const char *label, print_fn print)
{
    bool is_counter = column->kind == RESMON_COUNTER;
    cell *cells = rm_table_row(table);
    if (cells == NULL) {
        return;
    }
    set(cells[0], label);
    set_rate(cells[1], print, column->stats.mean, is_counter);
    set_rate(cells[2], print, column->stats.p95, is_counter);
    set_rate(cells[3], print, column->stats.max, is_counter);
    if (is_counter) {
        print(cells[4], column->stats.last);
    }
}

static void write_gpus(struct rm_table *table, const struct resmon_run *run)
{
    static const struct {
        const char *metric, *what;
        print_fn print;
    } of_gpus[] = {{"gpu.util", "use", rm_human_percent},
                   {"gpu.mem.used", "memory in use", rm_human_bytes},
                   {"gpu.power", "power", rm_human_watts}};
    for (size_t i = 0; i < run->column_count; i++) {
        const struct rm_run_column *column = &run->columns[i];
        for (size_t k = 0; k < RM_ARRAY_LEN(of_gpus) && column->stats.n > 0; k++) {
            if (strcmp(column->metric, of_gpus[k].metric) == 0) {
                cell label;
                (void)snprintf(label, sizeof label, "GPU %.40s, %s", column->instance,
                               of_gpus[k].what);
                write_figure(table, column, label, of_gpus[k].print);
            }
        }
    }
}

/* Those that the options name, as they count: clocks of the kernel count nanoseconds. */
static void write_events(struct rm_table *table, const struct resmon_run *run)
{
    for (size_t i = 0; i < run->column_count; i++) {
        const struct rm_run_column *column = &run->columns[i];
        if (strcmp(column->metric, "perf.event") == 0 && column->stats.n > 0) {
            cell label;
            bool is_clock = strncmp(column->instance, "task-clock", 10) == 0 ||
                            strncmp(column->instance, "cpu-clock", 9) == 0;
            (void)snprintf(label, sizeof label, "event %.50s%s", column->instance,
                           is_clock ? " (ns)" : "");
            write_figure(table, column, label, rm_human_count);
        }
    }
}

static void write_run(struct rm_buffer *buffer, const struct resmon_run *run)
{
    static const char *const headings[] = {"", "mean", "p95", "max", "total"};
    struct rm_table table;
    rm_buffer_puts(buffer, "\nRun\n");
    rm_table_begin(&table, headings, RM_ARRAY_LEN(headings), 1);
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        int64_t column = rm_run_find_column(run, figures[i].metric, NULL);
        if (column >= 0 && run->columns[column].stats.n > 0) {
            write_figure(&table, &run->columns[column], figures[i].label, figures[i].print);
        }
    }
    write_events(&table, run);
    write_gpus(&table, run);
    int64_t peak = rm_run_find_column(run, "proc.mem.peak_rss", NULL);
    cell *cells = peak >= 0 && run->columns[peak].stats.n > 0 ? rm_table_row(&table) : NULL;
    if (cells != NULL) {
        set(cells[0], "highest RSS in the life of the process");
        rm_human_bytes(cells[3], run->columns[peak].stats.max);
    }
    rm_table_end(&table, buffer);
}

/* ---- node, gaps, cost ------------------------------------------------------------------- */

/* Six significant digits, without exponent for what people count in. */
static void print_plain(cell target, double value)
{
    char text[RM_FACT_NUMBER_BYTES];
    if (!isfinite(value) || fabs(value) >= RM_FACT_NUMBER_LIMIT) {
        set(target, "-");
        return;
    }
    double scale = pow(10.0, fmax(0.0, 5.0 - floor(log10(fmax(fabs(value), 1e-6)))));
    rm_facts_print_number(round(value * scale) / scale, text);
    set(target, text);
}

static void write_node(struct rm_buffer *buffer, const struct resmon_run *run)
{
    static const char *const headings[] = {"node summary", "", "", ""};
    const size_t half = RM_NODE_SUMMARY_KEYS / 2;
    struct rm_table table;
    rm_buffer_puts(buffer, "\n");
    rm_table_begin(&table, headings, RM_ARRAY_LEN(headings), 1);
    table.is_left[2] = true;
    for (size_t i = 0; i < half; i++) {
        cell *cells = rm_table_row(&table);
        if (cells != NULL) {
            set(cells[0], rm_node_summary_key(i));
            print_plain(cells[1], rm_node_summary_value(run, i));
            set(cells[2], rm_node_summary_key(i + half));
            print_plain(cells[3], rm_node_summary_value(run, i + half));
        }
    }
    rm_table_end(&table, buffer);
}

static void write_gaps(struct rm_buffer *buffer, const struct resmon_run *run)
{
    bool has_any = false;
    for (size_t i = 0; i < run->source_count; i++) {
        const struct rm_run_source *source = &run->sources[i];
        bool is_sound = source->status == RESMON_OK && source->failures == 0;
        bool is_told = source->provenance == RESMON_PROVENANCE_MODELLED; /* beside its figure */
        if ((is_sound && (is_told || source->reason[0] == '\0')) ||
            source->status == RESMON_ENODEV) {
            continue; /* nobody misses figures of hardware that is not there */
        }
        if (!has_any) {
            rm_buffer_puts(buffer, "\nNot measured\n");
            has_any = true;
        }
        rm_buffer_printf(buffer, "  %-14s %s", source->name, source->reason);
        if (source->failures > 0 && source->reads > source->failures) {
            rm_buffer_printf(buffer, " (%llu of %llu readings failed)",
                             (unsigned long long)source->failures,
                             (unsigned long long)source->reads);
        }
        rm_buffer_puts(buffer, "\n");
    }
    const char *method = fact_text(run, "settings", "rss_peak_method");
    if (strncmp(method, "cannot", 6) == 0) {
        rm_buffer_printf(buffer, "%s  %-14s %s; peaks are sampled\n",
                         has_any ? "" : "\nNot measured\n", "exact peak RSS", method);
    }
}

static void write_cost(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const struct rm_run_overhead *overhead = &run->overhead;
    double duration = (double)run->duration_ns;
    char cpu[RM_HUMAN_BYTES], sample[RM_HUMAN_BYTES], worst[RM_HUMAN_BYTES], scopes[RM_HUMAN_BYTES];
    char memory[RM_HUMAN_BYTES];
    rm_human_seconds(cpu, (double)overhead->sampler.cpu_ns * 1e-9);
    rm_human_seconds(sample, run->samples > 1 ? (double)overhead->sampler.wall_ns * 1e-9 /
                                                    (double)(run->samples - 1)
                                              : RM_NAN);
    rm_human_seconds(worst, (double)overhead->sampler.wall_max_ns * 1e-9);
    rm_human_seconds(scopes, overhead->scopes_ns * 1e-9);
    rm_human_bytes(memory, (double)overhead->memory_bytes);
    rm_buffer_puts(buffer, "\nCost of observing\n");
    rm_buffer_printf(buffer, "  sampling  %s of CPU time", cpu);
    if (duration > 0.0 && (double)overhead->sampler.cpu_ns < duration * 1e6) {
        char percent[RM_FACT_NUMBER_BYTES];
        double share = 100.0 * (double)overhead->sampler.cpu_ns / duration;
        rm_facts_print_number(round(share * 1000.0) / 1000.0, percent);
        rm_buffer_printf(buffer, " (%s %% of one CPU)", percent);
    }
    rm_buffer_printf(buffer, "; %s a sample, at most %s; %llu late\n", sample, worst,
                     (unsigned long long)overhead->sampler.late);
    if (run->scope_count > 0) {
        rm_buffer_printf(buffer, "  scopes    about %s in all threads together\n", scopes);
    }
    rm_buffer_printf(buffer, "  memory    %s, fixed at start\n", memory);
}

static void write_dropped(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const struct rm_run_dropped *dropped = &run->dropped;
    const struct {
        uint64_t count;
        const char *what;
    } rows[] = {
        {dropped->tags, "tags overwritten by later ones (max_tags)"},
        {dropped->threads, "threads without a slot for their scopes (max_scope_threads)"},
        {dropped->paths, "scope instances without a free path (max_scope_paths)"},
        {dropped->scopes, "scope instances past a bound"},
        {dropped->stale_ends, "scopes ended twice, on another thread or too late"},
        {dropped->misordered_ends, "scopes closed by the end of an outer one or of their thread"},
        {dropped->events, "scope instances overwritten by later ones (max_events)"},
        {dropped->lines, "places of RESMON_LINE() past the bound of a run"},
        {run->overhead.sampler.undelivered, "rows not delivered to sinks: they were too slow"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        if (rows[i].count > 0) {
            rm_buffer_printf(buffer, "  dropped   %llu %s\n", (unsigned long long)rows[i].count,
                             rows[i].what);
        }
    }
}

/* ---- energy ----------------------------------------------------------------------------- */

/* "energy: 56.8 J of the machine (100 % of it by a model), 690 ug CO2eq; the program's share:
 * 22.4 J, 280 ug, at ..." */
static void write_energy_sums(struct rm_buffer *buffer, const resmon_energy *energy)
{
    char joules[RM_HUMAN_BYTES], grams[RM_HUMAN_BYTES], percent[RM_HUMAN_BYTES];
    char intensity[RM_HUMAN_BYTES], pue[RM_HUMAN_BYTES];
    rm_human_percent(percent, 100.0 * energy->modelled_share);
    rm_human_joules(joules, energy->node_j);
    rm_human_grams(grams, energy->node_gco2eq);
    if (isnan(energy->node_j)) {
        rm_buffer_puts(buffer, "\nenergy: another process of this host reports the machine's");
    } else {
        rm_buffer_printf(buffer, "\nenergy: %s of the machine, %s CO2eq", joules, grams);
    }
    rm_human_joules(joules, energy->tree_j);
    rm_human_grams(grams, energy->tree_gco2eq);
    rm_buffer_printf(buffer, "; the program's share: %s, %s\n", joules, grams);
    if (energy->modelled_share > 0.0) {
        rm_buffer_printf(buffer, "  %s of it by a model\n", percent);
    }
    rm_human_fixed(intensity, energy->g_per_kwh, 0);
    rm_human_fixed(pue, energy->pue, 2);
    rm_buffer_printf(buffer, "  CO2eq at %s g/kWh (%.60s), PUE %s\n", intensity, energy->place,
                     pue);
    if (energy->remark[0] != '\0') {
        rm_buffer_printf(buffer, "  %.250s\n", energy->remark);
    }
}

static void write_energy(struct rm_buffer *buffer, const struct resmon_run *run)
{
    char node[RM_HUMAN_BYTES], tree[RM_HUMAN_BYTES];
    const resmon_energy energy = rm_run_energy(run);
    if (!rm_run_has_energy(run) || (isnan(energy.node_j) && isnan(energy.tree_j))) {
        return;
    }
    write_energy_sums(buffer, &energy);
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        resmon_energy_part part = rm_run_energy_part(run, i);
        if (isnan(part.node_j) && isnan(part.tree_j)) {
            continue;
        }
        rm_human_joules(node, part.node_j);
        rm_human_joules(tree, part.tree_j);
        rm_buffer_printf(buffer, "  %s: %s, the program %s%s%.100s\n", part.name, node, tree,
                         part.method[0] != '\0' ? "; " : "", part.method);
    }
    if (energy.basis == RESMON_CARBON_BASIS_WORLD) {
        rm_buffer_puts(buffer,
                       "  Where this machine stands is not known: RESMON_COUNTRY=FR says it, "
                       "or /etc/resmon/site.conf.\n");
    }
}

void rm_report_write(struct rm_buffer *buffer, const struct resmon_run *run,
                     const struct rm_source_lines *sources)
{
    write_heading(buffer, run);
    write_phases(buffer, run);
    rm_report_counters(buffer, run);
    if (run->column_count > 0) {
        write_run(buffer, run);
        write_node(buffer, run);
        write_energy(buffer, run);
    }
    rm_report_checkpoints(buffer, run, sources);
    rm_report_profile(buffer, run, sources);
    write_gaps(buffer, run);
    write_cost(buffer, run);
    write_dropped(buffer, run);
}
