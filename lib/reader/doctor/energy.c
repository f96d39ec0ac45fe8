/* SPDX-License-Identifier: MIT */
/*
 * Rows about energy: each zone of RAPL, the memory modules, and the PMU "power" of perf.  Its
 * energy counters are opened and read in the same way as by a monitor, as some exist but do not
 * count.  The last rows report the source of the energy of processors and memory in a run.
 */
#define _GNU_SOURCE /* secure_getenv */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/capacity.h"
#include "collect/energy_zones.h"
#include "doctor/doctor.h"
#include "os/file.h"
#include "os/proc_pid.h"

static void rm_doctor_pmu_power(struct rm_doctor_exam *exam);

/* ---- powercap zones -------------------------------------------------------------------------- */

#define GROUP   "energy"
#define DEVICES "sys/devices/virtual/powercap"

#define NAME_BYTES  32
#define LABEL_BYTES (2 * NAME_BYTES + 8)

/* A package, or the memory of one.  Two drivers may have the same, with the same label. */
struct part {
    char label[LABEL_BYTES];
    bool is_readable; /* and counts */
};

struct zones {
    struct rm_doctor_exam *exam;
    char rule[320];    /* what makes zones readable */
    unsigned shown;    /* zones with a row */
    unsigned dangling; /* broken links in the class */
    struct part parts[RM_MOST_ZONES];
    size_t part_count;
};

/* ---- a zone ----------------------------------------------------------------------------- */

static bool join(char path[RM_FILE_PATH_BYTES], const char *directory, const char *id,
                 const char *file)
{
    int length = snprintf(path, RM_FILE_PATH_BYTES, "%s/%s/%s", directory, id, file);
    return length > 0 && length < RM_FILE_PATH_BYTES;
}

/* "dram of package-0": the name of a zone and of its parent, "intel-rapl:0" for "intel-rapl:0:1",
 * which is in the same directory or is `directory` itself. */
static void label_zone(struct zones *zones, const char *directory, const char *id, const char *name,
                       char label[LABEL_BYTES])
{
    char path[RM_FILE_PATH_BYTES], outer_id[64], outer[NAME_BYTES] = "";
    (void)rm_text_set(outer_id, sizeof outer_id, id);
    char *colon = strrchr(outer_id, ':');
    if (colon != NULL && colon != strchr(outer_id, ':')) {
        *colon = '\0';
        if (!join(path, directory, outer_id, "name") ||
            rm_doctor_line(zones->exam, path, outer, sizeof outer) != RESMON_OK) {
            (void)snprintf(path, sizeof path, "%s/name", directory);
            (void)rm_doctor_line(zones->exam, path, outer, sizeof outer);
        }
    }
    (void)snprintf(label, LABEL_BYTES, "%s%s%s", name, outer[0] != '\0' ? " of " : "", outer);
}

/* The dies of an AMD socket show the same counter: they are one package. */
static void note_part(struct zones *zones, const char *zone_label, bool is_readable)
{
    char label[LABEL_BYTES];
    const char *die = zones->exam->mirrors_dies ? strstr(zone_label, "-die-") : NULL;
    (void)rm_text_copy(label, sizeof label, zone_label,
                       die != NULL ? (size_t)(die - zone_label) : strlen(zone_label));
    for (size_t i = 0; i < zones->part_count; i++) {
        if (strcmp(zones->parts[i].label, label) == 0) {
            zones->parts[i].is_readable |= is_readable;
            return;
        }
    }
    if (zones->part_count < RM_ARRAY_LEN(zones->parts)) {
        struct part *part = &zones->parts[zones->part_count++];
        (void)rm_text_set(part->label, sizeof part->label, label);
        part->is_readable = is_readable;
    }
}

/* The remedy for a file that cannot be read: the rule, or membership in its group. */
static const char *remedy_of(const struct zones *zones, const char *path)
{
    return rm_access_is_of_group(&zones->exam->root, path)
               ? "its group may read it (ls -lL /sys/class/powercap/*/energy_uj shows which): an "
                 "administrator adds this user to it, and the user logs in again"
               : zones->rule;
}

/* Files below another root directory do not change. */
static bool does_count(struct rm_doctor_exam *exam, const char *path, uint64_t before)
{
    uint64_t count = before;
    for (int i = 0; i < RM_DOCTOR_WAITS && exam->is_live && count == before; i++) {
        exam->tools->wait_for_counters();
        if (rm_file_read_u64(&exam->root, path, &exam->scratch, &count) != RESMON_OK) {
            count = before;
        }
    }
    return !exam->is_live || count != before;
}

