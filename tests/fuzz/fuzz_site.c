/* SPDX-License-Identifier: MIT */
/* site.conf: whatever is in it, the settings stay in their bounds, and a complaint names the line.
 */
#include "fuzz.h"

#include <math.h>

#include <resmon/resmon.h>

#include "base/compiler.h"
#include "job/site.h"

static char path[128];

static const char *variable(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "RESMON_SITE_CONF") == 0 ? path : NULL;
}

static void check_site(const struct rm_site *site)
{
    const char *const texts[] = {site->country, site->region, site->cloud_provider,
                                 site->cloud_region};
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        PROMISE(strlen(texts[i]) < RM_SITE_TEXT_BYTES);
        for (const char *p = texts[i]; *p != '\0'; p++) {
            PROMISE((unsigned char)*p >= ' ' && *p != 0x7f);
        }
    }
    PROMISE(isnan(site->pue) || site->pue >= 1.0);
    PROMISE(isnan(site->g_per_kwh) || site->g_per_kwh >= 0.0);
    PROMISE(rm_site_check(site, "the file") == RESMON_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rm_job_environment environment = {.get = variable, .root = "", .host_name = "n1"};
    struct rm_site site;
    (void)snprintf(path, sizeof path, "%s/site.conf", fuzz_directory());
    FILE *file = fopen(path, "wb");
    PROMISE(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    resmon_status status = rm_site_read(&environment, &site);
    PROMISE(status == RESMON_OK || status == RESMON_EFORMAT || status == RESMON_ERANGE);
    PROMISE(status != RESMON_EFORMAT || strstr(resmon_last_error(), "site.conf line ") != NULL);
    for (const char *p = resmon_last_error(); status != RESMON_OK && *p != '\0'; p++) {
        PROMISE((unsigned char)*p >= ' ' && *p != 0x7f); /* nothing that a terminal obeys */
    }
    check_site(&site);
    return 0;
}
