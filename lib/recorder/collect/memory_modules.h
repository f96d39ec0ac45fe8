/* SPDX-License-Identifier: MIT */
/*
 * Owns counting the memory modules that EDAC, the kernel's watch over memory errors, knows.
 * Called by collect/energy_ram and doctor/energy.
 */
#ifndef RM_COLLECT_MEMORY_MODULES_H
#define RM_COLLECT_MEMORY_MODULES_H

#include "base/compiler.h"
#include "os/file.h"

/** Modules with memory in them; 0: it is not known. */
RM_SHARED unsigned rm_memory_modules(const struct rm_root *root, struct rm_scratch *scratch);

#endif
