/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "metric/metric.h"
#include "metric/view.h"
#include "run/energy.h"
#include "run/headline.h"

#define MOST_METRICS    8 /* of a value */
#define TITLE_COLUMNS   40
#define COMMAND_COLUMNS 200
#define MOST_CLAUSES    2 /* of a row of the brief report, in small print */

/* The headline values: their label and unit, and the row of the brief report with details. */
static const struct figure {
    const char *key, *label, *unit, *row;
    size_t offset;
    bool is_highest; /* of a job: the maximum, not the sum */
} figures[] = {
    {"wall_s", "wall time", "s", "", offsetof(resmon_headline, wall_s), true},
    {"cpu_s", "CPU time", "s", "CPU", offsetof(resmon_headline, cpu_s), false},
    {"rss_peak_bytes", "peak RSS", "B", "memory", offsetof(resmon_headline, rss_peak_bytes), true},
    {"read_chars", "read", "B", "read", offsetof(resmon_headline, read_chars), false},
    {"write_chars", "written", "B", "written", offsetof(resmon_headline, write_chars), false},
    {"energy_j", "energy", "J", "energy", offsetof(resmon_headline, energy_j), false},
    {"gco2eq", "CO2eq", "g", "", offsetof(resmon_headline, gco2eq), false},
};

static double value_of(const struct rm_subject *subject, const struct figure *figure)
{
    double value;
    memcpy(&value, (const char *)&subject->headline + figure->offset, sizeof value);
    return value;
}

/* Why a value is not known. */
static const char *why(const struct rm_subject *subject, const struct figure *figure)
{
    const char *metrics[MOST_METRICS];
    size_t count = 0;
    struct rm_view_row row;
    for (size_t index = 0;
         count < MOST_METRICS && rm_view_next(RM_VIEW_HEADLINE, figure->key, &index, &row);) {
        metrics[count++] = rm_metric_name(row.metric);
    }
    return count > 0 ? rm_subject_why(subject, metrics, count) : rm_subject_why_no_energy(subject);
}

static const struct rm_page_row *find_row(const struct rm_subject *subject, const char *label)
{
    for (size_t i = 0; i < subject->answers.count; i++) {
        if (strcmp(subject->answers.items[i].label, label) == 0) {
            return &subject->answers.items[i];
        }
    }
    return NULL;
}

/* ---- one run ---------------------------------------------------------------------------- */

/* The first clauses of the row of the brief report, without a repetition of the label. */
static const char *note_of_row(const struct rm_subject *subject, const struct figure *figure)
{
    const char *clauses[MOST_CLAUSES];
    const struct rm_page_row *row = figure->row[0] != '\0' ? find_row(subject, figure->row) : NULL;
    size_t count = row == NULL ? 0 : row->count < MOST_CLAUSES ? row->count : MOST_CLAUSES;
    for (size_t i = 0; i < count; i++) {
        clauses[i] = rm_page_shown(subject->page, row->clauses[i]);
    }
    const char *text = rm_page_join(subject->page, "; ", clauses, count);
    size_t length = strlen(figure->label);
    bool is_repeated =
        strncmp(text, figure->label, length) == 0 && strncmp(text + length, ", ", 2) == 0;
    return is_repeated ? text + length + 2 : text;
}

static const char *place_of(const struct rm_subject *subject)
{
    return subject->energy.place[0] != '\0' ? rm_page_shown(subject->page, subject->energy.place)
                                            : rm_subject_basis(subject);
}

static const char *note_of(const struct rm_subject *subject, const struct figure *figure)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    bool is_known = subject->has_energy && isfinite(energy->tree_j);
    if (is_known && strcmp(figure->key, "energy_j") == 0) {
        const struct rm_run_cost cost = rm_run_cost_of(energy, energy->tree_j);
        const struct rm_page_row *row = find_row(subject, "energy");
        return rm_page_print(page, "%s; %s", rm_page_value(page, cost.facility_kwh * 1000.0, "Wh"),
                             row != NULL && row->count > 0 ? rm_page_shown(page, row->clauses[0])
                                                           : "");
    }
    if (is_known && strcmp(figure->key, "gco2eq") == 0) {
        return rm_page_print(page, "%s g/kWh, %s", rm_page_fixed(page, energy->g_per_kwh, 0),
                             place_of(subject));
    }
    return note_of_row(subject, figure);
}

