/* SPDX-License-Identifier: MIT */
#include "page/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "report/profile.h"
#include "report/profile_sums.h"

#define MOST_FUNCTIONS   20
#define MOST_THREADS     64
#define MOST_CHECKPOINTS 200
#define NAME_CHARACTERS  200
#define PLACE_CHARACTERS 80
#define FRAMES           3     /* of a thread */
#define ABOUT            0.1   /* a figure whose error is above this share of it has the mark ~ */
#define AS_HIGH          1.001 /* a peak of memory is as high as another, up to this */
#define MOST_LINES_BYTES ((size_t)4 << 20)

/* What there are stacks of. */
static const struct {
    const char *title, *total;
} kinds[RM_STACK_KINDS] = {
    [RESMON_STACK_CPU] = {"CPU time", "that the process took"},
    [RESMON_STACK_MEMORY] = {"growth of memory", "by which RssAnon rose"},
    [RESMON_STACK_FILE] = {"pages of files", "by which RssFile and RssShmem rose"},
};

const char *rm_profile_kind_title(size_t kind)
{
    return kinds[kind].title;
}

const char *rm_profile_amount(struct rm_page *page, size_t kind, double amount)
{
    return kind == RESMON_STACK_CPU ? rm_page_value(page, amount / 1e9, "s")
                                    : rm_page_value(page, amount, "B");
}

/* ---- what a kind comes to --------------------------------------------------------------- */

/* All samples of a kind. */
struct amount {
    uint64_t samples;
    double weight;
};

static struct amount amount_of(const struct resmon_run *run, size_t kind)
{
    struct amount amount = {0};
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        amount.samples += run->profile.stacks[i].samples[kind];
        amount.weight += run->profile.stacks[i].weight[kind];
    }
    return amount;
}

/* ", one each 10.1 ms". */
static const char *period_text(struct rm_page *page, size_t kind, uint64_t period)
{
    if (period == 0) {
        return "";
    }
    return kind == RESMON_STACK_CPU
               ? rm_page_print(page, ", one each %s",
                               rm_page_value(page, (double)period / 1e9, "s"))
               : rm_page_print(page, ", one each %s page faults", rm_page_grouped(page, period));
}

/* "1.59 s in 157 samples, one each 10.1 ms: 89.8 % of the 1.77 s that the process took." */
static const char *samples_text(struct rm_page *page, const struct resmon_run *run, size_t kind)
{
    const struct rm_run_stack_kind *known = &run->profile.kinds[kind];
    const struct amount amount = amount_of(run, kind);
    uint64_t lost = run->profile.lost[RM_LOSS_RING] + run->profile.lost[RM_LOSS_ROOM];
    const char *of_all = "", *lost_text = "", *reason = "";
    if (known->total > 0.0) {
        bool is_all = kind != RESMON_STACK_CPU && amount.weight > known->total;
        const char *share =
            is_all ? "all"
                   : rm_page_print(page, "%s %%",
                                   rm_page_fixed(page, amount.weight / known->total * 100.0, 1));
        of_all = rm_page_print(page, ": %s of the %s %s", share,
                               rm_profile_amount(page, kind, known->total), kinds[kind].total);
    }
    if (lost > 0) {
        lost_text = rm_page_print(page, " %s samples were lost.", rm_page_grouped(page, lost));
    }
    if (known->reason[0] != '\0') {
        reason = rm_page_print(page, " %s.", rm_page_shown(page, known->reason));
    }
    return rm_page_print(page, "%s in %s samples%s%s.%s%s",
                         rm_profile_amount(page, kind, amount.weight),
                         rm_page_grouped(page, amount.samples),
                         period_text(page, kind, known->period), of_all, lost_text, reason);
}

/* ---- functions -------------------------------------------------------------------------- */

