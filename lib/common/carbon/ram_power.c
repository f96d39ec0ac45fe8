/* SPDX-License-Identifier: MIT */
#include "carbon/ram_power.h"

#include <math.h>
#include <stddef.h>

#include "base/compiler.h"

#define MOST_MODULES   32
#define LARGEST_MODULE 128.0 /* GiB */

unsigned rm_ram_modules(double gib)
{
    static const struct {
        double gib;
        unsigned modules;
    } small[] = {{2, 1}, {16, 2}, {64, 4}, {128, 8}};
    for (size_t i = 0; i < RM_ARRAY_LEN(small); i++) {
        if (gib <= small[i].gib) {
            return small[i].modules;
        }
    }
    double size = 4.0;
    while (size < LARGEST_MODULE && size * 2.0 <= gib / 8.0) {
        size *= 2.0;
    }
    double modules = ceil(gib / size);
    return modules < MOST_MODULES ? (unsigned)modules : MOST_MODULES;
}

double rm_ram_watts(unsigned modules, bool is_arm)
{
    static const struct {
        unsigned first; /* of the modules that draw so much of the first one's power */
        double share;
    } steps[] = {{0, 1.0}, {4, 0.9}, {8, 0.8}, {16, 0.7}};
    double each = is_arm ? 1.5 : 5.0;
    double sum = 0.0;
    for (size_t i = 0; i < RM_ARRAY_LEN(steps) && modules > steps[i].first; i++) {
        unsigned end = i + 1 < RM_ARRAY_LEN(steps) && modules > steps[i + 1].first
                           ? steps[i + 1].first
                           : modules;
        sum += (end - steps[i].first) * steps[i].share;
    }
    return fmax(2.0 * each, each * sum);
}

double rm_ram_installed(double gib)
{
    static const double modules[] = {64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0};
    for (size_t i = 0; i < RM_ARRAY_LEN(modules); i++) {
        double next = ceil(gib / modules[i]) * modules[i];
        if (next <= gib * 1.04) {
            return next;
        }
    }
    return gib;
}
