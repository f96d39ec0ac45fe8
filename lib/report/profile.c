/* SPDX-License-Identifier: MIT */
#include "report/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "base/text.h"
#include "report/checkpoints.h"
#include "report/profile_sums.h"
#include "report/sampled_bytes.h"
#include "report/table.h"

#define MOST_FUNCTIONS       12   /* in a table */
#define MOST_LINED_FUNCTIONS 3    /* with tables by line, in the summary */
#define MOST_LINES           8    /* of each of them */
#define LEAST_SHARE          0.02 /* of all samples with lines that one of them has */
#define MOST_THREADS         32
#define NAME_CELL            40 /* of a function in a table */
#define FRAMES_OF_A_THREAD   3
#define AS_HIGH              1.001 /* a peak of memory is as high as another, up to this */

typedef char cell[RM_TABLE_CELL_BYTES];

static void print_amount(char text[RM_HUMAN_BYTES], int kind, double amount)
{
    if (kind == RESMON_STACK_CPU) {
        rm_human_seconds(text, amount * 1e-9);
    } else {
        rm_human_bytes(text, amount);
    }
}

/* ---- hot functions ---------------------------------------------------------------------- */

/* A candidate for the table, in the order in which they are shown. */
struct rank {
    const struct rm_function_sum *function;
    double self, total;
};

static bool is_before(const struct rank *a, const struct rank *b)
{
    if (a->self != b->self) {
        return a->self > b->self;
    }
    return a->total != b->total ? a->total > b->total
                                : strcmp(a->function->name, b->function->name) < 0;
}

/* The first MOST_FUNCTIONS of all, sorted. */
static size_t rank_functions(const struct rm_profile_sums *sums, int kind,
                             struct rank ranks[MOST_FUNCTIONS])
{
    size_t count = 0;
    for (size_t i = 0; i < sums->function_count; i++) {
        const struct rm_function_sum *function = &sums->functions[i];
        struct rank rank = {function, function->self[kind], function->total[kind]};
        size_t at = count;
        while (at > 0 && is_before(&rank, &ranks[at - 1])) {
            at--;
        }
        if (rank.total <= 0.0 || at == MOST_FUNCTIONS) {
            continue;
        }
        count += count < MOST_FUNCTIONS ? 1 : 0;
        for (size_t k = count - 1; k > at; k--) {
            ranks[k] = ranks[k - 1];
        }
        ranks[at] = rank;
    }
    return count;
}

static struct rm_sampled_bytes estimate_of(double bytes, double square, double most)
{
    return (struct rm_sampled_bytes){bytes, sqrt(square), most};
}

static void set_function(cell *cells, const struct rank *rank, const struct rm_profile_sums *sums,
                         int kind)
{
    (void)rm_text_set(cells[0], NAME_CELL, rank->function->name);
    print_amount(cells[1], kind, rank->self);
    rm_human_percent(cells[2], 100.0 * rank->self / sums->weight[kind]);
    print_amount(cells[3], kind, rank->total);
    rm_human_percent(cells[4], 100.0 * rank->total / sums->weight[kind]);
    (void)rm_text_set(cells[kind == RESMON_STACK_CPU ? 5 : 6], NAME_CELL,
                      rm_text_base_name(rank->function->file));
}

/* Growth is sampled seldom, and pages are of two sizes: so there is how sure it is of it. */
static bool set_doubt(cell *cells, const struct rank *rank, int kind, double most)
{
    const struct rm_function_sum *function = rank->function;
    const struct rm_sampled_bytes self = estimate_of(rank->self, function->self_square[kind], most);
    const struct rm_sampled_bytes total =
        estimate_of(rank->total, function->total_square[kind], most);
    bool is_about = rm_sampled_bytes_print(cells[1], &self);
    is_about |= rm_sampled_bytes_print(cells[3], &total);
    rm_sampled_bytes_print_range(cells[5], &total);
    return is_about;
}

static void write_functions(struct rm_buffer *buffer, const struct resmon_run *run,
                            const struct rm_profile_sums *sums, int kind, size_t width)
{
    static const char *const cpu[] = {"function", "self", "", "total", "", "file"};
    static const char *const memory[] = {"function", "self", "", "total", "", "95 %", "file"};
    const bool is_cpu = kind == RESMON_STACK_CPU;
    struct rank ranks[MOST_FUNCTIONS];
    struct rm_table table;
    bool is_about = false;
    size_t count = rank_functions(sums, kind, ranks);
    if (count == 0) {
        return;
    }
    rm_buffer_printf(buffer,
                     "\nHot functions, by %s%s (self: in the function itself; total: with "
                     "what it called)\n",
                     is_cpu ? "CPU time" : "growth of memory",
                     count == MOST_FUNCTIONS ? ", the first ones" : "");
    rm_table_begin(&table, is_cpu ? cpu : memory, is_cpu ? RM_ARRAY_LEN(cpu) : RM_ARRAY_LEN(memory),
                   1);
    table.width = width;
    table.is_left[table.columns - 1] = true;
    for (size_t i = 0; i < count; i++) {
        cell *cells = rm_table_row(&table);
        if (cells == NULL) {
            break;
        }
        set_function(cells, &ranks[i], sums, kind);
        if (!is_cpu) {
            is_about |= set_doubt(cells, &ranks[i], kind, run->profile.kinds[kind].total);
        }
    }
    rm_table_end(&table, buffer);
    rm_buffer_puts(buffer, is_about ? rm_sampled_bytes_legend : "");
}

