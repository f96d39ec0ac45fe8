/* SPDX-License-Identifier: MIT */
#include "collect/capacity.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/text.h"
#include "os/file.h"
#include "os/topology.h"

/* ---- CPUs and memory ------------------------------------------------------------------------ */

/* The value of a key of /proc/PID/status. */
static bool find_status(struct rm_text text, const char *key, struct rm_text *ret_value)
{
    struct rm_text line;
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, key) && rm_parse_word(&line, ret_value)) {
            return true;
        }
    }
    return false;
}

static double count_online(const struct rm_root *root, struct rm_scratch *scratch)
{
    struct rm_text text, line;
    double count = 0.0;
    if (rm_file_read_once(root, "proc/stat", scratch, &text) != RESMON_OK) {
        return RM_NAN;
    }
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "cpu") && line.at < line.end && *line.at != ' ') {
            count += 1.0;
        }
    }
    return count > 0.0 ? count : RM_NAN;
}

static void read_memory(struct rm_capacity *capacity, const struct rm_root *root,
                        struct rm_scratch *scratch)
{
    static const struct rm_key keys[] = {RM_KEY("MemTotal:", 0), RM_KEY("SwapTotal:", 1)};
    struct rm_text text;
    uint64_t kib[RM_ARRAY_LEN(keys)];
    if (rm_file_read_once(root, "proc/meminfo", scratch, &text) == RESMON_OK) {
        uint64_t found = rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), kib);
        capacity->host_bytes = (found & 1) != 0 ? (double)kib[0] * 1024.0 : RM_NAN;
        capacity->swap_bytes = (found & 2) != 0 ? (double)kib[1] * 1024.0 : RM_NAN;
    }
}

/* The totals of nodes are read only if a node is not allowed for the process: their sum differs
 * from MemTotal on some machines (memory added at run time). */
static void read_allowed_nodes(struct rm_capacity *capacity, const struct rm_root *root,
                               struct rm_scratch *scratch, struct rm_text status)
{
    struct rm_number_set allowed, online;
    struct rm_text value;
    double bytes = 0.0;
    bool has_closed = false;
    if (!find_status(status, "Mems_allowed_list:", &value) ||
        !rm_number_set_parse(value, &allowed)) {
        return;
    }
    capacity->affinity_bytes = capacity->host_bytes;
    if (!rm_numa_online(root, scratch, &online)) {
        return; /* one node has all memory */
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(online.bits); i++) {
        has_closed |= (online.bits[i] & ~allowed.bits[i]) != 0;
        online.bits[i] &= allowed.bits[i];
    }
    for (unsigned node = 0; node < RM_MOST_NUMBERS && has_closed; node++) {
        if ((online.bits[node / 64] >> (node % 64) & 1) != 0) {
            bytes += rm_numa_memory(root, scratch, node);
        }
    }
    capacity->affinity_bytes = has_closed ? bytes : capacity->host_bytes;
}

void rm_capacity_read(struct rm_capacity *capacity, const struct rm_root *root,
                      struct rm_scratch *scratch, const char *proc_dir)
{
    *capacity = (struct rm_capacity){RM_NAN, RM_NAN, RM_NAN, RM_NAN, RM_NAN, RM_NAN, RM_NAN};
    capacity->host_cpus = count_online(root, scratch);
    read_memory(capacity, root, scratch);
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text, value;
    (void)snprintf(path, sizeof path, "%s/status", proc_dir);
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK) {
        return;
    }
    struct rm_number_set allowed;
    if (find_status(text, "Cpus_allowed_list:", &value) && rm_number_set_parse(value, &allowed)) {
        /* The mask may name CPUs that do not exist. */
        capacity->affinity_cpus = fmin(rm_number_set_count(&allowed), capacity->host_cpus);
    }
    read_allowed_nodes(capacity, root, scratch, text);
}

struct quota_search {
    const struct rm_root *root;
    struct rm_scratch *scratch;
    int version;
    double cpus;
};

/* "max 100000" or "50000 100000" */
static double quota_v2(const struct quota_search *search, const char *group)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text;
    uint64_t quota, period;
    (void)snprintf(path, sizeof path, "%s/cpu.max", group);
    if (rm_file_read_once(search->root, path, search->scratch, &text) != RESMON_OK ||
        !rm_parse_u64(&text, &quota) || !rm_parse_u64(&text, &period) || period == 0) {
        return RM_NAN;
    }
    return (double)quota / (double)period;
}

static double quota_v1(const struct quota_search *search, const char *group)
{
    char path[RM_FILE_PATH_BYTES];
    uint64_t quota, period;
    (void)snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", group); /* -1: no quota */
    if (rm_file_read_u64(search->root, path, search->scratch, &quota) != RESMON_OK) {
        return RM_NAN;
    }
    (void)snprintf(path, sizeof path, "%s/cpu.cfs_period_us", group);
    if (rm_file_read_u64(search->root, path, search->scratch, &period) != RESMON_OK ||
        period == 0) {
        return RM_NAN;
    }
    return (double)quota / (double)period;
}

static void take_quota(void *context, const char *path)
{
    struct quota_search *search = context;
    double cpus = search->version == 2 ? quota_v2(search, path) : quota_v1(search, path);
    if (!isnan(cpus) && !(search->cpus <= cpus)) {
        search->cpus = cpus;
    }
}

