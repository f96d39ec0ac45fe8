/* SPDX-License-Identifier: MIT */
#include "carbon/intensity.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/carbon.h>

#include "base/compiler.h"
#include "base/text.h"

/* ---- tables: texts in the rows, so that they need no work when the library is loaded -----------
 */

static const struct country {
    double g_per_kwh, codecarbon; /* -1: not known */
    int16_t year, codecarbon_year;
    char iso3[6];
    char iso2[3];
    char name[36];
    char source[12];
} countries[] = {
#define RM_ROW(iso3, iso2, name, g, year, g2, year2, source) \
    {g, g2, year, year2, iso3, iso2, name, source},
#include "carbon/country.inc"
#undef RM_ROW
};

static const struct region {
    double g_per_kwh;
    int16_t year;
    char iso3[4];
    char code[4];
    char name[44];
    char source[12];
} regions[] = {
#define RM_ROW(iso3, code, name, g, year, source) {g, year, iso3, code, name, source},
#include "carbon/region.inc"
#undef RM_ROW
};

static const struct cloud {
    double g_per_kwh, codecarbon, pue, wue;
    int16_t year, codecarbon_year;
    char provider[8];
    char region[28];
    char iso3[4];
    char source[12];
} clouds[] = {
#define RM_ROW(provider, region, iso3, g, year, g2, year2, pue, wue, source) \
    {g, g2, pue, wue, year, year2, provider, region, iso3, source},
#include "carbon/cloud.inc"
#undef RM_ROW
};

static const struct source {
    char id[12];
    const char *credit;
} sources[] = {
#define RM_ROW(id, what, version, credit) {id, what " (" version "): " credit},
#include "carbon/sources.inc"
#undef RM_ROW
};

/* ---- look-ups --------------------------------------------------------------------------- */

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static const char *credit_of(const char *id)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(sources); i++) {
        if (strcmp(sources[i].id, id) == 0) {
            return sources[i].credit;
        }
    }
    return "";
}

static int compare_iso3(const void *iso3, const void *row)
{
    return rm_text_compare(iso3, ((const struct country *)row)->iso3, SIZE_MAX);
}

static const struct country *country_by_iso3(const char *iso3)
{
    return bsearch(iso3, countries, RM_ARRAY_LEN(countries), sizeof countries[0], compare_iso3);
}

static const struct country *find_country(const char *text)
{
    if (!is_given(text)) {
        return NULL;
    }
    const struct country *found = country_by_iso3(rm_text_is_like(text, "UK") ? "GBR" : text);
    for (size_t i = 0; i < RM_ARRAY_LEN(countries) && found == NULL; i++) {
        if (rm_text_is_like(countries[i].name, text) || rm_text_is_like(countries[i].iso2, text)) {
            found = &countries[i];
        }
    }
    return found;
}

/* Finds a region of a country; of any country if it is not given and one country alone has such a
 * region. */
static const struct region *find_region(const char *text, const char *iso3)
{
    const struct region *found = NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(regions) && is_given(text); i++) {
        const struct region *region = &regions[i];
        if ((iso3 == NULL || strcmp(region->iso3, iso3) == 0) &&
            (rm_text_is_like(region->name, text) || rm_text_is_like(region->code, text))) {
            if (found != NULL) {
                return NULL;
            }
            found = region;
        }
    }
    return found;
}

static const struct cloud *find_cloud(const struct rm_place *place)
{
    if (!is_given(place->cloud_provider) || !is_given(place->cloud_region)) {
        return NULL;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(clouds); i++) {
        if (rm_text_is_like(clouds[i].provider, place->cloud_provider) &&
            rm_text_is_like(clouds[i].region, place->cloud_region)) {
            return &clouds[i];
        }
    }
    return NULL;
}

static double or_nan(double value)
{
    return value >= 0.0 ? value : RM_NAN;
}

/* ---- the carbon intensity --------------------------------------------------------------- */

static void set(struct rm_intensity *result, double g_per_kwh, int32_t basis, int year,
                const char *place, const char *source)
{
    result->g_per_kwh = g_per_kwh;
    result->basis = basis;
    result->year = year > 0 ? year : 0;
    result->place = place;
    result->source = credit_of(source);
}

/* Table rows that match the place; NULL: none. */
struct rows {
    const struct cloud *cloud;
    const struct country *country;
    const struct region *region;
};

