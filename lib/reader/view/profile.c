/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "store/run_records.h"
#include "view/profile.h"

#define MOST_FUNCTIONS   20
#define MOST_THREADS     64
#define NAME_CHARACTERS  200
#define PLACE_CHARACTERS 80
#define FRAMES           3     /* of a thread */
#define AS_HIGH          1.001 /* ratio of two peaks of memory that count as equal */

/* Tables by line: functions, and lines of each. */
#define SAMPLED_FUNCTIONS 3
#define SAMPLED_LINES     8
#define EXACT_FUNCTIONS   8
#define EXACT_LINES       32
#define LEAST_SHARE       0.02 /* of a function, of all samples with lines */
#define WANTED_FUNCTIONS  12   /* for rm_profile_add_wanted() */
#define WANTED_LINES      40
#define LINES_OF_ONE      400

/* The kinds of stacks. */
static const struct {
    const char *title, *whose, *total;
} kinds[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] = {"CPU time", "the process's", ""},
    [RESMON_STACK_MEMORY] = {"growth of memory", "the", " by which RssAnon rose"},
    [RESMON_STACK_FILE] = {"pages of files", "the", " by which RssFile and RssShmem rose"},
    [RESMON_STACK_RESIDENT] = {"memory still there", "the", " that RssAnon had more at the end"},
};

const char *rm_profile_kind_title(size_t kind)
{
    return kinds[kind].title;
}

/* ---- functions -------------------------------------------------------------------------- */

/* Functions with samples of a kind. */
struct ranked {
    const struct rm_function_sum *sum;
    double self, total;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int by_self = (a->self < b->self) - (a->self > b->self);
    int by_total = (a->total < b->total) - (a->total > b->total);
    int by_name = strcmp(a->sum->name, b->sum->name);
    return by_self != 0    ? by_self
           : by_total != 0 ? by_total
           : by_name != 0  ? by_name
                           : (a->sum > b->sum) - (a->sum < b->sum);
}

static struct ranked *rank(struct rm_page *page, const struct rm_profile_sums *sums, int kind,
                           size_t *ret_count)
{
    struct ranked *ranked = rm_page_alloc(page, sums->function_count, sizeof *ranked);
    size_t count = 0;
    for (size_t i = 0; ranked != NULL && i < sums->function_count; i++) {
        const struct rm_function_sum *sum = &sums->functions[i];
        if (sum->samples[kind] > 0) {
            ranked[count++] = (struct ranked){sum, sum->self[kind], sum->total[kind]};
        }
    }
    if (count > 0) {
        qsort(ranked, count, sizeof *ranked, compare_ranked);
    }
    *ret_count = count;
    return ranked;
}

/* A table while it is built. */
struct functions {
    struct rm_page *page;
    struct rm_page_table *table;
    const struct rm_profile_sums *sums;
    int kind;
    double most;
};

static bool add_function(const struct functions *functions, const struct rm_function_sum *one)
{
    struct rm_page *page = functions->page;
    int kind = functions->kind;
    struct rm_page_cell *cells = rm_page_row(page, functions->table);
    double whole = functions->sums->weight[kind];
    double self = whole > 0.0 ? one->self[kind] / whole : 0.0;
    double total = whole > 0.0 ? one->total[kind] / whole : 0.0;
    const struct rm_sampled self_amount = {one->self[kind], one->self_square[kind],
                                           functions->most};
    const struct rm_sampled total_amount = {one->total[kind], one->total_square[kind],
                                            functions->most};
    size_t used = 0;
    rm_page_set(&cells[used++], rm_page_shown_at_most(page, one->name, NAME_CHARACTERS));
    rm_page_set(&cells[used++], rm_sampled_text(page, kind, self_amount));
    rm_page_set_value(page, &cells[used++], self * 100.0, "%", "");
    rm_page_set(&cells[used], rm_sampled_text(page, kind, total_amount));
    rm_page_set_share(&cells[used++], total, self);
    rm_page_set_value(page, &cells[used++], total * 100.0, "%", "");
    rm_page_set(&cells[used++], rm_page_grouped(page, one->samples[kind]));
    if (kind != RESMON_STACK_CPU) {
        rm_page_set(&cells[used++], rm_sampled_range(page, kind, total_amount));
    }
    rm_page_set(&cells[used], rm_page_shown(page, rm_text_base_name(one->file)));
    return rm_sampled_has_doubt(kind, self_amount) || rm_sampled_has_doubt(kind, total_amount);
}

