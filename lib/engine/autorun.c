/* SPDX-License-Identifier: MIT */
#include "engine/autorun.h"

#include <string.h>

#include <resmon/stack.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "scope/meter.h"

#define TRACE_EVENTS 4096 /* per thread, when a trace is wanted */

#define SHOWN(text) (int)(rm_text_left(&(text)) < 80 ? rm_text_left(&(text)) : 80), (text).at

/* ---- values ----------------------------------------------------------------------------- */

/* "100ms", "2s", "1min"; without a unit: milliseconds. */
static resmon_status read_duration(struct rm_text value, const char *key, uint64_t *ret_ms)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}};
    struct rm_text rest = value;
    uint64_t number;
    if (rm_parse_u64(&rest, &number) && number > 0 && number <= 86400000) {
        for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
            if (rm_text_equals(&rest, units[i].unit)) {
                *ret_ms = number * units[i].ms;
                return RESMON_OK;
            }
        }
    }
    return rm_error(RESMON_EINVAL, "%s=%.*s: a number with ms, s, min or h, such as 100ms", key,
                    SHOWN(value));
}

static resmon_status read_interval(struct rm_autorun *plan, struct rm_text value)
{
    return read_duration(value, "interval", &plan->options.interval_ms);
}

static resmon_status read_checkpoint(struct rm_autorun *plan, struct rm_text value)
{
    return read_duration(value, "checkpoint", &plan->checkpoint_ms);
}

static resmon_status read_stop(struct rm_autorun *plan, struct rm_text value)
{
    return read_duration(value, "stop", &plan->options.stop_timeout_ms);
}

static resmon_status read_count(struct rm_text value, const char *key, const char *what,
                                size_t *ret_count)
{
    uint64_t number;
    struct rm_text rest = value;
    if (!rm_parse_u64(&rest, &number) || rest.at != rest.end || number == 0) {
        return rm_error(RESMON_EINVAL, "%s=%.*s: %s", key, SHOWN(value), what);
    }
    *ret_count = (size_t)number;
    return RESMON_OK;
}

static resmon_status read_rows(struct rm_autorun *plan, struct rm_text value)
{
    return read_count(value, "rows", "an even number", &plan->options.max_rows);
}

static resmon_status read_events(struct rm_autorun *plan, struct rm_text value)
{
    return read_count(value, "events", "a number of events per thread", &plan->options.max_events);
}

static resmon_status read_u64(struct rm_text value, const char *key, const char *what,
                              uint64_t *ret_number)
{
    size_t number = 0;
    resmon_status status = read_count(value, key, what, &number);
    if (status == RESMON_OK) {
        *ret_number = number;
    }
    return status;
}

static resmon_status read_stack_hz(struct rm_autorun *plan, struct rm_text value)
{
    return read_u64(value, "stack_hz", "samples per second of CPU time, 1 to 1000",
                    &plan->options.stack_hz);
}

static resmon_status read_fault_period(struct rm_autorun *plan, struct rm_text value)
{
    return read_u64(value, "fault_period", "page faults for each sample, 1 to 1000000",
                    &plan->options.fault_period);
}

struct name_of_bit {
    const char *name;
    uint64_t bit;
};

static const struct name_of_bit domains[] = {
    {"process", RESMON_DOMAIN_PROCESS}, {"tree", RESMON_DOMAIN_TREE},
    {"cgroup", RESMON_DOMAIN_CGROUP},   {"node", RESMON_DOMAIN_NODE},
    {"cpu", RESMON_DOMAIN_CPU},         {"memory", RESMON_DOMAIN_MEMORY},
    {"psi", RESMON_DOMAIN_PSI},         {"disk", RESMON_DOMAIN_DISK},
    {"net", RESMON_DOMAIN_NET},         {"energy", RESMON_DOMAIN_ENERGY},
    {"gpu", RESMON_DOMAIN_GPU},         {"all", RESMON_DOMAIN_ALL},
};

static const struct name_of_bit stacks[] = {
    {"cpu", RESMON_STACKS_CPU},
    {"memory", RESMON_STACKS_MEMORY},
    {"peak", RESMON_STACKS_PEAK},
    {"all", RESMON_STACKS_ALL},
};

