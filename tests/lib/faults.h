/* SPDX-License-Identifier: MIT */
/*
 * A call with each of its faults, one after the other.
 */
#ifndef RESMON_TESTS_FAULTS_H
#define RESMON_TESTS_FAULTS_H

#include "test.h"

#include "base/fault.h"

/* Calls `once` with the k-th call of a kind failing, for k = 0, 1, ... until none fails any more:
 * at least `least` do.  A failed allocation is RESMON_ENOMEM, or is made good; `once` leaves no
 * memory behind, whatever it returns. */
static inline void fail_each(enum rm_fault_kind kind, resmon_status (*once)(void *), void *context,
                             int64_t least)
{
    int64_t live = rm_fault_live(0), k = 0;
    for (bool has_fired = true; has_fired; k++) {
        rm_fault_arm(kind, k);
        resmon_status status = once(context);
        has_fired = rm_fault_fired(kind);
        rm_fault_arm(kind, -1);
        assert_true(status == RESMON_OK || has_fired);
        assert_true(kind != RM_FAULT_ALLOC || status == RESMON_OK || status == RESMON_ENOMEM);
        assert_int_equal(rm_fault_live(0), live);
        assert_true(k < 5000);
    }
    assert_true(k > least);
}

#endif