struct rm_page_table *rm_profile_functions(const struct rm_subject *subject, int kind)
{
    static const char *const cpu[] = {"function", "self", "", "total", "", "samples", "file"};
    static const char *const memory[] = {"function", "self",    "",     "total",
                                         "",         "samples", "95 %", "file"};
    const bool is_cpu = kind == RESMON_STACK_CPU;
    struct rm_page *page = subject->page;
    const struct rm_profile_sums *sums = subject->sums;
    size_t columns = is_cpu ? RM_ARRAY_LEN(cpu) : RM_ARRAY_LEN(memory), count = 0;
    const struct ranked *ranked = sums != NULL ? rank(page, sums, kind, &count) : NULL;
    size_t shown = count < MOST_FUNCTIONS ? count : MOST_FUNCTIONS;
    if (count == 0) {
        return NULL;
    }
    struct functions functions = {page, NULL, sums, kind,
                                  rm_profile_most(&subject->run->profile, kind)};
    functions.table =
        rm_page_table_new(page, rm_page_print(page, "functions_%s", rm_stack_kind_names[kind]),
                          rm_page_print(page, "Hot functions, by %s", kinds[kind].title),
                          RM_HEADERS(is_cpu ? cpu : memory, columns, 1), shown);
    if (functions.table == NULL) {
        return NULL;
    }
    functions.table->columns[columns - 1].is_left = true;
    functions.table->columns[2].key = "self_percent";
    functions.table->columns[4].key = "total_percent";
    functions.table->lead = "self: in the function itself; total, and samples: with what it called";
    bool has_doubt = false;
    for (size_t i = 0; i < shown; i++) {
        has_doubt |= add_function(&functions, ranked[i].sum);
    }
    rm_page_note(functions.table, has_doubt ? rm_sampled_legend : "");
    rm_page_note(functions.table,
                 count > shown ? rm_page_print(page, "and %s functions that took less themselves",
                                               rm_page_grouped(page, count - shown))
                               : "");
    return functions.table;
}

/* ---- samples of each kind ----------------------------------------------------------------- */

/* " (one each 10.1 ms)" */
static const char *period_text(struct rm_page *page, int kind, uint64_t period)
{
    if (period == 0) {
        return "";
    }
    return kind == RESMON_STACK_CPU
               ? rm_page_print(page, " (one each %s)", rm_stack_amount(page, kind, (double)period))
               : rm_page_print(page, " (one each %s page faults)", rm_page_grouped(page, period));
}

/* The share of the samples: of the process's CPU time, or of the growth of its RSS. */
static const char *explained_text(struct rm_page *page, int kind, double weight, double total)
{
    bool is_more = kind != RESMON_STACK_CPU && weight > total;
    if (!(total > 0.0)) {
        return "";
    }
    return rm_page_print(
        page, ": %s of %s %s%s%s",
        is_more ? "all" : rm_page_value(page, 100.0 * weight / total, "%"), kinds[kind].whose,
        rm_stack_amount(page, kind, total), kinds[kind].total,
        is_more && kind != RESMON_STACK_RESIDENT ? " (pages that were given back came again)" : "");
}

