/* SPDX-License-Identifier: MIT */
/*
 * job/path_pattern: what the letters become, and that nothing from outside leaves the directory.
 */
#include "test.h"

#include <stdbool.h>
#include <unistd.h>

#include "base/fault.h"
#include "job/path_pattern.h"
#include "job_environment.h"

static const char *expand(const char *pattern, const char *const *variables)
{
    static char path[RM_PATH_BYTES];
    struct made_environment made;
    assert_ok(rm_path_expand_in(make_environment(&made, variables, "host.x"), pattern, path));
    return path;
}

static const char *const slurm[] = {"SLURM_JOB_ID=4711", "SLURM_STEP_ID=0", "SLURM_PROCID=3",
                                    "SLURMD_NODENAME=n1", NULL};
static const char *const nothing[] = {NULL};

TEST(letters)
{
    char pid[32];
    (void)snprintf(pid, sizeof pid, "a%ldb", (long)getpid());
    assert_string_equal(expand("a%pb", nothing), pid);
    assert_string_equal(expand("/x/%h.json", nothing), "/x/host.x.json");
    assert_string_equal(expand("%%", nothing), "%");
    assert_string_equal(expand("100%%-%%p", nothing), "100%-%p");
    assert_string_equal(expand("run-%j-%n-%r.json", slurm), "run-4711-n1-3.json");
    assert_string_equal(expand("run-%j-%n-%r.json", nothing), "run-nojob-host.x-0.json");
}

TEST(values_stay_in_their_directory)
{
    static const struct {
        const char *id, *name;
    } cases[] = {
        {"RESMON_JOB_ID=..", "d/__/f"},
        {"RESMON_JOB_ID=.", "d/_/f"},
        {"RESMON_JOB_ID=../../etc", "d/.._.._etc/f"},
        {"RESMON_JOB_ID=a b:c", "d/a_b_c/f"},
        {"RESMON_JOB_ID=...", "d/.../f"},
        {"RESMON_JOB_ID=a=b+c-d_e.F9", "d/a=b+c-d_e.F9/f"},
        {"RESMON_JOB_ID=\xc6\x92x", "d/__x/f"},
        {"RESMON_JOB_ID=%p", "d/_p/f"},
        {"RESMON_JOB_ID=\n", "d/_/f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const variables[] = {cases[i].id, NULL};
        assert_string_equal(expand("d/%j/f", variables), cases[i].name);
    }
}

TEST(a_host_without_a_name)
{
    char path[RM_PATH_BYTES];
    struct made_environment made;
    assert_ok(rm_path_expand_in(make_environment(&made, nothing, ""), "%h/%n", path));
    assert_string_equal(path, "_/_");
}

TEST(bad_patterns)
{
    static char path[RM_PATH_BYTES];
    static char pattern[RM_PATH_BYTES + 2];
    static const struct {
        const char *pattern, *told;
    } cases[] = {{"", "empty"}, {"a%", "ends in '%'"}, {"%z", "'%z'"}, {"%", "ends in"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_status(RESMON_EINVAL, rm_path_expand(cases[i].pattern, path));
        assert_non_null(strstr(resmon_last_error(), cases[i].told));
    }
    memset(pattern, 'x', RM_PATH_BYTES - 1);
    assert_ok(rm_path_expand(pattern, path));
    assert_int_equal(strlen(path), RM_PATH_BYTES - 1);
    pattern[RM_PATH_BYTES - 1] = 'x';
    assert_status(RESMON_EINVAL, rm_path_expand(pattern, path));
    (void)snprintf(pattern + RM_PATH_BYTES - 3, 4, "%%j");
    assert_status(RESMON_EINVAL, rm_path_expand(pattern, path));
}

TEST(no_memory)
{
    static char path[RM_PATH_BYTES];
    struct made_environment made;
    bool has_fired = true;
    for (int64_t k = 0; has_fired; k++) {
        int64_t before = rm_fault_live(0);
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status =
            rm_path_expand_in(make_environment(&made, slurm, "h"), "%j-%r", path);
        has_fired = rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_status(has_fired ? RESMON_ENOMEM : RESMON_OK, status);
        assert_int_equal(rm_fault_live(0), before);
    }
    assert_string_equal(path, "4711-3");
}
