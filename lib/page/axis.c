/* SPDX-License-Identifier: MIT */
#include "page/axis.h"

#include <math.h>
#include <string.h>

#include "page/html_parts.h"

#define ROOM   0.05 /* of the whole, on both sides */
#define WANTED 5.0  /* ticks, about */

/* What the numbers of a unit are round in: bytes in powers of 1024. */
static double scale_of(double size, const char *unit)
{
    double scale = 1.0;
    while (strcmp(unit, "B") == 0 && size >= 1024.0 * scale) {
        scale *= 1024.0;
    }
    return scale;
}

/* 1, 2 or 5 times a power of ten. */
static double round_step(double least)
{
    double power = pow(10.0, floor(log10(least)));
    double times = least / power;
    return power * (times <= 1.0 ? 1.0 : times <= 2.0 ? 2.0 : times <= 5.0 ? 5.0 : 10.0);
}

bool rm_axis_open(struct rm_axis *axis, double low, double high, const char *unit)
{
    double size = fmax(fabs(low), fabs(high)), wide = high - low;
    *axis = (struct rm_axis){.tick_count = 0};
    if (!isfinite(wide) || !(size < 1e300)) {
        return false;
    }
    wide = wide > 1e-9 * size ? wide : size > 0.0 ? 0.02 * size : 1.0;
    double middle = low + (high - low) / 2.0;
    axis->low = middle - wide * (0.5 + ROOM);
    axis->high = middle + wide * (0.5 + ROOM);
    double scale = scale_of(size, unit);
    double step = scale * round_step(wide / WANTED / scale);
    double tick = ceil(axis->low / step) * step;
    while (tick <= axis->high && axis->tick_count < RM_AXIS_TICKS) {
        axis->ticks[axis->tick_count++] = fabs(tick) < 0.5 * step ? 0.0 : tick;
        tick += step;
    }
    return true;
}

double rm_axis_percent(const struct rm_axis *axis, double value)
{
    double share = (value - axis->low) / (axis->high - axis->low);
    return 100.0 * fmin(fmax(share, 0.0), 1.0);
}

/* ---- as HTML ------------------------------------------------------------------------------ */

void rm_axis_put_mark(struct rm_buffer *out, const struct rm_axis *axis, const char *class_name,
                      double value)
{
    rm_buffer_printf(out, "<i class=%s style=\"left:", class_name);
    rm_html_number(out, rm_axis_percent(axis, value), 2);
    rm_buffer_puts(out, "%");
}

void rm_axis_put_band(struct rm_buffer *out, const struct rm_axis *axis, double low, double high)
{
    rm_axis_put_mark(out, axis, "band", low);
    rm_buffer_puts(out, ";width:");
    rm_html_number(out, rm_axis_percent(axis, high) - rm_axis_percent(axis, low), 2);
    rm_buffer_puts(out, "%\"></i>");
}

void rm_axis_put_ticks(struct rm_buffer *out, const struct rm_axis *axis,
                       const char *const texts[RM_AXIS_TICKS])
{
    rm_buffer_puts(out, "<div class=\"row axis\" aria-hidden=true><span class=name></span><span "
                        "class=field>");
    for (size_t i = 0; i < axis->tick_count; i++) {
        rm_axis_put_mark(out, axis, "tick", axis->ticks[i]);
        rm_html_element(out, "\">", texts[i], "</i>");
    }
    rm_buffer_puts(out, "</span><span class=said></span></div>");
}