static void add_zone(struct zones *zones, const char *id, const char *label, const char *path)
{
    char name[80];
    uint64_t count;
    struct rm_doctor_exam *exam = zones->exam;
    resmon_status status = exam->tools->can_read(&exam->root, path);
    if (status == RESMON_ENOENT) {
        return; /* it has no energy counter */
    }
    (void)snprintf(name, sizeof name, "powercap %.60s", id);
    zones->shown++;
    if (status == RESMON_OK) {
        status = rm_file_read_u64(&exam->root, path, &exam->scratch, &count);
    }
    bool is_dead = status == RESMON_OK && !does_count(exam, path, count);
    note_part(zones, label, status == RESMON_OK && !is_dead);
    if (is_dead) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "%s: can be read, but does not count here", label);
    } else if (status == RESMON_OK) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "", "%s: can be read", label);
    } else if (status == RESMON_EACCES) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE, remedy_of(zones, path),
                      "%s: this user may not read its counter, energy_uj", label);
    } else {
        rm_doctor_add(exam, GROUP, name, rm_doctor_status(status), "", "%s: %s", label,
                      resmon_last_error());
    }
}

static void visit_zone(void *context, const char *directory, const char *id)
{
    struct zones *zones = context;
    char path[RM_FILE_PATH_BYTES], name[NAME_BYTES], label[LABEL_BYTES];
    if (id == NULL) {
        rm_doctor_add(zones->exam, GROUP, directory, RESMON_DOCTOR_NOT_READABLE, "", "%s",
                      resmon_last_error());
        zones->shown++;
        return;
    }
    if (!join(path, directory, id, "name")) {
        return;
    }
    resmon_status status = rm_doctor_line(zones->exam, path, name, sizeof name);
    if (status == RESMON_ENOENT) {
        zones->dangling++;
    } else if (status == RESMON_EACCES) { /* Ubuntu's 5.4: all files are readable for root only */
        char row[80];
        (void)snprintf(row, sizeof row, "powercap %.60s", id);
        zones->shown++;
        note_part(zones, "package", false);
        rm_doctor_add(zones->exam, GROUP, row, RESMON_DOCTOR_NOT_READABLE, zones->rule,
                      "this user may not even read its name");
    } else if (join(path, directory, id, "energy_uj")) {
        label_zone(zones, directory, id, name, label);
        add_zone(zones, id, label, path);
    }
}

/* ---- no zones --------------------------------------------------------------------------- */

static bool note_entry(void *context, const char *name)
{
    (void)name;
    *(bool *)context = true;
    return false;
}

static bool is_empty_directory(const struct rm_root *root, const char *path)
{
    bool has_entry = false;
    return rm_dir_visit(root, path, note_entry, &has_entry) == RESMON_OK && !has_entry;
}

static const char *missing_driver(const struct rm_doctor_exam *exam)
{
    static const char *const drivers[] = {"intel_rapl_common", "intel_rapl_msr"};
    for (size_t i = 0; i < RM_ARRAY_LEN(drivers); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "sys/module/%s", drivers[i]);
        if (!rm_file_exists(&exam->root, path)) {
            return drivers[i];
        }
    }
    return NULL;
}

static void add_no_zones(const struct zones *zones)
{
    static const char name[] = "powercap";
    struct rm_doctor_exam *exam = zones->exam;
    const char *driver = missing_driver(exam);
    if (zones->dangling > 0 || is_empty_directory(&exam->root, DEVICES)) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE,
                      "measure on the host; or start the container as root with podman's "
                      "--security-opt unmask=/" DEVICES ", or docker's --security-opt "
                      "systempaths=unconfined, which unmasks more than this",
                      "a container hides the energy counters: /" DEVICES " is masked");
    } else if (exam->is_virtual || exam->is_arm) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      exam->is_virtual
                          ? "this is a virtual machine: its hypervisor exposes no energy counters"
                          : "processors of this kind (ARM) have no RAPL");
    } else if (!rm_file_exists(&exam->root, RM_POWERCAP_CLASS)) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "there is no /" RM_POWERCAP_CLASS ": the kernel was built without "
                      "CONFIG_POWERCAP, or sysfs is not mounted here");
    } else if (driver != NULL) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT,
                      "an administrator loads it: modprobe intel_rapl_msr (also for AMD, from "
                      "Linux 5.8), permanently by a line in /etc/modules-load.d/resmon.conf",
                      "there is no driver of RAPL: %s is not loaded", driver);
    } else {
        rm_doctor_add(
            exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
            "the driver of RAPL is loaded but has no zones: it does not know these processors");
    }
}

