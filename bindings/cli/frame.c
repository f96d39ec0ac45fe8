/* SPDX-License-Identifier: MIT */
#include "frame.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/resmon.h>

#include "say.h"

#define LABEL_COLUMNS 10
#define VALUE_COLUMNS 13
#define MOST_CURVE    60
#define CLI_NAN       ((double)NAN)
#define MOST_SCOPES   ((size_t)4096)

typedef char value[RESMON_VALUE_BYTES];

/* ---- lines -------------------------------------------------------------------------------- */

void cli_frame_begin(struct cli_frame *frame)
{
    (void)setlocale(LC_CTYPE, "");
    frame->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static struct cli_line *next_line(struct cli_frame *frame, enum cli_style style)
{
    if (frame->lines == NULL) {
        frame->lines = cli_grow(NULL, CLI_FRAME_LINES * sizeof *frame->lines);
    }
    size_t at = frame->count < CLI_FRAME_LINES ? frame->count++ : CLI_FRAME_LINES - 1;
    frame->lines[at].style = style;
    frame->lines[at].text[0] = '\0';
    frame->lines[at].scope = 0;
    return &frame->lines[at];
}

__attribute__((format(printf, 3, 4))) static void
add_line(struct cli_frame *frame, enum cli_style style, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct cli_line *line = next_line(frame, style);
    (void)vsnprintf(line->text, sizeof line->text, format, arguments);
    va_end(arguments);
}

void cli_frame_say(struct cli_frame *frame, const char *text)
{
    frame->count = 0;
    add_line(frame, CLI_PLAIN, "%s", text);
}

void cli_frame_free(struct cli_frame *frame)
{
    free(frame->lines);
    free(frame->folded);
    frame->lines = NULL;
    frame->folded = NULL;
}

static void put(value text, const char *unit, double amount)
{
    if (isnan(amount) || resmon_format_value(unit, amount, text, sizeof(value)) != RESMON_OK) {
        (void)snprintf(text, sizeof(value), "-");
    }
}

/* ---- series ------------------------------------------------------------------------------- */

/* The latest points of a metric; of a counter, its rate per second. */
struct points {
    double at[MOST_CURVE];
    size_t count;
};

static double rate(const double *series, const int64_t *ends_ns, size_t row)
{
    double seconds = (double)(ends_ns[row] - ends_ns[row - 1]) * 1e-9;
    return seconds > 0.0 ? (series[row] - series[row - 1]) / seconds : CLI_NAN;
}

static void add_points(const resmon_run *run, size_t index, size_t most, struct points *points)
{
    resmon_column column = {.struct_size = sizeof column};
    size_t rows = resmon_run_row_count(run);
    const double *series = resmon_run_series(run, index, RESMON_SERIES_VALUE);
    const int64_t *ends_ns = resmon_run_row_last_ns(run);
    if (resmon_run_get_column(run, index, &column) != RESMON_OK || series == NULL) {
        return;
    }
    bool is_counter = column.kind == RESMON_COUNTER;
    size_t first = rows > most ? rows - most : is_counter ? 1 : 0;
    for (size_t row = first > 0 || !is_counter ? first : 1; row < rows; row++) {
        points->at[points->count++] = is_counter ? rate(series, ends_ns, row) : series[row];
    }
}

/* The last known value. */
static double last_of(const struct points *points)
{
    size_t at = points->count;
    while (at > 0 && isnan(points->at[at - 1])) {
        at--;
    }
    return at > 0 ? points->at[at - 1] : CLI_NAN;
}

/* The points of the first metric that the run has; false: it has none of them. */
static bool find_points(const resmon_run *run, const char *const *metrics, size_t most,
                        struct points *points)
{
    size_t index;
    points->count = 0;
    for (; *metrics != NULL; metrics++) {
        if (resmon_run_find_column(run, *metrics, NULL, &index) == RESMON_OK) {
            add_points(run, index, most < MOST_CURVE ? most : MOST_CURVE, points);
        }
        if (!isnan(last_of(points))) {
            return true;
        }
        points->count = 0;
    }
    return false;
}

static double latest(const resmon_run *run, const char *metric)
{
    const char *const metrics[] = {metric, NULL};
    struct points points;
    return find_points(run, metrics, 4, &points) ? last_of(&points) : CLI_NAN;
}

/* A sparkline, from 0 to the maximum. */
static void put_curve(const struct cli_frame *frame, const struct points *points, char *text,
                      size_t bytes)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const letters[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    double most = 0.0;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < points->count; i++) {
        most = fmax(most, points->at[i]);
    }
    for (size_t i = 0; i < points->count && used + 4 < bytes; i++) {
        double height = most > 0.0 && points->at[i] > 0.0 ? points->at[i] / most * 7.99 : 0.0;
        const char *block = isnan(points->at[i]) ? " "
                            : frame->is_utf8     ? blocks[(int)height]
                                                 : letters[(int)height];
        used += (size_t)snprintf(text + used, bytes - used, "%s", block);
    }
}