static int compare_sums(const struct rm_function_sum *a, const struct rm_function_sum *b,
                        size_t kind)
{
    if (a->self[kind] != b->self[kind]) {
        return a->self[kind] > b->self[kind] ? -1 : 1;
    }
    if (a->total[kind] != b->total[kind]) {
        return a->total[kind] > b->total[kind] ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

/* The first MOST_FUNCTIONS of those that have samples, sorted, and how many have any. */
static size_t rank(const struct rm_profile_sums *sums, size_t kind,
                   const struct rm_function_sum *first[MOST_FUNCTIONS], size_t *ret_ranked)
{
    size_t count = 0, ranked = 0;
    for (size_t i = 0; i < sums->function_count; i++) {
        const struct rm_function_sum *one = &sums->functions[i];
        size_t at = ranked;
        if (one->samples[kind] == 0) {
            continue;
        }
        count++;
        while (at > 0 && compare_sums(one, first[at - 1], kind) < 0) {
            at--;
        }
        if (at < MOST_FUNCTIONS) {
            ranked += ranked < MOST_FUNCTIONS ? 1 : 0;
            memmove(&first[at + 1], &first[at],
                    (ranked - at - 1) * sizeof(struct rm_function_sum *));
            first[at] = one;
        }
    }
    *ret_ranked = ranked;
    return count;
}

/* "~" of what may be off by more than a tenth, "<" of what is a bound only; CPU time is sampled
 * often. */
static const char *estimate_text(struct rm_page *page, size_t kind, double weight, double square,
                                 double most)
{
    const struct rm_stack_interval range = rm_stack_interval_of(weight, sqrt(square), most);
    bool has_doubt = weight > 0.0 && kind != RESMON_STACK_CPU;
    double half = has_doubt ? (range.high - range.low) / 2.0 / weight : 0.0;
    if (half > 1.0) {
        return rm_page_print(page, "<%s", rm_profile_amount(page, kind, range.high));
    }
    return rm_page_print(page, "%s%s", half > ABOUT ? "~" : "",
                         rm_profile_amount(page, kind, weight));
}

static void add_function(struct rm_page *page, struct rm_page_table *table,
                         const struct rm_function_sum *one, const struct rm_profile_sums *sums,
                         size_t kind, double most)
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    double whole = sums->weight[kind] > 0.0 ? sums->weight[kind] : RM_NAN;
    double self = isnan(whole) ? 0.0 : one->self[kind] / whole;
    double total = isnan(whole) ? 0.0 : one->total[kind] / whole;
    rm_page_set(&cells[0], rm_page_shown_at_most(page, one->name, NAME_CHARACTERS));
    rm_page_set(&cells[1],
                estimate_text(page, kind, one->self[kind], one->self_square[kind], most));
    rm_page_set(&cells[2], rm_page_value(page, self * 100.0, "%"));
    rm_page_set_share(&cells[3],
                      estimate_text(page, kind, one->total[kind], one->total_square[kind], most),
                      total, self);
    rm_page_set(&cells[4], rm_page_value(page, total * 100.0, "%"));
    rm_page_set(&cells[5], rm_page_grouped(page, one->samples[kind]));
    rm_page_set(&cells[6], rm_page_shown(page, rm_text_base_name(one->file)));
}

static void add_function_notes(struct rm_page *page, struct rm_page_table *table,
                               const struct resmon_run *run, size_t kind, size_t left_out)
{
    bool has_about = false, has_bound = false;
    for (size_t i = 0; i < table->count; i++) {
        for (size_t c = 1; c <= 3; c += 2) {
            has_about |= rm_page_cells(table, i)[c].text[0] == '~';
            has_bound |= rm_page_cells(table, i)[c].text[0] == '<';
        }
    }
    rm_page_note(table, rm_page_print(page,
                                      "Self: in the function itself; total, and samples: with what "
                                      "it called. Bar: share of all samples, the dark part itself. "
                                      "%s",
                                      samples_text(page, run, kind)));
    const char *marks[] = {has_about ? "~ about: from few samples." : "",
                           has_bound ? "< an upper bound, from very few samples." : ""};
    rm_page_note(table, rm_page_join(page, " ", marks, RM_ARRAY_LEN(marks)));
    if (left_out > 0) {
        rm_page_note(table,
                     rm_page_print(page, "%s functions that took less themselves are left out.",
                                   rm_page_grouped(page, left_out)));
    }
}

struct rm_page_table *rm_profile_functions(const struct rm_subject *subject, size_t kind)
{
    static const char *const headers[] = {"function", "self",    "of all", "total",
                                          "of all",   "samples", "file"};
    struct rm_page *page = subject->page;
    const struct rm_function_sum *first[MOST_FUNCTIONS + 1];
    struct rm_profile_sums sums;
    size_t ranked = 0;
    if (amount_of(subject->run, kind).samples == 0) {
        return NULL;
    }
    if (rm_profile_sum(subject->run, NULL, &sums) != RESMON_OK) {
        rm_profile_sums_free(&sums);
        page->is_broken = true;
        return NULL;
    }
    size_t count = rank(&sums, kind, first, &ranked);
    struct rm_page_table *table =
        rm_page_table_new(page, rm_page_print(page, "functions_%s", rm_stack_kind_names[kind]),
                          rm_page_print(page, "Hot functions, by %s", kinds[kind].title),
                          RM_ARRAY_LEN(headers), 1, ranked);
    rm_page_headers(table, headers);
    for (size_t i = 0; i < ranked; i++) {
        add_function(page, table, first[i], &sums, kind, subject->run->profile.kinds[kind].total);
    }
    if (table != NULL) {
        table->wide = 1U << 6;
        add_function_notes(page, table, subject->run, kind, count - ranked);
    }
    rm_profile_sums_free(&sums);
    return table;
}

/* ---- what was not taken ----------------------------------------------------------------- */

static const char *why_untaken(struct rm_page *page, const struct resmon_run *run, size_t kind)
{
    const struct rm_run_stack_kind *known = &run->profile.kinds[kind];
    if (amount_of(run, kind).samples > 0) {
        return "";
    }
    if (known->status != RESMON_OK) {
        return rm_page_shown(page, known->reason);
    }
    return kind != RESMON_STACK_FILE
               ? rm_page_print(page, "no sample was due%s", period_text(page, kind, known->period))
               : "";
}

struct rm_page_table *rm_profile_untaken(const struct rm_subject *subject)
{
    static const char *const headers[] = {"of", "reason"};
    struct rm_page *page = subject->page;
    struct rm_page_table *table =
        rm_page_table_new(page, "untaken", "Stacks that were not taken", 2, 2, RM_STACK_KINDS);
    rm_page_headers(table, headers);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        const char *reason = why_untaken(page, subject->run, kind);
        if (reason[0] != '\0') {
            struct rm_page_cell *cells = rm_page_row(page, table);
            rm_page_set(&cells[0], kinds[kind].title);
            rm_page_set(&cells[1], reason);
        }
    }
    if (table != NULL) {
        table->wide = 1U << 1;
    }
    return table != NULL && table->count > 0 ? table : NULL;
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

/* "train/epoch": of a deep one, the innermost names that fit. */
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
        rm_page_table_new(page, "peak", "Threads at high memory", 5, 5, count);
    rm_page_headers(table, headers);
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

/* ---- checkpoints and lines -------------------------------------------------------------- */

struct rm_page_table *rm_profile_checkpoints(const struct rm_subject *subject)
{
    static const char *const headers[] = {"function", "up to line", "hits",
                                          "time",     "per hit",    "growth of memory"};
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table =
        rm_page_table_new(page, "checkpoints", "Checkpoints", 6, 2, MOST_CHECKPOINTS);
    size_t count = 0;
    rm_page_headers(table, headers);
    for (size_t i = 0; i < run->line_count; i++) {
        const resmon_run_line *line = &run->lines[i];
        if (line->hits == 0 || count++ >= MOST_CHECKPOINTS) {
            continue;
        }
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], rm_page_shown_at_most(page, line->function, 100));
        rm_page_set(&cells[1], rm_page_print(page, "%s:%llu",
                                             rm_page_shown(page, rm_text_base_name(line->file)),
                                             (unsigned long long)line->line));
        rm_page_set(&cells[2], rm_page_grouped(page, line->hits));
        rm_page_set(&cells[3], rm_page_value(page, line->wall_ns / 1e9, "s"));
        rm_page_set(&cells[4], rm_page_value(page, line->wall_ns / 1e9 / (double)line->hits, "s"));
        rm_page_set_value(page, &cells[5], line->rss_bytes, "B", "memory was not read");
    }
    if (table == NULL || count == 0) {
        return NULL;
    }
    rm_page_note(table, "Exact: measured from one RESMON_LINE() to the next.");
    if (count > table->count) {
        rm_page_note(table, rm_page_print(page, "%s more are left out.",
                                          rm_page_grouped(page, count - table->count)));
    }
    return table;
}