/* ---- sources of energy ------------------------------------------------------------------ */

struct tally {
    unsigned readable, all;
};

static struct tally count_parts(const struct zones *zones, const char *prefix)
{
    struct tally tally = {0, 0};
    for (size_t i = 0; i < zones->part_count; i++) {
        if (strncmp(zones->parts[i].label, prefix, strlen(prefix)) == 0) {
            tally.all++;
            tally.readable += zones->parts[i].is_readable;
        }
    }
    return tally;
}

static bool is_partial(struct tally tally)
{
    return tally.readable > 0 && tally.readable < tally.all;
}

static void add_processors(const struct zones *zones)
{
    static const char name[] = "processors";
    struct rm_doctor_exam *exam = zones->exam;
    struct tally packages = count_parts(zones, "package");
    if (is_partial(packages)) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE, "",
                      "only %u of %u packages can be read and count, which is not the whole "
                      "machine: a model by CPU load is used instead",
                      packages.readable, packages.all);
    } else if (packages.readable > 0) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "their energy is measured: RAPL, %u package%s", packages.readable,
                      packages.readable > 1 ? "s" : "");
    } else if (exam->is_pmu_readable) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "their energy is measured: the PMU \"power\" of perf");
    } else {
        rm_doctor_add(exam, GROUP, name,
                      exam->has_zones ? RESMON_DOCTOR_NOT_READABLE : RESMON_DOCTOR_ABSENT,
                      exam->has_zones    ? ""
                      : exam->is_virtual ? "" /* a guest does not know its share of the socket */
                                         : "the model is better if it knows the maximum power of "
                                           "all processors: \"cpu_watts = 280\" in "
                                           "/etc/resmon/site.conf, or RESMON_CPU_WATTS=280",
                      "their energy is not measured: a model by CPU load is used instead");
    }
}

/* Only servers have counters for memory. */
static void add_memory(const struct zones *zones)
{
    struct rm_doctor_exam *exam = zones->exam;
    struct tally drams = count_parts(zones, "dram");
    unsigned modules = rm_memory_modules(&exam->root, &exam->scratch);
    if (is_partial(drams)) {
        rm_doctor_add(exam, GROUP, "memory", RESMON_DOCTOR_NOT_READABLE, "",
                      "only %u of %u counters of memory (dram) can be read and count, which is not "
                      "all of it: a model is used instead",
                      drams.readable, drams.all);
    } else if (drams.readable > 0) {
        rm_doctor_add(exam, GROUP, "memory", RESMON_DOCTOR_READY, "",
                      "its energy is measured: RAPL, dram of %u package%s", drams.readable,
                      drams.readable > 1 ? "s" : "");
    } else {
        rm_doctor_add(exam, GROUP, "memory",
                      drams.all > 0 ? RESMON_DOCTOR_NOT_READABLE : RESMON_DOCTOR_ABSENT, "",
                      "its energy is not measured: a model by %s is used instead",
                      modules > 0 ? "the number of modules" : "size");
    }
    if (modules > 0) {
        rm_doctor_add(exam, GROUP, "memory modules", RESMON_DOCTOR_READY, "", "EDAC reports %u",
                      modules);
    } else {
        rm_doctor_add(
            exam, GROUP, "memory modules", RESMON_DOCTOR_ABSENT, "",
            "no driver of EDAC reports their number: if needed, it is estimated from the size");
    }
}

/* The environment variable changes what monitors do, but not this examination. */
static void add_other_root(struct rm_doctor_exam *exam)
{
    const char *path = secure_getenv("RESMON_ENERGY_ROOT");
    if (path != NULL && exam->root.is_live) {
        char remedy[320];
        (void)snprintf(remedy, sizeof remedy, "to see what is there: resmon doctor --root %.200s",
                       path);
        rm_doctor_add(
            exam, GROUP, "RESMON_ENERGY_ROOT",
            access(path, R_OK | X_OK) == 0 ? RESMON_DOCTOR_READY : RESMON_DOCTOR_NOT_READABLE,
            remedy, "monitors look for RAPL below %.120s, not where this report does", path);
    }
}

void rm_doctor_energy(struct rm_doctor_exam *exam)
{
    struct zones zones = {.exam = exam};
    add_other_root(exam);
    (void)snprintf(
        zones.rule, sizeof zones.rule,
        "an administrator installs the files that \"resmon doctor --rule\" prints and adds "
        "this user to the group (usermod -aG %s USER); the user logs in again",
        exam->doctor->user_group);
    rm_powercap_visit(&exam->root, visit_zone, &zones);
    exam->has_zones = zones.shown > 0;
    if (!exam->has_zones) {
        add_no_zones(&zones);
    }
    struct tally packages = count_parts(&zones, "package");
    exam->is_rapl_enough = packages.all > 0 && packages.readable == packages.all;
    rm_doctor_pmu_power(exam);
    add_processors(&zones);
    add_memory(&zones);
}

