/* SPDX-License-Identifier: MIT */
/*
 * Scopes by name, for tests of what a run has of them, through the public API.
 */
#ifndef RESMON_TESTS_SCOPES_H
#define RESMON_TESTS_SCOPES_H

#include "runs.h"
#include "torture/run_checks.h"

static inline resmon_site *site(const char *name)
{
    resmon_site *made = NULL;
    assert_ok(resmon_site_intern(name, &made));
    return made;
}

static inline uint64_t begin(const char *name)
{
    return resmon_scope_begin(site(name));
}

static inline resmon_run *scopes_of(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_scopes(monitor, &run));
    return run;
}

static inline resmon_run *finished(resmon_monitor *monitor)
{
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *run = scopes_of(monitor);
    resmon_monitor_free(monitor);
    return run;
}

/* Whether the path ends at this scope: names from the innermost outwards, up to the top. */
static inline bool is_at(const resmon_run *run, int64_t at, const char *path)
{
    size_t left = strlen(path);
    while (at >= 0) {
        const resmon_run_scope scope = scope_of(run, (size_t)at);
        size_t length = strlen(scope.name);
        if (length > left || memcmp(path + left - length, scope.name, length) != 0) {
            return false;
        }
        left -= length;
        if (left == 0 || path[left - 1] != '/') {
            return left == 0 && scope.parent < 0;
        }
        left--;
        at = scope.parent;
    }
    return false;
}

/* The index of "train/worker", or -1; each path is there once. */
static inline int64_t find(const resmon_run *run, const char *path)
{
    int64_t found = -1;
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        if (is_at(run, (int64_t)i, path)) {
            assert_int_equal(found, -1);
            found = (int64_t)i;
        }
    }
    return found;
}

static inline resmon_run_scope scope_at(const resmon_run *run, const char *path)
{
    int64_t index = find(run, path);
    if (index < 0) {
        fail_msg("there is no scope %s", path);
    }
    return scope_of(run, (size_t)index);
}

#endif
