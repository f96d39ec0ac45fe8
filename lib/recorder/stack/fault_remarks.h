/* SPDX-License-Identifier: MIT */
/*
 * Owns what is said of stacks of page faults beside the stacks: whom they are not of, and what they
 * do not show.  Each is found on its own, and all that hold are said.
 */
#ifndef RM_STACK_FAULT_REMARKS_H
#define RM_STACK_FAULT_REMARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/parse.h"

/* Which memory the kernel makes huge pages of: /sys/kernel/mm/transparent_hugepage/enabled. */
enum rm_huge_pages { RM_HUGE_PAGES_NONE, RM_HUGE_PAGES_ASKED, RM_HUGE_PAGES_ALL };

struct rm_fault_remarks {
    char missing[192];             /* why threads are not sampled, if others are; "": all are */
    bool lacks_kernel;             /* faults in system calls */
    bool lacks_pages;              /* how large the page was that a fault brought */
    enum rm_huge_pages huge_pages; /* where that is not known */
    uint64_t huge_bytes;           /* where it is: what came in huge pages */
};

#define RM_FAULT_REMARKS_BYTES 512

/** Reads "always [madvise] never". */
enum rm_huge_pages rm_huge_pages_parse(struct rm_text text);

/** All that hold, joined by "; ". */
void rm_fault_remarks_text(const struct rm_fault_remarks *remarks,
                           char text[RM_FAULT_REMARKS_BYTES]);

#endif
