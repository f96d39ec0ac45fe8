/* SPDX-License-Identifier: MIT */
#include "duration.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double seconds;
} units[] = {{"ms", 1e-3}, {"min", 60.0}, {"s", 1.0}, {"h", 3600.0}};

double cli_duration(const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++) {
        if (strcmp(end, units[i].name) == 0 && value > 0.0 && value * units[i].seconds < 1e9) {
            return value * units[i].seconds;
        }
    }
    return -1.0;
}