static const char *kind_text(const struct rm_subject *subject, int kind)
{
    struct rm_page *page = subject->page;
    const struct rm_run_stack_kind *known = &subject->run->profile.kinds[kind];
    uint64_t samples = subject->sums != NULL ? subject->sums->samples[kind] : 0;
    double weight = subject->sums != NULL ? subject->sums->weight[kind] : 0.0;
    const char *reason = rm_page_shown(page, known->reason);
    if (samples == 0 && known->status == RESMON_ESTATE) {
        return "";
    }
    if (samples == 0 && known->status != RESMON_OK) {
        return rm_page_print(page, "not taken: %s",
                             reason[0] != '\0' ? reason : "no reason is known");
    }
    return rm_page_print(page, "%s in %s samples%s%s%s%s", rm_stack_amount(page, kind, weight),
                         rm_page_grouped(page, samples), period_text(page, kind, known->period),
                         explained_text(page, kind, weight, known->total),
                         reason[0] != '\0' ? "; " : "", reason);
}

struct rm_page_table *rm_profile_stacks(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const struct rm_run_profile *profile = &subject->run->profile;
    struct rm_page_table *table =
        rm_profile_is_there(profile)
            ? rm_page_pairs_new(page, "stacks", "Stacks", RM_STACK_KINDS + RM_LOSS_COUNT)
            : NULL;
    if (table == NULL) {
        return NULL;
    }
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        rm_page_add_pair(page, table, kinds[kind].title, kind_text(subject, kind));
    }
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        if (profile->lost[i] > 0) {
            rm_page_add_pair(page, table, "lost",
                             rm_page_print(page, "%s: %s", rm_page_grouped(page, profile->lost[i]),
                                           rm_stack_loss_texts[i]));
        }
    }
    return table->count > 0 ? table : NULL;
}

/* ---- high memory ------------------------------------------------------------------------ */

/* "work prog.c:12", "libz.so.1+0x12f0". */
static const char *place_text(struct rm_page *page, const struct rm_run_profile *profile,
                              const struct rm_run_place *place)
{
    const struct rm_run_module *module =
        place->module >= 0 ? &profile->modules[place->module] : NULL;
    const char *what = rm_page_shown_at_most(page, place->function, PLACE_CHARACTERS);
    if (what[0] == '\0') {
        const char *name = module != NULL ? rm_text_base_name(module->path) : "unknown";
        uint64_t offset = module != NULL ? place->address - module->bias : place->address;
        what = rm_page_print(page, "%s+0x%" PRIx64,
                             rm_page_shown_at_most(page, name, PLACE_CHARACTERS), offset);
    }
    if (place->file[0] != '\0' && place->line > 0) {
        const char *file =
            rm_page_shown_at_most(page, rm_text_base_name(place->file), PLACE_CHARACTERS);
        what = rm_page_print(page, "%s %s:%u", what, file, place->line);
    }
    return rm_page_shown_at_most(page, what, PLACE_CHARACTERS);
}

/* "train/epoch"; of a deep scope, the innermost names that fit. */
static const char *scope_path(struct rm_page *page, const struct resmon_run *run, int64_t scope)
{
    char path[512];
    size_t begin = sizeof path - 1;
    path[begin] = '\0';
    for (int64_t at = scope; at >= 0 && (size_t)at < run->scope_count;
         at = run->scopes[at].parent) {
        char name[128];
        size_t slash = begin < sizeof path - 1 ? 1 : 0;
        size_t length = rm_text_set(name, sizeof name, run->scopes[at].name);
        if (length + slash > begin) {
            break;
        }
        begin -= slash;
        path[begin] = slash > 0 ? '/' : path[begin];
        begin -= length;
        memcpy(path + begin, name, length);
    }
    return rm_page_shown(page, path + begin);
}

