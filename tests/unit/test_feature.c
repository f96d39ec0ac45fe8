/* SPDX-License-Identifier: MIT */
/*
 * base/feature: what this library was built without says so wherever it is asked for, and names the
 * option of the build; what it was built with never does.
 */
#include "runs.h"

#include <stdbool.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/feature.h"

#define OUTPUT "made_by_test_feature"

static resmon_run *run; /* with everything asked for */

FIXTURE(record)
{
    run = finish(start_with(&(resmon_monitor_options){
        .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_CPU | RESMON_DOMAIN_ENERGY,
        .scopes = RESMON_METER_PERF,
        .stacks = RESMON_STACKS_ALL,
        .counters = "default",
        .name = "features",
    }));
    return 0;
}

FIXTURE(clean_up)
{
    resmon_run_free(run);
    (void)unlink(OUTPUT);
    return 0;
}

/* ---- asking ------------------------------------------------------------------------------- */

/* The text that goes with a status is that of resmon_last_error(), or is set as that here. */
static char told[512];

static resmon_status tell(resmon_status status, const char *text)
{
    (void)snprintf(told, sizeof told, "%s", text);
    return status;
}

static resmon_status sink(const char *text)
{
    resmon_monitor *monitor = NULL;
    resmon_status status = resmon_monitor_new_text(text, &monitor);
    resmon_monitor_free(monitor);
    return tell(status, resmon_last_error());
}

static resmon_status source(const char *name)
{
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source found = {.struct_size = sizeof found};
        assert_ok(resmon_run_get_source(run, i, &found));
        if (strcmp(found.name, name) == 0) {
            return tell(found.status, found.reason);
        }
    }
    return tell(RESMON_ENOENT, "");
}

static resmon_status stacks_of_a_run(void)
{
    resmon_run_stack_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_MEMORY, &info));
    return tell(info.status, info.reason);
}

static resmon_status folded(void)
{
    return tell(resmon_run_save_folded(run, RESMON_STACK_CPU, OUTPUT), resmon_last_error());
}

static resmon_status speedscope(void)
{
    return tell(resmon_run_save_speedscope(run, OUTPUT), resmon_last_error());
}

static resmon_status pprof(void)
{
    return tell(resmon_run_save_pprof(run, OUTPUT), resmon_last_error());
}

static resmon_status sink_of_stacks(void)
{
    return sink("pprof=" OUTPUT);
}

static resmon_status mlflow(void)
{
    return sink("mlflow=http://h.invalid,mlflow.no_spool");
}

static resmon_status pushgateway(void)
{
    return sink("pushgateway=http://h.invalid");
}

/* A URL without a host: nothing is sent. */
static resmon_status promql(void)
{
    double value = 0.0;
    const resmon_promql_options options = {.struct_size = sizeof options, .url = "nowhere"};
    return tell(resmon_promql_value(&options, "up", 0.0, &value), resmon_last_error());
}

static resmon_status counters_of_a_run(void)
{
    return source("perf");
}

static resmon_status counters_of_scopes(void)
{
    resmon_run_counter counter = {.struct_size = sizeof counter};
    assert_ok(resmon_run_get_counter(run, 0, &counter));
    return tell(counter.status, counter.reason);
}

static resmon_status energy_of_a_run(void)
{
    return source("energy");
}

static resmon_status carbon(void)
{
    resmon_carbon_intensity intensity = {.struct_size = sizeof intensity};
    return tell(resmon_carbon_find(NULL, &intensity), resmon_last_error());
}

static resmon_status emissions(void)
{
    return sink("emissions=" OUTPUT);
}

/* Each part is asked for in all its ways. */
static const struct {
    enum rm_feature feature;
    resmon_status (*ask)(void);
} asked[] = {
    {RM_FEATURE_STACKS, stacks_of_a_run},
    {RM_FEATURE_STACKS, folded},
    {RM_FEATURE_STACKS, speedscope},
    {RM_FEATURE_STACKS, pprof},
    {RM_FEATURE_STACKS, sink_of_stacks},
    {RM_FEATURE_NET, mlflow},
    {RM_FEATURE_NET, pushgateway},
    {RM_FEATURE_NET, promql},
    {RM_FEATURE_COUNTERS, counters_of_a_run},
    {RM_FEATURE_COUNTERS, counters_of_scopes},
    {RM_FEATURE_ENERGY, energy_of_a_run},
    {RM_FEATURE_ENERGY, carbon},
    {RM_FEATURE_ENERGY, emissions},
};

TEST(what_is_left_out_says_so)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(asked); i++) {
        const struct rm_feature_row *row = rm_feature_row(asked[i].feature);
        resmon_status status = asked[i].ask();
        bool is_named = strstr(told, row->option) != NULL;
        if (row->is_built && is_named) {
            fail_msg("%s is there, but is said not to be: %s", row->option, told);
        }
        if (!row->is_built && (status != RESMON_ENOTSUP || !is_named)) {
            fail_msg("without %s, question %zu is answered with %s (%s)", row->option, i,
                     resmon_status_name(status), told);
        }
    }
}

/* The run has no energy, and says why. */
static void assert_no_energy(const resmon_run *asked_run)
{
    resmon_energy energy = {.struct_size = sizeof energy};
    assert_status(RESMON_ENOENT, resmon_run_get_energy(asked_run, &energy));
    assert_non_null(strstr(resmon_last_error(), "RESMON_WITH_ENERGY"));
}

/* What was left out has no figures: they are absent, and not 0; in the run's document too. */
TEST(what_is_left_out_is_not_zero)
{
    resmon_energy energy = {.struct_size = sizeof energy};
    resmon_status status = resmon_run_get_energy(run, &energy);
    if (rm_feature_need(RM_FEATURE_ENERGY) == RESMON_OK) {
        assert_int_equal(status, RESMON_OK);
        return;
    }
    assert_no_energy(run);
    resmon_run *loaded = NULL;
    assert_ok(resmon_run_save(run, OUTPUT));
    if (resmon_run_load(OUTPUT, &loaded) == RESMON_OK) {
        assert_no_energy(loaded);
        resmon_run_free(loaded);
    } else {
        print_message("not loaded: %s\n", resmon_last_error());
    }
    for (size_t i = 0; i < resmon_run_column_count(run); i++) {
        resmon_column column = {.struct_size = sizeof column};
        assert_ok(resmon_run_get_column(run, i, &column));
        assert_null(strstr(column.metric, "energy"));
    }
}

TEST(the_doctor_lists_what_is_left_out)
{
    resmon_doctor *doctor = NULL;
    size_t rows = 0, left_out = 0;
    assert_ok(resmon_doctor_examine(NULL, &doctor));
    for (size_t i = 0; i < resmon_doctor_entry_count(doctor); i++) {
        resmon_doctor_entry entry = {.struct_size = sizeof entry};
        assert_ok(resmon_doctor_get_entry(doctor, i, &entry));
        rows += strcmp(entry.group, "build") == 0 ? 1 : 0;
    }
    for (size_t i = 0; i < RM_FEATURE_COUNT; i++) {
        left_out += rm_feature_row(i)->is_built ? 0 : 1;
    }
    assert_int_equal(rows, left_out);
    assert_null(rm_feature_row(RM_FEATURE_COUNT));
    resmon_doctor_free(doctor);
}

TEST_FILE(.set_up = record, .tear_down = clean_up);