/* ---- rows --------------------------------------------------------------------------------- */

static size_t curve_columns(const struct cli_frame *frame)
{
    size_t left = frame->columns > 60 ? frame->columns - 60 : 0;
    return left < MOST_CURVE / 2 ? left : MOST_CURVE / 2;
}

static void add_row(struct cli_frame *frame, const char *label, const char *amount,
                    const struct points *points, const char *note)
{
    char curve[4 * MOST_CURVE + 1];
    const struct points none = {.count = 0};
    size_t columns = curve_columns(frame);
    points = points != NULL ? points : &none;
    put_curve(frame, points, curve, sizeof curve);
    size_t pad = points->count < columns ? columns - points->count : 0;
    add_line(frame, CLI_PLAIN, "  %-*s%*s  %*s%s  %s", LABEL_COLUMNS, label, VALUE_COLUMNS, amount,
             (int)pad, "", curve, note);
}

static void add_cpu(struct cli_frame *frame, const resmon_run *run)
{
    static const char *const metrics[] = {"tree.cpu.percent", "proc.cpu.percent", NULL};
    struct points points;
    value text, time;
    char note[200] = "";
    resmon_headline headline = {.struct_size = sizeof headline};
    if (!find_points(run, metrics, curve_columns(frame), &points)) {
        return;
    }
    double quota = latest(run, "cg.cpu.quota");
    double online = latest(run, "node.cpu.online");
    double most = quota > 0.0 ? quota : online;
    (void)snprintf(text, sizeof text, "%.0f %%", last_of(&points));
    if (resmon_run_get_headline(run, &headline) == RESMON_OK) {
        put(time, "s", headline.cpu_s);
        (void)snprintf(note, sizeof note, "%s in total; limit %.0f %%%s", time, 100.0 * most,
                       quota > 0.0 ? " (quota)" : "");
    }
    add_row(frame, "CPU", text, &points, note);
}

/* Memory that is left before the OOM killer acts: to the limit of the cgroup, or of the machine. */
static double headroom(const resmon_run *run, const char **ret_of)
{
    double limit = latest(run, "cg.mem.limit");
    double group = limit - latest(run, "cg.mem.working_set");
    double machine = latest(run, "node.mem.available");
    *ret_of = group < machine ? "to the limit of the cgroup" : "of the machine's";
    return group < machine ? group : machine;
}

static void add_memory(struct cli_frame *frame, const resmon_run *run)
{
    static const char *const metrics[] = {"tree.mem.rss", "proc.mem.rss", NULL};
    struct points points;
    value text, peak, left;
    char note[240];
    const char *of;
    resmon_headline headline = {.struct_size = sizeof headline};
    if (!find_points(run, metrics, curve_columns(frame), &points)) {
        return;
    }
    double free_bytes = headroom(run, &of);
    double now = last_of(&points);
    put(text, "B", now);
    put(left, "B", free_bytes);
    (void)resmon_run_get_headline(run, &headline);
    put(peak, "B", fmax(headline.rss_peak_bytes, headline.tree_rss_max_bytes)); /* ignores NaN */
    (void)snprintf(note, sizeof note, "peak %s; %s left %s", peak, left, of);
    add_row(frame, "memory", text, &points, note);
    if (free_bytes < 0.1 * (free_bytes + now)) {
        frame->lines[frame->count - 1].style = CLI_WARNING;
    }
}

