/* SPDX-License-Identifier: MIT */
#include "format/exposition.h"

#include <math.h>

#include "base/number.h"
#include "format/labels.h"

/* ---- the head of a family --------------------------------------------------------------- */

static const struct {
    const char *type;     /* OpenMetrics */
    const char *old_type; /* 0.0.4 */
    const char *suffix;   /* of samples */
} kinds[] = {
    [RM_FAMILY_GAUGE] = {"gauge", "gauge", ""},
    [RM_FAMILY_COUNTER] = {"counter", "counter", "_total"},
    [RM_FAMILY_INFO] = {"info", "gauge", "_info"},
};

/* OpenMetrics names the family without the suffix of its samples, 0.0.4 with it. */
static void put_line_head(struct rm_exposition *exposition, const char *keyword)
{
    const struct rm_exposed_family *family = exposition->family;
    rm_pen_puts(&exposition->pen, keyword);
    rm_pen_puts(&exposition->pen, family->name);
    rm_pen_puts(&exposition->pen, exposition->is_open_metrics ? "" : kinds[family->kind].suffix);
    rm_pen_puts(&exposition->pen, " ");
}

static void put_help_text(struct rm_exposition *exposition, const char *text)
{
    const char *special = exposition->is_open_metrics ? RM_LABEL_SPECIAL : "\\\n";
    for (; *text != '\0'; text++) {
        char escaped[2];
        rm_pen_add(&exposition->pen, escaped, rm_label_escape(escaped, *text, special));
    }
}

static void put_help(struct rm_exposition *exposition)
{
    const struct rm_exposed_family *family = exposition->family;
    put_line_head(exposition, "# HELP ");
    put_help_text(exposition, family->help);
    put_help_text(exposition, family->note != NULL ? family->note : "");
    rm_pen_puts(&exposition->pen, "\n");
}

static void put_head(struct rm_exposition *exposition)
{
    const struct rm_exposed_family *family = exposition->family;
    bool is_open_metrics = exposition->is_open_metrics;
    if (!is_open_metrics) {
        put_help(exposition);
    }
    put_line_head(exposition, "# TYPE ");
    rm_pen_puts(&exposition->pen,
                is_open_metrics ? kinds[family->kind].type : kinds[family->kind].old_type);
    rm_pen_puts(&exposition->pen, "\n");
    if (is_open_metrics && family->unit[0] != '\0') {
        put_line_head(exposition, "# UNIT ");
        rm_pen_puts(&exposition->pen, family->unit);
        rm_pen_puts(&exposition->pen, "\n");
    }
    if (is_open_metrics) {
        put_help(exposition);
    }
    exposition->is_announced = true;
}

/* ---- samples ---------------------------------------------------------------------------- */

static void put_value(struct rm_exposition *exposition, double value)
{
    if (isinf(value)) {
        rm_pen_puts(&exposition->pen, value > 0 ? "+Inf" : "-Inf");
    } else {
        (void)rm_pen_double(&exposition->pen, value);
    }
}

/* Seconds, without a detour over floating point. */
static void put_time(struct rm_exposition *exposition, int64_t t_ns)
{
    char text[RM_NUMBER_BYTES];
    size_t length = rm_number_fixed(text, t_ns, 9);
    while (text[length - 1] == '0') {
        length--;
    }
    rm_pen_add(&exposition->pen, text, length - (text[length - 1] == '.' ? 1 : 0));
}

static bool is_sayable(const struct rm_exposition *exposition, double value, int64_t t_ns)
{
    if (isnan(value) || (exposition->is_open_metrics && t_ns < 0)) {
        return false;
    }
    return exposition->family->kind != RM_FAMILY_COUNTER || (isfinite(value) && value >= 0);
}

void rm_exposition_begin(struct rm_exposition *exposition, bool is_open_metrics, const char *common,
                         const struct rm_output *output)
{
    rm_pen_start(&exposition->pen, output);
    exposition->is_open_metrics = is_open_metrics;
    exposition->common = common;
    exposition->family = NULL;
    exposition->is_announced = false;
}

void rm_exposition_family(struct rm_exposition *exposition, const struct rm_exposed_family *family)
{
    exposition->family = family;
    exposition->is_announced = false;
}

void rm_exposition_sample(struct rm_exposition *exposition, const char *labels, double value,
                          int64_t t_ns)
{
    const char *common = exposition->common;
    if (!is_sayable(exposition, value, t_ns)) {
        return;
    }
    if (!exposition->is_announced) {
        put_head(exposition);
    }
    rm_pen_puts(&exposition->pen, exposition->family->name);
    rm_pen_puts(&exposition->pen, kinds[exposition->family->kind].suffix);
    if (common[0] != '\0' || labels[0] != '\0') {
        rm_pen_puts(&exposition->pen, "{");
        rm_pen_puts(&exposition->pen, common);
        rm_pen_puts(&exposition->pen, common[0] != '\0' && labels[0] != '\0' ? "," : "");
        rm_pen_puts(&exposition->pen, labels);
        rm_pen_puts(&exposition->pen, "}");
    }
    rm_pen_puts(&exposition->pen, " ");
    put_value(exposition, value);
    if (exposition->is_open_metrics) {
        rm_pen_puts(&exposition->pen, " ");
        put_time(exposition, t_ns);
    }
    rm_pen_puts(&exposition->pen, "\n");
}

resmon_status rm_exposition_end(struct rm_exposition *exposition)
{
    if (exposition->is_open_metrics) {
        rm_pen_puts(&exposition->pen, "# EOF\n");
    }
    return rm_pen_finish(&exposition->pen);
}
