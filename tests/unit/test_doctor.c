/* SPDX-License-Identifier: MIT */
/*
 * <resmon/doctor.h>: what may not be read, what does not count, what this machine answers, and
 * faults.  Machines are trees of files that the test makes.  Root may read everything: a stand-in
 * closes files, and one test becomes another user.  tests/golden/machines.py has what the doctor
 * says of machines, whole, and the files for an administrator.
 */
#define _XOPEN_SOURCE 700 /* nftw */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/status.h"
#include "doctor/doctor.h"
#include "job_environment.h"
#include "os/file.h"

/* ---- a machine -------------------------------------------------------------------------- */

#define PARANOID "proc/sys/kernel/perf_event_paranoid"
#define PMU      "sys/bus/event_source/devices/power"
#define PMU_TYPE PMU "/type"

/* A path below the root, whose directories are made. */
static const char *place(const char *path)
{
    static char full[512];
    (void)snprintf(full, sizeof full, "%s/%s", test_directory, path);
    for (char *slash = strchr(full + strlen(test_directory), '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755);
        *slash = '/';
    }
    return full;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(place(path), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_zone(const char *id, const char *name, const char *energy)
{
    char path[256];
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s/name", id);
    put(path, name);
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", id);
    put(path, energy);
    assert_int_equal(chmod(place(path), 0400), 0); /* as the kernel has it since 2020 */
}

static void put_two_sockets(void)
{
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    put("sys/class/powercap/intel-rapl/enabled", "1\n");
    put_zone("intel-rapl:0", "package-0\n", "1\n");
    put_zone("intel-rapl:0:0", "dram\n", "1\n");
    put_zone("intel-rapl:1", "package-1\n", "1\n");
    put_zone("intel-rapl:1:0", "dram\n", "1\n");
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind;
    return where->level > 0 ? remove(path) : 0;
}

FIXTURE(clear_root)
{
    return nftw(test_directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- an examination --------------------------------------------------------------------- */

static const char *denied[4]; /* ends of paths that are closed */

static resmon_status can_read(const struct rm_root *root, const char *path)
{
    for (size_t i = 0; i < sizeof denied / sizeof *denied && denied[i] != NULL; i++) {
        size_t length = strlen(path), end = strlen(denied[i]);
        if (length >= end && strcmp(path + length - end, denied[i]) == 0 &&
            rm_access_read(root, path) == RESMON_OK) {
            return RESMON_EACCES;
        }
    }
    return rm_access_read(root, path);
}

static int answer; /* errno of the call; 0: it works */

static int answer_perf(void)
{
    errno = answer;
    return answer == 0 ? dup(STDERR_FILENO) : -1;
}

static int no_perf(void)
{
    fail_msg("a counter is opened below a tree of files");
    return -1;
}

/* A tree that is taken for this machine: what its counters do while they are waited for, and what
 * those of the PMU "power" are read from. */
static bool is_live_tree;
static void (*let_time_pass)(void);
static const char *pmu_counts; /* a path; NULL: `answer` is why not */

static void wait_for_counters(void)
{
    if (let_time_pass != NULL) {
        let_time_pass();
    }
}

static int answer_pmu(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    errno = answer;
    return pmu_counts != NULL ? open(pmu_counts, O_RDONLY | O_CLOEXEC) : -1;
}

static int no_perf_all(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    return no_perf();
}

/* What stacks need, as this machine is made out to have it. */
static resmon_status unwinding, lines, faults;
static bool has_kernel_faults;
static const char *free_signal;

static resmon_status answer_unwinding(void)
{
    return unwinding == RESMON_OK ? RESMON_OK : rm_error(unwinding, "no unwinding, made up");
}

static resmon_status answer_lines(void)
{
    return lines == RESMON_OK ? RESMON_OK : rm_error(lines, "no libdw, made up");
}

static resmon_status answer_faults(bool *ret_has_kernel)
{
    *ret_has_kernel = has_kernel_faults;
    return faults == RESMON_OK ? RESMON_OK : rm_error(faults, "no page faults, made up");
}

static const char *answer_signal(void)
{
    return free_signal;
}

static resmon_status not_of_a_tree(void)
{
    fail_msg("libraries are looked for below a tree of files");
    return RESMON_EINVAL;
}

static resmon_status no_faults(bool *ret_has_kernel)
{
    (void)ret_has_kernel;
    return not_of_a_tree();
}

static bool hears_forks;

static bool answer_forks(struct rm_fork_events *events, const struct rm_root *root,
                         struct rm_scratch *scratch)
{
    (void)events;
    (void)root;
    (void)scratch;
    return hears_forks;
}

static const char *const *variables;
static const char *const nothing[] = {NULL};

static resmon_status examine(const char *fs_root, const char *group, resmon_doctor **ret_doctor)
{
    struct made_environment made;
    bool is_live = fs_root == NULL;
    const struct rm_doctor_tools tools = {
        .can_read = can_read,
        .perf_open = is_live || is_live_tree ? answer_pmu : no_perf_all,
        .perf_open_least = is_live || is_live_tree ? answer_perf : no_perf,
        .wait_for_counters = wait_for_counters,
        .is_live = is_live_tree,
        .open_unwinding = is_live ? answer_unwinding : not_of_a_tree,
        .open_lines = is_live ? answer_lines : not_of_a_tree,
        .try_faults = is_live ? answer_faults : no_faults,
        .find_signal = answer_signal,
        .hear_forks = answer_forks,
        .environment = make_environment(&made, variables != NULL ? variables : nothing, NULL),
    };
    const resmon_doctor_options options = {
        .struct_size = sizeof options, .fs_root = fs_root, .group = group};
    return rm_doctor_examine(&options, &tools, ret_doctor);
}

static resmon_doctor *doctor;

static void look(void)
{
    resmon_doctor_free(doctor);
    doctor = NULL;
    assert_ok(examine(test_directory, NULL, &doctor));
}

FIXTURE(forget)
{
    resmon_doctor_free(doctor);
    doctor = NULL;
    variables = NULL;
    memset(denied, 0, sizeof denied);
    is_live_tree = false;
    let_time_pass = NULL;
    pmu_counts = NULL;
    return clear_root(state);
}

/* NULL: there is none of that name. */
static const resmon_doctor_entry *find(const char *name)
{
    static resmon_doctor_entry entry;
    size_t count = resmon_doctor_entry_count(doctor);
    for (size_t i = 0; i < count; i++) {
        entry = (resmon_doctor_entry){.struct_size = sizeof entry};
        if (resmon_doctor_get_entry(doctor, i, &entry) == RESMON_OK &&
            strcmp(entry.name, name) == 0) {
            return &entry;
        }
    }
    return NULL;
}

/* A finding by its name; `what` and `remedy` are parts of the texts, NULL: there is no remedy. */
static void assert_finding(const char *name, int32_t status, const char *what, const char *remedy)
{
    const resmon_doctor_entry *entry = find(name);
    if (entry == NULL) {
        fail_msg("there is no '%s'", name);
    } else if (entry->status != status || strstr(entry->what, what) == NULL ||
               (remedy == NULL ? entry->remedy[0] != '\0'
                               : strstr(entry->remedy, remedy) == NULL)) {
        fail_msg("'%s' is %d: %s [%s]", name, entry->status, entry->what, entry->remedy);
    }
}

#define READY   RESMON_DOCTOR_READY
#define DENIED  RESMON_DOCTOR_NOT_READABLE
#define ABSENT  RESMON_DOCTOR_ABSENT
#define GARBLED RESMON_DOCTOR_GARBLED

/* ---- RAPL ------------------------------------------------------------------------------- */

/* What may not be read: which parts are left, and what opens the others. */
TEST(closed_files)
{
    static const struct {
        const char *closed[3], *level;
        struct {
            const char *name;
            int32_t status;
            const char *what, *remedy;
        } findings[6];
    } cases[] = {
        {{"/energy_uj"},
         NULL,
         {{"powercap intel-rapl:0", DENIED, "may not read its counter", "usermod -aG resmon USER"},
          {"powercap intel-rapl:0:0", DENIED, "may not read its counter", "doctor --rule"},
          {"powercap intel-rapl:1:0", DENIED, "may not read its counter", "doctor --rule"},
          {"processors", DENIED, "a model by CPU load", NULL},
          {"memory", DENIED, "a model by size", NULL}}},
        /* The well-known recipe opens the first socket, and no memory. */
        {{"intel-rapl:1/energy_uj", "intel-rapl:0:0/energy_uj"},
         NULL,
         {{"powercap intel-rapl:0", READY, "package-0", NULL},
          {"processors", DENIED, "only 1 of 2 packages", NULL},
          {"memory", DENIED, "only 1 of 2 counters of memory", NULL}}},
        {{"/name"},
         NULL,
         {{"powercap intel-rapl:0", DENIED, "not even read its name", "doctor --rule"},
          {"processors", DENIED, "a model", NULL}}},
        {{"/energy_uj"},
         "2\n",
         {{"PMU power", DENIED, "better give access to the zones above", NULL}}},
        {{"/energy_uj"}, "0\n", {{"processors", READY, "the PMU \"power\"", NULL}}},
        {{"perf_event_mlock_kb", "nvidiactl", "smaps_rollup"},
         "2\n",
         {{"perf_event_mlock_kb", DENIED, "cannot be read", NULL},
          {"NVIDIA device", DENIED, "may not open", "ask for a GPU"},
          {"smaps_rollup", DENIED, "may not read", NULL}}},
    };
    put_two_sockets();
    put("proc/sys/kernel/perf_event_mlock_kb", "516\n");
    put("proc/driver/nvidia/version", "NVRM version: 535\n");
    put("dev/nvidiactl", "");
    put("proc/self/smaps_rollup", "Rss: 4 kB\n");
    put(PMU_TYPE, "21\n");
    put(PMU "/events/energy-pkg", "event=0x02\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(denied, cases[i].closed, sizeof cases[i].closed);
        if (cases[i].level != NULL) {
            put(PARANOID, cases[i].level);
        }
        look();
        for (size_t k = 0; k < 6 && cases[i].findings[k].name != NULL; k++) {
            assert_finding(cases[i].findings[k].name, cases[i].findings[k].status,
                           cases[i].findings[k].what, cases[i].findings[k].remedy);
        }
    }
}

TEST(a_remedy_of_several_is_told_once)
{
    char *text = NULL;
    put_two_sockets();
    denied[0] = "/energy_uj";
    look();
    assert_ok(resmon_doctor_report(doctor, &text));
    const char *rule = strstr(text, "doctor --rule");
    assert_non_null(rule);
    assert_null(strstr(rule + 1, "doctor --rule"));
    assert_has(text, "  1. powercap intel-rapl:0, powercap intel-rapl:0:0, ");
    resmon_text_free(text);
}

TEST(a_second_driver_shows_what_is_closed_in_the_first)
{
    put_zone("intel-rapl:0", "package-0\n", "1\n");
    put_zone("intel-rapl-mmio:0", "package-0\n", "1\n");
    denied[0] = "intel-rapl:0/energy_uj";
    look();
    assert_finding("powercap intel-rapl:0", DENIED, "package-0", "doctor --rule");
    assert_finding("processors", READY, "RAPL, 1 package", NULL);
}

/* The rule is in force, and this user is not in the group. */
TEST(a_group_that_may)
{
    static const char file[] = "sys/class/powercap/intel-rapl:0/energy_uj";
    put_zone("intel-rapl:0", "package-0\n", "1\n");
    assert_int_equal(chmod(place(file), 0440), 0);
    denied[0] = "/energy_uj";
    denied[1] = NULL;
    if (geteuid() == 0) { /* nobody is to be put into the group of root */
        look();
        assert_finding("powercap intel-rapl:0", DENIED, "may not read", "doctor --rule");
        if (chown(place(file), 0, 987) != 0) {
            print_message("not tried: this root may not give a file away\n");
            skip();
        }
    }
    look();
    assert_finding("powercap intel-rapl:0", DENIED, "may not read", "its group may read it");
}

TEST(as_another_user)
{
    put_two_sockets();
    assert_int_equal(chmod(place("sys/class/powercap/intel-rapl:0/energy_uj"), 0444), 0);
    if (geteuid() != 0) {
        print_message("not tried: only root can become another user\n");
        skip();
    }
    assert_int_equal(chmod(test_directory, 0755), 0);
    if (seteuid(65534) != 0) {
        print_message("not tried: this root may not become another user\n");
        skip();
    }
    resmon_status status = examine(test_directory, NULL, &doctor);
    assert_int_equal(seteuid(0), 0);
    assert_ok(status);
    assert_finding("powercap intel-rapl:0", READY, "package-0", NULL);
    assert_finding("powercap intel-rapl:1", DENIED, "package-1", "doctor --rule");
    assert_finding("processors", DENIED, "only 1 of 2 packages", NULL);
}

/* ---- counters that do not count ----------------------------------------------------------- */

static void put_pmu(const char *event)
{
    char path[256];
    put(PMU_TYPE, "21\n");
    put(PMU "/cpumask", "0\n");
    (void)snprintf(path, sizeof path, PMU "/events/%s", event);
    put(path, "event=0x05\n");
    (void)snprintf(path, sizeof path, PMU "/events/%s.scale", event);
    put(path, "2.3283064365386962890625e-10\n");
}

/* Virtual machines of Intel. */
TEST(a_pmu_that_counts_nothing)
{
    is_live_tree = true;
    put_pmu("energy-psys");
    pmu_counts = "/dev/zero";
    look();
    assert_finding("PMU power", ABSENT, "can be opened, but counts nothing here", NULL);
    assert_finding("processors", ABSENT, "a model by CPU load", "cpu_watts");
    /* Whether the PMU can be opened is tried, and not taken from perf_event_paranoid. */
    pmu_counts = "/dev/urandom";
    look();
    assert_finding("PMU power", READY, "does not measure the packages", NULL);
    put_pmu("energy-pkg");
    look();
    assert_finding("PMU power", READY, "can be opened", NULL);
    assert_finding("processors", READY, "the PMU \"power\"", NULL);
    pmu_counts = NULL;
    answer = EACCES;
    look();
    assert_finding("PMU power", DENIED, "needs CAP_PERFMON", "cap_perfmon");
    answer = ENODEV;
    look();
    assert_finding("PMU power", DENIED, "cannot be opened (errno", NULL);
    answer = 0;
    put(PMU "/events/energy-pkg", "garbage\n");
    put(PMU "/events/energy-psys", "garbage\n");
    look();
    assert_finding("PMU power", ABSENT, "no event of energy", NULL);
}

static void count_in_one_package(void)
{
    static unsigned count;
    char text[32];
    (void)snprintf(text, sizeof text, "%u\n", ++count + 100);
    assert_int_equal(chmod(place("sys/class/powercap/intel-rapl:0/energy_uj"), 0600), 0);
    put("sys/class/powercap/intel-rapl:0/energy_uj", text);
}

TEST(zones_that_count_nothing)
{
    is_live_tree = true;
    let_time_pass = count_in_one_package;
    put_two_sockets();
    look();
    assert_finding("powercap intel-rapl:0", READY, "package-0: can be read", NULL);
    assert_finding("powercap intel-rapl:1", ABSENT,
                   "package-1: can be read, but does not count here", NULL);
    assert_finding("processors", DENIED, "only 1 of 2 packages can be read and count", NULL);
    assert_finding("memory", DENIED, "a model by size", NULL);
}

/* This machine itself, with the kernel's answer given. */
static void look_here(int error)
{
    resmon_doctor_free(doctor);
    doctor = NULL;
    answer = error;
    assert_ok(examine(NULL, NULL, &doctor));
    answer = 0;
}

TEST(answers_of_the_call)
{
    static const struct {
        int error;
        int32_t status;
        const char *says, *remedy;
    } cases[] = {
        {0, READY, "works", NULL},
        {EPERM, DENIED, "container", "--cap-add PERFMON"},
        {EACCES, DENIED, "kernel.perf_event_paranoid", NULL},
        {ENOSYS, ABSENT, "not have this call", NULL},
        {ENOENT, ABSENT, "most basic event", NULL},
        {EMFILE, DENIED, "errno 24", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        look_here(cases[i].error);
        assert_finding("perf_event_open", cases[i].status, cases[i].says, cases[i].remedy);
    }
}

/* ---- stacks ----------------------------------------------------------------------------- */

static void look_at_stacks(resmon_status unwinds, resmon_status names_lines, resmon_status samples,
                           const char *signal)
{
    unwinding = unwinds;
    lines = names_lines;
    faults = samples;
    free_signal = signal;
    look_here(0);
}

TEST(what_stacks_need_here)
{
    has_kernel_faults = true;
    look_at_stacks(RESMON_OK, RESMON_OK, RESMON_OK, "SIGURG");
    assert_finding("unwinding", READY, "process_vm_readv() works", NULL);
    assert_finding("lines", READY, "libdw is available", NULL);
    assert_finding("signal", READY, "SIGURG is free", NULL);
    assert_finding("page faults", READY, "those in system calls too", NULL);
    has_kernel_faults = false;
    look_at_stacks(RESMON_ENOTSUP, RESMON_ENOTSUP, RESMON_OK, NULL);
    assert_finding("unwinding", ABSENT, "no unwinding, made up", "install libunwind");
    assert_finding("lines", ABSENT, "no libdw, made up: functions have no lines", "install libdw");
    assert_finding("signal", DENIED, "SIGPROF itself", "must leave one of them unused");
    assert_finding("page faults", READY, "are left out", NULL);
    look_at_stacks(RESMON_EACCES, RESMON_OK, RESMON_EACCES, "SIGPROF");
    assert_finding("unwinding", DENIED, "no unwinding, made up", "seccomp profile");
    assert_finding("signal", READY, "SIGPROF is free", NULL);
    assert_finding("page faults", DENIED, "no page faults, made up", NULL);
    look_at_stacks(RESMON_OK, RESMON_OK, RESMON_ENOTSUP, "SIGURG");
    assert_finding("page faults", ABSENT, "no page faults, made up", NULL);
}

/* ---- the rest --------------------------------------------------------------------------- */

TEST(variables_that_name_the_place)
{
    static const char *const here[] = {"RESMON_COUNTRY=FR", NULL};
    static const char *const nowhere[] = {"RESMON_SITE_CONF=/nowhere.conf", NULL};
    variables = here;
    look();
    assert_finding("place", READY, "emissions use the carbon intensity of France", NULL);
    variables = nowhere;
    put("etc/resmon/site.conf", "country = DE\n");
    look();
    assert_finding("place", ABSENT, "/nowhere.conf", "correct it");
}

TEST(whether_the_kernel_tells_who_forks)
{
    look();
    assert_null(find("forks")); /* a tree of files has no kernel */
    hears_forks = false;
    look_here(0);
    assert_finding("forks", ABSENT, "does not tell who forks (before 6.6,", NULL);
    hears_forks = true;
    look_here(0);
    assert_finding("forks", READY, "are not missed", NULL);
}

/* Of the connector's sockets, those of the group of processes. */
TEST(listeners_to_forks_are_counted)
{
    struct rm_root root;
    struct rm_scratch scratch;
    assert_ok(rm_scratch_init(&scratch));
    assert_ok(rm_root_open(&root, test_directory));
    assert_int_equal(rm_fork_events_listeners(&root, &scratch), 0);
    put("proc/self/net/netlink",
        "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"
        "00000000f5674668 0   0          00000001 0        0        0     2        0        4\n"
        "00000000c085976b 11  4711       00000001 0        0        0     2        0        1509\n"
        "00000000c085976c 11  0          00000000 0        0        0     2        0        1510\n"
        "00000000c085976d 11  4712       0000000b 0        0        0     2        0        1511\n"
        "torn");
    assert_int_equal(rm_fork_events_listeners(&root, &scratch), 2);
    rm_scratch_free(&scratch);
    rm_root_close(&root);
}

/* ---- options and arguments -------------------------------------------------------------- */

/* What goes into a file of root is a name and nothing else. */
TEST(groups)
{
    static const char *const bad[] = {"",
                                      "Resmon",
                                      "9a",
                                      "-a",
                                      "a b",
                                      "a\nb",
                                      "a\"",
                                      "a/b",
                                      "a%p",
                                      "$a",
                                      "a:b",
                                      "\303\244",
                                      "a2345678901234567890123456789012"};
    resmon_doctor *none = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(examine(test_directory, bad[i], &none), RESMON_EINVAL);
        assert_null(none);
    }
}

TEST(options)
{
    const resmon_doctor_options nowhere = {.struct_size = sizeof nowhere, .fs_root = "/nowhere"};
    const resmon_doctor_options sizeless = {.struct_size = 1};
    assert_int_equal(resmon_doctor_examine(NULL, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_doctor_examine(&sizeless, &doctor), RESMON_EINVAL);
    assert_int_equal(resmon_doctor_examine(&nowhere, &doctor), RESMON_ENOENT);
    assert_null(doctor);
}

TEST(arguments)
{
    char *text = NULL;
    resmon_doctor_entry entry = {.struct_size = sizeof entry};
    assert_int_equal(resmon_doctor_examine(NULL, &doctor), RESMON_OK);
    assert_int_equal(resmon_doctor_report(NULL, &text), RESMON_EINVAL);
    assert_int_equal(resmon_doctor_report(doctor, NULL), RESMON_EINVAL);
    assert_ok(resmon_doctor_rule(doctor, RESMON_DOCTOR_FILE_SYSUSERS, &text));
    assert_has(text, "\ng resmon -\n");
    resmon_text_free(text);
    text = NULL;
    assert_int_equal(resmon_doctor_rule(doctor, -1, &text), RESMON_EINVAL);
    assert_int_equal(resmon_doctor_rule(doctor, 5, &text), RESMON_EINVAL);
    assert_null(text);
    size_t count = resmon_doctor_entry_count(doctor);
    assert_int_equal(resmon_doctor_get_entry(doctor, count, &entry), RESMON_ENOENT);
    assert_int_equal(resmon_doctor_get_entry(NULL, 0, &entry), RESMON_EINVAL);
    entry.struct_size = 3;
    assert_int_equal(resmon_doctor_get_entry(doctor, 0, &entry), RESMON_EINVAL);
    assert_int_equal(resmon_doctor_entry_count(NULL), 0);
    resmon_doctor_free(NULL);
}

/* ---- faults ----------------------------------------------------------------------------- */

/* One look with the k-th call of a kind failing; false: it did not come to that. */
static bool look_with(enum rm_fault_kind kind, int64_t k)
{
    char *report = NULL, *rule = NULL;
    resmon_doctor *ours = NULL;
    int64_t before = rm_fault_live(0);
    rm_fault_arm(kind, k);
    resmon_status status = examine(test_directory, NULL, &ours);
    if (status == RESMON_OK) {
        status = resmon_doctor_report(ours, &report);
    }
    if (status == RESMON_OK) {
        status = resmon_doctor_rule(ours, RESMON_DOCTOR_FILE_ALL, &rule);
    }
    bool has_fired = rm_fault_fired(kind);
    rm_fault_arm(kind, -1);
    if (status != RESMON_OK) {
        assert_true(has_fired);
        assert_true(kind != RM_FAULT_ALLOC || status == RESMON_ENOMEM);
        assert_true(resmon_last_error()[0] != '\0');
    }
    resmon_text_free(report);
    resmon_text_free(rule);
    resmon_doctor_free(ours);
    assert_int_equal(rm_fault_live(0), before);
    return has_fired;
}

TEST(faults)
{
    put_two_sockets();
    put("etc/resmon/site.conf", "country = DE\n");
    static const enum rm_fault_kind kinds[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_READ};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int64_t k = 0;
        while (look_with(kinds[i], k)) {
            k++;
        }
        assert_true(k >= 5);
    }
}

TEST_FILE(.after_each = forget);
