/* SPDX-License-Identifier: MIT */
/*
 * The profile of system calls that a test runs under (with_profile.c).
 */
#ifndef RESMON_TESTS_PROFILE_H
#define RESMON_TESTS_PROFILE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Threads cannot have a table of descriptors of their own. */
static inline bool is_without_close_range(void)
{
    const char *profile = getenv("RESMON_TEST_PROFILE");
    return profile != NULL &&
           (strcmp(profile, "no-close-range") == 0 || strcmp(profile, "rhel8") == 0);
}

#endif
