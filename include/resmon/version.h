/* SPDX-License-Identifier: MIT */
/*
 * resmon/version.h - the version of libresmon.
 *
 *     printf("libresmon %s\n", resmon_version());
 */
#ifndef RESMON_VERSION_H
#define RESMON_VERSION_H

#include <resmon/export.h>

RESMON_BEGIN_DECLS

/* The version of the headers. */
#define RESMON_VERSION_MAJOR 0
#define RESMON_VERSION_MINOR 1
#define RESMON_VERSION_PATCH 0

/** Returns the version of the library as text, "0.1.0".  Static string.  Any thread.  Since 0.1. */
RESMON_API const char *resmon_version(void);

RESMON_END_DECLS

#endif