/* The text of the report, line by line. */
struct cutting {
    struct rm_page *page;
    struct rm_line_text *texts;
    size_t count;
    struct rm_buffer body; /* of the last one */
    const char *head;      /* "TITLE (what it means,": more of it comes */
};

/* Without what is empty in front and behind. */
static void end_body(struct cutting *cutting)
{
    if (cutting->count == 0) {
        return;
    }
    const char *text = cutting->body.text != NULL ? cutting->body.text : "";
    text += strspn(text, "\n");
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n') {
        length--;
    }
    cutting->texts[cutting->count - 1].text =
        rm_page_print(cutting->page, "%.*s", (int)length, text);
    cutting->count -= length == 0 ? 1 : 0;
    rm_buffer_clear(&cutting->body);
}

/* "TITLE (what it means, and more)". */
static void take_head(struct cutting *cutting, const char *line)
{
    struct rm_page *page = cutting->page;
    line += strspn(line, " ");
    cutting->head = cutting->head != NULL ? rm_page_print(page, "%s %s", cutting->head, line)
                                          : rm_page_print(page, "%s", line);
    const char *open = strstr(cutting->head, " (");
    size_t length = strlen(cutting->head);
    if (strchr(cutting->head, '(') != NULL && cutting->head[length - 1] != ')') {
        return;
    }
    end_body(cutting);
    if (cutting->count < RM_LINE_TEXTS) {
        struct rm_line_text *text = &cutting->texts[cutting->count++];
        *text = (struct rm_line_text){.title = cutting->head, .meaning = "", .text = ""};
        if (open != NULL) {
            size_t meant = strlen(open + 2) - 1;
            char first = open[2] >= 'a' && open[2] <= 'z' ? (char)(open[2] - 'a' + 'A') : open[2];
            text->title = rm_page_print(page, "%.*s", (int)(open - cutting->head), cutting->head);
            text->meaning =
                meant > 0 ? rm_page_print(page, "%c%.*s", first, (int)meant - 1, open + 3) : "";
        }
    }
    cutting->head = NULL;
}

