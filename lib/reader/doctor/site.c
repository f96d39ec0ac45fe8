/* SPDX-License-Identifier: MIT */
/* Rows about the site's file: where the machine stands, for its emissions. */
#include <resmon/carbon.h>

#include "carbon/intensity.h"
#include "doctor/exam.h"
#include "job/site.h"

#define SITE_FILE "etc/resmon/site.conf"

#define WORLD "emissions use the world average, %.0f g/kWh"

static const char name_place[] =
    "an administrator writes \"country = FR\" (and \"pue = 1.25\", if it is known) into "
    "/" SITE_FILE "; or the user sets RESMON_COUNTRY=FR";

/* `file`: that was read; NULL: there is none. */
static void add_place(struct rm_doctor_exam *exam, const struct rm_site *site, const char *file)
{
    const struct rm_place place = {
        .country = site->country,
        .region = site->region,
        .cloud_provider = site->cloud_provider,
        .cloud_region = site->cloud_region,
        .given = site->g_per_kwh,
    };
    const char *named = site->country[0] != '\0' ? site->country : site->cloud_region;
    struct rm_intensity found = rm_intensity_find(&place);
    if (found.basis != RESMON_CARBON_BASIS_WORLD) {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_READY, "",
                      "emissions use the carbon intensity of %s: %.0f g/kWh%s%s",
                      found.basis == RESMON_CARBON_BASIS_GIVEN ? "the settings" : found.place,
                      found.g_per_kwh, file != NULL ? "; the site's file is " : "",
                      file != NULL ? file : "");
    } else if (named[0] != '\0') {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_GARBLED, name_place,
                      "the place '%s' is not known: " WORLD, named, found.g_per_kwh);
    } else if (file != NULL) {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_ABSENT, name_place,
                      "%s names no place: " WORLD, file, found.g_per_kwh);
    } else {
        rm_doctor_add(exam, "site", "place", RESMON_DOCTOR_ABSENT, name_place,
                      "there is no /" SITE_FILE ": " WORLD, found.g_per_kwh);
    }
}

void rm_doctor_site(struct rm_doctor_exam *exam)
{
    struct rm_site site;
    struct rm_job_environment environment = *exam->tools->environment;
    environment.root = exam->fs_root;
    const char *file = rm_job_variable(&environment, "RESMON_SITE_CONF");
    if (file == NULL && rm_file_exists(&exam->root, SITE_FILE)) {
        file = "/" SITE_FILE;
    }
    resmon_status status = rm_site_read(&environment, &site);
    if (status != RESMON_OK) {
        rm_doctor_add(exam, "site", "place", rm_doctor_status(status),
                      "correct it: the file is read only up to its first mistake", "%s",
                      resmon_last_error());
        return;
    }
    add_place(exam, &site, file);
}