static struct rm_page_tile tile_of(const struct rm_subject *subject, const struct figure *figure)
{
    double value = value_of(subject, figure);
    return isfinite(value)
               ? (struct rm_page_tile){figure->label,
                                       rm_page_value(subject->page, value, figure->unit),
                                       note_of(subject, figure)}
               : (struct rm_page_tile){figure->label, RM_PAGE_UNKNOWN,
                                       rm_page_shown(subject->page, why(subject, figure))};
}

const struct rm_page_tiles *rm_headline_tiles(const struct rm_subject *subject)
{
    struct rm_page_tiles *tiles = rm_page_alloc(subject->page, 1, sizeof *tiles);
    for (size_t i = 0; tiles != NULL && i < RM_ARRAY_LEN(figures); i++) {
        tiles->items[tiles->count++] = tile_of(subject, &figures[i]);
    }
    return tiles;
}

static bool has_tile(const char *label)
{
    static const char *const labels[] = {"wall", "CPU", "memory", "read", "written", "energy"};
    for (size_t i = 0; i < RM_ARRAY_LEN(labels); i++) {
        if (strcmp(label, labels[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void add_others(struct rm_page *page, struct rm_page_rows *found,
                       const struct rm_page_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (!has_tile(rows->items[i].label)) {
            *rm_page_answer(page, found, "", "") = rows->items[i];
        }
    }
}

const struct rm_page_rows *rm_headline_answers(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    struct rm_page_rows *found = rm_page_alloc(page, 1, sizeof *found);
    if (found != NULL) {
        add_others(page, found, &subject->answers);
        add_others(page, found, &subject->remarks);
    }
    return found;
}

/* ---- several runs ----------------------------------------------------------------------- */

/* The values of all runs. */
struct range {
    double least, most, sum;
    size_t known;
};

static struct range range_of(const struct rm_subject *subjects, size_t count,
                             const struct figure *figure)
{
    struct range range = {.least = RM_NAN, .most = RM_NAN};
    for (size_t i = 0; i < count; i++) {
        double value = value_of(&subjects[i], figure);
        if (isfinite(value)) {
            range.least = isnan(range.least) || value < range.least ? value : range.least;
            range.most = isnan(range.most) || value > range.most ? value : range.most;
            range.sum += value;
            range.known++;
        }
    }
    return range;
}

static struct rm_page_tile tile_of_all(const struct rm_subject *subjects, size_t count, bool is_job,
                                       const struct figure *figure)
{
    static const char of_none[] = "it is not known for any of them";
    struct rm_page *page = subjects[0].page;
    const struct range range = range_of(subjects, count, figure);
    if (range.known == 0) {
        return (struct rm_page_tile){figure->label, RM_PAGE_UNKNOWN, of_none};
    }
    const char *least = rm_page_value(page, range.least, figure->unit);
    const char *most = rm_page_value(page, range.most, figure->unit);
    const char *spread = strcmp(least, most) == 0 ? rm_page_print(page, "%s each", least)
                                                  : rm_page_print(page, "%s to %s", least, most);
    if (!is_job || figure->is_highest) {
        return (struct rm_page_tile){figure->label, most,
                                     rm_page_print(page, "the most; %s", spread)};
    }
    if (range.known == count) {
        return (struct rm_page_tile){figure->label, rm_page_value(page, range.sum, figure->unit),
                                     spread};
    }
    return (struct rm_page_tile){
        figure->label, RM_PAGE_UNKNOWN,
        rm_page_print(page, "known of %zu of %zu only", range.known, count)};
}

const struct rm_page_tiles *rm_headline_tiles_of_all(const struct rm_subject *subjects,
                                                     size_t count, bool is_job)
{
    struct rm_page *page = subjects[0].page;
    struct rm_page_tiles *tiles = rm_page_alloc(page, 1, sizeof *tiles);
    if (tiles == NULL) {
        return NULL;
    }
    tiles->items[tiles->count++] = (struct rm_page_tile){rm_names_words(page, subjects, count),
                                                         rm_page_print(page, "%zu", count), ""};
    for (size_t i = 0; i < RM_ARRAY_LEN(figures) && tiles->count < RM_PAGE_TILES; i++) {
        tiles->items[tiles->count++] = tile_of_all(subjects, count, is_job, &figures[i]);
    }
    return tiles;
}

static void add_run(struct rm_page_table *table, const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *start = rm_subject_start(page, subject->run);
    rm_page_set(&cells[0], subject->label);
    if (start != NULL) {
        size_t length = strlen(start) - strlen(" UTC");
        rm_page_set(&cells[1], rm_page_print(page, "%.*s", (int)length, start));
    } else {
        rm_page_set_missing(page, &cells[1], "the start of the run was not recorded");
    }
    rm_page_set(&cells[2], rm_page_shown(page, rm_subject_outcome(page, subject->run)));
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        double value = value_of(subject, &figures[i]);
        rm_page_set_value(page, &cells[3 + i], value, figures[i].unit,
                          isfinite(value) ? "" : why(subject, &figures[i]));
    }
}

struct rm_page_table *rm_headline_table(const struct rm_subject *subjects, size_t count,
                                        bool is_job)
{
    struct rm_page *page = subjects[0].page;
    const char *headers[RM_PAGE_COLUMNS] = {rm_names_word(page, subjects, count), "start (UTC)",
                                            "state"};
    const char *words = rm_names_words(page, subjects, count);
    const char *title =
        words[0] != '\0' ? rm_page_print(page, "%c%s", words[0] - 'a' + 'A', words + 1) : "";
    for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
        headers[3 + i] = figures[i].label;
    }
    struct rm_page_table *table = rm_page_table_new(
        page, "runs", title, RM_HEADERS(headers, 3 + RM_ARRAY_LEN(figures), 3), count + 1);
    for (size_t i = 0; i < count; i++) {
        add_run(table, &subjects[i]);
    }
    if (table != NULL) {
        table->is_index = true;
        table->has_sum = is_job;
    }
    if (is_job) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], "all");
        for (size_t i = 0; i < RM_ARRAY_LEN(figures); i++) {
            const struct range range = range_of(subjects, count, &figures[i]);
            double sum = range.known == count ? range.sum : RM_NAN;
            rm_page_set_value(page, &cells[3 + i], figures[i].is_highest ? range.most : sum,
                              figures[i].unit, "not known for all of them");
        }
        rm_page_note(table, "all: the longest time and the highest peak; sums of the others");
    }
    return table;
}

