/* SPDX-License-Identifier: MIT */
#include "stack/escape.h"

#include <setjmp.h>
#include <stddef.h>

#include "base/compiler.h"

static RM_THREAD_LOCAL jmp_buf *way_out;

void rm_escape_leave(void)
{
    longjmp(*way_out, 1); /* NOLINT(cert-err52-cpp): there is no other way out */
}

bool rm_escape_run(rm_escape_work_fn work, void *owner, void *context, resmon_status *ret_status)
{
    jmp_buf here;
    if (setjmp(here) != 0) { /* NOLINT(cert-err52-cpp) */
        way_out = NULL;
        return false;
    }
    way_out = &here;
    *ret_status = work(owner, context);
    way_out = NULL;
    return true;
}
