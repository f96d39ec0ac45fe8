/* SPDX-License-Identifier: MIT */
#include "view/subject.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/carbon.h>
#include <resmon/report.h>

#include "base/option.h"
#include "run/energy.h"
#include "run/headline.h"
#include "run/record.h"

/* Sources that feed the power model, and the shares of the program. */
static const char *const energy_inputs[] = {"node_cpu", "proc_cpu", "tree", "energy_cpu",
                                            "energy_tree"};

/* The sources of the columns of a group, whose reasons explain absent columns. */
static const struct {
    const char *group;
    const char *sources[2];
} sources_of[] = {
    {"proc.cpu", {"proc_cpu"}},   {"tree.cpu", {"tree", "proc_cpu"}},
    {"proc.mem", {"proc_mem"}},   {"tree.mem", {"tree", "proc_mem"}},
    {"proc.io", {"proc_io"}},     {"tree.io", {"tree", "proc_io"}},
    {"node.cpu", {"node_cpu"}},   {"node.mem", {"node_mem"}},
    {"node.disk", {"node_disk"}}, {"node.net", {"node_net"}},
    {"node.fs", {"node_fs"}},     {"gpu.util", {"gpu"}},
};

/* ---- columns ---------------------------------------------------------------------------- */

const resmon_column *rm_subject_column(const struct rm_subject *subject, const char *metric)
{
    int64_t index = rm_run_find_column(subject->run, metric, "");
    const resmon_column *column = index >= 0 ? &subject->run->columns[index] : NULL;
    return column != NULL && column->n > 0 ? column : NULL;
}

double rm_subject_highest(const struct rm_subject *subject, const char *metric)
{
    const resmon_column *column = rm_subject_column(subject, metric);
    return column != NULL && isfinite(column->max) ? column->max : 0.0;
}

const resmon_column *rm_subject_next_instance(const struct rm_subject *subject, const char *metric,
                                              size_t *index)
{
    while (*index < subject->run->column_count) {
        const resmon_column *column = &subject->run->columns[(*index)++];
        if (column->n > 0 && rm_run_is_of_all(subject->run, column) &&
            strcmp(column->metric, metric) == 0) {
            return column;
        }
    }
    return NULL;
}

const char *rm_subject_column_name(struct rm_page *page, const resmon_column *column)
{
    const struct rm_column_name name = rm_run_column_name(column);
    return rm_page_print(page, "%s%s%s%s", name.parts[0], name.parts[1], name.parts[2],
                         name.parts[3]);
}

/* ---- reasons ---------------------------------------------------------------------------- */

const resmon_run_source *rm_subject_source(const struct resmon_run *run, const char *name)
{
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, name) == 0) {
            return &run->sources[i];
        }
    }
    return NULL;
}

/* The reason of a source.  If the source can be read, the reason applies only to the metrics that
 * it names. */
static const char *reason_of(const struct resmon_run *run, const char *source, const char *metric)
{
    const resmon_run_source *found = source != NULL ? rm_subject_source(run, source) : NULL;
    bool applies = found != NULL && found->reason[0] != '\0' &&
                   (found->status != RESMON_OK || strstr(found->reason, metric) != NULL);
    return applies ? found->reason : NULL;
}

/* "proc.cpu" of "proc.cpu.percent". */
static bool is_of_group(const char *metric, const char *group)
{
    size_t length = strlen(group);
    return strncmp(metric, group, length) == 0 && (metric[length] == '.' || metric[length] == '\0');
}

static const char *why(const struct rm_subject *subject, const char *metric)
{
    const struct resmon_run *run = subject->run;
    int64_t column = rm_run_find_column(run, metric, "");
    const char *reason = column >= 0 ? reason_of(run, run->columns[column].source, metric) : NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(sources_of) && reason == NULL; i++) {
        for (size_t s = 0; s < 2 && reason == NULL && is_of_group(metric, sources_of[i].group);
             s++) {
            reason = reason_of(run, sources_of[i].sources[s], metric);
        }
    }
    return reason;
}

