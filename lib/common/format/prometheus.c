/* SPDX-License-Identifier: MIT */
#include "format/prometheus.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"
#include "format/exported.h"

#define LABEL_TEXT_BYTES ((size_t)128 << 10) /* above the longest path of scopes, escaped */

struct writer {
    struct rm_buffer common; /* labels of every sample */
    struct rm_buffer own;    /* labels of the current sample */
    struct rm_family family; /* the current one */
    struct rm_exposed_family exposed;
    struct rm_exposition exposition;
};

/* ---- names of metrics ---------------------------------------------------------------------- */

struct unit {
    const char *symbol;
    const char *word;   /* at the end of the name */
    const char *spoken; /* the same unit in the dotted name; removed from there */
    double divisor;
};

static const struct unit units[] = {
    {"1", "", "", 1.0},
    {"B", "bytes", "bytes", 1.0},
    {"s", "seconds", "seconds", 1.0},
    {"%", "ratio", "percent", 100.0},
    {"J", "joules", "joules", 1.0},
    {"W", "watts", "watts", 1.0},
    {"Hz", "hertz", "hertz", 1.0},
    {"C", "celsius", "celsius", 1.0},
    {"g", "grams", "grams", 1.0},
};

static const struct unit *unit_of(const char *symbol)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strcmp(units[i].symbol, symbol) == 0) {
            return &units[i];
        }
    }
    return &units[0];
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(at, word, length) == 0;
}

/* Appends '_' and a word of the dotted name. */
static void add_word(struct rm_family *family, const char *word, size_t length)
{
    size_t used = strlen(family->name);
    used += rm_text_set(family->name + used, sizeof family->name - used, "_");
    (void)rm_text_copy(family->name + used, sizeof family->name - used, word, length);
}

void rm_family_name(const char *name, const char *symbol, struct rm_family *ret_family)
{
    const struct unit *unit = unit_of(symbol);
    *ret_family =
        (struct rm_family){.name = "resmon", .unit = unit->word, .divisor = unit->divisor};
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, "._");
        bool is_unit = is_word(at, length, unit->spoken) || is_word(at, length, unit->word);
        if (length > 0 && !is_unit) {
            add_word(ret_family, at, length);
        }
        at += length + (at[length] != '\0' ? 1 : 0);
    }
    if (unit->word[0] != '\0') {
        add_word(ret_family, unit->word, strlen(unit->word));
    }
}

/* ---- labels ----------------------------------------------------------------------------- */

static const struct {
    const char *label;
    uint64_t unwanted; /* the flag that omits this label */
} fact_labels[] = {
    {"node", RESMON_PROMETHEUS_NO_NODE},
    {"job_id", RESMON_PROMETHEUS_NO_JOB},
    {"rank", RESMON_PROMETHEUS_NO_JOB},
    {"pid", RESMON_PROMETHEUS_NO_PID},
};

/* Whether a name is one of the library, or of a label that comes before. */
static bool is_taken(const struct rm_labels *labels, const char *name)
{
    bool is_own = rm_label_is_reserved(name) || rm_labels_find(labels, name) != NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(fact_labels); i++) {
        is_own = is_own || strcmp(fact_labels[i].label, name) == 0;
    }
    return is_own;
}

/* "team.name" as "team_name"; "label_node" for "node".  False: both are taken. */
static bool name_label(const struct rm_labels *labels, const char *key, char *name, size_t room)
{
    static const char *const fronts[] = {"", "label_"};
    bool is_good = false;
    for (size_t i = 0; i < RM_ARRAY_LEN(fronts) && !is_good; i++) {
        (void)snprintf(name, room, "%s%s", fronts[i], key);
        for (char *at = name; *at != '\0'; at++) {
            *at = *at == '.' ? '_' : *at;
        }
        is_good = rm_label_is_name(name) && !is_taken(labels, name);
    }
    return is_good;
}

