/* SPDX-License-Identifier: MIT */
#include "collect/energy_zones.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "collect/capacity.h"
#include "os/file.h"
#include "os/own_io.h"

/* ---- zones of powercap ---------------------------------------------------------------------- */

struct class_walk {
    const struct rm_root *root;
    rm_powercap_visit_fn visit;
    void *context;
};

struct names {
    size_t count;
    char names[RM_MOST_ZONES][32];
};

static bool keep_name(void *context, const char *name)
{
    struct names *names = context;
    if (strncmp(name, "intel-rapl", 10) == 0 && strlen(name) < sizeof names->names[0] &&
        names->count < RM_MOST_ZONES) {
        (void)rm_text_set(names->names[names->count++], sizeof names->names[0], name);
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* NULL: there is no such directory, or the visitor got the reason. */
static struct names *list(const struct class_walk *walk, const char *directory, unsigned depth)
{
    struct names *names = rm_alloc(1, sizeof *names);
    if (names == NULL) {
        (void)rm_error(RESMON_ENOMEM, "out of memory");
    } else if (rm_dir_visit(walk->root, directory, keep_name, names) == RESMON_OK) {
        qsort(names->names, names->count, sizeof names->names[0], by_name);
        return names;
    }
    if (names == NULL || depth > 0 || rm_file_exists(walk->root, directory)) {
        walk->visit(walk->context, directory, NULL);
    }
    rm_free(names);
    return NULL;
}

/*
 * "intel-rapl:0" and "intel-rapl:0:1" are zones.  The class directory lists all of them.  Where
 * it does not (in a copy of a tree), they are in "intel-rapl" and nested in each other.
 */
static void visit_directory(const struct class_walk *walk, const char *directory, unsigned depth)
{
    struct names *names = list(walk, directory, depth);
    bool is_flat = false;
    if (names == NULL) {
        return;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (strchr(names->names[i], ':') != NULL) {
            is_flat = depth == 0;
            walk->visit(walk->context, directory, names->names[i]);
        }
    }
    for (size_t i = 0; i < names->count && !is_flat && depth < 2; i++) {
        char below[RM_FILE_PATH_BYTES];
        int length = snprintf(below, sizeof below, "%s/%s", directory, names->names[i]);
        if (length > 0 && length < RM_FILE_PATH_BYTES) {
            visit_directory(walk, below, depth + 1);
        }
    }
    rm_free(names);
}

void rm_powercap_visit(const struct rm_root *root, rm_powercap_visit_fn visit, void *context)
{
    const struct class_walk walk = {root, visit, context};
    visit_directory(&walk, RM_POWERCAP_CLASS, 0);
}

/* ---- zones ---------------------------------------------------------------------------------- */

#define PMU "sys/bus/event_source/devices/power"

/* Upper bound of the power of a socket or platform. */
#define LIMIT_W 2000.0

#define MICRO 1e-6

/* "2." and as many decimals as the parser accepts. */
#define MOST_DIGITS 20

#define MMIO "intel-rapl-mmio"

static const char *const domains[RM_ENERGY_DOMAINS] = {"package", "core", "uncore", "dram", "psys"};

static void explain(struct rm_energy_zones *zones, const char *why)
{
    if (zones->why[0] == '\0') {
        (void)rm_text_set(zones->why, sizeof zones->why, why);
    }
}

static struct rm_energy_zone *add_zone(struct rm_energy_zones *zones)
{
    if (zones->count == RM_MOST_ZONES) {
        explain(zones, "there are too many powercap zones: the last ones are not read");
        return NULL;
    }
    struct rm_energy_zone *zone = &zones->zones[zones->count++];
    *zone = (struct rm_energy_zone){.package = -1, .die = -1};
    zone->counter.limit_w = LIMIT_W;
    return zone;
}

static void drop_zone(struct rm_energy_zones *zones, size_t index)
{
    rm_file_close(&zones->zones[index].file);
    rm_kept_close(&zones->zones[index].event);
    zones->zones[index] = zones->zones[--zones->count];
}

/* ---- powercap: names -------------------------------------------------------------------- */

/* Writes "DIRECTORY/NAME"; false: too long. */
static bool join(char path[RM_FILE_PATH_BYTES], const char *directory, const char *name)
{
    int length = snprintf(path, RM_FILE_PATH_BYTES, "%s/%s", directory, name);
    return length > 0 && length < RM_FILE_PATH_BYTES;
}

/* Reads a one-line file of a zone, without its '\n'. */
static bool read_line(const struct rm_root *root, struct rm_scratch *scratch, const char *directory,
                      const char *name, char *line, size_t capacity)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text, first;
    if (!join(path, directory, name) ||
        rm_file_read_once(root, path, scratch, &text) != RESMON_OK ||
        !rm_parse_line(&text, &first)) {
        return false;
    }
    (void)rm_text_copy(line, capacity, first.at, rm_text_left(&first));
    return true;
}

/* The number after `mark` in "package-0-die-1"; -1: none. */
static int number_after(const char *name, const char *mark)
{
    uint64_t number;
    const char *at = strstr(name, mark);
    if (at == NULL) {
        return -1;
    }
    at += strlen(mark);
    struct rm_text text = rm_text_of(at, strlen(at));
    return text.at < text.end && *text.at != ' ' && rm_parse_u64(&text, &number) && number < 65536
               ? (int)number
               : -1;
}

static bool domain_of(const char *name, enum rm_energy_domain *ret_domain)
{
    for (unsigned i = 0; i < RM_ENERGY_DOMAINS; i++) {
        size_t length = strlen(domains[i]);
        if (strncmp(name, domains[i], length) == 0 &&
            (name[length] == '\0' || name[length] == '-')) {
            *ret_domain = (enum rm_energy_domain)i;
            return true;
        }
    }
    return false;
}

static void name_zone(struct rm_energy_zone *zone)
{
    int length = snprintf(zone->name, sizeof zone->name, "%s", domains[zone->domain]);
    if (zone->package >= 0) {
        length +=
            snprintf(zone->name + length, sizeof zone->name - (size_t)length, "-%d", zone->package);
    }
    if (zone->die >= 0) {
        (void)snprintf(zone->name + length, sizeof zone->name - (size_t)length, "-die-%d",
                       zone->die);
    }
}

/* ---- powercap: zones -------------------------------------------------------------------- */

struct walk {
    struct rm_energy_zones *zones;
    const struct rm_root *root;
    struct rm_scratch *scratch;
};

/* Reads the name of the zone that contains "DIRECTORY/intel-rapl:0:1": DIRECTORY/intel-rapl:0, or
 * DIRECTORY itself. */
static void read_outer_name(const struct walk *walk, const char *directory, const char *id,
                            char *name, size_t capacity)
{
    char path[RM_FILE_PATH_BYTES];
    char *colon = join(path, directory, id) ? strrchr(path, ':') : NULL;
    name[0] = '\0';
    if (colon != NULL && strchr(id, ':') != strrchr(id, ':')) {
        *colon = '\0';
        if (!read_line(walk->root, walk->scratch, path, "name", name, capacity)) {
            (void)read_line(walk->root, walk->scratch, directory, "name", name, capacity);
        }
    }
}

static void open_zone(const struct walk *walk, const char *directory, const char *id)
{
    char path[RM_FILE_PATH_BYTES], file[RM_FILE_PATH_BYTES], name[64], outer[64];
    enum rm_energy_domain domain;
    if (!join(path, directory, id) ||
        !read_line(walk->root, walk->scratch, path, "name", name, sizeof name) ||
        !domain_of(name, &domain)) {
        return;
    }
    struct rm_energy_zone *zone = add_zone(walk->zones);
    if (zone == NULL) {
        return;
    }
    read_outer_name(walk, directory, id, outer, sizeof outer);
    const char *numbered = domain == RM_ZONE_PACKAGE ? name : outer;
    zone->domain = domain;
    zone->is_mmio = strncmp(id, MMIO, strlen(MMIO)) == 0;
    zone->package = number_after(numbered, "package-");
    zone->die = number_after(numbered, "-die-");
    zone->counter.unit_j = MICRO;
    name_zone(zone);
    if (!join(file, path, "max_energy_range_uj") ||
        rm_file_read_u64(walk->root, file, walk->scratch, &zone->counter.max) != RESMON_OK) {
        zone->counter.max = 0;
    }
    if (!join(file, path, "energy_uj") ||
        rm_file_open(&zone->file, walk->root, file) != RESMON_OK) {
        explain(walk->zones, resmon_last_error());
    }
}

/* All users may read the power limit, also where only root may read the energy. */
static void add_power_limit(const struct walk *walk, const char *directory, const char *id)
{
    static const char *const names[] = {"constraint_0_max_power_uw", "constraint_0_power_limit_uw"};
    char path[RM_FILE_PATH_BYTES], file[RM_FILE_PATH_BYTES], name[64];
    uint64_t microwatts = 0;
    if (strncmp(id, MMIO, strlen(MMIO)) == 0 || !join(path, directory, id) ||
        !read_line(walk->root, walk->scratch, path, "name", name, sizeof name) ||
        strncmp(name, "package", 7) != 0) {
        return;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(names) && microwatts == 0; i++) {
        if (!join(file, path, names[i]) ||
            rm_file_read_u64(walk->root, file, walk->scratch, &microwatts) != RESMON_OK) {
            microwatts = 0;
        }
    }
    double watts = (double)microwatts * MICRO;
    if (watts > 0.0 && watts < LIMIT_W) {
        double before = walk->zones->power_limit_w;
        walk->zones->power_limit_w = before >= 0.0 ? before + watts : watts;
    }
}

static void visit_zone(void *context, const char *directory, const char *id)
{
    const struct walk *walk = context;
    if (id == NULL) {
        explain(walk->zones, resmon_last_error());
        return;
    }
    open_zone(walk, directory, id);
    add_power_limit(walk, directory, id);
}

/* ---- duplicates ------------------------------------------------------------------------- */

static bool is_readable(const struct rm_energy_zone *zone)
{
    return rm_file_is_open(&zone->file) || zone->event.is_open;
}

static bool is_same(const struct rm_energy_zone *a, const struct rm_energy_zone *b)
{
    return a->domain == b->domain && a->package == b->package && a->die == b->die;
}

static bool mirrors_dies(const struct rm_root *root, struct rm_scratch *scratch)
{
    struct rm_cpu_model model;
    rm_cpu_model_read(&model, root, scratch);
    return rm_cpu_mirrors_dies(&model);
}

/* Which of two duplicates is kept: a readable one, then MSR, then the first die. */
static bool is_better(const struct rm_energy_zone *a, const struct rm_energy_zone *b)
{
    if (is_readable(a) != is_readable(b)) {
        return is_readable(a);
    }
    return a->is_mmio != b->is_mmio ? !a->is_mmio : a->die <= b->die;
}

static void drop_doubles(struct rm_energy_zones *zones, bool are_mirrors)
{
    for (size_t i = 0; i < zones->count; i++) {
        for (size_t k = i + 1; k < zones->count;) {
            struct rm_energy_zone *a = &zones->zones[i];
            struct rm_energy_zone *b = &zones->zones[k];
            bool is_mirror = are_mirrors && a->domain == b->domain && a->package == b->package;
            if (!is_same(a, b) && !is_mirror) {
                k++;
                continue;
            }
            if (!is_better(a, b)) {
                struct rm_energy_zone other = *a;
                *a = *b;
                *b = other;
            }
            drop_zone(zones, k);
        }
        if (are_mirrors) {
            zones->zones[i].die = -1; /* it is of the socket */
            name_zone(&zones->zones[i]);
        }
    }
}

static bool read_file(struct rm_energy_zone *zone, struct rm_scratch *scratch, uint64_t *ret_count)
{
    struct rm_text text;
    return rm_file_read(&zone->file, scratch, &text) == RESMON_OK && rm_parse_u64(&text, ret_count);
}

static bool open_event(const struct rm_energy_zones *zones, struct rm_energy_zone *zone)
{
    int fd = zones->perf_open(zones->pmu_type, zone->event_config, zone->event_cpu);
    if (fd >= 0) {
        rm_kept_take(&zone->event, fd);
    }
    return fd >= 0;
}

/* An event whose descriptor the program has closed is opened again, and counts from 0. */
static bool read_event(const struct rm_energy_zones *zones, struct rm_energy_zone *zone,
                       uint64_t *ret_count)
{
    if (!rm_kept_is_ours(&zone->event)) {
        if (!open_event(zones, zone)) {
            return false;
        }
        rm_energy_restart(&zone->counter);
    }
    ssize_t got = read(zone->event.fd, ret_count, sizeof *ret_count);
    rm_own_io_note_read(got);
    return got == (ssize_t)sizeof *ret_count;
}

static bool read_count(const struct rm_energy_zones *zones, struct rm_energy_zone *zone,
                       struct rm_scratch *scratch, uint64_t *ret_count)
{
    if (zone->event.is_open) {
        return read_event(zones, zone, ret_count);
    }
    return read_file(zone, scratch, ret_count) ||
           (rm_file_reopen(&zone->file) == RESMON_OK && read_file(zone, scratch, ret_count));
}

/* Some files can be opened but not read. */
static void close_unreadable(struct rm_energy_zones *zones, struct rm_scratch *scratch)
{
    for (size_t i = 0; i < zones->count; i++) {
        uint64_t count;
        if (is_readable(&zones->zones[i]) &&
            !read_count(zones, &zones->zones[i], scratch, &count)) {
            char why[sizeof zones->why];
            (void)snprintf(why, sizeof why, "%s cannot be read, or holds no number",
                           zones->zones[i].name);
            explain(zones, why);
            rm_file_close(&zones->zones[i].file);
        }
    }
}

static void drop_unreadable(struct rm_energy_zones *zones)
{
    for (size_t i = 0; i < zones->count;) {
        if (is_readable(&zones->zones[i])) {
            i++;
        } else {
            zones->unreadable[zones->zones[i].domain]++;
            drop_zone(zones, i);
        }
    }
}

static int by_domain(const void *a_, const void *b_)
{
    const struct rm_energy_zone *a = a_;
    const struct rm_energy_zone *b = b_;
    if (a->domain != b->domain) {
        return a->domain < b->domain ? -1 : 1;
    }
    return a->package != b->package ? (a->package < b->package ? -1 : 1) : a->die - b->die;
}

static size_t count_of(const struct rm_energy_zones *zones, enum rm_energy_domain domain)
{
    size_t count = 0;
    for (size_t i = 0; i < zones->count; i++) {
        count += zones->zones[i].domain == domain ? 1 : 0;
    }
    return count;
}

/* One of two sockets would look like the whole machine, so all zones must be readable. */
bool rm_energy_zones_measure(const struct rm_energy_zones *zones, enum rm_energy_domain domain)
{
    return count_of(zones, domain) > 0 && zones->unreadable[domain] == 0;
}

/* ---- the PMU ---------------------------------------------------------------------------- */

/* "event=0x02" */
static bool read_config(const struct walk *walk, const char *event, uint64_t *ret_config)
{
    char line[64];
    if (!read_line(walk->root, walk->scratch, PMU "/events", event, line, sizeof line)) {
        return false;
    }
    struct rm_text text = rm_text_of(line, strlen(line));
    return rm_parse_literal(&text, "event=") && rm_parse_hex(&text, ret_config) &&
           rm_text_left(&text) == 0;
}

/* "2.3283064365386962890625e-10": J per count. */
static double read_scale(const struct walk *walk, const char *event)
{
    char name[64], line[64];
    double number;
    int64_t exponent = 0;
    (void)snprintf(name, sizeof name, "%s.scale", event);
    if (!read_line(walk->root, walk->scratch, PMU "/events", name, line, sizeof line)) {
        return 0.0;
    }
    size_t digits = strcspn(line, "e");
    struct rm_text tail = rm_text_of("0", 1);
    if (line[digits] == 'e') {
        tail = rm_text_of(line + digits + 1, strlen(line + digits + 1));
    }
    line[digits < MOST_DIGITS ? digits : MOST_DIGITS] = '\0';
    struct rm_text text = rm_text_of(line, strlen(line));
    if (!rm_parse_decimal(&text, &number) || !rm_parse_i64(&tail, &exponent) || exponent > 0 ||
        exponent < -30) {
        return 0.0;
    }
    for (; exponent < 0; exponent++) {
        number /= 10.0;
    }
    return number;
}

/* Opens an event on the CPU that counts for a package (Intel: for a die): "0,18" or "0-1". */
static void open_events(const struct walk *walk, enum rm_energy_domain domain, struct rm_text cpus)
{
    static const char *const events[RM_ENERGY_DOMAINS] = {
        "energy-pkg", "energy-cores", "energy-gpu", "energy-ram", "energy-psys"};
    uint64_t config, cpu;
    double scale = read_scale(walk, events[domain]);
    int package = 0;
    if (!read_config(walk, events[domain], &config) || scale <= 0.0) {
        return;
    }
    while (rm_parse_u64(&cpus, &cpu) && cpu < 65536) {
        struct rm_energy_zone *zone = add_zone(walk->zones);
        if (zone == NULL) {
            return;
        }
        zone->event_config = config;
        zone->event_cpu = (int)cpu;
        if (!open_event(walk->zones, zone)) {
            walk->zones->pmu_errno = errno;
            char why[160];
            (void)snprintf(
                why, sizeof why,
                "the PMU \"power\" cannot be opened (errno %d): it needs CAP_PERFMON, or "
                "kernel.perf_event_paranoid at 0 or below",
                walk->zones->pmu_errno);
            explain(walk->zones, why);
            drop_zone(walk->zones, walk->zones->count - 1);
            return;
        }
        zone->domain = domain;
        zone->package = domain == RM_ZONE_PSYS ? -1 : package;
        zone->counter.unit_j = scale;
        name_zone(zone);
        package++;
        (void)rm_parse_literal(&cpus, ",");
    }
}

static void open_pmu(const struct walk *walk)
{
    uint64_t type;
    char cpus[256];
    if (rm_file_read_u64(walk->root, PMU "/type", walk->scratch, &type) != RESMON_OK ||
        type > UINT32_MAX ||
        !read_line(walk->root, walk->scratch, PMU, "cpumask", cpus, sizeof cpus)) {
        return;
    }
    walk->zones->pmu_type = (uint32_t)type;
    for (unsigned domain = 0; domain < RM_ENERGY_DOMAINS; domain++) {
        open_events(walk, (enum rm_energy_domain)domain, rm_text_of(cpus, strlen(cpus)));
    }
    for (size_t i = 0; i < walk->zones->count; i++) {
        if (walk->zones->zones[i].event.is_open) {
            walk->zones->is_pmu = true;
            walk->zones->unreadable[walk->zones->zones[i].domain] = 0; /* the PMU can read them */
        }
    }
}

/* ---- life ------------------------------------------------------------------------------- */

static void set_poll(struct rm_energy_zones *zones)
{
    for (size_t i = 0; i < zones->count; i++) {
        int64_t poll_ns = rm_energy_poll_ns(&zones->zones[i].counter);
        if (poll_ns > 0 && (zones->poll_ns == 0 || poll_ns < zones->poll_ns)) {
            zones->poll_ns = poll_ns;
        }
    }
}

static resmon_status begin(struct rm_energy_zones *zones, rm_perf_open_fn perf_open)
{
    *zones = (struct rm_energy_zones){
        .power_limit_w = RM_NAN, .read_ns = INT64_MIN, .perf_open = perf_open};
    zones->zones = rm_realloc(NULL, RM_MOST_ZONES, sizeof *zones->zones);
    if (zones->zones == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for energy counters");
    }
    return RESMON_OK;
}

resmon_status rm_energy_zones_open_pmu(struct rm_energy_zones *zones, const struct rm_root *root,
                                       struct rm_scratch *scratch, rm_perf_open_fn perf_open)
{
    const struct walk walk = {zones, root, scratch};
    resmon_status status = begin(zones, perf_open);
    if (status == RESMON_OK) {
        open_pmu(&walk);
    }
    return status;
}

resmon_status rm_energy_zones_open(struct rm_energy_zones *zones, const struct rm_root *root,
                                   struct rm_scratch *scratch, rm_perf_open_fn perf_open)
{
    resmon_status status = begin(zones, perf_open);
    if (status != RESMON_OK) {
        return status;
    }
    struct walk walk = {zones, root, scratch};
    rm_powercap_visit(root, visit_zone, &walk);
    close_unreadable(zones, scratch);
    if (zones->count > 0) {
        drop_doubles(zones, mirrors_dies(root, scratch));
    }
    drop_unreadable(zones);
    if (count_of(zones, RM_ZONE_PACKAGE) == 0) {
        open_pmu(&walk);
    }
    qsort(zones->zones, zones->count, sizeof *zones->zones, by_domain);
    set_poll(zones);
    if (zones->count == 0) {
        explain(zones, "this machine shows no energy counters: neither /sys/class/powercap nor a "
                       "PMU \"power\" (virtual machines have none)");
    }
    return RESMON_OK;
}

void rm_energy_zones_close(struct rm_energy_zones *zones)
{
    while (zones->zones != NULL && zones->count > 0) {
        drop_zone(zones, zones->count - 1);
    }
    rm_free(zones->zones);
    *zones = (struct rm_energy_zones){0};
}

/* ---- reading ---------------------------------------------------------------------------- */

void rm_energy_zones_read(struct rm_energy_zones *zones, struct rm_scratch *scratch,
                          int64_t sample_ns, int64_t now_ns)
{
    if (zones->read_ns == sample_ns && zones->is_complete) {
        return;
    }
    zones->read_ns = sample_ns;
    zones->is_complete = true;
    for (unsigned i = 0; i < RM_ENERGY_DOMAINS; i++) {
        zones->sums[i] = RM_NAN;
    }
    for (size_t i = 0; i < zones->count; i++) {
        struct rm_energy_zone *zone = &zones->zones[i];
        uint64_t count = 0;
        if (read_count(zones, zone, scratch, &count)) {
            (void)rm_energy_take(&zone->counter, count, now_ns);
        } else {
            (void)rm_energy_miss(&zone->counter);
            zones->is_complete = false; /* the next collector tries again */
        }
        double *sum = &zones->sums[zone->domain];
        if (zone->counter.has_last) {
            *sum = *sum >= 0.0 ? *sum + zone->counter.joules : zone->counter.joules;
        }
    }
}