const char *rm_subject_why(const struct rm_subject *subject, const char *const *metrics,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *reason = why(subject, metrics[i]);
        if (reason != NULL) {
            return reason;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (rm_run_find_column(subject->run, metrics[i], "") >= 0) {
            return "there was no valid reading";
        }
    }
    return "this run did not record it";
}

const char *rm_subject_why_no_energy(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    const char *methods[RM_ENERGY_PARTS];
    if (!subject->has_energy) {
        double domains = rm_run_fact_number(run, "settings", "domains");
        bool was_requested = !(domains > 0.0) || ((uint64_t)domains & RESMON_DOMAIN_ENERGY) != 0;
        return was_requested ? "the energy is not known" : "energy was not requested";
    }
    if (subject->energy.remark[0] != '\0') {
        return subject->energy.remark;
    }
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        methods[i] = rm_run_energy_part(run, i).method;
    }
    const char *all = rm_page_join(subject->page, "; ", methods, RM_ENERGY_PARTS);
    return all[0] != '\0' ? all : "not known";
}

const char *rm_subject_basis(const struct rm_subject *subject)
{
    static const char *const words[] = {[RESMON_CARBON_BASIS_GIVEN] = "given",
                                        [RESMON_CARBON_BASIS_CLOUD] = "cloud",
                                        [RESMON_CARBON_BASIS_REGION] = "region",
                                        [RESMON_CARBON_BASIS_COUNTRY] = "country",
                                        [RESMON_CARBON_BASIS_WORLD] = "world"};
    int32_t basis = subject->energy.basis;
    bool is_known = basis > 0 && (size_t)basis < RM_ARRAY_LEN(words) && words[basis] != NULL;
    return is_known ? words[basis] : "";
}

/* ---- texts -------------------------------------------------------------------------------- */

const char *rm_subject_host(const struct resmon_run *run)
{
    const char *host = rm_run_fact_text(run, "machine", "host_name");
    const char *node = rm_run_fact_text(run, "job", "node_name");
    return host[0] != '\0' ? host : node[0] != '\0' ? node : "an unknown host";
}

const char *rm_subject_start(struct rm_page *page, const struct resmon_run *run)
{
    const char *text = rm_page_time(page, run->info.start_realtime_ns, true);
    return text[0] != '\0' ? text : NULL;
}

#define SIGNAL_NAME_BYTES 16

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGHUP, "hup"},   {SIGINT, "int"},   {SIGQUIT, "quit"},     {SIGILL, "ill"},
    {SIGTRAP, "trap"}, {SIGABRT, "abrt"}, {SIGBUS, "bus"},       {SIGFPE, "fpe"},
    {SIGKILL, "kill"}, {SIGUSR1, "usr1"}, {SIGSEGV, "segv"},     {SIGUSR2, "usr2"},
    {SIGPIPE, "pipe"}, {SIGALRM, "alrm"}, {SIGTERM, "term"},     {SIGXCPU, "xcpu"},
    {SIGXFSZ, "xfsz"}, {SIGSYS, "sys"},   {SIGVTALRM, "vtalrm"},
};

/* "SIGTERM"; "signal 42" for a signal without a name. */
static void put_signal_name(int number, char name[SIGNAL_NAME_BYTES])
{
    (void)snprintf(name, SIGNAL_NAME_BYTES, "signal %d", number);
    for (size_t i = 0; i < RM_ARRAY_LEN(signals); i++) {
        if (signals[i].number == number) {
            (void)snprintf(name, SIGNAL_NAME_BYTES, "SIG%s", signals[i].name);
        }
    }
    for (char *at = name + 3; strncmp(name, "SIG", 3) == 0 && *at != '\0'; at++) {
        *at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
    }
}

void rm_subject_end(const struct resmon_run *run, char text[64])
{
    const resmon_run_end end = rm_run_end(run);
    char signal_name[SIGNAL_NAME_BYTES];
    put_signal_name(end.signal_number, signal_name);
    bool is_said = end.reason >= RESMON_END_FAILED;
    (void)snprintf(text, 64, "%s%s%s%s",
                   is_said ? rm_word_of(RM_TYPE_END, end.reason) : run->info.state,
                   is_said && end.signal_number != 0 ? " by " : "",
                   is_said && end.signal_number != 0 ? signal_name : "",
                   rm_end_is_out_of_memory(&end) ? " (" RM_END_OUT_OF_MEMORY ")" : "");
}

