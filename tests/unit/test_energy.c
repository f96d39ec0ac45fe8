/* SPDX-License-Identifier: MIT */
/*
 * collect/delta and energy_zones: how far counters grew, and which of the zones that
 * kernels show are counted.
 */
#include "vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/energy_zones.h"

#define S RM_NS_PER_S

/* ---- counters --------------------------------------------------------------------------- */

TEST(deltas)
{
    static const char *const flags[] = {"ok", "wrapped", "gap", "discarded"};
    struct vectors vectors;
    size_t count = 0;
    for (vectors_open(&vectors, "rapl_delta_vectors.csv"); vectors_next(&vectors); count++) {
        struct rm_energy_counter counter = {
            .unit_j = 1e-6,
            .max = (uint64_t)vectors_number(&vectors, "max_energy_range_uj"),
            .limit_w = 2000.0,
        };
        uint64_t before = (uint64_t)vectors_number(&vectors, "prev_uj");
        const char *flag = vectors_text(&vectors, "expected_flag");
        assert_int_equal(rm_energy_take(&counter, before, S), RM_ENERGY_OK);
        enum rm_energy_event event =
            vectors_number(&vectors, "read_ok") > 0.0
                ? rm_energy_take(&counter, (uint64_t)vectors_number(&vectors, "now_uj"), 2 * S)
                : rm_energy_miss(&counter);
        if (strncmp(flags[event], flag, strlen(flags[event])) != 0) {
            fail_msg("%s: %s", vectors_text(&vectors, "case"), flags[event]);
        }
        double joules = vectors_number(&vectors, "expected_delta_uj") * 1e-6;
        assert_near(counter.joules, joules, 1e-6 * joules);
    }
    assert_int_equal(count, 7);
}

TEST(nothing_is_lost_over_gaps_and_wraps)
{
    struct rm_energy_counter counter = {.unit_j = 1e-6, .max = 65532610987, .limit_w = 2000.0};
    uint64_t total = 0;
    uint32_t random = 1;
    assert_int_equal(rm_energy_poll_ns(&counter) / S, 16);
    for (int64_t second = 0; second < 100000; second++) {
        random = random * 1664525 + 1013904223;
        total += second > 0 ? random % 500000000 : 0; /* up to 500 W */
        if (random >> 28 == 0 && second > 0) {
            assert_int_equal(rm_energy_miss(&counter), RM_ENERGY_GAP);
        } else {
            (void)rm_energy_take(&counter, total % (counter.max), second * S);
        }
    }
    (void)rm_energy_take(&counter, total % counter.max, 100000 * S);
    assert_near(counter.joules, (double)total * 1e-6, 1e-9 * (double)total * 1e-6);
    assert_true(counter.wraps > 100 && counter.gaps > 5000 && counter.discarded == 0);
}

/* A driver that was loaded anew begins at 0; what it had counted is gone, and nothing is added. */
TEST(a_reset_adds_nothing)
{
    struct rm_energy_counter counter = {.unit_j = 1e-6, .max = 262143328850, .limit_w = 2000.0};
    (void)rm_energy_take(&counter, 1000000, S);
    (void)rm_energy_take(&counter, 101000000, 2 * S);
    assert_int_equal(rm_energy_take(&counter, 0, 3 * S), RM_ENERGY_DISCARDED);
    assert_int_equal(rm_energy_take(&counter, 50000000, 4 * S), RM_ENERGY_OK);
    assert_near(counter.joules, 150.0, 1e-9);
    assert_int_equal(counter.discarded, 1);
}

/* What a program drew before the counter was read first, by the power of the first growth. */
TEST(a_beginning_before_the_first_reading_has_its_energy)
{
    struct rm_energy_counter counter = {.unit_j = 1e-6, .begin_ns = S - S / 2};
    (void)rm_energy_take(&counter, 7000000, S);
    (void)rm_energy_take(&counter, 7000000, S + S / 10); /* it has not been brought up to date */
    assert_near(counter.joules, 0.0, 0);
    (void)rm_energy_take(&counter, 8000000, 2 * S);
    assert_near(counter.joules, 1.5, 1e-9);
    (void)rm_energy_take(&counter, 9000000, 3 * S);
    assert_near(counter.joules, 2.5, 1e-9);
}

