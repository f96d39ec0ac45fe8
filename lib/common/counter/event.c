/* SPDX-License-Identifier: MIT */
#include "counter/event.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"

/* PERF_COUNT_HW_* and PERF_COUNT_SW_* of perf_event_open(2), under the names of perf-list(1). */
static const struct {
    const char *name;
    uint32_t type;
    uint8_t config;
    bool is_of_kernel;
} generic[] = {
    {"cycles", RM_EVENT_HARDWARE, 0, false},
    {"instructions", RM_EVENT_HARDWARE, 1, false},
    {"cache-references", RM_EVENT_HARDWARE, 2, false},
    {"cache-misses", RM_EVENT_HARDWARE, 3, false},
    {"branches", RM_EVENT_HARDWARE, 4, false},
    {"branch-misses", RM_EVENT_HARDWARE, 5, false},
    {"bus-cycles", RM_EVENT_HARDWARE, 6, false},
    {"stalled-cycles-frontend", RM_EVENT_HARDWARE, 7, false},
    {"stalled-cycles-backend", RM_EVENT_HARDWARE, 8, false},
    {"ref-cycles", RM_EVENT_HARDWARE, 9, false},
    {"cpu-clock", RM_EVENT_SOFTWARE, 0, false},
    {"task-clock", RM_EVENT_SOFTWARE, 1, false},
    {"page-faults", RM_EVENT_SOFTWARE, 2, false},
    {"context-switches", RM_EVENT_SOFTWARE, 3, true},
    {"migrations", RM_EVENT_SOFTWARE, 4, true},
    {"cpu-migrations", RM_EVENT_SOFTWARE, 4, true},
    {"minor-faults", RM_EVENT_SOFTWARE, 5, false},
    {"major-faults", RM_EVENT_SOFTWARE, 6, false},
};

/* '_' equals '-'. */
static bool is_same(struct rm_text text, const char *name)
{
    size_t length = strlen(name);
    if (rm_text_left(&text) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text.at[i] == '_' ? '-' : text.at[i];
        if (c != name[i]) {
            return false;
        }
    }
    return true;
}

static bool find_generic(struct rm_text text, struct rm_perf_event *event)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(generic); i++) {
        if (is_same(text, generic[i].name)) {
            (void)rm_text_set(event->name, sizeof event->name, generic[i].name);
            event->type = generic[i].type;
            event->config = generic[i].config;
            event->is_of_kernel = generic[i].is_of_kernel;
            return true;
        }
    }
    return false;
}

void rm_perf_event_encode(struct rm_perf_event *event, uint32_t type, const uint64_t config[3])
{
    event->type = type;
    event->config = config[0];
    event->config1 = config[1];
    event->config2 = config[2];
    for (size_t i = 0; i < RM_ARRAY_LEN(generic); i++) {
        if (generic[i].type == type && generic[i].config == config[0]) {
            event->is_of_kernel = generic[i].is_of_kernel;
        }
    }
}

void rm_perf_events_try(struct rm_nearest *nearest)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(generic); i++) {
        rm_nearest_try(nearest, generic[i].name);
    }
}

bool rm_perf_event_generic(const char *name, struct rm_perf_event *ret_event)
{
    struct rm_perf_event event = {.type = 0};
    bool is_known = find_generic(rm_text_of(name, strlen(name)), &event);
    if (is_known) {
        *ret_event = event;
    }
    return is_known;
}

/* "r0451": at least three digits, so that names beginning with r are not codes. */
static bool find_code(struct rm_text text, struct rm_perf_event *event)
{
    struct rm_text digits = {text.at + 1, text.end};
    if (rm_text_left(&text) < 4 || text.at[0] != 'r') {
        return false;
    }
    event->type = RM_EVENT_RAW;
    return rm_parse_hex(&digits, &event->config) && rm_text_left(&digits) == 0;
}

/* Fields of an x86 event select register; `high`: position of the event's upper four bits (AMD). */
static const struct {
    const char *name;
    unsigned bits, shift, high;
} fields[] = {
    {"event", 12, 0, 32}, {"umask", 8, 8, 0}, {"edge", 1, 18, 0},
    {"any", 1, 21, 0},    {"inv", 1, 23, 0},  {"cmask", 8, 24, 0},
};

/* "0x51", or "81" */
static bool read_field_value(struct rm_text text, uint64_t *ret_value)
{
    bool is_hex = rm_text_left(&text) > 2 && text.at[0] == '0' && text.at[1] == 'x';
    bool is_number = is_hex ? rm_parse_hex(&text, ret_value) : rm_parse_u64(&text, ret_value);
    return is_number && rm_text_left(&text) == 0;
}