static const char *highest_text(struct rm_page *page, const struct resmon_run *run)
{
    const struct rm_run_peak *peak = &run->profile.peak;
    double life_rss = rm_run_life_rss(run);
    const char *life = isnan(life_rss)
                           ? ""
                           : rm_page_print(page, " Exactly, in the life of the process: %s.",
                                           rm_page_value(page, life_rss, "B"));
    if (peak->highest_rss_bytes > peak->rss_bytes * AS_HIGH) {
        double more = (peak->highest_rss_bytes / peak->rss_bytes - 1.0) * 100.0;
        double at_s = peak->highest_t_ns >= 0 ? (double)peak->highest_t_ns / 1e9 : RM_NAN;
        return rm_page_print(page, "Not the highest: %s were seen %s after the start, %s more.%s",
                             rm_page_value(page, peak->highest_rss_bytes, "B"),
                             rm_page_value(page, at_s, "s"), rm_page_value(page, more, "%"), life);
    }
    if (isnan(peak->highest_rss_bytes)) {
        return life[0] != '\0' ? life + 1 : "";
    }
    return rm_page_print(page, "The highest that was seen.%s", life);
}

static void add_thread(struct rm_page *page, struct rm_page_table *table,
                       const struct resmon_run *run, const struct rm_run_peak_stack *stack)
{
    const struct rm_run_profile *profile = &run->profile;
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *scope = scope_path(page, run, stack->scope);
    rm_page_set(&cells[0], stack->thread_name[0] != '\0'
                               ? rm_page_shown(page, stack->thread_name)
                               : rm_page_print(page, "%" PRIu64, stack->thread));
    rm_page_set(&cells[1], scope[0] != '\0' ? scope : RM_PAGE_UNKNOWN);
    for (uint32_t i = 0; i < FRAMES && i < stack->depth; i++) {
        uint32_t place = profile->frames[stack->first + i];
        rm_page_set(&cells[2 + i], place_text(page, profile, &profile->places[place]));
    }
}

struct rm_page_table *rm_profile_peak(const struct rm_subject *subject)
{
    static const char *const headers[] = {"thread", "scope", "in", "called by", "called by"};
    struct rm_page *page = subject->page;
    const struct rm_run_peak *peak = &subject->run->profile.peak;
    size_t count = peak->stack_count < MOST_THREADS ? peak->stack_count : MOST_THREADS;
    const char *room = "";
    if (count == 0) {
        return NULL;
    }
    struct rm_page_table *table =
        rm_page_table_new(page, "peak", "Threads at high memory", RM_HEADERS(headers, 5, 5), count);
    for (size_t i = 0; i < count; i++) {
        add_thread(page, table, subject->run, &peak->stacks[i]);
    }
    if (peak->headroom_bytes >= 0.0) {
        room = rm_page_print(page, ", when the cgroup had %s left",
                             rm_page_value(page, peak->headroom_bytes, "B"));
    }
    rm_page_note(table, rm_page_print(page, "RSS %s, %s after the start%s.",
                                      rm_page_value(page, peak->rss_bytes, "B"),
                                      rm_page_value(page, (double)peak->t_ns / 1e9, "s"), room));
    rm_page_note(table, highest_text(page, subject->run));
    if (peak->stack_count > count) {
        rm_page_note(table, rm_page_print(page, "%zu more threads are left out.",
                                          peak->stack_count - count));
    }
    return table;
}

/* ---- lines ------------------------------------------------------------------------------ */

static const struct {
    const char *title, *meaning;
} line_titles[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] = {"Hot lines, by CPU time",
                          "hits: samples that had the line on their stack; time: with what it "
                          "called; % Time: of the function, where recursion counts once"},
    [RESMON_STACK_MEMORY] = {"Hot lines, by growth of memory",
                             "occurrences: samples of page faults; increment: with what it called; "
                             "memory that malloc() or pymalloc gave again is no growth; Mem usage "
                             "is known at RESMON_LINE() only: a sample tells growth, not what was "
                             "there before"},
    [RESMON_STACK_FILE] = {"Hot lines, by pages of files",
                           "occurrences: samples of page faults; increment: with what it called; "
                           "Mem usage is known at RESMON_LINE() only"},
    [RESMON_STACK_RESIDENT] = {"Hot lines, by memory still there",
                               "at the latest look; occurrences: samples of page faults; "
                               "increment: what the line, with what it called, touched first"},
};

