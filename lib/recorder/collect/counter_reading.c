/* SPDX-License-Identifier: MIT */
#include "collect/counter_set.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "base/text.h"
#include "collect/collect.h"
#include "counter/formula.h"

/* What was counted while the counter ran stands for the time in which it did not.  An interval in
 * which it never ran is made up for by the next one. */
static void take(struct rm_counter *counter, struct rm_counter_task *task,
                 const struct rm_perf_count *now, struct rm_perf_count *sums)
{
    uint64_t value = now->value - task->last.value;
    uint64_t enabled = now->enabled - task->last.enabled;
    uint64_t running = now->running - task->last.running;
    counter->was_enabled = counter->was_enabled || enabled > 0;
    sums->enabled += enabled;
    sums->running += running;
    if (running > 0 || (enabled == 0 && value > 0)) {
        double scale = running < enabled ? (double)enabled / (double)running : 1.0;
        counter->change += (double)value * (running > 0 ? scale : 1.0);
        counter->has_run = true;
        task->last = *now;
    }
}

static void lose(struct rm_counter *counter)
{
    counter->status = RESMON_EIO;
    (void)snprintf(counter->why, sizeof counter->why, "%s cannot be read any more",
                   counter->event.name);
}

void rm_counter_set_read(struct rm_counter_set *set)
{
    struct rm_perf_count sums = {0, 0, 0};
    double counted_s = 0.0;
    for (size_t c = 0; c < set->count; c++) {
        struct rm_counter *counter = &set->counters[c];
        counter->change = 0.0;
        sums = (struct rm_perf_count){0, 0, 0};
        counted_s = 0.0;
        for (size_t t = 0; t < set->task_count; t++) {
            struct rm_counter_task *task = rm_counter_task_of(set, c, t);
            struct rm_perf_count now;
            if (task->fd < 0) {
                continue;
            }
            if (rm_counter_task_is_own(set, task) && set->owner->ops->read(task->fd, &now)) {
                take(counter, task, &now, &sums);
                counted_s += (double)now.enabled * 1e-9;
            } else {
                lose(counter);
            }
        }
        counter->total += counter->change;
        if (sums.enabled > 0 && sums.running == 0) {
            counter->change = RM_NAN;
        }
        if (counter->status == RESMON_OK) {
            set->share = sums.enabled > 0 ? (double)sums.running / (double)sums.enabled : RM_NAN;
            set->owner->counted_s = fmax(set->owner->counted_s, counted_s);
        }
    }
}

#define LACKS_S     0.05 /* more than two clocks differ by that are read one after the other, */
#define LACKS_SHARE 0.02 /* and than what ends meanwhile has used */

/* Of our own process, our threads are in one and not in the other. */
void rm_counters_remark_lack(struct rm_collect *collect)
{
    struct rm_counters *counters = &collect->counters;
    const struct rm_found *found = &collect->found;
    char lacks[RM_HUMAN_BYTES], all[RM_HUMAN_BYTES], text[160];
    if (collect->is_self || found->tree_ns == 0) {
        return;
    }
    if (!counters->has_begun) {
        counters->has_begun = true;
        counters->begun_s = found->tree_cpu_s - counters->counted_s;
    }
    double all_s = found->tree_cpu_s - counters->begun_s;
    double lacks_s = all_s - counters->counted_s;
    if (lacks_s > LACKS_S && lacks_s > LACKS_SHARE * all_s) {
        rm_human_seconds(lacks, lacks_s);
        rm_human_seconds(all, all_s);
        (void)snprintf(text, sizeof text,
                       "not counted: %s of %s of CPU time; the kernel does not count set-user-ID "
                       "and unreadable programs",
                       lacks, all);
        rm_collect_remark(collect, text);
    }
}

/* 0 only where it was there to count. */
double rm_counter_total(const struct rm_counter *counter)
{
    bool is_known = counter->status == RESMON_OK && (counter->has_run || !counter->was_enabled);
    return is_known ? counter->total : RM_NAN;
}

struct values {
    const struct rm_counter_set *set;
    bool of_changes;
};

static bool find_value(void *context, struct rm_text name, double *ret_value)
{
    const struct values *values = context;
    struct rm_perf_event generic;
    char text[RM_EVENT_NAME_BYTES];
    (void)rm_text_copy(text, sizeof text, name.at, rm_text_left(&name));
    if (rm_perf_event_generic(text, &generic)) {
        (void)rm_text_set(text, sizeof text, generic.name);
    }
    for (size_t i = 0; i < values->set->count; i++) {
        const struct rm_counter *counter = &values->set->counters[i];
        if (strcmp(counter->event.name, text) == 0) {
            double total = rm_counter_total(counter);
            *ret_value = values->of_changes && total >= 0.0 ? counter->change : total;
            return true;
        }
    }
    return false;
}

double rm_counter_set_evaluate(const struct rm_counter_set *set, const char *formula,
                               bool of_changes)
{
    struct values values = {set, of_changes};
    double value = RM_NAN;
    return rm_formula_evaluate(formula, find_value, &values, &value) == RESMON_OK ? value : RM_NAN;
}