/* The labels of the run; the first of two keys that become one name counts. */
static RM_COLD void add_run_labels(struct rm_buffer *common, const struct resmon_run *run,
                                   const struct rm_labels *labels)
{
    char names[RM_MAX_LABELS][RM_LABEL_NAME_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < run->fact_count && count < RM_MAX_LABELS; i++) {
        const struct rm_fact *fact = &run->facts[i];
        if (strcmp(fact->group, RM_FACT_LABELS) != 0 ||
            !name_label(labels, fact->key, names[count], sizeof names[count])) {
            continue;
        }
        size_t same = 0;
        while (strcmp(names[same], names[count]) != 0) {
            same++;
        }
        if (same == count) {
            rm_label_add(common, names[count++], fact->value);
        }
    }
}

static void set_common(struct rm_buffer *common, const struct resmon_run *run,
                       const struct rm_prometheus *how)
{
    static const struct rm_labels none;
    const struct rm_labels *labels = how->labels != NULL ? how->labels : &none;
    for (size_t i = 0; i < RM_ARRAY_LEN(fact_labels); i++) {
        const char *value = rm_exported_fact(run, fact_labels[i].label);
        if (value != NULL && (how->flags & fact_labels[i].unwanted) == 0 &&
            rm_labels_find(labels, fact_labels[i].label) == NULL) {
            rm_label_add(common, fact_labels[i].label, value);
        }
    }
    for (size_t i = 0; i < labels->count; i++) {
        rm_label_add(common, labels->items[i].name, labels->items[i].value);
    }
    add_run_labels(common, run, labels);
}

/* ---- values -------------------------------------------------------------------------------- */

static void begin_family(void *context, const struct rm_exported_family *family)
{
    struct writer *writer = context;
    rm_family_name(family->name, family->unit, &writer->family);
    writer->exposed = (struct rm_exposed_family){
        .name = writer->family.name,
        .help = family->help,
        .note = strcmp(family->unit, "%") == 0 ? "; a ratio here: 1 is 100 %" : NULL,
        .kind = family->kind,
    };
    rm_exposition_family(&writer->exposition, &writer->exposed);
}

static void add_label(struct rm_buffer *labels, const struct rm_exported_label *label)
{
    if (strcmp(label->name, "scope") != 0) {
        rm_label_add(labels, label->name, label->value);
        return;
    }
    rm_buffer_puts(labels, "scope="); /* it comes first, and may be long */
    rm_label_quote(labels, label->value);
}

static void put_value(void *context, const struct rm_exported_label *labels, size_t count,
                      double value)
{
    struct writer *writer = context;
    writer->own.length = 0; /* a failure of earlier labels is kept */
    for (size_t i = 0; i < count; i++) {
        add_label(&writer->own, &labels[i]);
    }
    if (writer->own.status == RESMON_OK) {
        rm_exposition_sample(&writer->exposition, count > 0 ? writer->own.text : "",
                             value / writer->family.divisor);
    }
}

resmon_status rm_prometheus_write(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_output output)
{
    struct writer writer = {0};
    const struct rm_exporter exporter = {
        .context = &writer, .family = begin_family, .value = put_value};
    rm_buffer_init(&writer.common, LABEL_TEXT_BYTES);
    rm_buffer_init(&writer.own, LABEL_TEXT_BYTES);
    set_common(&writer.common, run, how);
    resmon_status status = writer.common.status;
    if (status == RESMON_OK) {
        rm_exposition_begin(&writer.exposition,
                            writer.common.text != NULL ? writer.common.text : "", &output);
        status = rm_export_values(run, &exporter);
        resmon_status written = rm_exposition_end(&writer.exposition);
        status = status == RESMON_OK ? written : status;
    }
    status = status == RESMON_OK ? writer.own.status : status;
    rm_buffer_free(&writer.common);
    rm_buffer_free(&writer.own);
    return status;
}

resmon_status rm_prometheus_print(const struct resmon_run *run, const struct rm_prometheus *how,
                                  struct rm_buffer *buffer)
{
    return rm_prometheus_write(run, how, rm_buffer_output(buffer));
}
