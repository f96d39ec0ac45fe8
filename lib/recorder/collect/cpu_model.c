/* SPDX-License-Identifier: MIT */
#include "collect/cpu_model.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/text.h"

/* A kernel has not more (CONFIG_NR_CPUS). */
#define MOST_CPUS 8192

static int number_of(struct rm_text text)
{
    uint64_t number;
    return rm_parse_u64(&text, &number) && number < 65536 ? (int)number : 0;
}

/* "0xd0c" */
static int hex_of(struct rm_text text)
{
    uint64_t number;
    return rm_parse_hex(&text, &number) && number < 65536 ? (int)number : 0;
}

static bool has_word(struct rm_text text, const char *wanted)
{
    struct rm_text word;
    while (rm_parse_word(&text, &word)) {
        if (rm_text_equals(&word, wanted)) {
            return true;
        }
    }
    return false;
}

/* A line "key\t: value" of the first processor. */
static void take(struct rm_cpu_model *model, struct rm_text key, struct rm_text value)
{
    while (key.end > key.at && (key.end[-1] == '\t' || key.end[-1] == ' ')) {
        key.end--;
    }
    (void)rm_parse_literal(&value, " ");
    struct rm_cpu_kind *kind = &model->kind;
    if (rm_text_equals(&key, "model name")) {
        (void)rm_text_copy(model->name, sizeof model->name, value.at, rm_text_left(&value));
    } else if (rm_text_equals(&key, "vendor_id")) {
        (void)rm_text_copy(kind->vendor, sizeof kind->vendor, value.at, rm_text_left(&value));
    } else if (rm_text_equals(&key, "cpu family")) {
        kind->family = number_of(value);
    } else if (rm_text_equals(&key, "model")) {
        kind->model = number_of(value);
    } else if (rm_text_equals(&key, "stepping")) {
        kind->stepping = number_of(value);
    } else if (rm_text_equals(&key, "flags")) {
        model->is_virtual = has_word(value, "hypervisor");
    } else if (rm_text_equals(&key, "CPU implementer")) {
        model->is_arm = true;
        (void)rm_text_set(kind->vendor, sizeof kind->vendor, hex_of(value) == 0x41 ? "ARM" : "");
    } else if (rm_text_equals(&key, "CPU part")) {
        kind->family = hex_of(value);
    }
}

static void read_first_processor(struct rm_cpu_model *model, const struct rm_root *root,
                                 struct rm_scratch *scratch)
{
    struct rm_text text, line;
    if (rm_file_read_first(root, "proc/cpuinfo", scratch, &text) != RESMON_OK) {
        return;
    }
    while (rm_parse_line(&text, &line) && rm_text_left(&line) > 0) {
        struct rm_text key;
        if (rm_parse_until(&line, ':', &key)) {
            take(model, key, line);
        }
    }
}

static void find_provider(struct rm_cpu_model *model, const struct rm_root *root,
                          struct rm_scratch *scratch)
{
    static const struct {
        const char *vendor, *provider;
    } vendors[] = {{"Amazon EC2", "aws"}, {"Google", "gcp"}, {"Microsoft Corporation", "azure"}};
    struct rm_text text, line;
    if (rm_file_read_once(root, "sys/class/dmi/id/sys_vendor", scratch, &text) != RESMON_OK ||
        !rm_parse_line(&text, &line)) {
        return;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(vendors); i++) {
        if (rm_text_equals(&line, vendors[i].vendor)) {
            model->provider = vendors[i].provider;
        }
    }
}

void rm_cpu_model_read(struct rm_cpu_model *model, const struct rm_root *root,
                       struct rm_scratch *scratch)
{
    *model = (struct rm_cpu_model){.provider = NULL};
    read_first_processor(model, root, scratch);
    find_provider(model, root, scratch);
}

bool rm_cpu_mirrors_dies(const struct rm_cpu_model *model)
{
    return strcmp(model->kind.vendor, "AuthenticAMD") == 0 ||
           strcmp(model->kind.vendor, "HygonGenuine") == 0;
}

/* "0-63" or "0,2-5"; a machine without the file is looked at as far as it has CPUs in a row. */
static uint64_t last_cpu(const struct rm_root *root, struct rm_scratch *scratch)
{
    struct rm_text text;
    uint64_t last = 0;
    if (rm_file_read_once(root, "sys/devices/system/cpu/present", scratch, &text) != RESMON_OK) {
        return MOST_CPUS;
    }
    while (rm_parse_u64(&text, &last) &&
           (rm_parse_literal(&text, "-") || rm_parse_literal(&text, ","))) {
    }
    return last < MOST_CPUS ? last : MOST_CPUS;
}

unsigned rm_cpu_count_sockets(const struct rm_root *root, struct rm_scratch *scratch)
{
    uint64_t seen = 0;
    uint64_t last = last_cpu(root, scratch);
    for (uint64_t cpu = 0; cpu <= last; cpu++) {
        char path[96];
        uint64_t package;
        (void)snprintf(path, sizeof path,
                       "sys/devices/system/cpu/cpu%u/topology/physical_package_id", (unsigned)cpu);
        if (rm_file_read_u64(root, path, scratch, &package) == RESMON_OK) {
            seen |= package < 64 ? UINT64_C(1) << package : 0;
        } else if (last == MOST_CPUS) {
            break;
        } /* else one that is switched off */
    }
    return seen != 0 ? (unsigned)__builtin_popcountll(seen) : 1;
}