static void take_line(struct cutting *cutting, char *line)
{
    if (cutting->head != NULL || (line[0] != '\0' && line[0] != ' ')) {
        take_head(cutting, line);
        return;
    }
    if (cutting->count > 0) {
        size_t indent = strlen(line) < 2 ? strlen(line) : 2;
        const char *text = rm_page_shown(cutting->page, line + indent);
        size_t length = strlen(text);
        while (length > 0 && text[length - 1] == ' ') {
            length--;
        }
        rm_buffer_add(&cutting->body, text, length);
        rm_buffer_puts(&cutting->body, "\n");
    }
}

size_t rm_profile_lines(const struct rm_subject *subject, struct rm_line_text texts[RM_LINE_TEXTS])
{
    const struct resmon_run *run = subject->run;
    const struct rm_report_terms terms = {.sources = subject->sources, .width = 100};
    struct cutting cutting = {.page = subject->page, .texts = texts};
    struct rm_buffer all;
    if (run->line_count == 0 && run->profile.stack_count == 0) {
        return 0;
    }
    rm_buffer_init(&all, MOST_LINES_BYTES);
    rm_buffer_init(&cutting.body, MOST_LINES_BYTES);
    if (rm_report_lines(&all, run, NULL, &terms) == RESMON_OK && all.text != NULL) {
        for (char *line = all.text, *next = NULL; line != NULL; line = next) {
            next = strchr(line, '\n');
            if (next != NULL) {
                *next++ = '\0';
            }
            take_line(&cutting, line);
        }
        end_body(&cutting);
    }
    subject->page->is_broken |= all.status != RESMON_OK || cutting.body.status != RESMON_OK;
    rm_buffer_free(&cutting.body);
    rm_buffer_free(&all);
    return cutting.count;
}
