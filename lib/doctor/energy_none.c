/* SPDX-License-Identifier: MIT */
/* In place of doctor/energy.c, pmu.c and site.c when the library is built without energy; the rows
 * about the build say so. */
#include "doctor/exam.h"

void rm_doctor_energy(struct rm_doctor_exam *exam)
{
    (void)exam;
}

void rm_doctor_site(struct rm_doctor_exam *exam)
{
    (void)exam;
}
