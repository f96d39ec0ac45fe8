/* SPDX-License-Identifier: MIT */
#include "base/amount.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
    const char *name; /* of an amount of */
    const char *unit;
    double factor;
} units[] = {
    {"ns", "s", 1e-9},    {"us", "s", 1e-6},       {"ms", "s", 1e-3},
    {"min", "s", 60.0},   {"s", "s", 1.0},         {"h", "s", 3600.0},
    {"KiB", "B", 1024.0}, {"MiB", "B", 1048576.0}, {"GiB", "B", 1073741824.0},
    {"kB", "B", 1e3},     {"MB", "B", 1e6},        {"GB", "B", 1e9},
    {"B", "B", 1.0},      {"uJ", "J", 1e-6},       {"mJ", "J", 1e-3},
    {"J", "J", 1.0},      {"kJ", "J", 1e3},        {"Wh", "J", 3600.0},
    {"kWh", "J", 3.6e6},  {"", "1", 1.0},
};

bool rm_amount_take_number(const char **at, double *ret_number)
{
    double number = 0.0, place = 1.0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        number = number * 10.0 + (**at - '0');
    }
    bool has_digits = *at > start;
    if (**at == '.') {
        for ((*at)++; **at >= '0' && **at <= '9'; (*at)++) {
            place /= 10.0;
            number += place * (**at - '0');
            has_digits = true;
        }
    }
    *ret_number = number;
    return has_digits && number < 1e18;
}

double rm_amount_factor(const char *name, size_t length, const char *unit)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strcmp(units[i].unit, unit) == 0 && strlen(units[i].name) == length &&
            memcmp(units[i].name, name, length) == 0) {
            return units[i].factor;
        }
    }
    return RM_NAN;
}

void rm_amount_list(const char *unit, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strcmp(units[i].unit, unit) == 0 && units[i].name[0] != '\0' && used < room) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                     units[i].name);
        }
    }
}
