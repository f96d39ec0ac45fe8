/* SPDX-License-Identifier: MIT */
/*
 * Owns finding the zones of the kernel's powercap class, in whatever way the tree lists them.
 * Called by collect/energy_zones, which counts them, and doctor/energy, which says who may.
 */
#ifndef RM_COLLECT_POWERCAP_H
#define RM_COLLECT_POWERCAP_H

#include "base/compiler.h"
#include "os/file.h"

#define RM_POWERCAP_CLASS "sys/class/powercap"

#define RM_MOST_ZONES 64

/**
 * A zone, "DIRECTORY/ID" below the root; or, with `id` NULL, a directory that is there and cannot
 * be listed, or for which there is no memory: resmon_last_error() says why.
 */
typedef void (*rm_powercap_visit_fn)(void *context, const char *directory, const char *id);

/** Visits each zone of RAPL, "intel-rapl:0" before "intel-rapl:0:1"; RM_MOST_ZONES a directory at
 * most. */
RM_SHARED void rm_powercap_visit(const struct rm_root *root, rm_powercap_visit_fn visit,
                                 void *context);

#endif