/* "took", "failed after", "was killed by SIGTERM after" */
static const char *end_text(struct rm_page *page, const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    bool is_once = rm_run_has_one_sample(run);
    bool is_observed = strcmp(run->info.state, "stopped") == 0 ||
                       rm_run_fact_text(run, "run", RM_FACT_OBSERVED)[0] != '\0';
    char state[64];
    rm_subject_end(run, state);
    if (end.reason == RESMON_END_RUNNING) {
        return "has run for";
    }
    if (end.reason == RESMON_END_FINISHED) {
        return "took";
    }
    if (end.reason == RESMON_END_UNKNOWN && is_observed) {
        return is_once ? "was observed once" : "was observed for";
    }
    bool is_passive = end.reason == RESMON_END_INTERRUPTED || end.reason == RESMON_END_KILLED;
    return rm_page_print(page, "%s%s %s", is_passive ? "was " : "",
                         end.reason == RESMON_END_UNKNOWN ? "ended in an unknown way" : state,
                         is_once ? "before its second sample" : "after");
}

const char *rm_headline_statement(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    const resmon_headline *headline = &subject->headline;
    double at_once = rm_run_memory_at_once(run, headline);
    bool is_modelled = rm_run_energy(run).provenance == RESMON_PROVENANCE_MODELLED;
    const struct {
        const char *before;
        double value;
        const char *unit, *after;
    } values[] = {
        {"", headline->cpu_s, "s", " of CPU time"},
        {"",
         rm_run_is_of_group(run) ? headline->tree_rss_max_bytes
         : isnan(at_once)        ? headline->rss_peak_bytes
                                 : at_once,
         "B", " of memory"},
        {is_modelled ? "about " : "", headline->energy_j, "J", ""},
    };
    bool is_known = !isnan(headline->wall_s);
    const char *text =
        rm_page_print(page, "%s %s%s%s", rm_page_shortened(page, rm_run_title(run), TITLE_COLUMNS),
                      end_text(page, run), is_known ? " " : "",
                      is_known ? rm_page_value(page, headline->wall_s, "s") : "");
    for (size_t i = 0; i < RM_ARRAY_LEN(values); i++) {
        if (!isnan(values[i].value)) {
            text = rm_page_print(page, "%s, %s%s%s", text, values[i].before,
                                 rm_page_value(page, values[i].value, values[i].unit),
                                 values[i].after);
        }
    }
    return text;
}

