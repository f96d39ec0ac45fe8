/* SPDX-License-Identifier: MIT */
/*
 * Owns where separate debug information lies: by build-id and by name (.gnu_debuglink), as GDB
 * looks for it; and what several such files share (.gnu_debugaltlink).
 * Called by symbols.c.
 */
#ifndef RM_STACK_DEBUG_FILES_H
#define RM_STACK_DEBUG_FILES_H

#include <resmon/status.h>

#include "stack/elf_file.h"

#define RM_DEBUG_ROOT       "/usr/lib/debug"
#define RM_DEBUG_PATH_BYTES 4096

/* An open file with the memory of its path. */
struct rm_debug_file {
    struct rm_elf elf;
    char path[RM_DEBUG_PATH_BYTES];
};

/** The file with the debug information of `elf`, below the directory `root` or beside it.
 * RESMON_ENOENT: there is none; RESMON_ENOMEM. */
resmon_status rm_debug_file_open(struct rm_debug_file *file, const struct rm_elf *elf,
                                 const char *root);

/** The file with parts of the debug information that `elf` shares with other files
 * (.gnu_debugaltlink).  RESMON_ENOENT: there is none; RESMON_ENOMEM. */
resmon_status rm_debug_file_open_alternate(struct rm_debug_file *file, const struct rm_elf *elf,
                                           const char *root);

void rm_debug_file_close(struct rm_debug_file *file);

#endif
