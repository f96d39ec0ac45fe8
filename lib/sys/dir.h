/* SPDX-License-Identifier: MIT */
/*
 * Owns listing of directories below the root, without allocating.
 */
#ifndef RM_SYS_DIR_H
#define RM_SYS_DIR_H

#include "sys/file.h"

/** Calls `visit` for each entry but "." and ".."; a false return ends the listing early. */
typedef bool (*rm_dir_visit_fn)(void *context, const char *name);
resmon_status rm_dir_visit(const struct rm_root *root, const char *path, rm_dir_visit_fn visit,
                           void *context);

#endif