static void add_rate(struct cli_frame *frame, const resmon_run *run, const char *label,
                     const char *const *metrics, const char *unit)
{
    struct points points;
    value text;
    char amount[RESMON_VALUE_BYTES + 4];
    if (find_points(run, metrics, curve_columns(frame), &points)) {
        put(text, unit, last_of(&points));
        (void)snprintf(amount, sizeof amount, "%s%s", text, strcmp(unit, "W") == 0 ? "" : "/s");
        add_row(frame, label, amount, &points, "");
    }
}

static void add_io(struct cli_frame *frame, const resmon_run *run)
{
    static const char *const reads[] = {"tree.io.read_chars", "proc.io.read_chars",
                                        "tree.io.read_bytes", NULL};
    static const char *const writes[] = {"tree.io.write_chars", "proc.io.write_chars",
                                         "tree.io.write_bytes", NULL};
    add_rate(frame, run, "read", reads, "B");
    add_rate(frame, run, "written", writes, "B");
}

static double pressure(const resmon_run *run, const char *of_group, const char *of_node)
{
    double group = latest(run, of_group);
    return 100.0 * (isnan(group) ? latest(run, of_node) : group);
}

/* Share of time in which tasks waited. */
static void add_pressure(struct cli_frame *frame, const resmon_run *run)
{
    char note[200];
    double cpu = pressure(run, "cg.psi.cpu_some", "node.psi.cpu_some");
    double memory = pressure(run, "cg.psi.memory_full", "node.psi.memory_full");
    double io = pressure(run, "cg.psi.io_full", "node.psi.io_full");
    if (isnan(cpu) && isnan(memory) && isnan(io)) {
        return;
    }
    (void)snprintf(note, sizeof note,
                   "waiting for CPUs %.0f %%, for memory %.0f %%, for I/O %.0f %%",
                   isnan(cpu) ? 0.0 : cpu, isnan(memory) ? 0.0 : memory, isnan(io) ? 0.0 : io);
    add_line(frame, memory > 10.0 ? CLI_WARNING : CLI_PLAIN, "  %-*s%s", LABEL_COLUMNS, "pressure",
             note);
}

static void add_energy(struct cli_frame *frame, const resmon_run *run)
{
    static const char *const metrics[] = {"tree.energy.cpu", NULL};
    struct points points;
    value text, sum;
    char note[RESMON_VALUE_BYTES + 16];
    resmon_headline headline = {.struct_size = sizeof headline};
    if (resmon_run_get_headline(run, &headline) != RESMON_OK || isnan(headline.energy_j)) {
        return;
    }
    bool has_curve = find_points(run, metrics, curve_columns(frame), &points);
    put(text, "W", has_curve ? last_of(&points) : CLI_NAN);
    put(sum, "J", headline.energy_j);
    (void)snprintf(note, sizeof note, "%s in total", sum);
    add_row(frame, "energy", text, has_curve ? &points : NULL, note);
}

static void add_gpus(struct cli_frame *frame, const resmon_run *run)
{
    for (size_t i = 0; i < resmon_run_column_count(run); i++) {
        resmon_column column = {.struct_size = sizeof column};
        struct points points = {.count = 0};
        char label[16], text[32];
        if (resmon_run_get_column(run, i, &column) != RESMON_OK ||
            strcmp(column.metric, "gpu.util") != 0) {
            continue;
        }
        add_points(run, i, curve_columns(frame), &points);
        if (points.count > 0) {
            (void)snprintf(label, sizeof label, "GPU %.8s", column.instance);
            (void)snprintf(text, sizeof text, "%.0f %%", last_of(&points));
            add_row(frame, label, text, &points, "");
        }
    }
}

static void add_processes(struct cli_frame *frame, const resmon_run *run)
{
    double processes = latest(run, "tree.processes"), threads = latest(run, "tree.threads");
    if (processes > 0.0) {
        add_line(frame, CLI_PLAIN, "  %-*s%*.0f  %s%.0f", LABEL_COLUMNS, "processes", VALUE_COLUMNS,
                 processes, "threads ", threads);
    }
}

/* ---- scopes ------------------------------------------------------------------------------- */