/* Removes the blocks behind a block. */
static void cut_behind(struct rm_page *page, struct rm_page_block *last)
{
    page->last = last;
    if (last != NULL) {
        last->next = NULL;
    } else {
        page->first = NULL;
    }
}

static bool lines_have_doubt(const struct rm_profile_sums *sums, int kind)
{
    for (size_t i = 0; i < sums->line_count[kind] && kind != RESMON_STACK_CPU; i++) {
        const struct rm_line *line = &sums->lines[kind][i];
        const struct rm_sampled grown = {line->bytes, line->error * line->error, line->most};
        if (rm_sampled_has_doubt(kind, grown)) {
            return true;
        }
    }
    return false;
}

/* Adds the tables of a kind; false: there are none. */
static bool add_lines(const struct rm_subject *subject, struct rm_profile_sums *sums, int kind,
                      struct rm_line_terms terms)
{
    struct rm_page *page = subject->page;
    struct rm_page_block *last = page->last;
    if (sums->line_count[kind] == 0) {
        return false;
    }
    terms.table = kind == RESMON_STACK_CPU ? RM_LINES_TIME : RM_LINES_MEMORY;
    rm_page_add(page, RM_BLOCK_TITLE, line_titles[kind].title, NULL)->note =
        line_titles[kind].meaning;
    if (rm_lines_add(page, sums->lines[kind], sums->line_count[kind], &terms) == 0) {
        cut_behind(page, last);
        return false;
    }
    if (lines_have_doubt(sums, kind)) {
        (void)rm_page_add(page, RM_BLOCK_NOTE, rm_sampled_legend, NULL);
    }
    return true;
}

/* ---- checkpoints ------------------------------------------------------------------------ */

/* A checkpoint is shown even if nothing grew: its exclusive amount is at least 1.  The first
 * checkpoint of a function has only the memory in use. */
static struct rm_line row_of(const resmon_run_line *line, enum rm_line_table table)
{
    bool is_time = table == RM_LINES_TIME;
    double amount = is_time ? line->wall_ns : line->rss_bytes;
    bool has_any = (is_time ? line->hits : line->rss_hits) > 0 && isfinite(amount);
    bool has_usage = !is_time && isfinite(line->rss_max_bytes);
    return (struct rm_line){
        .function = line->function,
        .file = line->file,
        .line = (uint32_t)line->line,
        .hits = line->hits,
        .time_ns = line->wall_ns,
        .bytes = line->rss_bytes,
        .occurrences = line->rss_hits,
        .memory_bytes = line->rss_max_bytes,
        .own = has_any     ? 1.0 + fabs(amount)
               : has_usage ? 1.0
                           : 0.0,
    };
}

static size_t fill(struct rm_line *rows, const struct resmon_run *run, const char *function,
                   enum rm_line_table table)
{
    size_t count = 0;
    for (size_t i = 0; i < run->line_count; i++) {
        const resmon_run_line *line = &run->lines[i];
        const struct rm_line row = row_of(line, table);
        if (row.own > 0.0 && (function == NULL || strcmp(line->function, function) == 0)) {
            rows[count++] = row;
        }
    }
    return count;
}

