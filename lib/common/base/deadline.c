/* SPDX-License-Identifier: MIT */
#include "base/deadline.h"

#include <stddef.h>

#include "base/compiler.h"

static RM_THREAD_LOCAL const int64_t *followed;

void rm_deadline_follow(const int64_t *deadline_ns)
{
    followed = deadline_ns;
}

int64_t rm_deadline_ns(void)
{
    return followed != NULL ? RM_LOAD(followed) : RM_DEADLINE_NONE;
}
