/* SPDX-License-Identifier: MIT */
/*
 * run/energy, <resmon/energy.h>: sums, shares of models, costs, and what is not known.
 */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include <resmon/emissions.h>
#include <resmon/energy.h>

#include "metric/metric.h"
#include "run/run.h"

#define TEXT(key, value)                   \
    {                                      \
        "energy", key, value, RM_FACT_TEXT \
    }
#define NUMBER(key, value)                   \
    {                                        \
        "energy", key, value, RM_FACT_NUMBER \
    }

static resmon_column column(const char *metric, double joules)
{
    return (resmon_column){.metric = rm_metric_own_text(metric),
                           .instance = "",
                           .kind = RESMON_COUNTER,
                           .n = isnan(joules) ? 0 : 2,
                           .last = joules};
}

TEST(sums_and_costs)
{
    resmon_column columns[] = {column("node.energy.cpu", 7.2e6), column("node.energy.ram", 1.8e6),
                               column("tree.energy.cpu", 3.6e6), column("tree.energy.ram", 0.9e6)};
    resmon_run_source sources[] = {
        {.name = "energy_cpu", .reason = "", .provenance = RESMON_PROVENANCE_MEASURED},
        {.name = "energy_ram", .reason = "a model", .provenance = RESMON_PROVENANCE_MODELLED}};
    struct rm_fact facts[] = {NUMBER("g_per_kwh", "100"), NUMBER("pue", "1.5"),
                              NUMBER("wue", "0.2"),       NUMBER("basis", "4"),
                              NUMBER("year", "2024"),     TEXT("place", "Somewhere")};
    struct resmon_run run = {.columns = columns,
                             .column_count = 4,
                             .sources = sources,
                             .source_count = 2,
                             .facts = facts,
                             .fact_count = 6};
    resmon_energy energy = {.struct_size = sizeof energy};
    resmon_energy_part part = {.struct_size = sizeof part};
    assert_ok(resmon_run_get_energy(&run, &energy));
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
    assert_int_equal(resmon_run_energy_part_count(&run), 3);
    assert_ok(resmon_run_get_energy_part(&run, 1, &part));
    assert_string_equal(part.name, "ram");
    assert_string_equal(part.method, "a model");
    assert_near(part.tree_j, 0.9e6, 1e-6);
    assert_status(RESMON_ENOENT, resmon_run_get_energy_part(&run, 3, &part));
}

/* Memory whose size nobody knows is left out, and does not make the sum unknown. */
TEST(what_is_not_known)
{
    resmon_column columns[] = {column("node.energy.cpu", 10.0),
                               column("node.energy.ram", (double)NAN)};
    resmon_run_source sources[] = {
        {.name = "energy_cpu", .reason = "", .provenance = RESMON_PROVENANCE_MEASURED}};
    struct rm_fact facts[] = {NUMBER("g_per_kwh", "0"), NUMBER("pue", "1"), NUMBER("wue", "0")};
    struct resmon_run run = {.columns = columns,
                             .column_count = 2,
                             .sources = sources,
                             .source_count = 1,
                             .facts = facts,
                             .fact_count = 3};
    resmon_energy energy = {.struct_size = sizeof energy};
    assert_ok(resmon_run_get_energy(&run, &energy));
    assert_near(energy.node_j, 10.0, 0.0);
    assert_near(energy.modelled_share, 0.0, 0.0);
    assert_near(energy.node_gco2eq, 0.0, 0.0);
    assert_true(isnan(energy.tree_j) && isnan(energy.tree_gco2eq) && isnan(energy.rest_j));
    run.column_count = 0;
    assert_ok(resmon_run_get_energy(&run, &energy));
    assert_true(isnan(energy.node_j) && isnan(energy.modelled_share));
    assert_int_equal(energy.provenance, RESMON_PROVENANCE_NONE);
    run.fact_count = 0;
    assert_status(RESMON_ENOENT, resmon_run_get_energy(&run, &energy));
    assert_int_equal(resmon_run_energy_part_count(&run), 0);
    assert_status(RESMON_EINVAL, resmon_run_get_energy(NULL, &energy));
}

/* Through a monitor: the place of the options, kept in the run. */
TEST(a_monitor_knows_its_place)
{
    resmon_carbon_options carbon = {
        .struct_size = sizeof carbon, .country = "se", .pue = 1.25, .flags = RESMON_CARBON_NO_SITE};
    resmon_monitor_options options = {.struct_size = sizeof options, .carbon = &carbon};
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    resmon_energy energy = {.struct_size = sizeof energy};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    assert_ok(resmon_run_get_energy(run, &energy));
    assert_string_equal(energy.place, "Sweden");
    assert_near(energy.pue, 1.25, 0.0);
    assert_true(energy.node_j >= 0.0 && energy.tree_j <= energy.node_j);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    carbon.pue = 0.5;
    assert_status(RESMON_EINVAL, resmon_monitor_new(&options, &monitor));
    assert_non_null(strstr(resmon_last_error(), "pue"));
}

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
