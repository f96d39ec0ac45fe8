/* SPDX-License-Identifier: MIT */
#include "view/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"

#define NO_LINE UINT32_MAX
#define ALIKE   0.9 /* ratio of two amounts that need not be shown both */

/* Kinds of source files; lines of a higher one are more informative. */
enum source { SOURCE_UNREADABLE, SOURCE_OF_SYSTEM, SOURCE_OWN };

/* A line belongs to a function: the same line may be in several, by inlining. */
struct line_key {
    uint32_t function, line;
};

/* Data by place, by function and by line while the sums are computed. */
struct summing {
    const struct resmon_run *run;
    struct rm_profile_sums *sums;
    struct rm_intern functions, lines, files;
    uint32_t *line_of;                 /* by place; NO_LINE */
    unsigned char *source;             /* by place: enum source */
    size_t *function_seen, *line_seen; /* index of the last stack that counted it, plus 1 */
    struct rm_line *all_lines;
};

/* ---- functions and lines of places -------------------------------------------------------- */

/* Functions with the same name in two files are different. */
static uint32_t number_function(struct summing *summing, const struct rm_run_place *place)
{
    const struct rm_run_profile *profile = &summing->run->profile;
    char key[RM_PLACE_NAME_BYTES + 4096];
    rm_place_name(profile, place, key);
    rm_text_clean(key);
    size_t length = strlen(key) + 1;
    const char *module =
        place->module >= 0 ? rm_text_base_name(profile->modules[place->module].path) : "";
    length += rm_text_set(key + length, sizeof key - length,
                          place->file[0] != '\0' ? place->file : module);
    return rm_intern(&summing->functions, key, length);
}

/* Mostly templates of the C++ library and inlined functions of libc. */
static bool is_of_system(const char *file)
{
    static const char *const places[] = {"/usr/include/", "/usr/lib/", "/usr/lib64/"};
    for (size_t i = 0; i < RM_ARRAY_LEN(places); i++) {
        if (strncmp(file, places[i], strlen(places[i])) == 0) {
            return true;
        }
    }
    return false;
}

static unsigned char source_of(struct summing *summing, const char *file,
                               const struct rm_source_lines *sources, unsigned char *known)
{
    uint32_t before = summing->files.count;
    uint32_t number = rm_intern_text(&summing->files, file);
    if (number == before && sources != NULL && sources->is_there(sources->context, file)) {
        known[number] = is_of_system(file) ? SOURCE_OF_SYSTEM : SOURCE_OWN;
    }
    return known[number];
}

static void number_places(struct summing *summing, const struct rm_source_lines *sources,
                          unsigned char *known_files)
{
    const struct rm_run_profile *profile = &summing->run->profile;
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        uint32_t function = number_function(summing, place);
        summing->sums->function_of[i] = function;
        summing->line_of[i] = NO_LINE;
        if (place->file[0] != '\0' && place->line > 0) {
            struct line_key key = {function, place->line};
            summing->line_of[i] = rm_intern(&summing->lines, &key, sizeof key);
            summing->source[i] = source_of(summing, place->file, sources, known_files);
        }
    }
}

static bool is_broken(const struct summing *summing)
{
    return summing->functions.is_broken || summing->lines.is_broken || summing->files.is_broken;
}

/* Copies the names, which are parts of the keys, to the arena of the sums. */
static bool describe_functions(struct summing *summing)
{
    struct rm_profile_sums *sums = summing->sums;
    sums->function_count = summing->functions.count;
    sums->functions = rm_arena_alloc(&sums->arena, sums->function_count, sizeof *sums->functions);
    const struct rm_intern_key *keys = summing->functions.keys; /* NULL: no keys */
    for (size_t i = 0; sums->functions != NULL && keys != NULL && i < sums->function_count; i++) {
        const struct rm_intern_key *key = &keys[i];
        char *copy = rm_arena_alloc(&sums->arena, key->length + 1, 1);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, key->bytes, key->length);
        sums->functions[i].name = copy;
        sums->functions[i].file = copy + strlen(copy) + 1;
    }
    return sums->functions != NULL;
}

/* ---- sums ------------------------------------------------------------------------------- */

