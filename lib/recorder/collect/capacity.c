/* SPDX-License-Identifier: MIT */
#include "collect/capacity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/text.h"
#include "os/file.h"

/* ---- CPUs and memory ------------------------------------------------------------------------ */

/* Visits the numbers of a list such as "0-3,8,10-11".  False: bad format. */
static bool visit_list(struct rm_text list, void (*visit)(void *context, uint64_t number),
                       void *context)
{
    uint64_t low, high;
    do {
        if (!rm_parse_u64(&list, &low)) {
            return false;
        }
        high = low;
        if (rm_parse_literal(&list, "-") && !rm_parse_u64(&list, &high)) {
            return false;
        }
        if (high < low || high - low > 65536) {
            return false;
        }
        for (uint64_t i = low; i <= high; i++) {
            visit(context, i);
        }
    } while (rm_parse_literal(&list, ","));
    return true;
}

static void count_one(void *context, uint64_t number)
{
    (void)number;
    *(double *)context += 1.0;
}

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

struct node_sum {
    const struct rm_root *root;
    struct rm_scratch *scratch;
    double bytes;
};

static void add_node(void *context, uint64_t number)
{
    struct node_sum *sum = context;
    char path[96];
    struct rm_text text, line;
    (void)snprintf(path, sizeof path, "sys/devices/system/node/node%llu/meminfo",
                   (unsigned long long)number);
    if (rm_file_read_once(sum->root, path, sum->scratch, &text) != RESMON_OK) {
        sum->bytes = RM_NAN;
        return;
    }
    /* "Node 0 MemTotal:       24684084 kB" */
    uint64_t node, kib;
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "Node ") && rm_parse_u64(&line, &node) &&
            rm_parse_literal(&line, " MemTotal:") && rm_parse_u64(&line, &kib)) {
            sum->bytes += (double)kib * 1024.0;
            return;
        }
    }
    sum->bytes = RM_NAN;
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

static double read_total(const struct rm_root *root, struct rm_scratch *scratch)
{
    static const struct rm_key keys[] = {RM_KEY("MemTotal:", 0)};
    struct rm_text text;
    uint64_t kib = 0;
    if (rm_file_read_once(root, "proc/meminfo", scratch, &text) != RESMON_OK ||
        rm_parse_keys(text, keys, 1, &kib) == 0) {
        return RM_NAN;
    }
    return (double)kib * 1024.0;
}

/* A bit for each of up to 1024 NUMA nodes, the kernel's limit. */
struct node_set {
    uint64_t bits[16];
};

static void add_to_set(void *context, uint64_t number)
{
    struct node_set *set = context;
    if (number < 1024) {
        set->bits[number / 64] |= UINT64_C(1) << (number % 64);
    }
}

static bool read_online_nodes(const struct rm_root *root, struct rm_scratch *scratch,
                              struct node_set *ret_set)
{
    struct rm_text text;
    return rm_file_read_once(root, "sys/devices/system/node/online", scratch, &text) == RESMON_OK &&
           visit_list(text, add_to_set, ret_set);
}

/* The totals of nodes are read only if a node is not allowed for the process: their sum differs
 * from MemTotal on some machines (memory added at run time). */
static void read_allowed_nodes(struct rm_capacity *capacity, const struct rm_root *root,
                               struct rm_scratch *scratch, struct rm_text status)
{
    struct node_set allowed = {{0}};
    struct node_set online = {{0}};
    struct node_sum sum = {root, scratch, 0.0};
    struct rm_text value;
    bool has_closed = false;
    if (!find_status(status, "Mems_allowed_list:", &value) ||
        !visit_list(value, add_to_set, &allowed)) {
        return;
    }
    capacity->affinity_bytes = capacity->host_bytes;
    if (!read_online_nodes(root, scratch, &online)) {
        return; /* a kernel without NUMA: one node has all memory */
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(online.bits); i++) {
        has_closed |= (online.bits[i] & ~allowed.bits[i]) != 0;
    }
    for (uint64_t node = 0; node < 1024 && has_closed; node++) {
        uint64_t bit = UINT64_C(1) << (node % 64);
        if ((online.bits[node / 64] & allowed.bits[node / 64] & bit) != 0) {
            add_node(&sum, node);
        }
    }
    capacity->affinity_bytes = has_closed ? sum.bytes : capacity->host_bytes;
}

void rm_capacity_read(struct rm_capacity *capacity, const struct rm_root *root,
                      struct rm_scratch *scratch, const char *proc_dir)
{
    *capacity = (struct rm_capacity){RM_NAN, RM_NAN, RM_NAN, RM_NAN, RM_NAN, RM_NAN};
    capacity->host_cpus = count_online(root, scratch);
    capacity->host_bytes = read_total(root, scratch);
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text, value;
    (void)snprintf(path, sizeof path, "%s/status", proc_dir);
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK) {
        return;
    }
    double cpus = 0.0;
    if (find_status(text, "Cpus_allowed_list:", &value) && visit_list(value, count_one, &cpus)) {
        /* The mask may name CPUs that do not exist. */
        capacity->affinity_cpus = fmin(cpus, capacity->host_cpus);
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

/* Upper bound of the number of CPUs (CONFIG_NR_CPUS). */
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

/* Number of the last CPU: "0-63" or "0,2-5".  Without the file, CPUs are read up to the first gap.
 */
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
        } /* else this CPU is offline */
    }
    return seen != 0 ? (unsigned)__builtin_popcountll(seen) : 1;
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