/* ---- hot lines -------------------------------------------------------------------------- */

static const char *const line_titles[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] =
        "\nHot lines, by CPU time (hits: samples that had the line on their stack; "
        "time: with what it called;\n  % Time: of the function, where recursion counts once)\n",
    [RESMON_STACK_MEMORY] =
        "\nHot lines, by growth of memory (occurrences: samples of page faults; "
        "increment: with what it called;\n  Mem usage is known at RESMON_LINE() only: a sample "
        "tells "
        "growth, not what was there before)\n",
    [RESMON_STACK_FILE] =
        "\nHot lines, by pages of files (occurrences: samples of page faults; "
        "increment: with what it called;\n  Mem usage is known at RESMON_LINE() only)\n",
};

static bool has_doubt(const struct rm_profile_sums *sums, int kind)
{
    char text[RM_SAMPLED_BYTES_TEXT];
    for (size_t i = 0; i < sums->line_count[kind] && kind != RESMON_STACK_CPU; i++) {
        const struct rm_line *line = &sums->lines[kind][i];
        const struct rm_sampled_bytes grown = {line->bytes, line->error, line->most};
        if (rm_sampled_bytes_print(text, &grown)) {
            return true;
        }
    }
    return false;
}

static void write_lines(struct rm_buffer *buffer, const struct rm_profile_sums *sums, int kind,
                        const struct rm_line_terms *terms)
{
    size_t before = buffer->length;
    struct rm_line_terms own = *terms;
    own.table = kind == RESMON_STACK_CPU ? RM_LINES_TIME : RM_LINES_MEMORY;
    if (sums->line_count[kind] == 0) {
        return;
    }
    rm_buffer_puts(buffer, line_titles[kind]);
    if (rm_lines_write(buffer, sums->lines[kind], sums->line_count[kind], &own) == 0 &&
        buffer->status == RESMON_OK) {
        buffer->length = before;
        buffer->text[before] = '\0';
    } else if (has_doubt(sums, kind)) {
        rm_buffer_puts(buffer, rm_sampled_bytes_legend);
    }
}

/* ---- gaps ------------------------------------------------------------------------------- */

static const char *const kind_texts[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] = "CPU time",
    [RESMON_STACK_MEMORY] = "memory",
    [RESMON_STACK_FILE] = "pages of files",
};

static void write_period(struct rm_buffer *buffer, int kind, uint64_t period)
{
    char text[RM_HUMAN_BYTES];
    if (period == 0) {
        return;
    }
    if (kind == RESMON_STACK_CPU) {
        rm_human_seconds(text, (double)period * 1e-9);
        rm_buffer_printf(buffer, " (one each %s)", text);
    } else {
        rm_buffer_printf(buffer, " (one each %llu page faults)", (unsigned long long)period);
    }
}

/* What the samples explain: of the process's CPU time, or of all that its RSS rose by. */
static void write_explained(struct rm_buffer *buffer, const struct rm_run_stack_kind *known,
                            const struct rm_profile_sums *sums, int kind)
{
    static const struct {
        const char *whose, *what;
    } totals[RM_STACK_KINDS] = {
        [RESMON_STACK_CPU] = {"the process's", ""},
        [RESMON_STACK_MEMORY] = {"the", " by which RssAnon rose"},
        [RESMON_STACK_FILE] = {"the", " by which RssFile and RssShmem rose"},
    };
    char total[RM_HUMAN_BYTES], percent[RM_HUMAN_BYTES];
    bool is_more = kind != RESMON_STACK_CPU && sums->weight[kind] > known->total;
    if (!(known->total > 0.0)) {
        return;
    }
    print_amount(total, kind, known->total);
    rm_human_percent(percent, 100.0 * sums->weight[kind] / known->total);
    rm_buffer_printf(buffer, ": %s of %s %s%s%s", is_more ? "all" : percent, totals[kind].whose,
                     total, totals[kind].what,
                     is_more ? " (pages that were given back came again)" : "");
}

