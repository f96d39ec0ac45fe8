/* SPDX-License-Identifier: MIT */
#include "report/comparison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "report/table.h"

#define TEXT_COLUMNS 98

/* ---- scales ----------------------------------------------------------------------------- */

/* Figures next to each other are in one unit, with as many decimals as an interval is worth: two
 * digits of half its width. */
struct scale {
    struct rm_human_unit unit;
    int decimals;
};

static struct scale scale_of(const char *unit, double most, double half)
{
    struct scale scale = {.unit = rm_human_unit_of(most, unit)};
    half *= scale.unit.factor;
    double decimals = half > 0.0 ? 1.0 - floor(log10(half)) : 1.0;
    scale.decimals = (int)fmin(fmax(decimals, 0.0), 6.0);
    return scale;
}

static void print(char text[RM_HUMAN_BYTES], double value, struct scale scale)
{
    rm_human_fixed(text, value * scale.unit.factor, scale.decimals);
}

static double half_of(const resmon_compared *compared)
{
    return 0.5 * (compared->high - compared->low);
}

/* ---- the statement ---------------------------------------------------------------------- */

static void state_difference(resmon_comparison *figures)
{
    const resmon_compared *energy = &figures->energy_j;
    double half_j = half_of(energy);
    char difference[RM_HUMAN_BYTES], half[RM_HUMAN_BYTES], low[RM_HUMAN_BYTES];
    char high[RM_HUMAN_BYTES];
    const struct scale scale = scale_of("J", fmax(fabs(energy->low), fabs(energy->high)), half_j);
    print(half, half_j, scale);
    print(low, energy->low, scale);
    print(high, energy->high, scale);
    if (figures->is_significant) {
        print(difference, fabs(energy->difference), scale);
        (void)snprintf(
            figures->statement, sizeof figures->statement,
            "The work consumed %s +- %s %s %s than an idle period of the same length (95 %%).",
            difference, half, scale.unit.name, energy->difference > 0.0 ? "more" : "less");
        return;
    }
    print(difference, energy->difference, scale);
    (void)snprintf(figures->statement, sizeof figures->statement,
                   "The difference of %s %s is within the noise (%s to %s %s, 95 %%): run it "
                   "longer, or more often.",
                   difference, scale.unit.name, low, high, scale.unit.name);
}

static void state_without_interval(struct rm_comparison *comparison)
{
    resmon_comparison *figures = &comparison->figures;
    char difference[RM_HUMAN_BYTES];
    rm_human_joules(difference, fabs(figures->energy_j.difference));
    (void)snprintf(figures->statement, sizeof figures->statement,
                   "No interval can be given: %s.  The work consumed %s %s than an idle period of "
                   "the same length, which may be noise: run it longer, or more often.",
                   comparison->why_not, difference,
                   figures->energy_j.difference < 0.0 ? "less" : "more");
}

/* What a model says has none of the noise that a measurement would have. */
static void state_model(struct rm_comparison *comparison)
{
    resmon_comparison *figures = &comparison->figures;
    size_t length = strlen(figures->statement);
    char *end = figures->statement + length;
    size_t room = sizeof figures->statement - length;
    char percent[RM_HUMAN_BYTES];
    bool has_interval = !isnan(figures->energy_j.low);
    rm_human_fixed(percent, 100.0 * figures->modelled_share, 0);
    if (comparison->is_load_modelled && figures->modelled_share > 0.999) {
        (void)snprintf(end, room, "  Only the load of the CPUs was measured: %s",
                       has_interval ? "a model computed the energy from it; the interval is of the "
                                      "load alone, without the error of the model."
                                    : "a model computed the energy from it.");
    } else if (figures->modelled_share > 0.0) {
        (void)snprintf(end, room, "  %s %% of the work's energy is from a model%s", percent,
                       has_interval ? ": the interval does not include the error of the model."
                                    : ".");
    }
}

static void put_stretches(char *text, size_t capacity, uint64_t runs, uint64_t stretches)
{
    if (runs > 1) {
        (void)snprintf(text, capacity, "between %llu runs", (unsigned long long)runs);
    } else {
        (void)snprintf(text, capacity, "within one run, over %llu stretches",
                       (unsigned long long)stretches);
    }
}

static void name_method(resmon_comparison *figures)
{
    char work[64], idle[64];
    put_stretches(work, sizeof work, figures->work_runs, figures->work_stretches);
    put_stretches(idle, sizeof idle, figures->idle_runs, figures->idle_stretches);
    if (strcmp(work, idle) == 0) {
        (void)snprintf(figures->method, sizeof figures->method, "%s of each", work);
    } else {
        (void)snprintf(figures->method, sizeof figures->method, "work %s; idle %s", work, idle);
    }
}

void rm_comparison_put_in_words(struct rm_comparison *comparison)
{
    if (isnan(comparison->figures.energy_j.low)) {
        state_without_interval(comparison);
    } else {
        state_difference(&comparison->figures);
        name_method(&comparison->figures);
    }
    state_model(comparison);
}

/* ---- the text --------------------------------------------------------------------------- */

/* A paragraph, broken at spaces; `indent` from the second line on. */
static void add_paragraph(struct rm_buffer *buffer, const char *text, const char *indent)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t spaces = strspn(text, " ");
        size_t length = strcspn(text + spaces, " ");
        if (column > 0 && column + spaces + length > TEXT_COLUMNS) {
            rm_buffer_printf(buffer, "\n%s", indent);
            column = strlen(indent);
        } else {
            rm_buffer_add(buffer, text, spaces);
            column += spaces;
        }
        rm_buffer_add(buffer, text + spaces, length);
        column += length;
        text += spaces + length;
    }
    rm_buffer_puts(buffer, "\n");
}