struct row {
    resmon_run_scope scope;
    double amount; /* sort key */
    size_t index;
    uint64_t path;
    bool is_shut;
};

/* FNV-1a (Fowler, Noll, Vo; 64 bits) of the names of a path. */
static uint64_t path_of(uint64_t above, const char *name)
{
    uint64_t path = above;
    for (const char *at = name; *at != '\0'; at++) {
        path = (path ^ (unsigned char)*at) * 0x100000001b3U;
    }
    path = (path ^ '/') * 0x100000001b3U;
    return path != 0 ? path : 1;
}

static size_t find_folded(const struct cli_frame *frame, uint64_t scope)
{
    size_t at = 0;
    while (at < frame->folded_count && frame->folded[at] != scope) {
        at++;
    }
    return at;
}

void cli_frame_fold(struct cli_frame *frame, uint64_t scope)
{
    size_t at = find_folded(frame, scope);
    if (at < frame->folded_count) {
        frame->folded[at] = frame->folded[--frame->folded_count];
        return;
    }
    if (frame->folded_count == frame->folded_capacity) {
        frame->folded_capacity = frame->folded_capacity > 0 ? 2 * frame->folded_capacity : 16;
        frame->folded = cli_grow(frame->folded, frame->folded_capacity * sizeof *frame->folded);
    }
    frame->folded[frame->folded_count++] = scope;
}

static int by_amount(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->amount != b->amount) {
        return a->amount < b->amount ? 1 : -1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static double amount_of(const resmon_run_scope *scope, enum cli_scope_order order)
{
    switch (order) {
    case CLI_BY_WALL:
        return scope->wall_ns;
    case CLI_BY_SELF:
        return scope->self_ns;
    case CLI_BY_CALLS:
        return (double)scope->calls;
    default:
        return 0.0;
    }
}

/* All scopes of a run; parents come before their children. */
static size_t read_scopes(const struct cli_frame *frame, const resmon_run *run, struct row *rows,
                          size_t most)
{
    const char *pid = resmon_run_fact(run, "run", "pid");
    uint64_t of_run = path_of(0xcbf29ce484222325U, pid != NULL ? pid : "");
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        struct row *row = &rows[count];
        *row = (struct row){.scope = {.struct_size = sizeof row->scope}, .index = i};
        if (resmon_run_get_scope(run, i, &row->scope) != RESMON_OK) {
            break;
        }
        int64_t parent = row->scope.parent;
        bool has_parent = parent >= 0 && (size_t)parent < i;
        row->path = path_of(has_parent ? rows[parent].path : of_run, row->scope.name);
        row->amount = amount_of(&row->scope, frame->order);
        row->is_shut = frame->is_folded != (find_folded(frame, row->path) < frame->folded_count);
        count++;
    }
    return count;
}

/* In tree order without folded branches; in other orders, all scopes. */
static size_t select_scopes(const struct cli_frame *frame, struct row *rows, size_t count)
{
    size_t kept = 0;
    size_t hidden_below = SIZE_MAX; /* this depth */
    if (frame->order != CLI_BY_TREE) {
        qsort(rows, count, sizeof *rows, by_amount);
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        size_t depth = (size_t)rows[i].scope.depth;
        if (depth > hidden_below) {
            continue;
        }
        hidden_below = rows[i].is_shut ? depth : SIZE_MAX;
        rows[i].is_shut &= i + 1 < count && (size_t)rows[i + 1].scope.depth > depth;
        rows[kept++] = rows[i];
    }
    return kept;
}

static void add_scope(struct cli_frame *frame, const struct row *row)
{
    const resmon_run_scope *scope = &row->scope;
    value calls, wall, self, open;
    char name[48];
    bool is_tree = frame->order == CLI_BY_TREE;
    unsigned depth = scope->depth < 12 && is_tree ? (unsigned)scope->depth : 0;
    (void)snprintf(name, sizeof name, "%*s%.36s", (int)(2 * depth), "", scope->name);
    put(calls, "1", (double)scope->calls);
    put(wall, "s", scope->wall_ns * 1e-9);
    put(self, "s", scope->self_ns * 1e-9);
    put(open, "s", scope->open > 0 ? scope->open_ns * 1e-9 / (double)scope->open : CLI_NAN);
    add_line(frame, scope->open > 0 ? CLI_BOLD : CLI_PLAIN, "%s %-38s%12s%12s%12s%14s",
             is_tree && row->is_shut ? "+" : " ", name, calls, wall, self,
             scope->open > 0 ? open : "");
    frame->lines[frame->count - 1].scope = row->path;
}