void rm_capacity_read_cgroup(struct rm_capacity *capacity, const struct rm_root *root,
                             struct rm_scratch *scratch, const struct rm_cgroup *cgroup,
                             const struct rm_cgroup_limits *limits)
{
    const struct rm_cgroup_place *cpu = &cgroup->places[RM_CGROUP_CPU];
    struct quota_search search = {root, scratch, cpu->version, RM_NAN};
    rm_cgroup_visit_ancestors(cpu, take_quota, &search);
    capacity->cgroup_cpus = search.cpus;
    capacity->cgroup_bytes = rm_cgroup_limits_tightest(limits);
}

/* ---- the processors ------------------------------------------------------------------------- */

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

/* Vector and matrix instructions, by their names in /proc/cpuinfo of x86 and ARM. */
static void take_features(struct rm_cpu_model *model, struct rm_text flags)
{
    static const char *const names[] = {"avx2", "avx512f", "amx_tile", "asimd",
                                        "sve",  "sve2",    "sme"};
    size_t length = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        if (has_word(flags, names[i])) {
            char *at = model->features + length;
            length += (size_t)snprintf(at, sizeof model->features - length, "%s%s",
                                       length > 0 ? " " : "", names[i]);
        }
    }
}

/* The hypervisor's signature, in a leaf of CPUID that all of them have. */
static void find_hypervisor(struct rm_cpu_model *model)
{
#if defined(__x86_64__)
    static const struct {
        const char *signature, *name;
    } known[] = {{"KVMKVMKVM", "KVM"},    {"Microsoft Hv", "Hyper-V"},  {"VMwareVMware", "VMware"},
                 {"XenVMMXenVMM", "Xen"}, {"TCGTCGTCGTCG", "QEMU TCG"}, {"bhyve bhyve ", "bhyve"}};
    unsigned leaf, words[3];
    char signature[sizeof words + 1] = "";
    __cpuid(0x40000000, leaf, words[0], words[1], words[2]);
    memcpy(signature, words, sizeof words);
    for (size_t i = 0; i < RM_ARRAY_LEN(known); i++) {
        if (strcmp(signature, known[i].signature) == 0) {
            (void)rm_text_set(model->hypervisor, sizeof model->hypervisor, known[i].name);
        }
    }
#else
    (void)model;
#endif
}

/* Takes a line "key\t: value" of the first processor. */
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
    } else if (rm_text_equals(&key, "flags") || rm_text_equals(&key, "Features")) {
        model->is_virtual = has_word(value, "hypervisor");
        take_features(model, value);
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
    if (model->is_virtual && root->is_live) {
        find_hypervisor(model);
    }
    find_provider(model, root, scratch);
}

bool rm_cpu_mirrors_dies(const struct rm_cpu_model *model)
{
    return strcmp(model->kind.vendor, "AuthenticAMD") == 0 ||
           strcmp(model->kind.vendor, "HygonGenuine") == 0;
}

/* ---- memory modules ------------------------------------------------------------------------- */

#define EDAC "sys/devices/system/edac/mc"

/* Search in "mc0/dimm3/size", in MiB; "rank3" is a part of a module. */
struct modules {
    const struct rm_root *root;
    struct rm_scratch *scratch;
    char controllers[16][16];
    size_t controller_count;
    unsigned numbers[256]; /* N of the controller's dimmN */
    size_t number_count;
};

static bool keep_controller(void *context, const char *name)
{
    struct modules *modules = context;
    if (strncmp(name, "mc", 2) == 0 && strlen(name) < sizeof modules->controllers[0] &&
        modules->controller_count < RM_ARRAY_LEN(modules->controllers)) {
        (void)snprintf(modules->controllers[modules->controller_count++],
                       sizeof modules->controllers[0], "%.15s", name);
    }
    return true;
}

static bool keep_module(void *context, const char *name)
{
    struct modules *modules = context;
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t number;
    if (rm_parse_literal(&text, "dimm") && rm_parse_u64(&text, &number) && number < 4096 &&
        modules->number_count < RM_ARRAY_LEN(modules->numbers)) {
        modules->numbers[modules->number_count++] = (unsigned)number;
    }
    return true;
}

static unsigned count_filled(struct modules *modules, const char *controller)
{
    unsigned filled = 0;
    for (size_t i = 0; i < modules->number_count; i++) {
        char path[96];
        uint64_t mib;
        (void)snprintf(path, sizeof path, EDAC "/%.15s/dimm%u/size", controller,
                       modules->numbers[i]);
        if (rm_file_read_u64(modules->root, path, modules->scratch, &mib) == RESMON_OK && mib > 0) {
            filled++;
        }
    }
    return filled;
}

unsigned rm_memory_modules(const struct rm_root *root, struct rm_scratch *scratch)
{
    struct modules modules = {.root = root, .scratch = scratch};
    unsigned count = 0;
    if (rm_dir_visit(root, EDAC, keep_controller, &modules) != RESMON_OK) {
        return 0;
    }
    for (size_t i = 0; i < modules.controller_count; i++) {
        char path[96];
        (void)snprintf(path, sizeof path, EDAC "/%.15s", modules.controllers[i]);
        modules.number_count = 0;
        if (rm_dir_visit(root, path, keep_module, &modules) == RESMON_OK) {
            count += count_filled(&modules, modules.controllers[i]);
        }
    }
    return count;
}