/* Whether a stack counts a function or line for the first time: recursion counts once. */
static bool is_first(size_t *seen, uint32_t number, size_t stack)
{
    bool is_new = seen[number] != stack + 1;
    seen[number] = stack + 1;
    return is_new;
}

static void add_function(struct summing *summing, size_t stack, uint32_t function, bool is_self)
{
    const struct rm_run_stack *one = &summing->run->profile.stacks[stack];
    struct rm_function_sum *sum = &summing->sums->functions[function];
    bool is_new = is_first(summing->function_seen, function, stack);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        double square = one->error[kind] * one->error[kind];
        sum->self[kind] += is_self ? one->weight[kind] : 0.0;
        sum->total[kind] += is_new ? one->weight[kind] : 0.0;
        sum->self_square[kind] += is_self ? square : 0.0;
        sum->total_square[kind] += is_new ? square : 0.0;
        sum->samples[kind] += is_new ? one->samples[kind] : 0;
    }
}

static void add_line(struct summing *summing, size_t stack, uint32_t line)
{
    const struct rm_run_stack *one = &summing->run->profile.stacks[stack];
    if (line == NO_LINE || !is_first(summing->line_seen, line, stack)) {
        return;
    }
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        struct rm_line *sum = &summing->all_lines[line * RM_STACK_KINDS + kind];
        sum->hits += one->samples[kind];
        sum->time_ns += one->weight[kind];
        sum->error += one->error[kind] * one->error[kind];
    }
}

/* The line to which a sample is attributed: the innermost one of a source file that can be shown.
 * So samples in memset(), or in code inlined from the system's headers, belong to the caller. */
static uint32_t line_in_charge(const struct summing *summing, const struct rm_run_stack *stack,
                               bool *ret_is_owned)
{
    const uint32_t *frames = &summing->run->profile.frames[stack->first];
    uint32_t best = NO_LINE;
    unsigned char best_source = SOURCE_UNREADABLE;
    for (uint32_t i = 0; i < stack->depth && best_source < SOURCE_OWN; i++) {
        uint32_t line = summing->line_of[frames[i]];
        unsigned char source = summing->source[frames[i]];
        if (line != NO_LINE && (best == NO_LINE || source > best_source)) {
            best = line;
            best_source = source;
        }
    }
    *ret_is_owned = best_source == SOURCE_OWN;
    return best;
}

/* Adds what is of no line, or of none that can be shown, to the innermost function. */
static void add_without_line(struct summing *summing, const struct rm_run_stack *stack,
                             bool has_line, bool is_owned)
{
    if (is_owned || stack->depth == 0) {
        return;
    }
    uint32_t place = summing->run->profile.frames[stack->first];
    struct rm_function_sum *sum = &summing->sums->functions[summing->sums->function_of[place]];
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        sum->unowned[kind] += stack->weight[kind];
        sum->unlined[kind] += has_line ? 0.0 : stack->weight[kind];
    }
}

static void add_stack(struct summing *summing, size_t stack)
{
    const struct rm_run_profile *profile = &summing->run->profile;
    const struct rm_run_stack *one = &profile->stacks[stack];
    bool is_owned = false;
    uint32_t in_charge = line_in_charge(summing, one, &is_owned);
    add_without_line(summing, one, in_charge != NO_LINE, is_owned);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        summing->sums->weight[kind] += one->weight[kind];
        summing->sums->square[kind] += one->error[kind] * one->error[kind];
        summing->sums->samples[kind] += one->samples[kind];
        if (in_charge != NO_LINE) {
            struct rm_line *line = &summing->all_lines[in_charge * RM_STACK_KINDS + kind];
            line->own += one->weight[kind];
            line->owned += is_owned ? one->weight[kind] : 0.0;
        }
    }
    for (uint32_t i = 0; i < one->depth; i++) {
        uint32_t place = profile->frames[one->first + i];
        add_function(summing, stack, summing->sums->function_of[place], i == 0);
        add_line(summing, stack, summing->line_of[place]);
    }
}

/* ---- lines ------------------------------------------------------------------------------ */

