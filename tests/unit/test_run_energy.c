/* SPDX-License-Identifier: MIT */
/*
 * <resmon/energy.h>: sums, shares of models, costs, and what is not known.
 */
#include "runs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <resmon/emissions.h>
#include <resmon/energy.h>

#define COLUMN(metric) "{\"metric\":\"" metric "\",\"kind\":\"counter\"}"
#define SUM(n, joules) "{\"n\":" n ",\"last\":" joules "}"
#define SOURCE(name, how, why) \
    "{\"name\":\"" name "\",\"provenance\":\"" how "\",\"reason\":\"" why "\"}"

#ifdef RM_HAVE_CJSON

/* A run of a document. */
static resmon_run *run_of(const char *columns, const char *sums, const char *sources,
                          const char *energy)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"format\":\"resmon-run\",\"version\":1,\"columns\":[%s],"
                   "\"summary\":{\"columns\":[%s]},\"sources\":[%s]%s}",
                   columns, sums, sources, energy);
    return parsed(text);
}

TEST(sums_and_costs)
{
    resmon_energy energy = {.struct_size = sizeof energy};
    resmon_energy_part part = {.struct_size = sizeof part};
    resmon_run *run =
        run_of(COLUMN("node.energy.cpu") "," COLUMN("node.energy.ram") "," COLUMN(
                   "tree.energy.cpu") "," COLUMN("tree.energy.ram"),
               SUM("2", "7.2e6") "," SUM("2", "1.8e6") "," SUM("2", "3.6e6") "," SUM("2", "0.9e6"),
               SOURCE("energy_cpu", "measured", "") "," SOURCE("energy_ram", "modelled", "a model"),
               ",\"energy\":{\"g_per_kwh\":100,\"pue\":1.5,\"wue\":0.2,\"basis\":4,"
               "\"year\":2024,\"place\":\"Somewhere\"}");
    assert_ok(resmon_run_get_energy(run, &energy));
    assert_near(energy.node_j, 9e6, 1e-3);
    assert_near(energy.tree_j, 4.5e6, 1e-3);
    assert_near(energy.rest_j, 4.5e6, 1e-3);
    assert_near(energy.modelled_share, 0.2, 1e-12);
    assert_near(energy.node_gco2eq, 2.5 * 1.5 * 100.0, 1e-9);
    assert_near(energy.tree_gco2eq, 1.25 * 1.5 * 100.0, 1e-9);
    assert_near(energy.node_water_l, 0.5, 1e-12); /* of the machines alone */
    assert_int_equal(energy.provenance, RESMON_PROVENANCE_MODELLED);
    assert_int_equal(energy.basis, RESMON_CARBON_BASIS_COUNTRY);
    assert_int_equal(energy.year, 2024);
    assert_string_equal(energy.place, "Somewhere");
    assert_string_equal(energy.remark, "");
    assert_int_equal(resmon_run_energy_part_count(run), 3);
    assert_ok(resmon_run_get_energy_part(run, 1, &part));
    assert_string_equal(part.name, "ram");
    assert_string_equal(part.method, "a model");
    assert_near(part.tree_j, 0.9e6, 1e-6);
    assert_status(RESMON_ENOENT, resmon_run_get_energy_part(run, 3, &part));
    resmon_run_free(run);
}

/* Memory whose size nobody knows is left out, and does not make the sum unknown. */
TEST(what_is_not_known)
{
    resmon_energy energy = {.struct_size = sizeof energy};
    resmon_run *run =
        run_of(COLUMN("node.energy.cpu") "," COLUMN("node.energy.ram"),
               SUM("2", "10") "," SUM("0", "null"), SOURCE("energy_cpu", "measured", ""),
               ",\"energy\":{\"g_per_kwh\":0,\"pue\":1,\"wue\":0}");
    assert_ok(resmon_run_get_energy(run, &energy));
    assert_near(energy.node_j, 10.0, 0.0);
    assert_near(energy.modelled_share, 0.0, 0.0);
    assert_near(energy.node_gco2eq, 0.0, 0.0);
    assert_true(isnan(energy.tree_j) && isnan(energy.tree_gco2eq) && isnan(energy.rest_j));
    resmon_run_free(run);
    run = run_of("", "", "", ",\"energy\":{\"g_per_kwh\":0,\"pue\":1,\"wue\":0}");
    assert_ok(resmon_run_get_energy(run, &energy));
    assert_true(isnan(energy.node_j) && isnan(energy.modelled_share));
    assert_int_equal(energy.provenance, RESMON_PROVENANCE_NONE);
    resmon_run_free(run);
    run =
        run_of("", "",
               SOURCE("node_cpu", "measured", "") "," SOURCE("energy", "none", "nobody asked"), "");
    assert_status(RESMON_ENOENT, resmon_run_get_energy(run, &energy));
    assert_has(resmon_last_error(), "nobody asked");
    assert_int_equal(resmon_run_energy_part_count(run), 0);
    assert_status(RESMON_EINVAL, resmon_run_get_energy(NULL, &energy));
    resmon_run_free(run);
}

#endif

/* Of the processes of a job on a host, one has the machine's joules: all of them add up. */
TEST(one_rank_has_the_machines_energy)
{
    static const char *const ranks[] = {"0", "1"};
    char job[64]; /* no other process is of it */
    (void)snprintf(job, sizeof job, "test-run-energy-%ld", (long)getpid());
    assert_int_equal(setenv("RESMON_JOB_ID", job, 1), 0);
    assert_int_equal(setenv("RESMON_NODE_COUNT", "1", 1), 0);
    assert_int_equal(setenv("RESMON_RANK_COUNT", "2", 1), 0);
    for (int rank = 0; rank < 2; rank++) {
        resmon_monitor *monitor = NULL;
        resmon_run *run = NULL;
        resmon_energy energy = {.struct_size = sizeof energy};
        const resmon_emissions_options emissions = {.struct_size = sizeof emissions,
                                                    .path = "test_run_energy.csv"};
        assert_int_equal(setenv("RESMON_RANK", ranks[rank], 1), 0);
        assert_int_equal(setenv("RESMON_LOCAL_RANK", ranks[rank], 1), 0);
        assert_ok(resmon_monitor_new(NULL, &monitor));
        assert_ok(resmon_monitor_start(monitor));
        assert_ok(resmon_monitor_stop(monitor));
        assert_ok(resmon_monitor_snapshot(monitor, &run));
        assert_ok(resmon_run_get_energy(run, &energy));
        assert_int_equal(isnan(energy.node_j), rank == 1);
        assert_false(isnan(energy.tree_j));
        assert_int_equal(strstr(energy.remark, "another process") != NULL, rank == 1);
        assert_status(rank == 1 ? RESMON_ENOENT : RESMON_OK,
                      resmon_run_append_emissions(run, &emissions));
        resmon_run_free(run);
        resmon_monitor_free(monitor);
    }
    assert_int_equal(remove("test_run_energy.csv"), 0);
    (void)unsetenv("RESMON_JOB_ID");
}

/* A counter that has not moved yet is no figure: these runs are too short for that, and have
 * models. */
FIXTURE(without_counters)
{
    return mkdir(path_of("empty"), 0700) == 0 ? setenv("RESMON_ENERGY_ROOT", path_of("empty"), 1)
                                              : -1;
}

TEST_FILE(.set_up = without_counters);
