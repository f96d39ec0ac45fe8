/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of the vDSO, the library that the kernel maps into each process: it is in no file.
 * Called by stack/ and names/.
 */
#ifndef RM_OS_VDSO_H
#define RM_OS_VDSO_H

#include <stddef.h>

#include <resmon/status.h>

/** What modules are called that are the vDSO. */
#define RM_VDSO_NAME "[vdso]"

/** A copy of its ELF image, which the caller frees (rm_free).  RESMON_ENOENT: there is none here;
 * RESMON_EFORMAT: it is none that is understood; RESMON_ENOMEM; else why it cannot be read. */
resmon_status rm_vdso_read(char **ret_image, size_t *ret_length);

#endif
