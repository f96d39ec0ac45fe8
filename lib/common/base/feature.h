/* SPDX-License-Identifier: MIT */
/*
 * Owns the list of what this library was built with, and without: the options RESMON_WITH_* of the
 * build (cmake/ResmonOptions.cmake).  The files NAME_none.c, which stand in for what was left out,
 * take their error from here.
 */
#ifndef RM_BASE_FEATURE_H
#define RM_BASE_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

enum rm_feature {
#define RM_FEATURE(name, is_built, what) RM_FEATURE_##name,
#include "base/compiler.h"
#include "features.inc"
#undef RM_FEATURE
    RM_FEATURE_COUNT
};

struct rm_feature_row {
    bool is_built;
    const char *option; /* of the build: "RESMON_WITH_CURL" */
    const char *what;   /* "HTTP (libcurl)" */
};

/** NULL past the last. */
RM_SHARED const struct rm_feature_row *rm_feature_row(size_t index);

/** RESMON_OK, or RESMON_ENOTSUP with a text that names the option: the feature was left out. */
resmon_status rm_feature_need(enum rm_feature feature);

#endif