static uint64_t bit_of(const struct name_of_bit *names, size_t count, struct rm_text text)
{
    for (size_t i = 0; i < count; i++) {
        if (rm_text_equals(&text, names[i].name)) {
            return names[i].bit;
        }
    }
    return 0;
}

static uint64_t domain_by_name(const char *name, size_t length)
{
    return bit_of(domains, RM_ARRAY_LEN(domains), rm_text_of(name, length));
}

static uint64_t stacks_by_name(const char *name, size_t length)
{
    return bit_of(stacks, RM_ARRAY_LEN(stacks), rm_text_of(name, length));
}

/* Names joined by '+'. */
static resmon_status read_names(struct rm_text value, uint64_t (*by_name)(const char *, size_t),
                                const char *key, const char *known, uint64_t *ret_bits)
{
    uint64_t bits = 0;
    bool has_more = true;
    struct rm_text rest = value;
    while (has_more) {
        struct rm_text name;
        has_more = rm_parse_until(&rest, '+', &name);
        if (!has_more) {
            name = rest;
        }
        uint64_t bit = by_name(name.at, rm_text_left(&name));
        if (bit == 0) {
            return rm_error(RESMON_EINVAL, "%s=%.*s: '%.*s' is not one of %s", key, SHOWN(value),
                            SHOWN(name), known);
        }
        bits |= bit;
    }
    *ret_bits = bits;
    return RESMON_OK;
}

static resmon_status read_scopes(struct rm_autorun *plan, struct rm_text value)
{
    if (rm_text_equals(&value, "none")) {
        plan->options.flags |= RESMON_FLAG_NO_SCOPES;
        return RESMON_OK;
    }
    return read_names(value, rm_meter_by_name, "scopes", "wall, cpu, rss, io, perf, none",
                      &plan->options.scope_meters);
}

static resmon_status read_domains(struct rm_autorun *plan, struct rm_text value)
{
    return read_names(value, domain_by_name, "domains",
                      "process, tree, cgroup, node, cpu, memory, psi, disk, net, energy, gpu, all",
                      &plan->options.domains);
}

static resmon_status read_stacks(struct rm_autorun *plan, struct rm_text value)
{
    return read_names(value, stacks_by_name, "stacks", "cpu, memory, peak, all",
                      &plan->options.stacks);
}

static resmon_status keep(struct rm_text value, const char *key, char target[RM_AUTORUN_TEXT_BYTES])
{
    size_t length = rm_text_left(&value);
    if (length == 0 || length >= RM_AUTORUN_TEXT_BYTES) {
        return rm_error(RESMON_EINVAL, "%s= wants a text of 1 to %d bytes", key,
                        RM_AUTORUN_TEXT_BYTES - 1);
    }
    memcpy(target, value.at, length);
    target[length] = '\0';
    return RESMON_OK;
}

/* ---- keys ------------------------------------------------------------------------------- */

static resmon_status set_summary(struct rm_autorun *plan, struct rm_text value)
{
    (void)value;
    plan->wants_summary = true;
    return RESMON_OK;
}

static resmon_status set_log(struct rm_autorun *plan, struct rm_text value)
{
    (void)value;
    plan->wants_log = true;
    return RESMON_OK;
}

static resmon_status set_smaps(struct rm_autorun *plan, struct rm_text value)
{
    (void)value;
    plan->options.flags |= RESMON_FLAG_SMAPS;
    return RESMON_OK;
}

enum value { VALUE_NONE, VALUE_NEEDED, VALUE_OPTIONAL };