static struct rows find_rows(const struct rm_place *place)
{
    struct rows rows = {find_cloud(place), find_country(place->country), NULL};
    if (rows.country == NULL && rows.cloud != NULL) {
        rows.country = country_by_iso3(rows.cloud->iso3);
    }
    rows.region = find_region(place->region, rows.country != NULL ? rows.country->iso3 : NULL);
    if (rows.country == NULL && rows.region != NULL) {
        rows.country = country_by_iso3(rows.region->iso3);
    }
    if (rows.country != NULL && rows.country->iso2[0] == '\0') {
        rows.country = NULL; /* the world is no country */
    }
    return rows;
}

/* False: this set of values has none for the region. */
static bool set_cloud(struct rm_intensity *result, const struct cloud *cloud, bool is_codecarbon)
{
    double g_per_kwh = is_codecarbon ? cloud->codecarbon : cloud->g_per_kwh;
    set(result, g_per_kwh, RESMON_CARBON_BASIS_CLOUD,
        is_codecarbon ? cloud->codecarbon_year : cloud->year, cloud->region,
        is_codecarbon ? "codecarbon" : cloud->source);
    return g_per_kwh >= 0.0;
}

static bool set_country(struct rm_intensity *result, const struct country *country,
                        bool is_codecarbon, int32_t basis)
{
    double g_per_kwh = is_codecarbon ? country->codecarbon : country->g_per_kwh;
    set(result, g_per_kwh, basis, is_codecarbon ? country->codecarbon_year : country->year,
        country->name, is_codecarbon ? "codecarbon" : country->source);
    return g_per_kwh >= 0.0;
}

static void set_figure(struct rm_intensity *result, const struct rows *rows,
                       const struct rm_place *place)
{
    if (place->given >= 0.0) {
        set(result, place->given, RESMON_CARBON_BASIS_GIVEN, 0, "given", "");
        return;
    }
    if (rows->cloud != NULL && set_cloud(result, rows->cloud, place->is_codecarbon)) {
        return;
    }
    if (rows->region != NULL) {
        set(result, rows->region->g_per_kwh, RESMON_CARBON_BASIS_REGION, rows->region->year,
            rows->region->name, rows->region->source);
        return;
    }
    if (rows->country != NULL &&
        set_country(result, rows->country, place->is_codecarbon, RESMON_CARBON_BASIS_COUNTRY)) {
        return;
    }
    const struct country *world = country_by_iso3("WORLD");
    (void)set_country(result, world != NULL ? world : &countries[0], place->is_codecarbon,
                      RESMON_CARBON_BASIS_WORLD);
}

struct rm_intensity rm_intensity_find(const struct rm_place *place)
{
    struct rm_intensity result = {.iso3 = "", .country = "", .pue = RM_NAN, .wue = RM_NAN};
    const struct rows rows = find_rows(place);
    if (rows.country != NULL) {
        result.iso3 = rows.country->iso3;
        result.country = rows.country->name;
    }
    if (rows.cloud != NULL) {
        result.provider = rows.cloud->provider;
        result.pue = or_nan(rows.cloud->pue);
        result.wue = or_nan(rows.cloud->wue);
    }
    set_figure(&result, &rows, place);
    return result;
}

/* ---- costs of energy ------------------------------------------------------------------------ */

/* Fuel burned for all of the electricity (Kepler's three dashboards): alternatives, not to be
 * summed. */
static const struct fuel {
    char name[16];
    double g_per_kwh;
} fuels[] = {
#define RM_ROW(name, g) {name, g},
#include "carbon/fuel.inc"
#undef RM_ROW
};

static double kg_of_fuel(const char *wanted, double kwh)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(fuels); i++) {
        if (strcmp(fuels[i].name, wanted) == 0) {
            return kwh * fuels[i].g_per_kwh / 1000.0;
        }
    }
    return RM_NAN;
}

resmon_carbon_cost rm_carbon_cost(double joules, double pue, double wue, double g_per_kwh)
{
    double it_kwh = joules / RM_JOULES_PER_KWH;
    double facility_kwh = it_kwh * pue;
    return (resmon_carbon_cost){
        .it_kwh = it_kwh,
        .facility_kwh = facility_kwh,
        .gco2eq = facility_kwh * g_per_kwh,
        .water_l = it_kwh * wue,
        .coal_kg = kg_of_fuel("coal", facility_kwh),
        .natural_gas_kg = kg_of_fuel("natural_gas", facility_kwh),
        .petroleum_kg = kg_of_fuel("petroleum", facility_kwh),
    };
}