/* Returns the number of functions with tables. */
static size_t add_checkpoints(const struct rm_subject *subject, const char *function,
                              struct rm_line_terms terms)
{
    static const struct {
        const char *title, *meaning;
    } titles[] = {
        [RM_LINES_TIME] = {"Checkpoints, by wall time",
                           "exact: from one RESMON_LINE() of a function to its next, not sampled; "
                           "with the functions called meanwhile, which may have a table of their "
                           "own"},
        [RM_LINES_MEMORY] = {"Checkpoints, by growth of memory",
                             "exact: the process's RSS at both RESMON_LINE(), not sampled; Mem "
                             "usage: the highest at the second one; Increment: with the functions "
                             "called meanwhile"},
    };
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    size_t most = 0;
    for (int table = RM_LINES_TIME; table <= RM_LINES_MEMORY && run->line_count > 0; table++) {
        struct rm_line *rows = rm_page_alloc(page, run->line_count, sizeof *rows);
        terms.table = (enum rm_line_table)table;
        size_t count = rows != NULL ? fill(rows, run, function, terms.table) : 0;
        if (count > 0) {
            rm_page_add(page, RM_BLOCK_TITLE, titles[table].title, NULL)->note =
                titles[table].meaning;
            size_t written = rm_lines_add(page, rows, count, &terms);
            most = written > most ? written : most;
        }
    }
    if (run->info.dropped_lines > 0) {
        const char *text =
            rm_page_print(page, "and %s more places of RESMON_LINE() that had no room: %u have",
                          rm_page_grouped(page, run->info.dropped_lines), RM_LINES);
        (void)rm_page_add(page, RM_BLOCK_NOTE, text, NULL);
    }
    return most;
}

/* ---- entry points ------------------------------------------------------------------------- */

void rm_profile_add_checkpoints(const struct rm_subject *subject)
{
    (void)add_checkpoints(subject, NULL,
                          (struct rm_line_terms){.sources = subject->sources,
                                                 .most_functions = EXACT_FUNCTIONS,
                                                 .most_lines = EXACT_LINES});
}

void rm_profile_add_lines(const struct rm_subject *subject, int kind)
{
    if (subject->sums != NULL) {
        (void)add_lines(subject, subject->sums, kind,
                        (struct rm_line_terms){.sources = subject->sources,
                                               .most_functions = SAMPLED_FUNCTIONS,
                                               .most_lines = SAMPLED_LINES,
                                               .least_share = LEAST_SHARE});
    }
}

/* "work", and of C++ also "work(int)" and "work<int>(int)". */
static bool is_called(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(name, wanted, length) == 0 &&
           (name[length] == '\0' || name[length] == '(' || name[length] == '<');
}

/* Keeps the lines of one function.  All their time counts as exclusive, also that of samples which
 * other lines are charged with. */
static size_t keep_function(struct rm_profile_sums *sums, const char *function)
{
    size_t all = 0;
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        size_t kept = 0;
        for (size_t i = 0; i < sums->line_count[kind]; i++) {
            struct rm_line line = sums->lines[kind][i];
            if (is_called(line.function, function)) {
                line.own = line.time_ns;
                sums->lines[kind][kept++] = line;
            }
        }
        sums->line_count[kind] = kept;
        all += kept;
    }
    return all;
}

resmon_status rm_profile_add_wanted(const struct rm_subject *subject, const char *function)
{
    const bool is_one = function != NULL;
    struct rm_line_terms terms = {.sources = subject->sources,
                                  .most_functions = SIZE_MAX,
                                  .most_lines = LINES_OF_ONE,
                                  .is_filled = is_one};
    bool has_exact = add_checkpoints(subject, function, terms) > 0;
    bool has_any = false;
    if (subject->sums == NULL || subject->run->profile.stack_count == 0) {
        return has_exact
                   ? RESMON_OK
                   : rm_error(RESMON_ENOENT, "the run has no stacks, and no checkpoints%s%.120s",
                              is_one ? " of a function " : "", is_one ? function : "");
    }
    if (is_one && keep_function(subject->sums, function) == 0) {
        return has_exact ? RESMON_OK
                         : rm_error(RESMON_ENOENT,
                                    "no line with a sample or checkpoint is of a function %.120s",
                                    function);
    }
    if (!is_one) {
        terms.most_functions = WANTED_FUNCTIONS;
        terms.most_lines = WANTED_LINES;
    }
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        has_any |= add_lines(subject, subject->sums, kind, terms);
    }
    if (!has_any) {
        (void)rm_page_add(subject->page, RM_BLOCK_LINE,
                          "No lines are known: build the program with debug information (-g).",
                          NULL);
    }
    return RESMON_OK;
}