static bool share_lines(struct summing *summing)
{
    struct rm_profile_sums *sums = summing->sums;
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        sums->lines[kind] =
            rm_arena_alloc(&sums->arena, summing->lines.count, sizeof *sums->lines[kind]);
        const struct rm_intern_key *keys = summing->lines.keys; /* NULL: no keys */
        uint32_t count = sums->lines[kind] != NULL && keys != NULL ? summing->lines.count : 0;
        for (uint32_t i = 0; i < count; i++) {
            const struct line_key *key = keys[i].bytes;
            struct rm_line line = summing->all_lines[i * RM_STACK_KINDS + kind];
            if (line.hits == 0) {
                continue;
            }
            line.function = sums->functions[key->function].name;
            line.file = sums->functions[key->function].file;
            line.line = key->line;
            line.function_sum = sums->functions[key->function].total[kind];
            line.bytes = line.time_ns;
            line.occurrences = line.hits;
            line.memory_bytes = RM_NAN;
            line.error = sqrt(line.error);
            line.most = rm_profile_most(&summing->run->profile, (int)kind);
            sums->lines[kind][sums->line_count[kind]++] = line;
        }
        if (sums->lines[kind] == NULL) {
            return false;
        }
    }
    return true;
}

static bool sum_up(struct summing *summing)
{
    size_t lines = summing->lines.count;
    summing->function_seen = rm_alloc(summing->functions.count + 1, sizeof(size_t));
    summing->line_seen = rm_alloc(lines + 1, sizeof(size_t));
    summing->all_lines = rm_alloc((lines + 1) * RM_STACK_KINDS, sizeof *summing->all_lines);
    if (summing->function_seen == NULL || summing->line_seen == NULL ||
        summing->all_lines == NULL || !describe_functions(summing)) {
        return false;
    }
    for (size_t i = 0; i < summing->run->profile.stack_count; i++) {
        add_stack(summing, i);
    }
    return share_lines(summing);
}

resmon_status rm_profile_sum(const struct resmon_run *run, const struct rm_source_lines *sources,
                             struct rm_profile_sums *ret_sums)
{
    size_t places = run->profile.place_count + 1;
    *ret_sums = (struct rm_profile_sums){.function_of = rm_alloc(places, sizeof(uint32_t))};
    struct summing summing = {.run = run,
                              .sums = ret_sums,
                              .line_of = rm_alloc(places, sizeof(uint32_t)),
                              .source = rm_alloc(places, 1)};
    unsigned char *known_files = rm_alloc(places, 1);
    bool is_whole = ret_sums->function_of != NULL && summing.line_of != NULL &&
                    summing.source != NULL && known_files != NULL;
    if (is_whole) {
        number_places(&summing, sources, known_files);
        is_whole = !is_broken(&summing) && sum_up(&summing);
    }
    rm_intern_free(&summing.functions);
    rm_intern_free(&summing.lines);
    rm_intern_free(&summing.files);
    rm_free(summing.line_of);
    rm_free(summing.source);
    rm_free(known_files);
    rm_free(summing.function_seen);
    rm_free(summing.line_seen);
    rm_free(summing.all_lines);
    return is_whole ? RESMON_OK : rm_error(RESMON_ENOMEM, "out of memory for sums of stacks");
}

bool rm_profile_kind_is_shown(const struct rm_profile_sums *sums, int kind)
{
    bool is_alike = kind == RESMON_STACK_RESIDENT &&
                    sums->weight[kind] > ALIKE * sums->weight[RESMON_STACK_MEMORY];
    return sums->samples[kind] > 0 && !is_alike;
}

void rm_profile_sums_free(struct rm_profile_sums *sums)
{
    rm_arena_free(&sums->arena);
    rm_free(sums->function_of);
    *sums = (struct rm_profile_sums){0};
}

/* ---- the hottest ------------------------------------------------------------------------ */

#define LEAST_LINED 0.5 /* share of the samples that must have lines */

static void put_hot(struct rm_hot hot[RM_HOT_MOST], size_t *count, const struct rm_hot *one)
{
    size_t at = *count;
    while (at > 0 && one->amount > hot[at - 1].amount) {
        at--;
    }
    if (at == RM_HOT_MOST || !(one->amount > 0.0)) {
        return;
    }
    *count += *count < RM_HOT_MOST ? 1 : 0;
    memmove(&hot[at + 1], &hot[at], (*count - at - 1) * sizeof *hot);
    hot[at] = *one;
}

