/* SPDX-License-Identifier: MIT */
#include "base/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

/* A value is shown in the first scale in which its text says less than `below`; the last takes the
 * rest.  Zero is shown in the unit itself. */
struct scale {
    double below, factor; /* factor 0: as minutes and hours */
    const char *name;
};

static const struct scale bytes_scales[] = {{1024.0, 1.0, " B"},       {1024.0, 0x1p-10, " KiB"},
                                            {1024.0, 0x1p-20, " MiB"}, {1024.0, 0x1p-30, " GiB"},
                                            {1024.0, 0x1p-40, " TiB"}, {HUGE_VAL, 0x1p-50, " PiB"}};
static const struct scale seconds_scales[] = {{1e3, 1e9, " ns"},
                                              {1e3, 1e6, " us"},
                                              {1e3, 1e3, " ms"},
                                              {120.0, 1.0, " s"},
                                              {HUGE_VAL, 0.0, ""}};
static const struct scale joules_scales[] = {{1e3, 1e3, " mJ"},
                                             {1e3, 1.0, " J"},
                                             {3600.0, 1e-3, " kJ"},
                                             {1e3, 1.0 / 3.6e6, " kWh"},
                                             {HUGE_VAL, 1.0 / 3.6e9, " MWh"}};
static const struct scale watt_hours_scales[] = {{1e3, 1e6, " uWh"},
                                                 {1e3, 1e3, " mWh"},
                                                 {1e3, 1.0, " Wh"},
                                                 {1e3, 1e-3, " kWh"},
                                                 {HUGE_VAL, 1e-6, " MWh"}};
static const struct scale watts_scales[] = {
    {1e3, 1e3, " mW"}, {1e3, 1.0, " W"}, {1e3, 1e-3, " kW"}, {HUGE_VAL, 1e-6, " MW"}};
static const struct scale grams_scales[] = {{1e3, 1e6, " ug"},
                                            {1e3, 1e3, " mg"},
                                            {1e3, 1.0, " g"},
                                            {1e3, 1e-3, " kg"},
                                            {HUGE_VAL, 1e-6, " t"}};
static const struct scale percent_scales[] = {{HUGE_VAL, 1.0, " %"}};
static const struct scale celsius_scales[] = {{HUGE_VAL, 1.0, " C"}};
/* Whole numbers below 10000 are shown as they are. */
static const struct scale count_scales[] = {{1e4, 1.0, ""},
                                            {1e3, 1e-3, " k"},
                                            {1e3, 1e-6, " M"},
                                            {1e3, 1e-9, " G"},
                                            {HUGE_VAL, 1e-12, " T"}};

/* ---- decimals --------------------------------------------------------------------------- */

/* Of a value that is shown, at most 3.  The limits are where rounding brings one more digit. */
typedef int (*decimals_fn)(double shown, bool has_prefix);

static int four_digits(double shown, bool has_prefix)
{
    double size = fabs(shown);
    (void)has_prefix;
    return size == 0.0 || size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
}

static int decimals_of_bytes(double shown, bool has_prefix)
{
    return !has_prefix ? 0 : fabs(shown) >= 9.995 ? 1 : 2;
}

static int decimals_of_count(double shown, bool has_prefix)
{
    return !has_prefix && shown == floor(shown) ? 0 : four_digits(shown, has_prefix);
}

static int one_decimal(double shown, bool has_prefix)
{
    (void)shown, (void)has_prefix;
    return 1;
}

/* ---- units ------------------------------------------------------------------------------ */

struct unit {
    const char *name;
    const struct scale *scales;
    decimals_fn decimals;
    const char *each_second; /* the unit of so much each second; NULL: this unit with "/s" */
    double per_second;       /* factor to that */
};

static const struct unit bytes = {"B", bytes_scales, decimals_of_bytes, NULL, 1.0};
static const struct unit seconds = {"s", seconds_scales, four_digits, "%", 100.0};
static const struct unit percent = {"%", percent_scales, one_decimal, NULL, 1.0};
static const struct unit joules = {"J", joules_scales, four_digits, "W", 1.0};
static const struct unit watts = {"W", watts_scales, four_digits, NULL, 1.0};
static const struct unit watt_hours = {"Wh", watt_hours_scales, four_digits, NULL, 1.0};
static const struct unit grams = {"g", grams_scales, four_digits, NULL, 1.0};
static const struct unit celsius = {"C", celsius_scales, one_decimal, NULL, 1.0};
static const struct unit count = {"1", count_scales, decimals_of_count, NULL, 1.0};

static const struct unit *const units[] = {&bytes,      &seconds, &percent, &joules, &watts,
                                           &watt_hours, &grams,   &celsius, &count};

static const struct unit *find(const char *name, size_t length)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strlen(units[i]->name) == length && strncmp(units[i]->name, name, length) == 0) {
            return units[i];
        }
    }
    return NULL;
}

/* ---- texts ------------------------------------------------------------------------------ */

/* Without the sign of a zero. */
static void print_number(char text[RM_HUMAN_BYTES], double value, int decimals)
{
    (void)snprintf(text, RM_HUMAN_BYTES, fabs(value) < 1e12 ? "%.*f" : "%.*e", decimals, value);
    rm_text_point(text);
    if (text[0] == '-' && text[1 + strspn(text + 1, "0.")] == '\0') {
        memmove(text, text + 1, strlen(text));
    }
}

