/* SPDX-License-Identifier: MIT */
#include "engine/autorun.h"

#include <string.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "scope/meter.h"

#define SHOWN(text) (int)(rm_text_left(&(text)) < 80 ? rm_text_left(&(text)) : 80), (text).at

/* ---- values ----------------------------------------------------------------------------- */

/* "100ms", "2s", "1min"; without a unit: milliseconds. */
static resmon_status read_interval(struct rm_autorun *plan, struct rm_text value)
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
                plan->options.interval_ms = number * units[i].ms;
                return RESMON_OK;
            }
        }
    }
    return rm_error(RESMON_EINVAL, "interval=%.*s: a number with ms, s, min or h, such as 100ms",
                    SHOWN(value));
}

static resmon_status read_rows(struct rm_autorun *plan, struct rm_text value)
{
    uint64_t number;
    struct rm_text rest = value;
    if (!rm_parse_u64(&rest, &number) || rest.at != rest.end || number == 0) {
        return rm_error(RESMON_EINVAL, "rows=%.*s: an even number", SHOWN(value));
    }
    plan->options.max_rows = (size_t)number;
    return RESMON_OK;
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
    {"net", RESMON_DOMAIN_NET},         {"all", RESMON_DOMAIN_ALL},
};

static uint64_t domain_by_name(const char *name, size_t length)
{
    struct rm_text text = rm_text_of(name, length);
    for (size_t i = 0; i < RM_ARRAY_LEN(domains); i++) {
        if (rm_text_equals(&text, domains[i].name)) {
            return domains[i].bit;
        }
    }
    return 0;
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
    return read_names(value, rm_meter_by_name, "scopes", "wall, cpu, rss, io, none",
                      &plan->options.scope_meters);
}

static resmon_status read_domains(struct rm_autorun *plan, struct rm_text value)
{
    return read_names(value, domain_by_name, "domains",
                      "process, tree, cgroup, node, cpu, memory, psi, disk, net, all",
                      &plan->options.domains);
}

static resmon_status copy(struct rm_text value, const char *key, char target[RM_AUTORUN_TEXT_BYTES])
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

static resmon_status read_json(struct rm_autorun *plan, struct rm_text value)
{
    return copy(value, "json", plan->json);
}

static resmon_status read_record(struct rm_autorun *plan, struct rm_text value)
{
    return copy(value, "record", plan->record);
}

static resmon_status read_name(struct rm_autorun *plan, struct rm_text value)
{
    return copy(value, "name", plan->name);
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

static const struct key {
    const char *name;
    bool has_value;
    resmon_status (*read)(struct rm_autorun *plan, struct rm_text value);
} keys[] = {
    {"json", true, read_json},         {"record", true, read_record},
    {"interval", true, read_interval}, {"scopes", true, read_scopes},
    {"domains", true, read_domains},   {"rows", true, read_rows},
    {"name", true, read_name},         {"summary", false, set_summary},
    {"smaps", false, set_smaps},       {"log", false, set_log},
};

static resmon_status unknown(struct rm_text part)
{
    return rm_error(RESMON_EINVAL,
                    "'%.*s' is not known; use json=FILE, record=FILE, interval=100ms, "
                    "scopes=wall+cpu+rss+io, domains=process+node, rows=N, name=TEXT, summary, "
                    "smaps, log",
                    SHOWN(part));
}

static resmon_status read_part(struct rm_autorun *plan, struct rm_text part)
{
    struct rm_text name = part;
    struct rm_text value = part;
    bool has_value = rm_parse_until(&value, '=', &name);
    for (size_t i = 0; i < RM_ARRAY_LEN(keys); i++) {
        if (!rm_text_equals(&name, keys[i].name)) {
            continue;
        }
        if (has_value != keys[i].has_value) {
            return rm_error(RESMON_EINVAL, "'%.*s': %s takes %s", SHOWN(part), keys[i].name,
                            keys[i].has_value ? "a value, after '='" : "no value");
        }
        return keys[i].read(plan, value);
    }
    return unknown(part);
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
    bool has_output = ret_plan->json[0] != '\0' || ret_plan->record[0] != '\0';
    ret_plan->wants_summary = ret_plan->wants_summary || !has_output;
    ret_plan->options.record = ret_plan->record[0] != '\0' ? ret_plan->record : NULL;
    ret_plan->options.name = ret_plan->name[0] != '\0' ? ret_plan->name : NULL;
    return RESMON_OK;
}