static const struct key {
    const char *name;
    const char *usage; /* how it is written */
    enum value value;
    resmon_status (*read)(struct rm_autorun *plan, struct rm_text value);
} keys[] = {
    {"summary", "summary", VALUE_NONE, set_summary},
    {"scopes", "scopes=wall+cpu+rss+io+perf", VALUE_NEEDED, read_scopes},
    {"interval", "interval=100ms", VALUE_NEEDED, read_interval},
    {"domains", "domains=process+node", VALUE_NEEDED, read_domains},
    {"rows", "rows=N", VALUE_NEEDED, read_rows},
    {"events", "events=N", VALUE_NEEDED, read_events},
    {"stacks", "stacks=cpu+memory+peak", VALUE_NEEDED, read_stacks},
    {"stack_hz", "stack_hz=N", VALUE_NEEDED, read_stack_hz},
    {"fault_period", "fault_period=N", VALUE_NEEDED, read_fault_period},
    {"checkpoint", "checkpoint=60s", VALUE_NEEDED, read_checkpoint},
    {"stop", "stop=10s", VALUE_NEEDED, read_stop},
    {"smaps", "smaps", VALUE_NONE, set_smaps},
    {"log", "log", VALUE_NONE, set_log},
};

/* Keys whose texts are kept as they are; index = enum rm_autorun_text. */
static const struct {
    const char *name;
    const char *usage;
    enum value value;
    bool is_output; /* without any, there is a summary */
} texts[RM_AUTORUN_TEXTS] = {
    [RM_AUTORUN_NAME] = {"name", "name=TEXT", VALUE_NEEDED, false},
    [RM_AUTORUN_RECORD] = {"record", "record=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_JSON] = {"json", "json=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_CSV] = {"csv", "csv=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_EMISSIONS] = {"emissions", "emissions=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_TRACE] = {"trace", "trace=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_MLFLOW] = {"mlflow", "mlflow", VALUE_OPTIONAL, true},
    [RM_AUTORUN_PROMETHEUS] = {"prom", "prom=DIRECTORY", VALUE_NEEDED, true},
    [RM_AUTORUN_PUSH] = {"push", "push=URL", VALUE_NEEDED, true},
    [RM_AUTORUN_OPENMETRICS] = {"openmetrics", "openmetrics=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_FOLDED] = {"folded", "folded=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_FOLDED_MEMORY] = {"folded_memory", "folded_memory=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_SPEEDSCOPE] = {"speedscope", "speedscope=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_PPROF] = {"pprof", "pprof=FILE", VALUE_NEEDED, true},
    [RM_AUTORUN_LINES] = {"lines", "lines[=FUNCTION]", VALUE_OPTIONAL, true},
    [RM_AUTORUN_COUNTERS] = {"counters", "counters=default+l2+EVENT", VALUE_NEEDED, false},
    [RM_AUTORUN_SCOPE_COUNTERS] = {"scope_counters", "scope_counters=EVENT+EVENT", VALUE_NEEDED,
                                   false},
};

const char *rm_autorun_text_name(enum rm_autorun_text text)
{
    return texts[text].name;
}

/* Before an '@', it may be a piece of a password with a comma in it: `part` goes on to the end of
 * the variable. */
static resmon_status unknown(struct rm_text part)
{
    struct rm_text shown = strchr(part.at, '@') == NULL ? part : rm_text_of("...", 3);
    char known[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < RM_AUTORUN_TEXTS + RM_ARRAY_LEN(keys); i++) {
        const char *usage =
            i < RM_AUTORUN_TEXTS ? texts[i].usage : keys[i - RM_AUTORUN_TEXTS].usage;
        length += rm_text_set(known + length, sizeof known - length, i > 0 ? ", " : "");
        length += rm_text_set(known + length, sizeof known - length, usage);
    }
    return rm_error(RESMON_EINVAL, "'%.*s' is not known; use %s", SHOWN(shown), known);
}

static resmon_status check_value(const char *name, enum value wanted, bool has_value)
{
    if (wanted == VALUE_NEEDED && !has_value) {
        return rm_error(RESMON_EINVAL, "'%s' takes a value, after '='", name);
    }
    if (wanted == VALUE_NONE && has_value) {
        return rm_error(RESMON_EINVAL, "'%s' takes no value", name);
    }
    return RESMON_OK;
}

static resmon_status read_text(struct rm_autorun *plan, size_t index, struct rm_text value,
                               bool has_value)
{
    resmon_status status = check_value(texts[index].name, texts[index].value, has_value);
    if (status == RESMON_OK && has_value) {
        status = keep(value, texts[index].name, plan->texts[index]);
    }
    plan->has[index] = status == RESMON_OK;
    return status;
}

static resmon_status read_part(struct rm_autorun *plan, struct rm_text part)
{
    struct rm_text name = part;
    struct rm_text value = part;
    bool has_value = rm_parse_until(&value, '=', &name);
    for (size_t i = 0; i < RM_ARRAY_LEN(keys); i++) {
        if (rm_text_equals(&name, keys[i].name)) {
            resmon_status status = check_value(keys[i].name, keys[i].value, has_value);
            return status == RESMON_OK ? keys[i].read(plan, value) : status;
        }
    }
    for (size_t i = 0; i < RM_AUTORUN_TEXTS; i++) {
        if (rm_text_equals(&name, texts[i].name)) {
            return read_text(plan, i, value, has_value);
        }
    }
    return unknown(part);
}

/* What is written of stacks says what is taken, unless stacks= does: then each output must have
 * some of its own.  Lines may be those of checkpoints. */
static resmon_status settle_stacks(struct rm_autorun *plan)
{
    static const struct {
        enum rm_autorun_text text;
        uint64_t stacks;
        const char *wanted;
    } outputs[] = {
        {RM_AUTORUN_FOLDED, RESMON_STACKS_CPU, "cpu"},
        {RM_AUTORUN_FOLDED_MEMORY, RESMON_STACKS_MEMORY, "memory"},
        {RM_AUTORUN_SPEEDSCOPE, RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, "cpu or memory"},
        {RM_AUTORUN_PPROF, RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, "cpu or memory"},
        {RM_AUTORUN_LINES, RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, NULL},
    };
    uint64_t said = plan->options.stacks;
    for (size_t i = 0; i < RM_ARRAY_LEN(outputs); i++) {
        if (!plan->has[outputs[i].text]) {
            continue;
        }
        if (said == 0) {
            plan->options.stacks |= outputs[i].stacks;
        } else if ((said & outputs[i].stacks) == 0 && outputs[i].wanted != NULL) {
            return rm_error(
                RESMON_EINVAL,
                "%s= is made of stacks of %s, which stacks= leaves out; add them there, "
                "or leave stacks= out",
                texts[outputs[i].text].name, outputs[i].wanted);
        }
    }
    return RESMON_OK;
}

/* What follows from all parts together. */
static resmon_status settle(struct rm_autorun *plan)
{
    bool has_output = false;
    if (plan->has[RM_AUTORUN_TRACE] && plan->options.max_events == 0) {
        plan->options.max_events = TRACE_EVENTS;
    }
    for (size_t i = 0; i < RM_AUTORUN_TEXTS; i++) {
        has_output = has_output || (texts[i].is_output && plan->has[i]);
    }
    plan->wants_summary = plan->wants_summary || !has_output;
    plan->options.record = plan->has[RM_AUTORUN_RECORD] ? plan->texts[RM_AUTORUN_RECORD] : NULL;
    plan->options.name = plan->has[RM_AUTORUN_NAME] ? plan->texts[RM_AUTORUN_NAME] : NULL;
    plan->options.counters =
        plan->has[RM_AUTORUN_COUNTERS] ? plan->texts[RM_AUTORUN_COUNTERS] : NULL;
    plan->options.scope_counters =
        plan->has[RM_AUTORUN_SCOPE_COUNTERS] ? plan->texts[RM_AUTORUN_SCOPE_COUNTERS] : NULL;
    return settle_stacks(plan);
}

resmon_status rm_autorun_parse(const char *text, struct rm_autorun *ret_plan)
{
    struct rm_text rest = rm_text_of(text, strlen(text));
    *ret_plan = (struct rm_autorun){.options = {.struct_size = sizeof ret_plan->options}};
    bool has_more = rm_text_left(&rest) > 0;
    while (has_more) {
        struct rm_text part;
        has_more = rm_parse_until(&rest, ',', &part);
        if (!has_more) {
            part = rest;
        }
        resmon_status status = rm_text_left(&part) > 0 ? read_part(ret_plan, part) : RESMON_OK;
        if (status != RESMON_OK) {
            return status;
        }
    }
    return settle(ret_plan);
}