static bool add_field(struct rm_text field, uint64_t *config)
{
    struct rm_text name = field;
    struct rm_text rest = field;
    uint64_t value = 1; /* a flag without a value is set */
    if (rm_parse_until(&rest, '=', &name) && !read_field_value(rest, &value)) {
        return false;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(fields); i++) {
        if (rm_text_equals(&name, fields[i].name) && value >> fields[i].bits == 0) {
            *config |= fields[i].high == 0 ? value << fields[i].shift
                                           : (value & 0xff) | (value >> 8) << fields[i].high;
            return true;
        }
    }
    return false;
}

/* "cpu/event=0x51,umask=0x4/" */
static bool find_fields(struct rm_text text, struct rm_perf_event *event)
{
    bool is_sound =
        rm_parse_literal(&text, "cpu/") && rm_text_left(&text) > 1 && text.end[-1] == '/';
    text.end -= is_sound ? 1 : 0;
    while (is_sound && rm_text_left(&text) > 0) {
        struct rm_text field = text;
        while (text.at < text.end && *text.at != ',' && *text.at != ':') {
            text.at++;
        }
        field.end = text.at;
        text.at += text.at < text.end ? 1 : 0;
        is_sound = add_field(field, &event->config);
    }
    event->type = RM_EVENT_RAW;
    return is_sound;
}

/* Whether it may be a name of libpfm4: "skx::FP_ARITH:SCALAR:c=1". */
static bool is_name(struct rm_text text)
{
    bool is_sound = rm_text_left(&text) > 0 && isalnum((unsigned char)text.at[0]) != 0;
    for (const char *c = text.at; c < text.end && is_sound; c++) {
        is_sound = isalnum((unsigned char)*c) != 0 || (*c != '\0' && strchr("_:.=-", *c) != NULL);
    }
    return is_sound;
}

resmon_status rm_perf_event_parse(struct rm_text text, struct rm_perf_event *ret_event)
{
    struct rm_perf_event event = {.type = RM_EVENT_RAW};
    size_t length = rm_text_left(&text);
    bool fits = length > 0 && length < sizeof event.name;
    bool is_known = fits && find_generic(text, &event);
    if (fits && !is_known) {
        (void)rm_text_copy(event.name, sizeof event.name, text.at, length);
        is_known = find_code(text, &event) || find_fields(text, &event);
        event.is_named = !is_known && is_name(text);
        if (event.is_named) {
            event.config = 0;
        }
    }
    if (!is_known && !event.is_named) {
        return rm_error(RESMON_EINVAL, "'%.*s' is not the name of an event",
                        (int)(length < RM_EVENT_NAME_BYTES ? length : RM_EVENT_NAME_BYTES),
                        text.at);
    }
    *ret_event = event;
    return RESMON_OK;
}

/* ---- microarchitectures --------------------------------------------------------------------- */

#define PMUS 2

static const struct {
    uint32_t arch;
    const char *name;
    const char *pmus[PMUS];
} archs[] = {
    {RM_ARCH_WSM, "Westmere", {"wsm_dp", "wsm"}},
    {RM_ARCH_SNB, "Sandy Bridge", {"snb_ep", "snb"}},
    {RM_ARCH_IVB, "Ivy Bridge", {"ivb_ep", "ivb"}},
    {RM_ARCH_HSW, "Haswell", {"hsw_ep", "hsw"}},
    {RM_ARCH_BDW, "Broadwell", {"bdw_ep", "bdw"}},
    {RM_ARCH_SKL, "Skylake", {"skl"}},
    {RM_ARCH_SKX, "Skylake-SP or Cascade Lake", {"skx", "clx"}},
    {RM_ARCH_ICL, "Ice Lake, Tiger Lake or Rocket Lake", {"icl"}},
    {RM_ARCH_ICX, "Ice Lake-SP", {"icx"}},
    {RM_ARCH_SPR, "Sapphire Rapids", {"spr"}},
    {RM_ARCH_EMR, "Emerald Rapids", {"emr"}},
    {RM_ARCH_ADL, "Alder Lake or Raptor Lake", {"adl_glc"}},
    {RM_ARCH_INTEL, "an Intel processor that is not in the tables", {NULL}},
    {RM_ARCH_ZEN, "Zen", {"amd64_fam17h_zen1"}},
    {RM_ARCH_ZEN2, "Zen 2", {"amd64_fam17h_zen2"}},
    {RM_ARCH_ZEN3, "Zen 3", {"amd64_fam19h_zen3"}},
    {RM_ARCH_ZEN4, "Zen 4", {"amd64_fam19h_zen4"}},
    {RM_ARCH_ZEN5, "Zen 5", {"amd64_fam1ah_zen5"}},
    {RM_ARCH_AMD, "an AMD processor that is not in the tables", {NULL}},
    {RM_ARCH_ARM, "an ARM processor", {NULL}},
    {RM_ARCH_OTHER, "a processor that is not known", {NULL}},
};

