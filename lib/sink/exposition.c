/* SPDX-License-Identifier: MIT */
#include "sink/exposition.h"

#include <math.h>

#include "base/number.h"

/* ---- pieces ----------------------------------------------------------------------------- */

static void flush(struct rm_exposition *exposition)
{
    if (exposition->status == RESMON_OK && exposition->length > 0) {
        exposition->status = exposition->output.write(exposition->output.context, exposition->piece,
                                                      exposition->length);
    }
    exposition->length = 0;
}

static void put_byte(struct rm_exposition *exposition, char byte)
{
    if (exposition->length == sizeof exposition->piece) {
        flush(exposition);
    }
    exposition->piece[exposition->length++] = byte;
}

static void put(struct rm_exposition *exposition, const char *text)
{
    for (; *text != '\0'; text++) {
        put_byte(exposition, *text);
    }
}

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
    put(exposition, keyword);
    put(exposition, family->name);
    put(exposition, exposition->is_open_metrics ? "" : kinds[family->kind].suffix);
    put_byte(exposition, ' ');
}

static void put_help_text(struct rm_exposition *exposition, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            put(exposition, "\\n");
            continue;
        }
        if (*text == '\\' || (*text == '"' && exposition->is_open_metrics)) {
            put_byte(exposition, '\\');
        }
        put_byte(exposition, *text);
    }
}

static void put_help(struct rm_exposition *exposition)
{
    const struct rm_exposed_family *family = exposition->family;
    put_line_head(exposition, "# HELP ");
    put_help_text(exposition, family->help);
    put_help_text(exposition, family->note != NULL ? family->note : "");
    put_byte(exposition, '\n');
}

static void put_head(struct rm_exposition *exposition)
{
    const struct rm_exposed_family *family = exposition->family;
    bool is_open_metrics = exposition->is_open_metrics;
    if (!is_open_metrics) {
        put_help(exposition);
    }
    put_line_head(exposition, "# TYPE ");
    put(exposition, is_open_metrics ? kinds[family->kind].type : kinds[family->kind].old_type);
    put_byte(exposition, '\n');
    if (is_open_metrics && family->unit[0] != '\0') {
        put_line_head(exposition, "# UNIT ");
        put(exposition, family->unit);
        put_byte(exposition, '\n');
    }
    if (is_open_metrics) {
        put_help(exposition);
    }
    exposition->is_announced = true;
}

/* ---- samples ---------------------------------------------------------------------------- */

static void put_value(struct rm_exposition *exposition, double value)
{
    char text[RM_NUMBER_BYTES];
    if (isinf(value)) {
        put(exposition, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    (void)rm_number_double(text, value);
    put(exposition, text);
}

/* Seconds, without a detour over floating point. */
static void put_time(struct rm_exposition *exposition, int64_t t_ns)
{
    char text[RM_NUMBER_BYTES];
    size_t length = rm_number_fixed(text, t_ns, 9);
    while (text[length - 1] == '0') {
        text[--length] = '\0';
    }
    if (text[length - 1] == '.') {
        text[--length] = '\0';
    }
    put(exposition, text);
}

static bool is_sayable(const struct rm_exposition *exposition, double value, int64_t t_ns)
{
    if (isnan(value) || (exposition->is_open_metrics && t_ns < 0)) {
        return false;
    }
    return exposition->family->kind != RM_FAMILY_COUNTER || (isfinite(value) && value >= 0);
}

void rm_exposition_begin(struct rm_exposition *exposition, bool is_open_metrics, const char *common,
                         struct rm_text_output output)
{
    exposition->output = output;
    exposition->is_open_metrics = is_open_metrics;
    exposition->common = common;
    exposition->family = NULL;
    exposition->is_announced = false;
    exposition->status = RESMON_OK;
    exposition->length = 0;
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
    put(exposition, exposition->family->name);
    put(exposition, kinds[exposition->family->kind].suffix);
    if (common[0] != '\0' || labels[0] != '\0') {
        put_byte(exposition, '{');
        put(exposition, common);
        put(exposition, common[0] != '\0' && labels[0] != '\0' ? "," : "");
        put(exposition, labels);
        put_byte(exposition, '}');
    }
    put_byte(exposition, ' ');
    put_value(exposition, value);
    if (exposition->is_open_metrics) {
        put_byte(exposition, ' ');
        put_time(exposition, t_ns);
    }
    put_byte(exposition, '\n');
}

resmon_status rm_exposition_end(struct rm_exposition *exposition)
{
    if (exposition->is_open_metrics) {
        put(exposition, "# EOF\n");
    }
    flush(exposition);
    return exposition->status;
}