/* A column of the table: all of it in one unit. */
struct quantity {
    const char *name;
    const char *unit;
    const resmon_compared *values;
    double factor; /* to the unit */
};

#define QUANTITIES 4

static struct scale scale_of_column(const struct quantity *quantity)
{
    const resmon_compared *values = quantity->values;
    double most = fmax(fabs(values->work), fabs(values->idle)) * quantity->factor;
    double half = half_of(values) * quantity->factor;
    /* Without an interval: four digits. */
    return scale_of(quantity->unit, most, isnan(half) ? 0.01 * most : half);
}

static void add_row(struct rm_table *table, const char *label, size_t offset,
                    const struct quantity quantities[QUANTITIES])
{
    char(*cells)[RM_TABLE_CELL_BYTES] = rm_table_row(table);
    if (cells == NULL) {
        return;
    }
    (void)rm_text_set(cells[0], RM_TABLE_CELL_BYTES, label);
    for (size_t i = 0; i < QUANTITIES; i++) {
        double value;
        memcpy(&value, (const char *)quantities[i].values + offset, sizeof value);
        print(cells[i + 1], value * quantities[i].factor, scale_of_column(&quantities[i]));
    }
}

static void add_table(struct rm_buffer *buffer, const resmon_comparison *comparison)
{
    const struct quantity quantities[QUANTITIES] = {
        {"energy", "J", &comparison->energy_j, 1.0},
        {"power", "W", &comparison->power_w, 1.0},
        {"CO2eq", "g", &comparison->gco2eq, 1.0},
        {"CO2eq a year", "g", &comparison->kgco2eq_year, 1e3},
    };
    char units[QUANTITIES][RM_TABLE_CELL_BYTES];
    const char *headings[QUANTITIES + 1] = {""};
    struct rm_table table;
    for (size_t i = 0; i < QUANTITIES; i++) {
        (void)snprintf(units[i], sizeof units[i], "%s, %s", quantities[i].name,
                       scale_of_column(&quantities[i]).unit.name);
        headings[i + 1] = units[i];
    }
    rm_table_begin(&table, headings, QUANTITIES + 1, 1);
    add_row(&table, "work (A)", offsetof(resmon_compared, work), quantities);
    add_row(&table, "idle (B)", offsetof(resmon_compared, idle), quantities);
    add_row(&table, "difference (A - B)", offsetof(resmon_compared, difference), quantities);
    if (!isnan(comparison->energy_j.low)) {
        add_row(&table, "  95 %: from", offsetof(resmon_compared, low), quantities);
        add_row(&table, "  to", offsetof(resmon_compared, high), quantities);
    }
    rm_table_end(&table, buffer);
}

static bool is_whole(double value)
{
    return value == floor(value);
}

static void add_terms(struct rm_buffer *buffer, const resmon_comparison *comparison)
{
    char line[512], place[sizeof comparison->place], g_per_kwh[RM_HUMAN_BYTES], pue[RM_HUMAN_BYTES];
    char hours[RM_HUMAN_BYTES], days[RM_HUMAN_BYTES];
    (void)rm_text_copy(place, sizeof place, comparison->place, sizeof comparison->place);
    rm_human_fixed(g_per_kwh, comparison->g_per_kwh, 0);
    rm_human_fixed(pue, comparison->pue, 2);
    rm_human_fixed(hours, comparison->hours_per_day, is_whole(comparison->hours_per_day) ? 0 : 1);
    rm_human_fixed(days, comparison->days_per_year, is_whole(comparison->days_per_year) ? 0 : 1);
    (void)snprintf(line, sizeof line,
                   "  CO2eq: %s g/kWh%s%s%s, PUE %s; a year: %s h a day on %s days at this power",
                   g_per_kwh, place[0] != '\0' ? " (" : "", place, place[0] != '\0' ? ")" : "", pue,
                   hours, days);
    add_paragraph(buffer, line, "  ");
}

static void add_outside(struct rm_buffer *buffer, const char *before, const char *text,
                        size_t capacity)
{
    char line[640], clean[512];
    if (text[0] == '\0') {
        return;
    }
    (void)rm_text_copy(clean, sizeof clean, text, capacity);
    (void)snprintf(line, sizeof line, "%s%s", before, clean);
    add_paragraph(buffer, line, before[0] != '\0' ? "  " : "");
}

void rm_comparison_write(struct rm_buffer *buffer, const resmon_comparison *comparison)
{
    char seconds[RM_HUMAN_BYTES], components[sizeof comparison->components];
    (void)rm_text_copy(components, sizeof components, comparison->components,
                       sizeof comparison->components);
    rm_human_seconds(seconds, comparison->seconds);
    rm_buffer_printf(buffer, "Energy of the machine (%s) over the %s that the work takes\n",
                     components, seconds);
    add_table(buffer, comparison);
    add_terms(buffer, comparison);
    add_outside(buffer, "  interval: Welch's t, ", comparison->method, sizeof comparison->method);
    add_outside(buffer, "  note: ", comparison->remark, sizeof comparison->remark);
    rm_buffer_puts(buffer, "\n");
    add_outside(buffer, "", comparison->statement, sizeof comparison->statement);
}
