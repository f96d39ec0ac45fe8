/* SPDX-License-Identifier: MIT */
/* In place of doctor/stacks.c when the library is built without stacks; the rows about the build
 * say so. */
#include "base/feature.h"
#include "doctor/exam.h"

resmon_status rm_doctor_try_faults(bool *ret_has_kernel)
{
    (void)ret_has_kernel;
    return rm_feature_need(RM_FEATURE_STACKS);
}

void rm_doctor_stacks(struct rm_doctor_exam *exam)
{
    (void)exam;
}
