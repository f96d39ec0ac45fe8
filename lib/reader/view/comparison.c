/* SPDX-License-Identifier: MIT */
#include "view/benchmarks.h"
#include "view/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"

/* ---- scales ----------------------------------------------------------------------------- */

/* Values of one column have the same unit and number of decimals: two significant digits of half
 * the width of the confidence interval. */
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
    rm_human_value(difference, fabs(figures->energy_j.difference), "J", false);
    (void)snprintf(figures->statement, sizeof figures->statement,
                   "No interval can be given: %s.  The work consumed %s %s than an idle period of "
                   "the same length, which may be noise: run it longer, or more often.",
                   comparison->why_not, difference,
                   figures->energy_j.difference < 0.0 ? "less" : "more");
}

/* The interval does not contain the error of a model: the values of a model have no noise. */
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

/* A column of the table. */
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
    /* Without an interval: four significant digits. */
    return scale_of(quantity->unit, most, isnan(half) ? 0.01 * most : half);
}

static void add_row(struct rm_page *page, struct rm_page_table *table, const char *label,
                    size_t offset, const struct quantity quantities[QUANTITIES])
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    rm_page_set(&cells[0], label);
    for (size_t i = 0; i < QUANTITIES; i++) {
        const struct scale scale = scale_of_column(&quantities[i]);
        double value;
        memcpy(&value, (const char *)quantities[i].values + offset, sizeof value);
        rm_page_set(
            &cells[i + 1],
            rm_page_fixed(page, value * quantities[i].factor * scale.unit.factor, scale.decimals));
    }
}

static void add_table(struct rm_page *page, const resmon_comparison *comparison, const char *title)
{
    const struct quantity quantities[QUANTITIES] = {
        {"energy", "J", &comparison->energy_j, 1.0},
        {"power", "W", &comparison->power_w, 1.0},
        {"CO2eq", "g", &comparison->gco2eq, 1.0},
        {"CO2eq a year", "g", &comparison->kgco2eq_year, 1e3},
    };
    const char *headings[QUANTITIES + 1] = {""};
    for (size_t i = 0; i < QUANTITIES; i++) {
        headings[i + 1] = rm_page_print(page, "%s, %s", quantities[i].name,
                                        scale_of_column(&quantities[i]).unit.name);
    }
    struct rm_page_table *table =
        rm_page_table_new(page, "comparison", title, RM_HEADERS(headings, QUANTITIES + 1, 1), 5);
    add_row(page, table, "work (A)", offsetof(resmon_compared, work), quantities);
    add_row(page, table, "idle (B)", offsetof(resmon_compared, idle), quantities);
    add_row(page, table, "difference (A - B)", offsetof(resmon_compared, difference), quantities);
    if (!isnan(comparison->energy_j.low)) {
        add_row(page, table, "  95 %: from", offsetof(resmon_compared, low), quantities);
        add_row(page, table, "  to", offsetof(resmon_compared, high), quantities);
    }
    (void)rm_page_add_table(page, table);
}

/* Text from outside, which may lack the terminating zero. */
static const char *outside(struct rm_page *page, const char *text, size_t capacity)
{
    char clean[640];
    (void)rm_text_copy(clean, sizeof clean, text, capacity);
    return rm_page_print(page, "%s", clean);
}

static bool is_whole(double value)
{
    return value == floor(value);
}

static const char *terms_text(struct rm_page *page, const resmon_comparison *comparison)
{
    const char *place = outside(page, comparison->place, sizeof comparison->place);
    double hours = comparison->hours_per_day, days = comparison->days_per_year;
    return rm_page_print(
        page, "CO2eq: %s g/kWh%s%s%s, PUE %s; a year: %s h a day on %s days at this power",
        rm_page_fixed(page, comparison->g_per_kwh, 0), place[0] != '\0' ? " (" : "", place,
        place[0] != '\0' ? ")" : "", rm_page_fixed(page, comparison->pue, 2),
        rm_page_fixed(page, hours, is_whole(hours) ? 0 : 1),
        rm_page_fixed(page, days, is_whole(days) ? 0 : 1));
}

resmon_status rm_comparison_write(struct rm_buffer *buffer, const resmon_comparison *comparison)
{
    struct rm_page page = {.title = ""};
    const char *method = outside(&page, comparison->method, sizeof comparison->method);
    const char *remark = outside(&page, comparison->remark, sizeof comparison->remark);
    add_table(&page, comparison,
              rm_page_print(&page, "Energy of the machine (%s) over the %s that the work takes",
                            outside(&page, comparison->components, sizeof comparison->components),
                            rm_page_value(&page, comparison->seconds, "s")));
    struct rm_page_list *list = rm_page_add_list(&page, "");
    rm_page_say(&page, list, "%s", terms_text(&page, comparison));
    if (method[0] != '\0') {
        rm_page_say(&page, list, "interval: Welch's t, %s", method);
    }
    if (remark[0] != '\0') {
        rm_page_say(&page, list, "note: %s", remark);
    }
    (void)rm_page_add(&page, RM_BLOCK_TITLE,
                      outside(&page, comparison->statement, sizeof comparison->statement), NULL);
    return rm_view_render(buffer, &page, &(struct rm_render){.form = RM_FORM_FULL, .meta = ""});
}