static void add(char text[RM_HUMAN_BYTES], const char *more)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, RM_HUMAN_BYTES - length, "%s", more);
}

/* Two minutes and more, in whole numbers. */
static void print_long_time(char text[RM_HUMAN_BYTES], double value)
{
    double whole = round(fabs(value));
    double minutes = floor(whole / 60.0);
    double hours = floor(minutes / 60.0);
    char rest[RM_HUMAN_BYTES] = " h";
    if (minutes < 120.0) {
        (void)snprintf(rest, sizeof rest, " min %02.0f s", whole - 60.0 * minutes);
    } else if (hours < 1e12) {
        (void)snprintf(rest, sizeof rest, " h %02.0f min", minutes - 60.0 * hours);
    }
    print_number(text, copysign(minutes < 120.0 ? minutes : hours, value), 0);
    add(text, rest);
}

/* A text says `below` of what is rounded up to that. */
static bool is_in(const struct scale *scale, double value, decimals_fn decimals)
{
    static const double halves[] = {0.5, 0.05, 0.005, 0.0005};
    double shown = value * scale->factor;
    return value == 0.0
               ? scale->factor == 1.0
               : fabs(shown) < scale->below - halves[decimals(shown, scale->factor != 1.0)];
}

static const struct scale *scale_of(const struct unit *unit, double value)
{
    const struct scale *scale = unit->scales;
    while (!is_in(scale, value, unit->decimals)) {
        scale++;
    }
    return scale;
}

/* The value in a unit, and what stands behind that. */
static void print(char text[RM_HUMAN_BYTES], double value, const struct unit *unit,
                  const char *more)
{
    if (!isfinite(value)) {
        (void)snprintf(text, RM_HUMAN_BYTES, "-");
        return;
    }
    const struct scale *scale = scale_of(unit, value);
    if (scale->factor > 0.0) {
        double shown = value * scale->factor;
        print_number(text, shown, unit->decimals(shown, scale->factor != 1.0));
        add(text, scale->name);
    } else {
        print_long_time(text, value);
    }
    /* "50 Hz", "1.500 GHz", "12.30 k/s" */
    bool is_apart = strcspn(more, "/") > 0 && strchr(text, ' ') == NULL;
    add(text, is_apart ? " " : "");
    add(text, more);
}

void rm_human_bytes(char text[RM_HUMAN_BYTES], double value)
{
    print(text, value, &bytes, "");
}

void rm_human_seconds(char text[RM_HUMAN_BYTES], double value)
{
    print(text, value, &seconds, "");
}

void rm_human_fixed(char text[RM_HUMAN_BYTES], double value, int decimals)
{
    if (isfinite(value)) {
        print_number(text, value, decimals);
    } else {
        (void)snprintf(text, RM_HUMAN_BYTES, "-");
    }
}

#define UNIT_BYTES 12 /* of one that is not in the table */

void rm_human_value(char text[RM_HUMAN_BYTES], double value, const char *name, bool is_rate)
{
    size_t length = strlen(name);
    char more[UNIT_BYTES + sizeof "/s"];
    if (!is_rate && length >= 2 && strcmp(name + length - 2, "/s") == 0) {
        is_rate = true;
        length -= 2;
    }
    const struct unit *unit = find(name, length);
    if (unit != NULL && is_rate && unit->each_second != NULL) {
        rm_human_value(text, value * unit->per_second, unit->each_second, false);
        return;
    }
    if (unit != NULL) {
        print(text, value, unit, is_rate ? "/s" : "");
        return;
    }
    int shown = (int)(length < UNIT_BYTES ? length : UNIT_BYTES);
    (void)snprintf(more, sizeof more, "%.*s%s", shown, name, is_rate ? "/s" : "");
    print(text, value, &count, more);
}

struct rm_human_unit rm_human_unit_of(double value, const char *name)
{
    const struct unit *unit = find(name, strlen(name));
    const struct scale *scale =
        scale_of(unit != NULL ? unit : &count, isfinite(value) ? value : 0.0);
    return (struct rm_human_unit){.factor = scale->factor,
                                  .name = scale->name + strspn(scale->name, " ")};
}

/* ---- amounts that people write ------------------------------------------------------------ */

static const struct {
    const char *name; /* of an amount in `unit` */
    const char *unit;
    double factor;
} amount_units[] = {
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
    for (size_t i = 0; i < RM_ARRAY_LEN(amount_units); i++) {
        if (strcmp(amount_units[i].unit, unit) == 0 && strlen(amount_units[i].name) == length &&
            memcmp(amount_units[i].name, name, length) == 0) {
            return amount_units[i].factor;
        }
    }
    return RM_NAN;
}

void rm_amount_list(const char *unit, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < RM_ARRAY_LEN(amount_units); i++) {
        if (strcmp(amount_units[i].unit, unit) == 0 && amount_units[i].name[0] != '\0' &&
            used < room) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                     amount_units[i].name);
        }
    }
}