const char *rm_subject_outcome(struct rm_page *page, const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    char state[64];
    rm_subject_end(run, state);
    if (end.reason < RESMON_END_FAILED) {
        return rm_page_print(page, "%s", run->info.state);
    }
    if (end.text[0] != '\0' && !rm_end_is_out_of_memory(&end)) {
        return rm_page_print(page, "%s: %s", state, end.text);
    }
    return end.exit_status != 0 ? rm_page_print(page, "%s: exit status %d", state, end.exit_status)
                                : rm_page_print(page, "%s", state);
}

#define MOST_LABEL_COLUMNS 60

const char *rm_subject_labels(struct rm_page *page, const struct resmon_run *run)
{
    const char *texts[RM_OPTION_LABELS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < run->fact_count && count < RM_ARRAY_LEN(texts); i++) {
        const struct rm_fact *fact = &run->facts[i];
        if (strcmp(fact->group, RM_FACT_LABELS) == 0) {
            const char *pair[] = {rm_page_shown_at_most(page, fact->key, MOST_LABEL_COLUMNS),
                                  rm_page_shown_at_most(page, fact->value, MOST_LABEL_COLUMNS)};
            texts[count++] = rm_page_join(page, "=", pair, RM_ARRAY_LEN(pair));
        }
    }
    return rm_page_join(page, ", ", texts, count);
}

size_t rm_subject_meta(const struct rm_subject *subject, const char *texts[RM_SUBJECT_META])
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    const char *start = rm_subject_start(page, run);
    const char *all[RM_SUBJECT_META] = {rm_page_shown(page, rm_subject_host(run)),
                                        start != NULL ? start : RM_PAGE_UNKNOWN,
                                        rm_page_value(page, rm_subject_seconds(run), "s"),
                                        rm_page_shown(page, rm_subject_outcome(page, run)),
                                        rm_page_shown(page, run->info.label),
                                        rm_subject_labels(page, run)};
    size_t count = 0;
    for (size_t i = 0; i < RM_SUBJECT_META; i++) {
        if (all[i][0] != '\0') {
            texts[count++] = all[i];
        }
    }
    return count;
}

double rm_subject_seconds(const struct resmon_run *run)
{
    return (double)run->info.duration_ns / 1e9;
}

double rm_subject_reach(const struct resmon_run *run)
{
    double last = run->row_count > 0 ? (double)run->t_last[run->row_count - 1] / 1e9 : 0.0;
    return fmax(last, rm_subject_seconds(run));
}

/* ---- opening ------------------------------------------------------------------------------ */

/* A row of several samples contains one or two readings of a source that is read less often. */
static size_t least_rows(const struct resmon_run *run)
{
    uint64_t stride = run->info.stride > 0 ? run->info.stride : 1, every = 1;
    for (size_t i = 0; i < RM_ARRAY_LEN(energy_inputs); i++) {
        const resmon_run_source *source = rm_subject_source(run, energy_inputs[i]);
        every = source != NULL && source->every > every ? source->every : every;
    }
    return stride > 1 ? (size_t)((4 * every + stride - 1) / stride) : 1;
}

void rm_subject_open(struct rm_subject *subject, struct rm_page *page, const struct resmon_run *run,
                     const struct rm_source_lines *sources, size_t most_points)
{
    *subject = (struct rm_subject){.page = page,
                                   .run = run,
                                   .sources = sources,
                                   .label = "",
                                   .headline = rm_run_headline(run),
                                   .has_energy = rm_run_has_energy(run),
                                   .most_points = most_points,
                                   .least_rows = least_rows(run)};
    if (subject->has_energy) {
        subject->energy = rm_run_energy(run);
    }
    double cpus = rm_subject_highest(subject, "node.cpu.online");
    double known = rm_run_fact_number(run, "machine", "cpus");
    subject->cpus = cpus > 0.0 ? cpus : known > 0.0 ? known : 0.0;
}

