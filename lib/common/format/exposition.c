/* SPDX-License-Identifier: MIT */
#include "format/exposition.h"

#include <math.h>

#include "format/labels.h"

/* ---- the head of a family --------------------------------------------------------------- */

static const struct {
    const char *type;
    const char *suffix; /* of the name */
} kinds[] = {
    [RM_FAMILY_GAUGE] = {"gauge", ""},
    [RM_FAMILY_COUNTER] = {"counter", "_total"},
    [RM_FAMILY_INFO] = {"gauge", "_info"},
};

static void put_line_head(struct rm_exposition *exposition, const char *keyword)
{
    const struct rm_exposed_family *family = exposition->family;
    rm_pen_puts(&exposition->pen, keyword);
    rm_pen_puts(&exposition->pen, family->name);
    rm_pen_puts(&exposition->pen, kinds[family->kind].suffix);
    rm_pen_puts(&exposition->pen, " ");
}

static void put_help_text(struct rm_exposition *exposition, const char *text)
{
    for (; *text != '\0'; text++) {
        char escaped[2];
        rm_pen_add(&exposition->pen, escaped, rm_label_escape(escaped, *text, "\\\n"));
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
    put_help(exposition);
    put_line_head(exposition, "# TYPE ");
    rm_pen_puts(&exposition->pen, kinds[family->kind].type);
    rm_pen_puts(&exposition->pen, "\n");
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

static bool is_sayable(const struct rm_exposition *exposition, double value)
{
    if (isnan(value)) {
        return false;
    }
    return exposition->family->kind != RM_FAMILY_COUNTER || (isfinite(value) && value >= 0);
}

void rm_exposition_begin(struct rm_exposition *exposition, const char *common,
                         const struct rm_output *output)
{
    rm_pen_start(&exposition->pen, output);
    exposition->common = common;
    exposition->family = NULL;
    exposition->is_announced = false;
}

void rm_exposition_family(struct rm_exposition *exposition, const struct rm_exposed_family *family)
{
    exposition->family = family;
    exposition->is_announced = false;
}

void rm_exposition_sample(struct rm_exposition *exposition, const char *labels, double value)
{
    const char *common = exposition->common;
    if (!is_sayable(exposition, value)) {
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
    rm_pen_puts(&exposition->pen, "\n");
}

resmon_status rm_exposition_end(struct rm_exposition *exposition)
{
    return rm_pen_finish(&exposition->pen);
}
