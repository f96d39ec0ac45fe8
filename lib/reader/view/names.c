/* SPDX-License-Identifier: MIT */
#include "view/names.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_CHARACTERS 80
#define MOST_TITLES      4 /* in one line */

/* A text of each run. */
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
    return start != NULL ? start : "an unknown time"; /* behind all others */
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

/* ---- labels ----------------------------------------------------------------------------- */

/* By host, by name, or by both: what tells them apart. */
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

/* Several on a host have their ranks, if these are different. */
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

/* "train.py", "train.py (2)". */
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

/* ---- in time ---------------------------------------------------------------------------- */

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

/* ---- words ------------------------------------------------------------------------------ */

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
