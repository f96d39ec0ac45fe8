/* SPDX-License-Identifier: MIT */
#include "setup/place.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"

#define FLAGS (RESMON_CARBON_CODECARBON | RESMON_CARBON_NO_SITE | RESMON_CARBON_ZERO)

static void set_text(char target[RM_SITE_TEXT_BYTES], const char *given)
{
    if (given != NULL && given[0] != '\0') {
        (void)rm_text_set(target, RM_SITE_TEXT_BYTES, given);
    }
}

static void set_number(double *target, double given)
{
    *target = given != 0.0 ? given : *target; /* NaN too: it is refused, not passed over */
}

/* What the options say comes over what the site says; a place that is more exact there does not
 * stay beside another country here. */
static resmon_status merge(struct rm_site *site, const resmon_carbon_options *given)
{
    bool is_zero = (given->flags & RESMON_CARBON_ZERO) != 0;
    if ((given->flags & ~FLAGS) != 0) {
        return rm_error(RESMON_EINVAL, "carbon options: unknown flags");
    }
    if (isnan(given->g_per_kwh) || isnan(given->pue) || isnan(given->wue)) {
        return rm_error(RESMON_EINVAL, "carbon options: a number is NaN");
    }
    if ((given->country != NULL && given->country[0] != '\0') ||
        (given->cloud_region != NULL && given->cloud_region[0] != '\0')) {
        site->region[0] = site->cloud_provider[0] = site->cloud_region[0] = '\0';
        site->g_per_kwh = RM_NAN;
    }
    set_text(site->country, given->country);
    set_text(site->region, given->region);
    set_text(site->cloud_provider, given->cloud_provider);
    set_text(site->cloud_region, given->cloud_region);
    set_number(&site->g_per_kwh, given->g_per_kwh);
    set_number(&site->pue, given->pue);
    set_number(&site->wue, given->wue);
    site->g_per_kwh = is_zero && given->g_per_kwh == 0.0 ? 0.0 : site->g_per_kwh;
    return rm_site_check(site, "carbon options");
}

static const char *first_given(const struct rm_site *site)
{
    return site->country[0] != '\0'  ? site->country
           : site->region[0] != '\0' ? site->region
                                     : site->cloud_region;
}

/* What was named and is not in the tables; and, once, that a figure is the world's. */
static void warn(const struct rm_site *site, const struct rm_intensity *found)
{
    static int is_said; /* atomic */
    bool is_named =
        site->country[0] != '\0' || site->region[0] != '\0' || site->cloud_region[0] != '\0';
    if (found->basis != RESMON_CARBON_BASIS_WORLD ||
        __atomic_exchange_n(&is_said, 1, __ATOMIC_RELAXED) != 0) {
        return;
    }
    rm_log(RESMON_LOG_WARNING,
           "the carbon intensity of %s%s%s%s%s is not known: the world average of %g g/kWh is "
           "used; set the location with RESMON_COUNTRY=FR or in /etc/resmon/site.conf",
           is_named ? "'" : "this place", is_named ? site->country : "",
           is_named && site->region[0] != '\0' ? "/" : "", is_named ? site->region : "",
           is_named ? "'" : "", found->g_per_kwh);
}

resmon_status rm_place_find(const resmon_carbon_options *given,
                            const struct rm_job_environment *environment,
                            struct rm_terms_of_place *ret_terms)
{
    struct rm_site site;
    resmon_status status = RESMON_OK;
    uint64_t flags = given != NULL ? given->flags : 0;
    rm_site_clear(&site);
    if ((flags & RESMON_CARBON_NO_SITE) == 0) {
        status = rm_site_read(environment, &site);
    }
    if (given != NULL) {
        resmon_status merged = merge(&site, given);
        status = merged != RESMON_OK ? merged : status;
    }
    const struct rm_place place = {
        .country = site.country,
        .region = site.region,
        .cloud_provider = site.cloud_provider,
        .cloud_region = site.cloud_region,
        .given = site.g_per_kwh,
        .is_codecarbon = (flags & RESMON_CARBON_CODECARBON) != 0,
    };
    struct rm_intensity found = rm_intensity_find(&place);
    double pue = isnan(found.pue) || place.is_codecarbon ? 1.0 : found.pue;
    double wue = isnan(found.wue) || place.is_codecarbon ? 0.0 : found.wue;
    *ret_terms = (struct rm_terms_of_place){
        .intensity = found,
        .pue = isnan(site.pue) ? pue : site.pue,
        .wue = isnan(site.wue) ? wue : site.wue,
        .cpu_watts = site.cpu_watts,
        .ram_watts = site.ram_watts,
    };
    if (found.basis == RESMON_CARBON_BASIS_WORLD) {
        set_text(ret_terms->unknown, first_given(&site));
    }
    warn(&site, &found);
    return status;
}