/* ---- the PMU "power" ------------------------------------------------------------------------- */

#define PMU "sys/bus/event_source/devices/power"

/* What a monitor would find. */
struct pmu {
    bool has_packages; /* counters of packages can be opened, and count */
    size_t opened, dead;
    int error;       /* errno; 0: none */
    char still[160]; /* which counters do not count */
};

static bool read_pmu(struct rm_doctor_exam *exam, struct rm_energy_zones *zones,
                     struct pmu *ret_pmu)
{
    resmon_status status =
        rm_energy_zones_open_pmu(zones, &exam->root, &exam->scratch, exam->tools->perf_open);
    if (status != RESMON_OK) {
        exam->status = status;
        return false;
    }
    *ret_pmu = (struct pmu){.opened = zones->count, .error = zones->pmu_errno};
    for (int i = 0; i <= RM_DOCTOR_WAITS && zones->count > 0; i++) {
        if (i > 0) {
            exam->tools->wait_for_counters();
        }
        rm_energy_zones_read(zones, &exam->scratch, i, i * RM_NS_PER_MS);
        ret_pmu->dead = rm_energy_zones_describe_dead(zones, RM_ENERGY_DOMAINS, ret_pmu->still,
                                                      sizeof ret_pmu->still);
        if (i > 0 && ret_pmu->dead == 0) {
            break;
        }
    }
    return true;
}

static struct pmu ask_pmu(struct rm_doctor_exam *exam)
{
    struct pmu pmu = {0};
    struct rm_energy_zones zones = {0};
    if (!exam->is_live) {
        bool may_open = rm_doctor_may_count_all(exam);
        pmu.has_packages = may_open && rm_file_exists(&exam->root, PMU "/events/energy-pkg");
        pmu.opened = may_open ? 1 : 0;
        pmu.error = may_open ? 0 : EACCES;
        return pmu;
    }
    if (read_pmu(exam, &zones, &pmu)) {
        pmu.has_packages = rm_energy_zones_measure(&zones, RM_ZONE_PACKAGE) &&
                           rm_energy_zones_life(&zones, RM_ZONE_PACKAGE) == RM_ZONES_LIVE;
    }
    rm_energy_zones_close(&zones);
    return pmu;
}

static void add_closed_pmu(struct rm_doctor_exam *exam, const char *name, const char *why)
{
    rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE,
                  exam->has_zones
                      ? ""
                      : "an administrator sets kernel.perf_event_paranoid to 0, which lets every "
                        "user measure the processes of all others; " RM_DOCTOR_ONE_PROGRAM,
                  "the PMU \"power\" of perf needs CAP_PERFMON or kernel.perf_event_paranoid 0%s",
                  exam->is_rapl_enough ? why
                  : exam->has_zones    ? "; better give access to the zones above"
                                       : "");
}

static void rm_doctor_pmu_power(struct rm_doctor_exam *exam)
{
    static const char name[] = "PMU power";
    const char *why = exam->is_rapl_enough ? "; it is not needed, as the zones can be read" : "";
    if (!rm_file_exists(&exam->root, PMU "/type")) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "", "perf has no PMU \"power\"%s",
                      why);
        return;
    }
    const struct pmu pmu = ask_pmu(exam);
    exam->is_pmu_readable = pmu.has_packages;
    if (pmu.opened > 0 && pmu.dead == pmu.opened) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "the PMU \"power\" of perf can be opened, but counts nothing here%s", why);
    } else if (pmu.opened > 0) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_READY, "",
                      "the PMU \"power\" of perf can be opened%s%s%s%s",
                      pmu.has_packages ? "" : ", but does not measure the packages",
                      pmu.dead > 0 ? "; " : "", pmu.still, why);
    } else if (pmu.error == EACCES || pmu.error == EPERM) {
        add_closed_pmu(exam, name, why);
    } else if (pmu.error != 0) {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_NOT_READABLE, "",
                      "the PMU \"power\" of perf cannot be opened (errno %d)%s", pmu.error, why);
    } else {
        rm_doctor_add(exam, GROUP, name, RESMON_DOCTOR_ABSENT, "",
                      "the PMU \"power\" of perf has no event of energy%s", why);
    }
}
