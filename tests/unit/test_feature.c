/* SPDX-License-Identifier: MIT */
/*
 * base/feature: what this library was built without says so where it is asked for, and names the
 * option of the build; the doctor lists it.
 */
#include "runs.h"

#include "base/feature.h"

TEST(what_is_left_out_says_so)
{
    resmon_run *run = finish(start_with(&(resmon_monitor_options){.name = "features"}));
    resmon_run *loaded = NULL;
    assert_ok(resmon_run_save(run, path_of("run.json")));
    resmon_status status = resmon_run_load(path_of("run.json"), &loaded);
    if (rm_feature_row(RM_FEATURE_CJSON)->is_built) {
        assert_ok(status);
    } else {
        assert_status(RESMON_ENOTSUP, status);
        assert_non_null(strstr(resmon_last_error(), "RESMON_WITH_CJSON"));
    }
    resmon_run_free(loaded);
    resmon_run_free(run);
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