void rm_headline_failure(const struct rm_subject *subject, struct rm_page_list *list)
{
    const resmon_run_end end = rm_run_end(subject->run);
    const char *cut = rm_run_fact_text(subject->run, "run", RM_FACT_CUT);
    if (end.reason == RESMON_END_FAILED && end.text[0] != '\0' && end.exit_status != 0) {
        rm_page_say(subject->page, list, "failed: %s (exit status %d)", end.text, end.exit_status);
    } else if (end.reason == RESMON_END_FAILED && end.text[0] != '\0') {
        rm_page_say(subject->page, list, "failed: %s", end.text);
    } else if (end.reason == RESMON_END_FAILED && end.exit_status != 0) {
        rm_page_say(subject->page, list, "failed: exit status %d", end.exit_status);
    } else if (end.reason == RESMON_END_UNKNOWN && end.text[0] != '\0') {
        rm_page_say(subject->page, list, "%s", end.text);
    }
    if (cut[0] != '\0') {
        rm_page_say(subject->page, list, "the end of the recording is missing: there are %s", cut);
    }
}

/* "2 sockets"; "" if the number is unknown. */
static const char *counted(struct rm_page *page, double number, const char *noun)
{
    return number >= 1.0 ? rm_page_print(page, "%s %s%s", rm_page_value(page, number, ""), noun,
                                         number > 1.0 ? "s" : "")
                         : "";
}

/* "256 CPUs (2 sockets, 128 cores)". */
static const char *cpus_text(struct rm_page *page, const struct resmon_run *run)
{
    const char *cpus = counted(page, rm_run_fact_number(run, "machine", "cpus"), "CPU");
    const char *const parts[] = {
        counted(page, rm_run_fact_number(run, "machine", "sockets"), "socket"),
        counted(page, rm_run_fact_number(run, "machine", "cores"), "core")};
    const char *layout = rm_page_join(page, ", ", parts, RM_ARRAY_LEN(parts));
    return layout[0] != '\0' ? rm_page_print(page, "%s (%s)", cpus, layout) : cpus;
}

void rm_headline_identity(const struct rm_subject *subject, struct rm_page_list *list)
{
    const struct resmon_run *run = subject->run;
    struct rm_page *page = subject->page;
    const char *command = rm_run_fact_text(run, "run", "command_line");
    const char *kernel = rm_run_fact_text(run, "machine", "kernel");
    const char *hypervisor = rm_run_fact_text(run, "machine", "virtualization");
    double bytes = rm_run_fact_number(run, "machine", "memory_bytes");
    const char *const machine[] = {rm_run_fact_text(run, "machine", "host_name"),
                                   rm_run_fact_text(run, "machine", "os"),
                                   kernel[0] != '\0' ? rm_page_print(page, "Linux %s", kernel) : "",
                                   rm_run_fact_text(run, "machine", "cpu_model"),
                                   cpus_text(page, run),
                                   isnan(bytes) ? "" : rm_page_value(page, bytes, "B"),
                                   hypervisor[0] != '\0' ? rm_page_print(page, "on %s", hypervisor)
                                                         : ""};
    bool is_observed = rm_run_fact_text(run, "run", RM_FACT_OBSERVED)[0] != '\0';
    if (command[0] != '\0') {
        rm_page_say(page, list, "%s", rm_page_shown_at_most(page, command, COMMAND_COLUMNS));
    }
    const char *where = rm_page_join(page, ", ", machine, RM_ARRAY_LEN(machine));
    if (where[0] != '\0') {
        rm_page_say(page, list, "%s", where);
    }
    if (run->info.label[0] != '\0') {
        rm_page_say(page, list, "label: %s", run->info.label);
    }
    if (strcmp(run->info.state, "interrupted") == 0 && !is_observed) {
        rm_page_say(page, list,
                    "The program ended without stopping its monitor (killed, or out of memory); "
                    "this is what it had recorded.");
    }
}
