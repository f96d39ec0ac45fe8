/* SPDX-License-Identifier: MIT */
/* Rows about what this library was built without; a whole one has none. */
#include "base/feature.h"
#include "doctor/exam.h"

void rm_doctor_build(struct rm_doctor_exam *exam)
{
    const struct rm_feature_row *row;
    for (size_t i = 0; (row = rm_feature_row(i)) != NULL; i++) {
        if (!row->is_built) {
            rm_doctor_add(exam, "build", row->option, RESMON_DOCTOR_ABSENT,
                          "build the library with it, or install one that was",
                          "this libresmon was built without %s", row->what);
        }
    }
}