/* Intel's family 6; model numbers of the kernel's asm/intel-family.h. */
static const struct {
    uint8_t model;
    uint32_t arch;
} intel_models[] = {
    {0x25, RM_ARCH_WSM}, {0x2c, RM_ARCH_WSM}, {0x2f, RM_ARCH_WSM}, {0x2a, RM_ARCH_SNB},
    {0x2d, RM_ARCH_SNB}, {0x3a, RM_ARCH_IVB}, {0x3e, RM_ARCH_IVB}, {0x3c, RM_ARCH_HSW},
    {0x3f, RM_ARCH_HSW}, {0x45, RM_ARCH_HSW}, {0x46, RM_ARCH_HSW}, {0x3d, RM_ARCH_BDW},
    {0x47, RM_ARCH_BDW}, {0x4f, RM_ARCH_BDW}, {0x56, RM_ARCH_BDW}, {0x4e, RM_ARCH_SKL},
    {0x5e, RM_ARCH_SKL}, {0x8e, RM_ARCH_SKL}, {0x9e, RM_ARCH_SKL}, {0xa5, RM_ARCH_SKL},
    {0xa6, RM_ARCH_SKL}, {0x55, RM_ARCH_SKX}, {0x7d, RM_ARCH_ICL}, {0x7e, RM_ARCH_ICL},
    {0x9d, RM_ARCH_ICL}, {0x8c, RM_ARCH_ICL}, {0x8d, RM_ARCH_ICL}, {0xa7, RM_ARCH_ICL},
    {0x6a, RM_ARCH_ICX}, {0x6c, RM_ARCH_ICX}, {0x8f, RM_ARCH_SPR}, {0xcf, RM_ARCH_EMR},
    {0x97, RM_ARCH_ADL}, {0x9a, RM_ARCH_ADL}, {0xb7, RM_ARCH_ADL}, {0xba, RM_ARCH_ADL},
    {0xbf, RM_ARCH_ADL},
};

/* AMD assigns ranges of models to a microarchitecture. */
static const struct {
    uint8_t family, first, last;
    uint32_t arch;
} amd_models[] = {
    {0x17, 0x00, 0x2f, RM_ARCH_ZEN},  {0x17, 0x30, 0xff, RM_ARCH_ZEN2},
    {0x19, 0x00, 0x0f, RM_ARCH_ZEN3}, {0x19, 0x10, 0x1f, RM_ARCH_ZEN4},
    {0x19, 0x20, 0x5f, RM_ARCH_ZEN3}, {0x19, 0x60, 0xaf, RM_ARCH_ZEN4},
    {0x1a, 0x00, 0x7f, RM_ARCH_ZEN5},
};

static uint32_t intel(int family, int model)
{
    for (size_t i = 0; family == 6 && i < RM_ARRAY_LEN(intel_models); i++) {
        if (intel_models[i].model == model) {
            return intel_models[i].arch;
        }
    }
    return RM_ARCH_INTEL;
}

static uint32_t amd(int family, int model)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(amd_models); i++) {
        if (amd_models[i].family == family && model >= amd_models[i].first &&
            model <= amd_models[i].last) {
            return amd_models[i].arch;
        }
    }
    return RM_ARCH_AMD;
}

uint32_t rm_arch_of(const char *vendor, int family, int model)
{
    if (strcmp(vendor, "GenuineIntel") == 0) {
        return intel(family, model);
    }
    if (strcmp(vendor, "AuthenticAMD") == 0) {
        return amd(family, model);
    }
    return strcmp(vendor, "ARM") == 0 ? RM_ARCH_ARM : RM_ARCH_OTHER;
}

static size_t index_of(uint32_t arch)
{
    size_t i = 0;
    while (i + 1 < RM_ARRAY_LEN(archs) && archs[i].arch != arch) {
        i++;
    }
    return i;
}

const char *rm_arch_name(uint32_t arch)
{
    return archs[index_of(arch)].name;
}

const char *rm_arch_pmu(uint32_t arch, size_t index)
{
    return index < PMUS ? archs[index_of(arch)].pmus[index] : NULL;
}
