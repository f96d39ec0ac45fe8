/* SPDX-License-Identifier: MIT */
#include "base/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

static void number(char text[RM_HUMAN_BYTES], double value, int decimals, const char *suffix)
{
    (void)snprintf(text, RM_HUMAN_BYTES, "%.*f", decimals, value);
    rm_text_point(text);
    size_t length = strlen(text);
    (void)snprintf(text + length, RM_HUMAN_BYTES - length, "%s", suffix);
}

/* About four significant digits. */
static int decimals_of(double value)
{
    double size = fabs(value);
    return size >= 1000.0 ? 0 : size >= 100.0 ? 1 : size >= 10.0 ? 2 : 3;
}

static void missing(char text[RM_HUMAN_BYTES])
{
    (void)snprintf(text, RM_HUMAN_BYTES, "-");
}

void rm_human_bytes(char text[RM_HUMAN_BYTES], double bytes)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
    size_t unit = 0;
    if (!isfinite(bytes)) {
        missing(text);
        return;
    }
    while (fabs(bytes) >= 1024.0 && unit + 1 < RM_ARRAY_LEN(units)) {
        bytes /= 1024.0;
        unit++;
    }
    number(text, bytes, unit == 0 ? 0 : fabs(bytes) >= 10.0 ? 1 : 2, units[unit]);
}

void rm_human_seconds(char text[RM_HUMAN_BYTES], double seconds)
{
    static const struct {
        double below;
        double factor;
        const char *unit;
    } scales[] = {{1e-6, 1e9, " ns"}, {1e-3, 1e6, " us"}, {1.0, 1e3, " ms"}, {120.0, 1.0, " s"}};
    if (!isfinite(seconds)) {
        missing(text);
        return;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(scales); i++) {
        if (fabs(seconds) < scales[i].below) {
            double value = seconds * scales[i].factor;
            number(text, value, value == 0.0 ? 0 : decimals_of(value), scales[i].unit);
            return;
        }
    }
    seconds = round(seconds);
    double minutes = floor(seconds / 60.0);
    if (minutes < 120.0) {
        (void)snprintf(text, RM_HUMAN_BYTES, "%.0f min %02.0f s", minutes,
                       seconds - 60.0 * minutes);
    } else {
        double hours = floor(minutes / 60.0);
        (void)snprintf(text, RM_HUMAN_BYTES, "%.0f h %02.0f min", hours, minutes - 60.0 * hours);
    }
}

/* The first unit that leaves less than `below` of it; the last takes the rest. */
struct scale {
    double below, factor;
    const char *unit;
};

static void scaled(char text[RM_HUMAN_BYTES], double value, const struct scale *scales)
{
    if (!isfinite(value)) {
        missing(text);
        return;
    }
    while (fabs(value) >= scales->below) {
        scales++;
    }
    double shown = value * scales->factor;
    number(text, shown, shown == 0.0 ? 0 : decimals_of(shown), scales->unit);
}

void rm_human_joules(char text[RM_HUMAN_BYTES], double joules)
{
    static const struct scale scales[] = {{1.0, 1e3, " mJ"},
                                          {1e3, 1.0, " J"},
                                          {3.6e6, 1e-3, " kJ"},
                                          {3.6e9, 1.0 / 3.6e6, " kWh"},
                                          {HUGE_VAL, 1.0 / 3.6e9, " MWh"}};
    scaled(text, joules, scales);
}

void rm_human_watt_hours(char text[RM_HUMAN_BYTES], double watt_hours)
{
    static const struct scale scales[] = {{1e-3, 1e6, " uWh"},
                                          {1.0, 1e3, " mWh"},
                                          {1e3, 1.0, " Wh"},
                                          {1e6, 1e-3, " kWh"},
                                          {HUGE_VAL, 1e-6, " MWh"}};
    scaled(text, watt_hours, scales);
}

void rm_human_watts(char text[RM_HUMAN_BYTES], double watts)
{
    static const struct scale scales[] = {
        {1.0, 1e3, " mW"}, {1e3, 1.0, " W"}, {1e6, 1e-3, " kW"}, {HUGE_VAL, 1e-6, " MW"}};
    scaled(text, watts, scales);
}

void rm_human_grams(char text[RM_HUMAN_BYTES], double grams)
{
    static const struct scale scales[] = {{1e-3, 1e6, " ug"},
                                          {1.0, 1e3, " mg"},
                                          {1e3, 1.0, " g"},
                                          {1e6, 1e-3, " kg"},
                                          {HUGE_VAL, 1e-6, " t"}};
    scaled(text, grams, scales);
}

void rm_human_count(char text[RM_HUMAN_BYTES], double count)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    if (!isfinite(count)) {
        missing(text);
        return;
    }
    while (fabs(count) >= 10000.0 && unit + 1 < RM_ARRAY_LEN(units)) {
        count /= 1000.0;
        unit++;
    }
    int decimals = unit == 0 && count == floor(count) ? 0 : decimals_of(count);
    number(text, count, decimals, units[unit]);
}

void rm_human_percent(char text[RM_HUMAN_BYTES], double percent)
{
    if (!isfinite(percent)) {
        missing(text);
        return;
    }
    number(text, percent, 1, " %");
}

void rm_human_fixed(char text[RM_HUMAN_BYTES], double value, int decimals)
{
    if (!isfinite(value)) {
        missing(text);
        return;
    }
    number(text, value, decimals, "");
}
