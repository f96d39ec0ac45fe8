/* SPDX-License-Identifier: MIT */
/*
 * Owns listing of directories below the root, without allocating, and counting of descriptors by
 * that.
 */
#ifndef RM_OS_DIR_H
#define RM_OS_DIR_H

#include <stdint.h>

#include "base/compiler.h"
#include "os/file.h"

/** Calls `visit` for each entry but "." and ".."; a false return ends the listing early. */
typedef bool (*rm_dir_visit_fn)(void *context, const char *name);
RM_SHARED resmon_status rm_dir_visit(const struct rm_root *root, const char *path,
                                     rm_dir_visit_fn visit, void *context);

/** Calls `visit` for each directory in a directory; a false return ends the listing early. */
resmon_status rm_dir_visit_below(const struct rm_root *root, const char *path,
                                 rm_dir_visit_fn visit, void *context);

/** Open descriptors of a process: entries of "`proc_dir`/fd".  Kernels from 6.2 on tell by stat();
 * older ones list them. */
resmon_status rm_fd_count(const struct rm_root *root, const char *proc_dir, uint64_t *ret_count);

/** Open descriptors of a process, by its directory "fd" that is kept open; false: the kernel does
 * not tell, or the process has ended. */
bool rm_fd_count_kept(const struct rm_kept *directory, uint64_t *ret_count);

#endif