static void write_kind(struct rm_buffer *buffer, const struct rm_run_profile *profile,
                       const struct rm_profile_sums *sums, int kind)
{
    const struct rm_run_stack_kind *known = &profile->kinds[kind];
    char weight[RM_HUMAN_BYTES];
    if (known->status == RESMON_ESTATE && sums->samples[kind] == 0) {
        return;
    }
    if (known->status != RESMON_OK && sums->samples[kind] == 0) {
        rm_buffer_printf(buffer, "  %-14s not taken: %s\n", kind_texts[kind],
                         known->reason[0] != '\0' ? known->reason : "no reason is known");
        return;
    }
    print_amount(weight, kind, sums->weight[kind]);
    rm_buffer_printf(buffer, "  %-14s %s in %llu samples", kind_texts[kind], weight,
                     (unsigned long long)sums->samples[kind]);
    write_period(buffer, kind, known->period);
    write_explained(buffer, known, sums, kind);
    rm_buffer_printf(buffer, "%s%s\n", known->reason[0] != '\0' ? "; " : "", known->reason);
}

static void write_gaps(struct rm_buffer *buffer, const struct rm_run_profile *profile,
                       const struct rm_profile_sums *sums)
{
    rm_buffer_puts(buffer, "\nStacks\n");
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        write_kind(buffer, profile, sums, kind);
    }
    for (size_t i = 0; i < RM_LOSS_COUNT; i++) {
        if (profile->lost[i] > 0) {
            rm_buffer_printf(buffer, "  %-14s %llu: %s\n", "lost",
                             (unsigned long long)profile->lost[i], rm_stack_loss_texts[i]);
        }
    }
}

/* ---- the peak --------------------------------------------------------------------------- */

/* "load train.c:12" */
static void set_frame(cell target, const struct rm_run_profile *profile,
                      const struct rm_run_place *place)
{
    char name[RM_PLACE_NAME_BYTES];
    rm_place_name(profile, place, name);
    (void)rm_text_set(target, NAME_CELL, name);
    if (place->file[0] != '\0' && place->line > 0) {
        size_t length = strlen(target);
        cell where;
        (void)snprintf(where, sizeof where, " %.24s:%u", rm_text_base_name(place->file),
                       place->line);
        (void)rm_text_set(target + length, RM_TABLE_CELL_BYTES - length, where);
    }
}

static void write_thread(struct rm_table *table, const struct resmon_run *run,
                         const struct rm_run_peak_stack *stack)
{
    const struct rm_run_profile *profile = &run->profile;
    cell *cells = rm_table_row(table);
    if (cells == NULL) {
        return;
    }
    if (stack->thread_name[0] != '\0') {
        (void)rm_text_set(cells[0], NAME_CELL, stack->thread_name);
    } else {
        (void)snprintf(cells[0], sizeof cells[0], "%llu", (unsigned long long)stack->thread);
    }
    bool is_in_scope = stack->scope >= 0 && (size_t)stack->scope < run->scope_count;
    (void)rm_text_set(cells[1], NAME_CELL, is_in_scope ? run->scopes[stack->scope].name : "-");
    for (uint32_t i = 0; i < FRAMES_OF_A_THREAD && i < stack->depth; i++) {
        set_frame(cells[2 + i], profile, &profile->places[profile->frames[stack->first + i]]);
    }
}

/* Stacks are taken when the RSS has risen by enough since the last time, so what came after may be
 * higher; the kernel's mark has what lay between two looks. */
static void write_highest(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const struct rm_run_peak *peak = &run->profile.peak;
    char highest[RM_HUMAN_BYTES], when[RM_HUMAN_BYTES], more[RM_HUMAN_BYTES];
    char exact[RM_HUMAN_BYTES];
    double life = rm_run_life_rss(run);
    rm_human_bytes(exact, life);
    rm_human_bytes(highest, peak->highest_rss_bytes);
    rm_human_seconds(when, (double)peak->highest_t_ns * 1e-9);
    rm_human_percent(more, 100.0 * (peak->highest_rss_bytes / peak->rss_bytes - 1.0));
    if (peak->highest_rss_bytes > peak->rss_bytes * AS_HIGH) {
        rm_buffer_printf(buffer, "  not the highest: %s were seen %s after the start, %s more",
                         highest, when, more);
    } else if (isfinite(peak->highest_rss_bytes)) {
        rm_buffer_puts(buffer, "  the highest that was seen");
    } else {
        rm_buffer_puts(buffer, "  whether it was the highest is not known");
    }
    if (isfinite(life)) {
        rm_buffer_printf(buffer, "; exactly, in the life of the process: %s", exact);
    }
    rm_buffer_puts(buffer, "\n");
}