/* ---- zones ------------------------------------------------------------------------------ */

static char root_path[] = "test_energy_XXXXXX";

/* A file below the root, with its directories. */
static void put(const char *path, const char *text)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s/%s", root_path, path);
    for (char *slash = strchr(full, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_zone(const char *id, const char *name, const char *energy)
{
    char path[256];
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s/name", id);
    put(path, name);
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", id);
    put(path, "262143328850\n");
    if (energy != NULL) {
        (void)snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", id);
        put(path, energy);
    }
}

static void clear_root(void)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s/*", root_path);
    assert_int_equal(system(command), 0);
}

static struct rm_root root;
static struct rm_scratch scratch;
static struct rm_energy_zones zones;

static int no_perf(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    errno = ENOENT;
    return -1;
}

static void open_zones(rm_perf_open_fn perf_open)
{
    assert_ok(rm_root_open(&root, root_path));
    assert_ok(rm_scratch_init(&scratch));
    assert_ok(rm_energy_zones_open(&zones, &root, &scratch, perf_open));
}

static void close_zones(void)
{
    rm_energy_zones_close(&zones);
    rm_scratch_free(&scratch);
    rm_root_close(&root);
    clear_root();
}

/* The names of the zones, in their order. */
static void assert_zones(const char *names)
{
    char found[512] = "";
    for (size_t i = 0; i < zones.count; i++) {
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s",
                       i > 0 ? " " : "", zones.zones[i].name);
    }
    assert_string_equal(found, names);
}

/* J that a domain grew by while each of its zones grew by `uj`. */
static double grown(enum rm_energy_domain domain, const char *const *ids, const char *later)
{
    rm_energy_zones_read(&zones, &scratch, S, S);
    double before = zones.sums[domain];
    for (; *ids != NULL; ids++) {
        put_zone(*ids, "", later);
    }
    rm_energy_zones_read(&zones, &scratch, 2 * S, 2 * S);
    return zones.sums[domain] - before;
}

TEST(two_sockets_with_memory)
{
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    put_zone("intel-rapl:0:0", "dram\n", "1000000\n");
    put_zone("intel-rapl:1", "package-1\n", "1000000\n");
    put_zone("intel-rapl:1:0", "dram\n", "1000000\n");
    put("sys/class/powercap/intel-rapl/enabled", "1\n");
    put("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "165000000\n");
    put("sys/class/powercap/intel-rapl:1/constraint_0_max_power_uw", "165000000\n");
    open_zones(no_perf);
    assert_zones("package-0 package-1 dram-0 dram-1");
    assert_near(zones.power_limit_w, 330.0, 1e-9);
    assert_string_equal(zones.why, "");
    static const char *const packages[] = {"intel-rapl:0", "intel-rapl:1", NULL};
    assert_near(grown(RM_ZONE_PACKAGE, packages, "51000000\n"), 100.0, 1e-9);
    assert_near(zones.sums[RM_ZONE_DRAM], 0.0, 0.0);
    assert_true(isnan(zones.sums[RM_ZONE_PSYS]));
    close_zones();
}

/* Kernels up to 5.4, and copies of trees: zones lie in each other. */
TEST(nested_directories)
{
    put_zone("intel-rapl/intel-rapl:0", "package-0\n", "1\n");
    put_zone("intel-rapl/intel-rapl:0/intel-rapl:0:0", "core\n", "1\n");
    put_zone("intel-rapl/intel-rapl:0/intel-rapl:0:1", "uncore\n", "1\n");
    put_zone("intel-rapl/intel-rapl:0/intel-rapl:0:2", "dram\n", "1\n");
    open_zones(no_perf);
    assert_zones("package-0 core-0 uncore-0 dram-0");
    close_zones();
}

TEST(dies_of_intel_are_summed)
{
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    put_zone("intel-rapl:0", "package-0-die-0\n", "0\n");
    put_zone("intel-rapl:1", "package-0-die-1\n", "0\n");
    open_zones(no_perf);
    assert_zones("package-0-die-0 package-0-die-1");
    static const char *const dies[] = {"intel-rapl:0", "intel-rapl:1", NULL};
    assert_near(grown(RM_ZONE_PACKAGE, dies, "50000000\n"), 100.0, 1e-9);
    close_zones();
}

TEST(dies_of_amd_are_mirrors)
{
    put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\n");
    put_zone("intel-rapl:0", "package-0-die-0\n", "0\n");
    put_zone("intel-rapl:0:0", "core\n", "0\n");
    put_zone("intel-rapl:1", "package-0-die-1\n", "0\n");
    put_zone("intel-rapl:2", "package-1-die-0\n", "0\n");
    open_zones(no_perf);
    assert_zones("package-0 package-1 core-0");
    static const char *const dies[] = {"intel-rapl:0", "intel-rapl:1", NULL};
    assert_near(grown(RM_ZONE_PACKAGE, dies, "50000000\n"), 50.0, 1e-9);
    close_zones();
}

TEST(a_platform_and_a_second_driver)
{
    put_zone("intel-rapl:0", "package-0\n", "0\n");
    put_zone("intel-rapl:1", "psys\n", "0\n");
    put_zone("intel-rapl-mmio:0", "package-0\n", "0\n");
    put("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "15000000\n");
    put("sys/class/powercap/intel-rapl-mmio:0/constraint_0_power_limit_uw", "15000000\n");
    open_zones(no_perf);
    assert_zones("package-0 psys");
    assert_false(zones.zones[0].is_mmio);
    assert_near(zones.power_limit_w, 15.0, 1e-9);
    close_zones();
}

/* Since 2020, energy_uj is root's; the limit of power is everybody's. */
TEST(what_may_not_be_read)
{
    put_zone("intel-rapl:0", "package-0\n", NULL);
    put("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "125000000\n");
    put_zone("intel-rapl-mmio:0", "package-0\n", "0\n");
    open_zones(no_perf);
    assert_zones("package-0");
    assert_true(zones.zones[0].is_mmio); /* this one may */
    close_zones();
    put_zone("intel-rapl:0", "package-0\n", NULL);
    put("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "125000000\n");
    open_zones(no_perf);
    assert_zones("");
    assert_non_null(strstr(zones.why, "energy_uj"));
    assert_near(zones.power_limit_w, 125.0, 1e-9);
    close_zones();
}

/* Half of the machine would pass for the whole. */
TEST(one_of_two_sockets_measures_nothing)
{
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    put_zone("intel-rapl:0:0", "dram\n", "1000000\n");
    put_zone("intel-rapl:1", "package-1\n", NULL);
    put_zone("intel-rapl:1:0", "dram\n", "1000000\n");
    open_zones(no_perf);
    assert_zones("package-0 dram-0 dram-1"); /* each is a column */
    assert_false(rm_energy_zones_measure(&zones, RM_ZONE_PACKAGE));
    assert_true(rm_energy_zones_measure(&zones, RM_ZONE_DRAM));
    assert_false(rm_energy_zones_measure(&zones, RM_ZONE_PSYS));
    assert_non_null(strstr(zones.why, "intel-rapl:1/energy_uj"));
    close_zones();
}

/* It opens as a file does, and is none. */
TEST(what_opens_and_is_never_read)
{
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    put_zone("intel-rapl:1", "package-1\n", NULL);
    put("sys/class/powercap/intel-rapl:1/energy_uj/file", "");
    open_zones(no_perf);
    assert_zones("package-0");
    assert_false(rm_energy_zones_measure(&zones, RM_ZONE_PACKAGE));
    assert_non_null(strstr(zones.why, "package-1 cannot be read"));
    close_zones();
    put_zone("intel-rapl:0", "package-0\n", "none\n");
    open_zones(no_perf);
    assert_zones("");
    close_zones();
}

/* The files of a driver that was unloaded say nothing any more; those of its successor have the
 * same names. */
TEST(a_driver_that_is_loaded_anew)
{
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    open_zones(no_perf);
    rm_energy_zones_read(&zones, &scratch, S, S);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "");
    rm_energy_zones_read(&zones, &scratch, 2 * S, 2 * S);
    assert_int_equal(zones.zones[0].counter.gaps, 1);
    char path[256];
    (void)snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:0/energy_uj", root_path);
    assert_int_equal(unlink(path), 0);
    rm_energy_zones_read(&zones, &scratch, 3 * S, 3 * S);
    assert_int_equal(zones.zones[0].counter.gaps, 2);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "51000000\n");
    rm_energy_zones_read(&zones, &scratch, 4 * S, 4 * S);
    assert_near(zones.sums[RM_ZONE_PACKAGE], 50.0, 1e-9); /* nothing is lost */
    close_zones();
}

static void assert_dead(unsigned domain, size_t count, const char *expected)
{
    char text[160];
    assert_int_equal(rm_energy_zones_describe_dead(&zones, domain, text, sizeof text), count);
    assert_string_equal(text, expected);
}

/* Hypervisors show counters that nobody brings up to date. */
TEST(counters_that_stand_still)
{
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    put_zone("intel-rapl:0:0", "dram\n", "0\n");
    put_zone("intel-rapl:1", "package-1\n", "0\n");
    open_zones(no_perf);
    rm_energy_zones_read(&zones, &scratch, S, S);
    assert_dead(RM_ENERGY_DOMAINS, 0, "");
    assert_int_equal(rm_energy_zones_life(&zones, RM_ZONE_PACKAGE), RM_ZONES_YOUNG);
    put_zone("intel-rapl:0", "package-0\n", "2000000\n");
    rm_energy_zones_read(&zones, &scratch, S + S / 50, S + S / 50);
    assert_int_equal(rm_energy_zones_life(&zones, RM_ZONE_PACKAGE), RM_ZONES_YOUNG);
    assert_dead(RM_ENERGY_DOMAINS, 2,
                "package-1, dram-0 have not counted in the 20 ms of this run");
    assert_dead(RM_ZONE_DRAM, 1, "dram-0 has not counted in the 20 ms of this run");
    rm_energy_zones_read(&zones, &scratch, 13 * S, 13 * S);
    assert_int_equal(rm_energy_zones_life(&zones, RM_ZONE_PACKAGE), RM_ZONES_DEAD);
    assert_int_equal(rm_energy_zones_life(&zones, RM_ZONE_DRAM), RM_ZONES_DEAD);
    assert_dead(RM_ZONE_PACKAGE, 1, "package-1 has not counted since the start (12 s)");
    put_zone("intel-rapl:0:0", "dram\n", "1000000\n");
    rm_energy_zones_read(&zones, &scratch, 14 * S, 14 * S);
    assert_int_equal(rm_energy_zones_life(&zones, RM_ZONE_DRAM), RM_ZONES_LIVE);
    assert_int_equal(rm_energy_zones_life(&zones, RM_ZONE_PACKAGE), RM_ZONES_DEAD);
    close_zones();
}

TEST(garbled_zones)
{
    put_zone("intel-rapl:0", "package-0\n", "12x\n");
    put_zone("intel-rapl:1", "package-99999999999999999999\n", "-5\n");
    put_zone("intel-rapl:2", "\n", "5\n");
    put_zone("intel-rapl:3", "packagex\n", "5\n");
    put_zone("intel-rapl::::", "dram\n", "\n");
    put_zone("intel-rapl:", "psys-", "99999999999999999999999999\n");
    put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "garbage");
    open_zones(no_perf);
    rm_energy_zones_read(&zones, &scratch, S, S);
    rm_energy_zones_read(&zones, &scratch, 2 * S, 2 * S);
    for (size_t i = 0; i < zones.count; i++) {
        assert_true(zones.zones[i].counter.joules == 0.0);
    }
    close_zones();
    open_zones(no_perf);
    assert_zones("");
    assert_non_null(strstr(zones.why, "powercap"));
    close_zones();
}

/* ---- the PMU ---------------------------------------------------------------------------- */

static int opened[16][2]; /* config, cpu */
static size_t opened_count;

static int fake_perf(uint32_t type, uint64_t config, int cpu)
{
    char path[64];
    assert_int_equal(type, 21);
    opened[opened_count][0] = (int)config;
    opened[opened_count++][1] = cpu;
    (void)snprintf(path, sizeof path, "%s/count", root_path);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int denied_perf(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    errno = EACCES;
    return -1;
}

static void put_pmu(void)
{
    put("sys/bus/event_source/devices/power/type", "21\n");
    put("sys/bus/event_source/devices/power/cpumask", "0,18\n");
    put("sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n");
    put("sys/bus/event_source/devices/power/events/energy-pkg.scale",
        "2.3283064365386962890625e-10\n");
    put("sys/bus/event_source/devices/power/events/energy-ram", "event=0x03\n");
    put("sys/bus/event_source/devices/power/events/energy-ram.scale", "1.5e-5\n");
    put("sys/bus/event_source/devices/power/events/energy-cores", "garbage\n");
    const uint64_t count = UINT64_C(1) << 33;
    char path[64];
    (void)snprintf(path, sizeof path, "%s/count", root_path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(&count, sizeof count, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

TEST(the_pmu_where_powercap_is_closed)
{
    put_zone("intel-rapl:0", "package-0\n", NULL);
    put_pmu();
    opened_count = 0;
    open_zones(fake_perf);
    assert_true(zones.is_pmu);
    assert_zones("package-0 package-1 dram-0 dram-1");
    assert_int_equal(opened[0][0], 2);
    assert_int_equal(opened[1][1], 18);
    assert_near(zones.zones[0].counter.unit_j, 0x1p-32, 1e-20);
    assert_near(zones.zones[2].counter.unit_j, 1.5e-5, 1e-15);
    assert_int_equal(zones.poll_ns, 0);                            /* 64 bits do not wrap */
    assert_true(rm_energy_zones_measure(&zones, RM_ZONE_PACKAGE)); /* by the PMU */
    rm_energy_zones_read(&zones, &scratch, S, S);
    assert_int_equal(zones.zones[0].counter.last, UINT64_C(1) << 33);
    close_zones();
    put_zone("intel-rapl:0", "package-0\n", NULL);
    put_pmu();
    open_zones(denied_perf);
    assert_zones("");
    close_zones();
}

static void put_count(uint64_t count)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/count", root_path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600); /* a new reader begins at the start */
    assert_true(fd >= 0 && pwrite(fd, &count, sizeof count, 0) == (ssize_t)sizeof count);
    assert_int_equal(close(fd), 0);
}

/* Where the thread that samples cannot have a table of descriptors of its own. */
TEST(a_program_that_closes_the_events)
{
    put_pmu();
    opened_count = 0;
    open_zones(fake_perf);
    size_t opened_before = opened_count;
    rm_energy_zones_read(&zones, &scratch, S, S);
    char path[64], byte;
    (void)snprintf(path, sizeof path, "%s/own", root_path);
    int own = open(path, O_RDWR | O_CREAT, 0600);
    const char text[] = "more than eight bytes of the program's";
    assert_int_equal(write(own, text, sizeof text), sizeof text);
    assert_int_equal(lseek(own, 3, SEEK_SET), 3);
    int numbers[4];
    assert_int_equal(zones.count, 4);
    for (size_t i = 0; i < 4; i++) {
        numbers[i] = rm_kept_fd(&zones.zones[i].event);
        assert_int_equal(dup2(own, numbers[i]), numbers[i]);
    }
    put_count(UINT64_C(5) << 32);
    rm_energy_zones_read(&zones, &scratch, 2 * S, 2 * S);
    assert_int_equal(opened_count, opened_before + 4); /* again, and counting from 0 */
    assert_int_equal(opened[opened_before + 1][1], 18);
    assert_near(zones.zones[0].counter.joules, 5.0, 1e-9);
    assert_int_equal(zones.zones[0].counter.discarded, 1); /* what was before is lost */
    assert_int_equal(lseek(own, 0, SEEK_CUR), 3);          /* not one byte was read of it */
    close_zones();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(read(numbers[i], &byte, 1), 1);
        assert_int_equal(byte, text[3 + i]);
        assert_int_equal(close(numbers[i]), 0);
    }
    assert_int_equal(close(own), 0);
}

FIXTURE(set_up)
{
    return mkdtemp(root_path) != NULL ? 0 : -1;
}

FIXTURE(tear_down)
{
    return rmdir(root_path);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