#define LABEL_CHARACTERS 80
#define MOST_TITLES      4 /* in one line */

/* ---- several runs ------------------------------------------------------------------------- */

/* A text of a run. */
typedef const char *(*text_fn)(struct rm_page *page, const struct resmon_run *run);

static const char *host_of(struct rm_page *page, const struct resmon_run *run)
{
    (void)page;
    return rm_subject_host(run);
}

static const char *title_of(struct rm_page *page, const struct resmon_run *run)
{
    (void)page;
    return rm_run_title(run);
}

static const char *start_of(struct rm_page *page, const struct resmon_run *run)
{
    const char *start = rm_subject_start(page, run);
    return start != NULL ? start : "an unknown time"; /* sorted behind all times */
}

static const char *job_of(struct rm_page *page, const struct resmon_run *run)
{
    const char *key = rm_run_fact_text(run, "job", "key");
    (void)page;
    return key[0] != '\0' ? key : rm_run_fact_text(run, "job", "id");
}

static int compare_texts(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

size_t rm_distinct_texts(const char **texts, size_t count)
{
    size_t kept = 0;
    qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(texts[i], texts[kept - 1]) != 0) {
            texts[kept++] = texts[i];
        }
    }
    return kept;
}

/* The different texts of the runs, sorted, and how many. */
static size_t distinct(struct rm_page *page, const struct rm_subject *subjects, size_t count,
                       text_fn text, const char ***ret_texts)
{
    const char **texts = rm_page_alloc(page, count, sizeof *texts);
    *ret_texts = texts;
    if (texts == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        texts[i] = text(page, subjects[i].run);
    }
    return rm_distinct_texts(texts, count);
}

static size_t distinct_labels(struct rm_page *page, const struct rm_subject *subjects, size_t count)
{
    const char **texts = rm_page_alloc(page, count, sizeof *texts);
    for (size_t i = 0; texts != NULL && i < count; i++) {
        texts[i] = subjects[i].label;
    }
    if (texts == NULL) {
        return count;
    }
    return rm_distinct_texts(texts, count);
}

/* Labels by host, by name, or by both, as needed to distinguish the runs. */
static void label_by_place(struct rm_page *page, struct rm_subject *subjects, size_t count)
{
    const char **unused;
    size_t hosts = distinct(page, subjects, count, host_of, &unused);
    size_t names = distinct(page, subjects, count, title_of, &unused);
    for (size_t i = 0; i < count; i++) {
        const char *host =
            rm_page_shown_at_most(page, rm_subject_host(subjects[i].run), LABEL_CHARACTERS);
        const char *name =
            rm_page_shown_at_most(page, rm_run_title(subjects[i].run), LABEL_CHARACTERS);
        bool by_host = (hosts == count && names < count) || (hosts > 1 && names == 1);
        subjects[i].label = by_host      ? host
                            : hosts == 1 ? name
                                         : rm_page_print(page, "%s, %s", host, name);
    }
}

/* Adds the rank if several runs have the same label and different ranks. */
static void add_ranks(struct rm_page *page, struct rm_subject *subjects, size_t count)
{
    const char **before = rm_page_alloc(page, count, sizeof *before);
    if (before == NULL || distinct_labels(page, subjects, count) == count) {
        return;
    }
    bool have_ranks = true;
    for (size_t i = 0; i < count; i++) {
        const struct rm_fact *rank = rm_run_fact(subjects[i].run, "job", "rank");
        before[i] = subjects[i].label;
        have_ranks &= rank != NULL;
        if (rank != NULL) {
            subjects[i].label = rm_page_print(page, "%s, rank %s", before[i],
                                              rm_run_fact_text(subjects[i].run, "job", "rank"));
        }
    }
    if (!have_ranks || distinct_labels(page, subjects, count) < count) {
        for (size_t i = 0; i < count; i++) {
            subjects[i].label = before[i];
        }
    }
}