static void write_peak(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    static const char *const headings[] = {"thread", "scope", "in", "called by", "called by"};
    const struct rm_run_peak *peak = &run->profile.peak;
    char rss[RM_HUMAN_BYTES], room[RM_HUMAN_BYTES], when[RM_HUMAN_BYTES];
    struct rm_table table;
    if (peak->t_ns < 0 || peak->stack_count == 0) {
        return;
    }
    rm_human_bytes(rss, peak->rss_bytes);
    rm_human_bytes(room, peak->headroom_bytes);
    rm_human_seconds(when, (double)peak->t_ns * 1e-9);
    rm_buffer_printf(buffer, "\nThreads at high memory: RSS %s, %s after the start", rss, when);
    if (isfinite(peak->headroom_bytes)) {
        rm_buffer_printf(buffer, ", when the cgroup had %s left", room);
    }
    rm_buffer_puts(buffer, "\n");
    write_highest(buffer, run);
    rm_table_begin(&table, headings, 5, 5);
    table.width = width;
    for (size_t i = 0; i < peak->stack_count && i < MOST_THREADS; i++) {
        write_thread(&table, run, &peak->stacks[i]);
    }
    rm_table_end(&table, buffer);
    if (peak->stack_count > MOST_THREADS) {
        rm_buffer_printf(buffer, "  and %zu more\n", peak->stack_count - MOST_THREADS);
    }
}

/* ---- together --------------------------------------------------------------------------- */

void rm_report_profile(struct rm_buffer *buffer, const struct resmon_run *run,
                       const struct rm_report_terms *report)
{
    const struct rm_line_terms terms = {.sources = report->sources,
                                        .width = report->width,
                                        .most_functions = MOST_LINED_FUNCTIONS,
                                        .most_lines = MOST_LINES,
                                        .least_share = LEAST_SHARE};
    struct rm_profile_sums sums;
    if (!rm_profile_is_there(&run->profile)) {
        return;
    }
    if (rm_profile_sum(run, report->sources, &sums) != RESMON_OK) {
        rm_buffer_puts(buffer, "\nStacks\n  (not shown: out of memory)\n");
    } else {
        write_functions(buffer, run, &sums, RESMON_STACK_CPU, report->width);
        write_lines(buffer, &sums, RESMON_STACK_CPU, &terms);
        write_functions(buffer, run, &sums, RESMON_STACK_MEMORY, report->width);
        write_lines(buffer, &sums, RESMON_STACK_MEMORY, &terms);
        write_peak(buffer, run, report->width);
        write_gaps(buffer, &run->profile, &sums);
    }
    rm_profile_sums_free(&sums);
}

/* "work", and of C++ also "work(int)" and "work<int>(int)". */
static bool is_called(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(name, wanted, length) == 0 &&
           (name[length] == '\0' || name[length] == '(' || name[length] == '<');
}

/* Leaves the lines of one function; they are its own whoever is to blame for the samples. */
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

static void write_wanted(struct rm_buffer *buffer, const struct rm_profile_sums *sums, bool is_one,
                         const struct rm_report_terms *report)
{
    const struct rm_line_terms hot = {.sources = report->sources,
                                      .width = report->width,
                                      .most_functions = MOST_FUNCTIONS,
                                      .most_lines = 40};
    const struct rm_line_terms one = {.sources = report->sources,
                                      .width = report->width,
                                      .most_functions = SIZE_MAX,
                                      .most_lines = 400,
                                      .is_filled = true};
    size_t before = buffer->length;
    for (int kind = 0; kind < RM_STACK_KINDS; kind++) {
        write_lines(buffer, sums, kind, is_one ? &one : &hot);
    }
    if (buffer->length == before) {
        rm_buffer_puts(buffer,
                       "\nNo lines are known: build the program with debug information (-g).\n");
    }
}

resmon_status rm_report_lines(struct rm_buffer *buffer, const struct resmon_run *run,
                              const char *function, const struct rm_report_terms *report)
{
    struct rm_profile_sums sums;
    bool has_exact = rm_report_checkpoint_lines(buffer, run, function, report) > 0;
    if (run->profile.stack_count == 0) {
        return has_exact
                   ? RESMON_OK
                   : rm_error(RESMON_ENOENT, "the run has no stacks, and no checkpoints%s%.120s",
                              function != NULL ? " of a function " : "",
                              function != NULL ? function : "");
    }
    resmon_status status = rm_profile_sum(run, report->sources, &sums);
    if (status == RESMON_OK && (function == NULL || keep_function(&sums, function) > 0)) {
        write_wanted(buffer, &sums, function != NULL, report);
    } else if (status == RESMON_OK && !has_exact) {
        status = rm_error(RESMON_ENOENT,
                          "no line with a sample or checkpoint is of a function %.120s", function);
    }
    rm_profile_sums_free(&sums);
    return status;
}