/* A name is stored once for each function, so pointers can be compared. */
static int compare_hot(const void *left, const void *right)
{
    const struct rm_line *a = left, *b = right;
    return (a->function > b->function) - (a->function < b->function);
}

static void find_lines(const struct rm_line *sorted, size_t count, bool wants_all,
                       struct rm_hot hot[RM_HOT_MOST], size_t *found)
{
    for (size_t i = 0; i < count;) {
        const char *function = sorted[i].function;
        struct rm_hot one = {.function = function};
        double most = 0.0;
        for (; i < count && sorted[i].function == function; i++) {
            double amount = wants_all ? sorted[i].own : sorted[i].owned;
            one.amount += amount;
            one.line = amount > most ? sorted[i].line : one.line;
            most = amount > most ? amount : most;
        }
        put_hot(hot, found, &one);
    }
}

static void find_functions(const struct rm_profile_sums *sums, int kind, bool has_lines,
                           struct rm_hot hot[RM_HOT_MOST], size_t *found)
{
    for (size_t i = 0; i < sums->function_count; i++) {
        const struct rm_function_sum *function = &sums->functions[i];
        double amount = has_lines ? function->unlined[kind] : function->unowned[kind];
        const struct rm_hot one = {function->name, 0, amount};
        put_hot(hot, found, &one);
    }
}

size_t rm_hot_find(const struct rm_profile_sums *sums, int kind, struct rm_hot hot[RM_HOT_MOST])
{
    size_t count = sums->line_count[kind], found = 0;
    double lined = 0.0;
    struct rm_line *sorted = rm_alloc(count + 1, sizeof *sorted);
    for (size_t i = 0; i < count && sorted != NULL; i++) {
        sorted[i] = sums->lines[kind][i];
        lined += sorted[i].own;
    }
    bool has_lines = sorted != NULL && lined >= LEAST_LINED * sums->weight[kind] && lined > 0.0;
    if (sorted != NULL) {
        qsort(sorted, count, sizeof *sorted, compare_hot);
        find_lines(sorted, count, has_lines, hot, &found);
    }
    find_functions(sums, kind, has_lines, hot, &found);
    rm_free(sorted);
    return found;
}

/* ---- amounts as text ---------------------------------------------------------------------- */

#define EXACT_ENOUGH 0.1 /* half of the interval, relative to the amount */
#define UPPER_BOUND  1.0

const char *const rm_sampled_legend =
    "~: from few samples, with its 95 % interval; <: an upper bound, from very few samples";

const char *rm_stack_amount(struct rm_page *page, int kind, double amount)
{
    return kind == RESMON_STACK_CPU ? rm_page_value(page, amount * 1e-9, "s")
                                    : rm_page_value(page, amount, "B");
}

/* Half of the 95 % interval, relative to the amount; 0 for CPU time, which is sampled often. */
static double half_of(int kind, struct rm_sampled sampled, struct rm_stack_interval *ret_range)
{
    *ret_range = rm_stack_interval_of(sampled.weight, sqrt(sampled.square), sampled.most);
    return sampled.weight > 0.0 && kind != RESMON_STACK_CPU
               ? 0.5 * (ret_range->high - ret_range->low) / sampled.weight
               : 0.0;
}

bool rm_sampled_has_doubt(int kind, struct rm_sampled sampled)
{
    struct rm_stack_interval range;
    return half_of(kind, sampled, &range) > EXACT_ENOUGH;
}

const char *rm_sampled_text(struct rm_page *page, int kind, struct rm_sampled sampled)
{
    struct rm_stack_interval range;
    double half = half_of(kind, sampled, &range);
    if (half > UPPER_BOUND) {
        return rm_page_print(page, "<%s", rm_stack_amount(page, kind, range.high));
    }
    const char *text = rm_stack_amount(page, kind, sampled.weight);
    return half > EXACT_ENOUGH ? rm_page_print(page, "~%s", text) : text;
}

const char *rm_sampled_range(struct rm_page *page, int kind, struct rm_sampled sampled)
{
    struct rm_stack_interval range;
    return half_of(kind, sampled, &range) > EXACT_ENOUGH
               ? rm_page_print(page, "%s to %s", rm_stack_amount(page, kind, range.low),
                               rm_stack_amount(page, kind, range.high))
               : "";
}
