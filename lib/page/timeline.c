/* SPDX-License-Identifier: MIT */
#include "page/timeline.h"

#include <stdlib.h>

#include "page/numbers.h"

#define MOST_INSTANCES 2000
#define PLACES         6 /* decimals of seconds */
#define UNMET          UINT32_MAX

/* An event, by what it is chosen and sorted. */
struct candidate {
    const struct rm_run_event *event;
    size_t index;
};

static int by_index(const struct candidate *a, const struct candidate *b)
{
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_durations(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int64_t one = a->event->duration_ns, other = b->event->duration_ns;
    return one != other ? (one < other ? 1 : -1) : by_index(a, b);
}

static int compare_starts(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->event->start_ns != b->event->start_ns) {
        return a->event->start_ns < b->event->start_ns ? -1 : 1;
    }
    return a->event->depth != b->event->depth ? (a->event->depth < b->event->depth ? -1 : 1)
                                              : compare_durations(left, right);
}

/* Numbers in the order in which things are met. */
struct meeting {
    uint32_t *numbers; /* by index */
};

static struct meeting meeting_of(struct rm_page *page, size_t count)
{
    struct meeting meeting = {rm_page_alloc(page, count, sizeof(uint32_t))};
    for (size_t i = 0; meeting.numbers != NULL && i < count; i++) {
        meeting.numbers[i] = UNMET;
    }
    return meeting;
}

static const char *thread_text(struct rm_page *page, const struct rm_run_thread *thread)
{
    return rm_page_print(page, "%s (%llu)",
                         rm_page_shown(page, thread->name[0] != '\0' ? thread->name : "thread"),
                         (unsigned long long)thread->id);
}

static void add_row(const struct rm_subject *subject, struct rm_timeline *timeline,
                    const struct rm_run_event *event, struct meeting names, struct meeting threads)
{
    const struct resmon_run *run = subject->run;
    uint32_t *name = &names.numbers[event->name], *thread = &threads.numbers[event->thread];
    if (*name == UNMET) {
        *name = (uint32_t)timeline->name_count;
        timeline->names[timeline->name_count++] =
            rm_page_shown(subject->page, run->event_names[event->name]);
    }
    if (*thread == UNMET) {
        *thread = (uint32_t)timeline->thread_count;
        timeline->threads[timeline->thread_count++] =
            thread_text(subject->page, &run->threads[event->thread]);
    }
    timeline->rows[timeline->count++] =
        (struct rm_timeline_row){*name, *thread, event->depth, (double)event->start_ns / 1e9,
                                 (double)event->duration_ns / 1e9};
}

struct rm_timeline rm_timeline_of(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    struct rm_page *page = subject->page;
    struct rm_timeline timeline = {0};
    size_t count = run->event_count < MOST_INSTANCES ? run->event_count : MOST_INSTANCES;
    struct candidate *candidates = rm_page_alloc(page, run->event_count, sizeof *candidates);
    const struct meeting names = meeting_of(page, run->event_name_count);
    const struct meeting threads = meeting_of(page, run->thread_count);
    timeline.names = rm_page_alloc(page, run->event_name_count, sizeof *timeline.names);
    timeline.threads = rm_page_alloc(page, run->thread_count, sizeof *timeline.threads);
    timeline.rows = rm_page_alloc(page, count, sizeof *timeline.rows);
    if (page->is_broken) {
        return (struct rm_timeline){0};
    }
    for (size_t i = 0; i < run->event_count; i++) {
        candidates[i] = (struct candidate){&run->events[i], i};
    }
    qsort(candidates, run->event_count, sizeof *candidates, compare_durations);
    qsort(candidates, count, sizeof *candidates, compare_starts);
    for (size_t i = 0; i < count; i++) {
        add_row(subject, &timeline, candidates[i].event, names, threads);
    }
    timeline.left_out = run->event_count - count;
    return timeline;
}

const char *rm_timeline_note(struct rm_page *page, const struct rm_timeline *timeline)
{
    static const char note[] = "each instance of a scope, by thread";
    return timeline->left_out > 0 ? rm_page_print(page, "%s; the %s longest, %s are left out", note,
                                                  rm_page_grouped(page, MOST_INSTANCES),
                                                  rm_page_grouped(page, timeline->left_out))
                                  : note;
}

const char *rm_timeline_alternative(struct rm_page *page, const struct rm_timeline *timeline)
{
    return rm_page_print(page,
                         "Scopes over time: %zu instances of %zu scopes in %zu threads; their sums "
                         "are in the table of scopes",
                         timeline->count, timeline->name_count, timeline->thread_count);
}

static void put_texts(struct rm_buffer *out, const char *key, const char *const *texts,
                      size_t count)
{
    rm_buffer_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        rm_buffer_puts(out, i > 0 ? "," : "");
        rm_buffer_json(out, texts[i]);
    }
    rm_buffer_puts(out, "]");
}

void rm_timeline_write(struct rm_buffer *out, const struct rm_timeline *timeline, const char *place)
{
    rm_buffer_puts(out, "{\"at\":");
    rm_buffer_json(out, place);
    put_texts(out, "names", timeline->names, timeline->name_count);
    put_texts(out, "threads", timeline->threads, timeline->thread_count);
    rm_buffer_puts(out, ",\"rows\":[");
    for (size_t i = 0; i < timeline->count; i++) {
        const struct rm_timeline_row *row = &timeline->rows[i];
        rm_buffer_printf(out, "%s[%u,%u,%u,", i > 0 ? "," : "", row->name, row->thread, row->depth);
        rm_numbers_put(out, row->start_s, PLACES);
        rm_buffer_puts(out, ",");
        rm_numbers_put(out, row->duration_s, PLACES);
        rm_buffer_puts(out, "]");
    }
    rm_buffer_puts(out, "]}");
}
