/* SPDX-License-Identifier: MIT */
#include "format/exposition.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"

/* ---- labels ---------------------------------------------------------------------------------- */

/* Labels that the library sets on some series, or that have a meaning of their own. */
static const char *const own_names[] = {"device", "event",  "le",      "mountpoint", "quantile",
                                        "scope",  "source", "version", "what"};

bool rm_label_is_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return name[0] != '\0' && strchr(letters, name[0]) != NULL &&
           name[strspn(name, others)] == '\0';
}

bool rm_label_is_reserved(const char *name)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(own_names); i++) {
        if (strcmp(name, own_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static resmon_status check_name(const char *name)
{
    if (name == NULL || !rm_label_is_name(name)) {
        return rm_error(RESMON_EINVAL,
                        "a label cannot be called '%.64s': a letter first, then letters, digits "
                        "and '_'",
                        name != NULL ? name : "(null)");
    }
    if (strlen(name) >= RM_LABEL_NAME_BYTES) {
        return rm_error(RESMON_ERANGE, "the label name '%.64s...' is longer than %d bytes", name,
                        RM_LABEL_NAME_BYTES - 1);
    }
    return !rm_label_is_reserved(name)
               ? RESMON_OK
               : rm_error(RESMON_EINVAL,
                          "the label '%s' is set by the library: choose another name", name);
}

static resmon_status take_label(struct rm_labels *labels, const resmon_label *given)
{
    struct rm_label *label = &labels->items[labels->count];
    resmon_status status = check_name(given->name);
    if (status != RESMON_OK) {
        return status;
    }
    if (rm_labels_find(labels, given->name) != NULL) {
        return rm_error(RESMON_EINVAL, "the label '%s' is given twice", given->name);
    }
    if (given->value == NULL) {
        return rm_error(RESMON_EINVAL, "the label '%s' has no value", given->name);
    }
    if (strlen(given->value) >= RM_LABEL_VALUE_BYTES) {
        return rm_error(RESMON_ERANGE, "the value of the label '%s' is longer than %d bytes",
                        given->name, RM_LABEL_VALUE_BYTES - 1);
    }
    (void)rm_text_set(label->name, sizeof label->name, given->name);
    rm_label_value_set(label->value, given->value);
    labels->count++;
    return RESMON_OK;
}

resmon_status rm_labels_take(const resmon_label *given, size_t count, struct rm_labels *ret_labels)
{
    struct rm_labels labels = {0};
    resmon_status status = RESMON_OK;
    if (count > RM_MAX_LABELS) {
        return rm_error(RESMON_ERANGE, "%zu labels: at most %d are allowed", count, RM_MAX_LABELS);
    }
    if (count > 0 && given == NULL) {
        return rm_error(RESMON_EINVAL, "%zu labels are announced, but the array is NULL", count);
    }
    if (count > 0) {
        labels.items = rm_alloc(count, sizeof *labels.items);
        if (labels.items == NULL) {
            return rm_error(RESMON_ENOMEM, "out of memory for %zu labels", count);
        }
    }
    for (size_t i = 0; i < count && status == RESMON_OK; i++) {
        status = take_label(&labels, &given[i]);
    }
    if (status != RESMON_OK) {
        rm_labels_free(&labels);
        return status;
    }
    *ret_labels = labels;
    return RESMON_OK;
}

void rm_labels_free(struct rm_labels *labels)
{
    rm_free(labels->items);
    *labels = (struct rm_labels){0};
}

const char *rm_labels_find(const struct rm_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->count; i++) {
        if (strcmp(labels->items[i].name, name) == 0) {
            return labels->items[i].value;
        }
    }
    return NULL;
}

void rm_label_value_set(char target[RM_LABEL_VALUE_BYTES], const char *value)
{
    size_t length = rm_text_set(target, RM_LABEL_VALUE_BYTES, value);
    for (size_t i = 0; i < length; i++) { /* cleaning changes bytes in place and never moves them */
        if (value[i] == '\n') {
            target[i] = '\n';
        }
    }
}

size_t rm_label_escape(char escaped[2], char byte, const char *special)
{
    bool is_special = strchr(special, byte) != NULL;
    escaped[0] = is_special ? '\\' : byte;
    escaped[1] = byte == '\n' ? 'n' : byte;
    return is_special ? 2 : 1;
}

void rm_label_quote(struct rm_buffer *buffer, const char *value)
{
    rm_buffer_add(buffer, "\"", 1);
    for (const char *p = value; *p != '\0'; p++) {
        char escaped[2];
        rm_buffer_add(buffer, escaped, rm_label_escape(escaped, *p, RM_LABEL_SPECIAL));
    }
    rm_buffer_add(buffer, "\"", 1);
}

void rm_label_add(struct rm_buffer *buffer, const char *name, const char *value)
{
    char clean[RM_LABEL_VALUE_BYTES];
    rm_label_value_set(clean, value);
    if (buffer->length > 0) {
        rm_buffer_add(buffer, ",", 1);
    }
    rm_buffer_puts(buffer, name);
    rm_buffer_add(buffer, "=", 1);
    rm_label_quote(buffer, clean);
}

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
