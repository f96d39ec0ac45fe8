/* SPDX-License-Identifier: MIT */
/* What the options say of counters, names of events, and formulas over them. */
#include "fuzz.h"

#include <math.h>

#include <resmon/resmon.h>

#include "counter/group.h"

static bool value_of(void *context, struct rm_text name, double *ret_value)
{
    (void)context;
    PROMISE(name.at < name.end);
    *ret_value = (double)rm_text_left(&name) - 1.0; /* 0 for names of one letter */
    return *name.at != 'x';
}

static void check_formula(const char *text)
{
    char names[RM_FORMULA_EVENTS][RM_EVENT_NAME_BYTES];
    size_t count = 77;
    double value = 42.0;
    if (rm_formula_evaluate(text, value_of, NULL, &value) != RESMON_OK) {
        PROMISE(value >= 42.0 && value <= 42.0);
        PROMISE(resmon_last_error()[0] != '\0');
    }
    if (rm_counter_names(text, names, &count) == RESMON_OK) {
        PROMISE(count <= RM_FORMULA_EVENTS);
        for (size_t i = 0; i < count; i++) {
            PROMISE(strlen(names[i]) > 0 && strstr(text, names[i]) != NULL);
        }
    }
}

static void check_event(const struct rm_perf_event *event)
{
    PROMISE(event->name[0] != '\0' && strlen(event->name) < RM_EVENT_NAME_BYTES);
    PROMISE(!event->is_named || event->config == 0);
    PROMISE(event->type == RM_EVENT_HARDWARE || event->type == RM_EVENT_SOFTWARE ||
            event->type == RM_EVENT_RAW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rm_counters_wanted wanted;
    struct rm_perf_event event;
    char *text = malloc(size + 1);
    PROMISE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    check_formula(text);
    if (rm_perf_event_parse(rm_text_of(text, strlen(text)), &event) == RESMON_OK) {
        check_event(&event);
    }
    if (rm_counters_parse(text, 8, &wanted) == RESMON_OK) {
        PROMISE(wanted.event_count <= 8 && wanted.groups != 0);
        for (size_t i = 0; i < wanted.event_count; i++) {
            check_event(&wanted.events[i]);
        }
    } else {
        PROMISE(resmon_last_error()[0] != '\0');
    }
    free(text);
    return 0;
}