static void list_scopes(struct cli_frame *frame, const resmon_run *run, const char *of)
{
    size_t most = resmon_run_scope_count(run);
    most = most < MOST_SCOPES ? most : MOST_SCOPES;
    struct row *rows = most > 0 ? calloc(most, sizeof *rows) : NULL;
    if (rows == NULL) {
        return;
    }
    size_t count = select_scopes(frame, rows, read_scopes(frame, run, rows, most));
    add_line(frame, CLI_PLAIN, "%s", "");
    add_line(frame, CLI_DIM, "  %-38.38s%12s%12s%12s%14s", of, "calls", "wall", "self", "open for");
    for (size_t i = 0; i < count; i++) {
        add_scope(frame, &rows[i]);
    }
    free(rows);
}

/* ---- all ---------------------------------------------------------------------------------- */

static const char *fact(const resmon_run *run, const char *group, const char *key)
{
    const char *text = resmon_run_fact(run, group, key);
    return text != NULL ? text : "";
}

static void add_title(struct cli_frame *frame, const resmon_run *run)
{
    resmon_run_info info = {.struct_size = sizeof info};
    resmon_run_end end = {.struct_size = sizeof end};
    value time;
    (void)resmon_run_get_info(run, &info);
    (void)resmon_run_get_end(run, &end);
    const char *given = fact(run, "run", "name");
    const char *name = given[0] != '\0' ? given : fact(run, "run", "program");
    put(time, "s", (double)info.duration_ns * 1e-9);
    const char *word = end.reason == RESMON_END_UNKNOWN ? "ended" : resmon_end_name(end.reason);
    bool is_job = fact(run, "run", "observed_job")[0] != '\0';
    bool is_group = is_job || fact(run, "run", "cgroup")[0] != '\0';
    add_line(frame, CLI_BOLD, "%.60s   %s%s on %.40s   %s %s %s", name,
             is_job     ? "job"
             : is_group ? "cgroup"
                        : "pid ",
             is_group ? "" : fact(run, "run", "pid"), fact(run, "machine", "host_name"), word,
             end.reason == RESMON_END_RUNNING ? "for" : "after", time);
    add_line(frame, CLI_PLAIN, "%s", "");
}

void cli_frame_make(struct cli_frame *frame, const resmon_run *run)
{
    frame->count = 0;
    add_title(frame, run);
    add_cpu(frame, run);
    add_memory(frame, run);
    add_io(frame, run);
    add_pressure(frame, run);
    add_gpus(frame, run);
    add_energy(frame, run);
    add_processes(frame, run);
    list_scopes(frame, run, "scope");
}

void cli_frame_add_scopes(struct cli_frame *frame, const resmon_run *run)
{
    char of[80];
    (void)snprintf(of, sizeof of, "scope of %.20s, pid %.10s", fact(run, "run", "program"),
                   fact(run, "run", "pid"));
    list_scopes(frame, run, of);
}

void cli_frame_add_title(struct cli_frame *frame, const char *title)
{
    add_line(frame, CLI_PLAIN, "%s", "");
    add_line(frame, CLI_DIM, "  %.80s", title);
}

/* Leaves out escape sequences of terminals (ECMA-48), which end with a letter. */
void cli_frame_add_text(struct cli_frame *frame, const char *text, size_t length)
{
    struct cli_line *line = next_line(frame, CLI_PLAIN);
    size_t used = (size_t)snprintf(line->text, sizeof line->text, "  ");
    bool is_sequence = false;
    for (size_t i = 0; i < length && used + 1 < sizeof line->text; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == 0x1b) {
            is_sequence = true;
        } else if (is_sequence) {
            is_sequence = byte == '[' || byte < 0x40 || byte > 0x7e;
        } else if (byte >= 0x20 && byte != 0x7f) {
            line->text[used++] = (char)byte;
        }
    }
    line->text[used] = '\0';
}