/* Numbers equal labels: "train.py", "train.py (2)". */
static void add_numbers(struct rm_page *page, struct rm_subject *subjects, size_t count)
{
    const char **before = rm_page_alloc(page, count, sizeof *before);
    for (size_t i = 0; before != NULL && i < count; i++) {
        size_t number = 1;
        before[i] = subjects[i].label;
        for (size_t k = 0; k < i; k++) {
            number += strcmp(before[k], before[i]) == 0 ? 1 : 0;
        }
        if (number > 1) {
            subjects[i].label = rm_page_print(page, "%s (%zu)", before[i], number);
        }
    }
}

void rm_names_label(struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = subjects[0].page;
    label_by_place(page, subjects, count);
    add_ranks(page, subjects, count);
    add_numbers(page, subjects, count);
}

const double *rm_names_offsets(struct rm_page *page, const struct rm_subject *subjects,
                               size_t count)
{
    double *offsets = rm_page_alloc(page, count, sizeof *offsets);
    int64_t first = INT64_MAX;
    double latest = 0.0, earliest_end = __builtin_inf();
    for (size_t i = 0; i < count; i++) {
        int64_t start = subjects[i].run->info.start_realtime_ns;
        first = start < first ? start : first;
    }
    if (offsets == NULL || count < 2 || first <= 0) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        offsets[i] = (double)(subjects[i].run->info.start_realtime_ns - first) / 1e9;
        double end = offsets[i] + rm_subject_seconds(subjects[i].run);
        latest = offsets[i] > latest ? offsets[i] : latest;
        earliest_end = end < earliest_end ? end : earliest_end;
    }
    return latest < earliest_end ? offsets : NULL;
}

bool rm_names_are_of_a_job(struct rm_page *page, const struct rm_subject *subjects, size_t count)
{
    const char **jobs;
    size_t different = distinct(page, subjects, count, job_of, &jobs);
    return (different == 1 && jobs[0][0] != '\0') ||
           rm_names_offsets(page, subjects, count) != NULL;
}

const char *rm_names_word(struct rm_page *page, const struct rm_subject *subjects, size_t count)
{
    const char **unused;
    if (!rm_names_are_of_a_job(page, subjects, count)) {
        return "run";
    }
    return distinct(page, subjects, count, host_of, &unused) == count ? "node" : "process";
}

const char *rm_names_words(struct rm_page *page, const struct rm_subject *subjects, size_t count)
{
    const char *word = rm_names_word(page, subjects, count);
    return rm_page_print(page, "%s%s", word, strcmp(word, "process") == 0 ? "es" : "s");
}

const char *rm_names_meta(struct rm_page *page, const struct rm_subject *subjects, size_t count)
{
    const char **names, **starts;
    size_t name_count = distinct(page, subjects, count, title_of, &names);
    size_t start_count = distinct(page, subjects, count, start_of, &starts);
    double longest = 0.0;
    for (size_t i = 0; i < count; i++) {
        double seconds = rm_subject_seconds(subjects[i].run);
        longest = seconds > longest ? seconds : longest;
    }
    for (size_t i = 0; i < name_count; i++) {
        names[i] = rm_page_shown(page, names[i]);
    }
    return rm_page_print(
        page, "%zu %s of %s%s; from %s; the longest took %s", count,
        rm_names_words(page, subjects, count),
        rm_page_join(page, ", ", names, name_count < MOST_TITLES ? name_count : MOST_TITLES),
        name_count > MOST_TITLES ? " and others" : "", start_count > 0 ? starts[0] : "",
        rm_page_value(page, longest, "s"));
}

const char *rm_names_title(struct rm_page *page, const struct rm_subject *subjects, size_t count)
{
    const char **names;
    if (count == 1) {
        return rm_page_print(page, "%s on %s", rm_run_title(subjects[0].run),
                             rm_subject_host(subjects[0].run));
    }
    size_t different = distinct(page, subjects, count, title_of, &names);
    const char *words = rm_names_words(page, subjects, count);
    const char *what = different == 0 ? ""
                       : different == 1
                           ? names[0]
                           : rm_page_print(page, "%s and %zu more", names[0], different - 1);
    const char *joint = strcmp(words, "nodes") == 0       ? " on "
                        : strcmp(words, "processes") == 0 ? " in "
                                                          : ": ";
    return rm_page_print(page, "%s%s%zu %s", what, joint, count, words);
}
