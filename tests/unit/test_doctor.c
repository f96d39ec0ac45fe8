/* SPDX-License-Identifier: MIT */
/*
 * <resmon/doctor.h>: what machines of all kinds are found to show, what is said to be done, and the
 * files of an administrator.  Machines are trees that the test makes; root may read everything, so
 * what is closed is said by a stand-in, and once tried as another user.
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
    denied[0] = NULL;
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

TEST(every_zone_is_named)
{
    put_two_sockets();
    look();
    assert_finding("powercap intel-rapl:1:0", READY, "dram of package-1: can be read", NULL);
    assert_finding("processors", READY, "RAPL, 2 packages", NULL);
    assert_finding("memory", READY, "dram of 2 packages", NULL);
    denied[0] = "/energy_uj";
    look();
    static const char *const names[] = {"powercap intel-rapl:0", "powercap intel-rapl:0:0",
                                        "powercap intel-rapl:1", "powercap intel-rapl:1:0"};
    for (size_t i = 0; i < 4; i++) {
        assert_finding(names[i], DENIED, "may not read its counter", "usermod -aG resmon USER");
    }
    assert_finding("processors", DENIED, "a model by CPU load", NULL);
    assert_finding("memory", DENIED, "a model by size", NULL);
}

/* The well-known recipe opens the first socket, and no memory. */
TEST(a_part_is_not_the_whole)
{
    put_two_sockets();
    denied[0] = "intel-rapl:1/energy_uj";
    denied[1] = "intel-rapl:0:0/energy_uj";
    denied[2] = NULL;
    look();
    assert_finding("powercap intel-rapl:0", READY, "package-0", NULL);
    assert_finding("processors", DENIED, "only 1 of 2 packages", NULL);
    assert_finding("memory", DENIED, "only 1 of 2 counters of memory", NULL);
}

TEST(two_drivers_show_one_package)
{
    put_zone("intel-rapl:0", "package-0\n", "1\n");
    put_zone("intel-rapl-mmio:0", "package-0\n", "1\n");
    denied[0] = "intel-rapl:0/energy_uj";
    denied[1] = NULL;
    look();
    assert_finding("powercap intel-rapl:0", DENIED, "package-0", "doctor --rule");
    assert_finding("processors", READY, "RAPL, 1 package", NULL);
}

TEST(dies_of_amd_are_one_package)
{
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n");
    put_zone("intel-rapl:0", "package-0-die-0\n", "1\n");
    put_zone("intel-rapl:1", "package-0-die-1\n", "1\n");
    look();
    assert_finding("processors", READY, "RAPL, 1 package", NULL);
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    look();
    assert_finding("processors", READY, "RAPL, 2 packages", NULL);
}

TEST(nested_zones)
{
    put_zone("intel-rapl/intel-rapl:0", "package-0\n", "1\n");
    put_zone("intel-rapl/intel-rapl:0/intel-rapl:0:1", "dram\n", "1\n");
    look();
    assert_finding("powercap intel-rapl:0:1", READY, "dram of package-0", NULL);
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

TEST(garbled_zones)
{
    put_zone("intel-rapl:0", "package-0\n", "12x");
    put_zone("intel-rapl:1", "package-1\n", "x\n");
    put_zone("intel-rapl:2", "package-2\n", "");
    put_zone("intel-rapl::::", "\033[31mdram\n", "1\n");
    look();
    assert_finding("powercap intel-rapl:1", GARBLED, "does not hold a number", NULL);
    assert_finding("powercap intel-rapl:2", GARBLED, "empty", NULL);
    assert_finding("processors", DENIED, "only 1 of 3", NULL);
    assert_finding("powercap intel-rapl::::", READY, "?[31mdram: can be read", NULL);
}

TEST(a_name_that_is_closed)
{
    put_zone("intel-rapl:0", "package-0\n", "1\n");
    denied[0] = "/name";
    denied[1] = NULL;
    look();
    assert_finding("powercap intel-rapl:0", DENIED, "not even read its name", "doctor --rule");
    assert_finding("processors", DENIED, "a model", NULL);
}

TEST(no_zones)
{
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    look();
    assert_finding("powercap", ABSENT, "CONFIG_POWERCAP", NULL);
    assert_finding("processors", ABSENT, "a model by CPU load", "cpu_watts");
    assert_int_equal(mkdir(place("sys/class/powercap"), 0755), 0);
    look();
    assert_finding("powercap", ABSENT, "intel_rapl_common is not loaded",
                   "modprobe intel_rapl_msr");
    put("sys/module/intel_rapl_common/refcnt", "1\n");
    look();
    assert_finding("powercap", ABSENT, "intel_rapl_msr is not loaded", "modprobe intel_rapl_msr");
    put("sys/module/intel_rapl_msr/refcnt", "1\n");
    look();
    assert_finding("powercap", ABSENT, "does not know these processors", NULL);
    put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
    look();
    assert_finding("powercap", ABSENT, "virtual machine", NULL);
    put("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
    look();
    assert_finding("powercap", ABSENT, "ARM", NULL);
}

TEST(masked_by_a_container)
{
    assert_int_equal(mkdir(place("sys/class/powercap"), 0755), 0);
    assert_int_equal(mkdir(place("sys/devices/virtual/powercap"), 0755), 0);
    look();
    assert_finding("powercap", DENIED, "is masked", "unmask=/sys/devices/virtual/powercap");
    assert_int_equal(clear_root(NULL), 0);
    assert_int_equal(mkdir(place("sys/class/powercap"), 0755), 0);
    assert_int_equal(symlink("../../devices/virtual/powercap/intel-rapl/intel-rapl:0",
                             place("sys/class/powercap/intel-rapl:0")),
                     0);
    look();
    assert_finding("powercap", DENIED, "is masked", "measure on the host");
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

TEST(modules_of_memory)
{
    look();
    assert_finding("memory modules", ABSENT, "from the size", NULL);
    put("sys/devices/system/edac/mc/mc0/dimm0/size", "16384\n");
    put("sys/devices/system/edac/mc/mc0/dimm1/size", "0\n");
    put("sys/devices/system/edac/mc/mc1/dimm0/size", "16384\n");
    look();
    assert_finding("memory modules", READY, "EDAC reports 2", NULL);
    assert_finding("memory", ABSENT, "a model by the number of modules", NULL);
}

/* ---- counters --------------------------------------------------------------------------- */

#define PARANOID "proc/sys/kernel/perf_event_paranoid"
#define PMU      "sys/bus/event_source/devices/power"
#define PMU_TYPE PMU "/type"

static void put_capabilities(const char *mask, const char *uid_map)
{
    char text[64];
    (void)snprintf(text, sizeof text, "Name:\tx\nCapEff:\t%s\n", mask);
    put("proc/self/status", text);
    put("proc/self/uid_map", uid_map);
}

#define ALL_USERS "         0          0 4294967295\n"

TEST(levels)
{
    static const struct {
        const char *level, *mask, *uid_map;
        int32_t status, hardware, power;
        const char *says;
    } cases[] = {
        {"-1\n", "0000000000000000", ALL_USERS, READY, READY, READY, "level -1 allows all"},
        {"0\n", "0000000000000000", ALL_USERS, READY, READY, READY, "of whole CPUs"},
        {"1\n", "0000000000000000", ALL_USERS, READY, READY, DENIED, "and in the kernel"},
        {"2\n", "0000000000000000", ALL_USERS, READY, READY, DENIED, "in user space"},
        {"3\n", "0000000000000000", ALL_USERS, DENIED, DENIED, DENIED, "Debian"},
        {"4\n", "0000000000000000", ALL_USERS, DENIED, DENIED, DENIED, "Ubuntu"},
        {"4\n", "0000004000000000", ALL_USERS, READY, READY, READY, "may count everything"},
        {"3\n", "0000000000200000", ALL_USERS, READY, READY, READY, "may count everything"},
        {"3\n", "000001ffffffffff", "0 1000 1\n", DENIED, DENIED, DENIED, "nothing"},
        {"3\n", "00000Z4000000000", ALL_USERS, DENIED, DENIED, DENIED, "nothing"},
        {"-9\n", "", "", READY, READY, READY, "level -9 allows all"},
        {"9223372036854775807\n", "", "", DENIED, DENIED, DENIED, "nothing"},
        {"9223372036854775808\n", "", "", GARBLED, DENIED, DENIED, "is not a level"},
        {"2x\n", "", "", GARBLED, DENIED, DENIED, "'2x'"},
        {"\033[2J\n", "", "", GARBLED, DENIED, DENIED, "'?[2J'"},
        {"", "", "", GARBLED, DENIED, DENIED, ""},
    };
    put(PMU_TYPE, "21\n");
    put(PMU "/events/energy-pkg", "event=0x02\n");
    put("sys/bus/event_source/devices/cpu/type", "4\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(PARANOID, cases[i].level);
        put_capabilities(cases[i].mask, cases[i].uid_map);
        look();
        bool is_closed = cases[i].status == DENIED;
        assert_finding("perf_event_paranoid", cases[i].status, cases[i].says,
                       is_closed ? "kernel.perf_event_paranoid to 2" : NULL);
        assert_finding("hardware counters", cases[i].hardware, "PMU cpu", NULL);
        assert_finding("PMU power", cases[i].power, "the PMU \"power\" of perf",
                       cases[i].power == DENIED ? "cap_perfmon" : NULL);
        assert_finding("processors", cases[i].power == READY ? READY : ABSENT, "their energy",
                       cases[i].power == READY ? NULL : "cpu_watts");
    }
}

TEST(the_pmu_beside_zones)
{
    put_two_sockets();
    put(PMU_TYPE, "21\n");
    put(PMU "/events/energy-pkg", "event=0x02\n");
    put(PARANOID, "2\n");
    look();
    assert_finding("PMU power", DENIED, "it is not needed", NULL);
    denied[0] = "/energy_uj";
    denied[1] = NULL;
    look();
    assert_finding("PMU power", DENIED, "better give access to the zones above", NULL);
    put(PARANOID, "0\n");
    look();
    assert_finding("processors", READY, "the PMU \"power\"", NULL);
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

TEST(pmus_of_processors)
{
    look();
    assert_finding("perf_event_paranoid", ABSENT, "no perf events", NULL);
    assert_finding("hardware counters", ABSENT, "no PMU", NULL);
    put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n");
    look();
    assert_finding("hardware counters", ABSENT, "virtual machines", "KVM");
    put(PARANOID, "2\n");
    put("sys/bus/event_source/devices/uncore_imc_0/cpumask", "0\n");
    put("sys/bus/event_source/devices/software/type", "1\n");
    look();
    assert_finding("hardware counters", ABSENT, "no PMU", "KVM");
    put("sys/bus/event_source/devices/cpu_atom/cpus", "8-15\n");
    look();
    assert_finding("hardware counters", READY, "PMU cpu_atom can be opened", NULL);
    put("sys/bus/event_source/devices/armv8_pmuv3_0/type", "8\n");
    look();
    assert_finding("hardware counters", READY, "armv8_pmuv3_0", NULL);
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
    assert_finding("lines", ABSENT, "no libdw, made up: stacks have addresses", "install libdw");
    assert_finding("signal", DENIED, "SIGPROF itself", "must leave one of them unused");
    assert_finding("page faults", READY, "are left out", NULL);
    look_at_stacks(RESMON_EACCES, RESMON_OK, RESMON_EACCES, "SIGPROF");
    assert_finding("unwinding", DENIED, "no unwinding, made up", "seccomp profile");
    assert_finding("signal", READY, "SIGPROF is free", NULL);
    assert_finding("page faults", DENIED, "no page faults, made up", NULL);
    look_at_stacks(RESMON_OK, RESMON_OK, RESMON_ENOTSUP, "SIGURG");
    assert_finding("page faults", ABSENT, "no page faults, made up", NULL);
}

TEST(rings_of_page_faults)
{
    static const char lock[] = "proc/sys/kernel/perf_event_mlock_kb";
    look();
    assert_finding("page faults", ABSENT, "no perf events", NULL);
    assert_null(find("perf_event_mlock_kb"));
    assert_null(find("unwinding"));
    assert_null(find("lines"));
    assert_null(find("signal"));
    put(PARANOID, "2\n");
    put(lock, "516\n");
    look();
    assert_finding("page faults", READY, "kernel.perf_event_paranoid lets", NULL);
    assert_finding("perf_event_mlock_kb", READY, "516 KiB for each CPU", NULL);
    put(PARANOID, "3\n");
    put(lock, "4\n");
    look();
    assert_finding("page faults", DENIED, "may not be sampled", NULL);
    assert_finding("perf_event_mlock_kb", DENIED, "too few", "perf_event_mlock_kb to 516");
    static const char *const wrong[] = {"\n", "x\n", "-1\n", "12x\n", "18446744073709551616\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put(lock, wrong[i]);
        look();
        assert_finding("perf_event_mlock_kb", GARBLED, "is not a number", NULL);
    }
    put(lock, "516\n");
    denied[0] = "perf_event_mlock_kb";
    denied[1] = NULL;
    look();
    assert_finding("perf_event_mlock_kb", DENIED, "cannot be read", NULL);
}

/* ---- the rest --------------------------------------------------------------------------- */

TEST(files_of_a_gpu)
{
    look();
    assert_finding("NVIDIA driver", ABSENT, "no NVIDIA driver", NULL);
    assert_null(find("NVIDIA device"));
    put("proc/driver/nvidia/version", "NVRM version: 535\n");
    look();
    assert_finding("NVIDIA driver", READY, "is loaded", NULL);
    assert_finding("NVIDIA device", ABSENT, "no /dev/nvidiactl", "--gpus all");
    put("dev/nvidiactl", "");
    look();
    assert_finding("NVIDIA device", READY, "can be opened", NULL);
    denied[0] = "nvidiactl";
    denied[1] = NULL;
    look();
    assert_finding("NVIDIA device", DENIED, "may not open", "ask for a GPU");
}

TEST(the_site)
{
    static const char site[] = "etc/resmon/site.conf";
    look();
    assert_finding("place", ABSENT, "there is no /etc/resmon/site.conf: emissions use the world",
                   "country = FR");
    static const char *const here[] = {"RESMON_COUNTRY=FR", NULL};
    variables = here;
    look();
    assert_finding("place", READY, "emissions use the carbon intensity of France", NULL);
    variables = NULL;
    put(site, "pue = 1.2\n");
    look();
    assert_finding("place", ABSENT, "names no place", "country = FR");
    put(site, "country = DE\n");
    look();
    assert_finding("place", READY, "of Germany", NULL);
    put(site, "country = Atlantis\n");
    look();
    assert_finding("place", GARBLED, "'Atlantis' is not known", "country = FR");
    put(site, "country = DE\npue = 0.9\n");
    look();
    assert_finding("place", GARBLED, "site.conf line 2: pue is '0.9'", "up to its first mistake");
    static const char *const nowhere[] = {"RESMON_SITE_CONF=/nowhere.conf", NULL};
    variables = nowhere;
    look();
    assert_finding("place", ABSENT, "/nowhere.conf", "correct it");
}

TEST(what_the_kernel_tells)
{
    look();
    assert_finding("pressure", ABSENT, "no pressure", "psi=1");
    assert_finding("smaps_rollup", ABSENT, "4.14", NULL);
    assert_finding("cgroup memory", ABSENT, "in no group", NULL);
    put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    put("proc/self/smaps_rollup", "Rss: 4 kB\n");
    put("proc/self/cgroup", "0::/job\n");
    put("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/job/memory.current", "1\n");
    denied[0] = "smaps_rollup";
    denied[1] = NULL;
    look();
    assert_finding("pressure", READY, "can be read", NULL);
    assert_finding("smaps_rollup", DENIED, "may not read", NULL);
    assert_finding("cgroup memory", READY, "version 2: memory.current", NULL);
    assert_finding("cgroup cpu", ABSENT, "cpu.stat is not there", NULL);
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

/* ---- texts ------------------------------------------------------------------------------ */

static void assert_readable(const char *text)
{
    size_t column = 0;
    for (const char *c = text; *c != '\0'; c++) {
        column = *c == '\n' ? 0 : column + 1;
        assert_true(column <= 100 && (*c == '\n' || (*c >= ' ' && *c < 127)));
        assert_false(*c == '\n' && c > text && c[-1] == ' ');
    }
    assert_int_equal(column, 0);
}

TEST(the_report)
{
    char *text = NULL;
    put_two_sockets();
    denied[0] = "/energy_uj";
    denied[1] = NULL;
    look();
    assert_ok(resmon_doctor_report(doctor, &text));
    assert_readable(text);
    assert_non_null(strstr(text, "  DENIED  powercap intel-rapl:1:0"));
    const char *rule = strstr(text, "doctor --rule");
    assert_non_null(rule); /* said once, for all zones */
    assert_null(strstr(rule + 1, "doctor --rule"));
    assert_non_null(strstr(text, "  1. powercap intel-rapl:0, powercap intel-rapl:0:0, "));
    resmon_text_free(text);
}

static void look_at_machine(const char *path)
{
    char *text = NULL;
    resmon_doctor_free(doctor);
    doctor = NULL;
    assert_ok(examine(path, NULL, &doctor));
    assert_ok(resmon_doctor_report(doctor, &text));
    const char *findings = strchr(text, '\n'); /* the heading has the path */
    assert_non_null(findings);
    assert_readable(findings + 1);
    resmon_text_free(text);
}

TEST(machines)
{
    const char *fixtures = getenv("RESMON_FIXTURES");
    DIR *directory = fixtures != NULL ? opendir(fixtures) : NULL;
    const struct dirent *entry;
    size_t count = 0;
    if (directory == NULL) {
        print_message("not tried: RESMON_FIXTURES is not set\n");
        skip();
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s/t0", fixtures, entry->d_name);
        if (entry->d_name[0] == '.' || access(path, R_OK) != 0) {
            continue;
        }
        look_at_machine(path);
        if (strcmp(entry->d_name, "intel-2s") == 0) {
            assert_finding("processors", READY, "RAPL, 2 packages", NULL);
            assert_finding("memory", READY, "dram of 2 packages", NULL);
        }
        if (strcmp(entry->d_name, "intel-psys-only") == 0) {
            assert_finding("processors", ABSENT, "a model by CPU load", NULL);
        }
        count++;
    }
    assert_int_equal(closedir(directory), 0);
    assert_true(count > 10);
}

static char *rule_of(const char *group, int32_t file)
{
    char *text = NULL;
    resmon_doctor_free(doctor);
    doctor = NULL;
    assert_ok(examine(test_directory, group, &doctor));
    assert_ok(resmon_doctor_rule(doctor, file, &text));
    assert_readable(text);
    return text;
}

static void assert_rule(const char *group, int32_t file, const char *says)
{
    char *text = rule_of(group, file);
    if (strstr(text, says) == NULL) {
        fail_msg("'%s' is not in: %s", says, text);
    }
    resmon_text_free(text);
}

TEST(rules)
{
    put(PARANOID, "4\n");
    assert_rule(NULL, RESMON_DOCTOR_FILE_SYSUSERS, "\ng resmon -\n");
    assert_rule("_a-9", RESMON_DOCTOR_FILE_SYSUSERS, "\ng _a-9 -\n");
    assert_rule("power", RESMON_DOCTOR_FILE_UDEV, "RUN+=\"/bin/chgrp power %S%p/energy_uj\"");
    assert_rule("power", RESMON_DOCTOR_FILE_TMPFILES,
                "\nz /sys/devices/virtual/powercap/*/*/*/energy_uj 0440 root power -\n");
    assert_rule(NULL, RESMON_DOCTOR_FILE_SYSCTL, "\nkernel.perf_event_paranoid = 2\n");
    put(PARANOID, "2\n"); /* other machines may need the file that is made here */
    assert_rule(NULL, RESMON_DOCTOR_FILE_SYSCTL, "\nkernel.perf_event_paranoid = 2\n");
    put(PARANOID, "1\n");
    assert_rule(NULL, RESMON_DOCTOR_FILE_SYSCTL, "it is 1 already");
    assert_rule(NULL, RESMON_DOCTOR_FILE_SYSCTL, "\n#kernel.perf_event_paranoid = 2\n");
    assert_rule("power", RESMON_DOCTOR_FILE_ALL, "doctor --group power --rule tmpfiles >");
    assert_rule("power", RESMON_DOCTOR_FILE_ALL, "usermod -aG power USER");
    assert_rule(NULL, RESMON_DOCTOR_FILE_ALL, "# ======== /etc/udev/rules.d/70-resmon.rules");
}

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
