/* SPDX-License-Identifier: MIT */
#include "job/site.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/ini.h"
#include "base/status.h"
#include "base/text.h"
#include "os/file.h"

#define DEFAULT_FILE "/etc/resmon/site.conf"
#define MOST_BYTES   65536
#define LONGEST_PATH 1024

/* A setting: its name in the file, in the environment after RESMON_, and after CODECARBON_. */
static const struct setting {
    const char *name;
    const char *variable;
    const char *codecarbon; /* NULL: none */
    size_t offset;
    bool is_text;
    double least, most; /* bounds of a number */
} settings[] = {
    {"country", "COUNTRY", "COUNTRY_ISO_CODE", offsetof(struct rm_site, country), true, 0, 0},
    {"region", "REGION", "REGION", offsetof(struct rm_site, region), true, 0, 0},
    {"cloud_provider", "CLOUD_PROVIDER", "CLOUD_PROVIDER", offsetof(struct rm_site, cloud_provider),
     true, 0, 0},
    {"cloud_region", "CLOUD_REGION", "CLOUD_REGION", offsetof(struct rm_site, cloud_region), true,
     0, 0},
    {"g_per_kwh", "G_PER_KWH", "FORCE_CARBON_INTENSITY_G_CO2E_KWH",
     offsetof(struct rm_site, g_per_kwh), false, 0, RM_SITE_MOST_G_PER_KWH},
    {"pue", "PUE", "PUE", offsetof(struct rm_site, pue), false, RM_SITE_LEAST_PUE,
     RM_SITE_MOST_PUE},
    {"wue", "WUE", "WUE", offsetof(struct rm_site, wue), false, 0, RM_SITE_MOST_WUE},
    {"cpu_watts", "CPU_WATTS", "FORCE_CPU_POWER", offsetof(struct rm_site, cpu_watts), false, 0,
     1e6},
    {"ram_watts", "RAM_WATTS", "FORCE_RAM_POWER", offsetof(struct rm_site, ram_watts), false, 0,
     1e6},
};

static char *text_of(struct rm_site *site, const struct setting *setting)
{
    return (char *)site + setting->offset;
}

static double *number_of(struct rm_site *site, const struct setting *setting)
{
    return (double *)(void *)((char *)site + setting->offset);
}

/* Sets a trimmed value, "FRA" or "1.25"; the whole text must be valid. */
static resmon_status take(struct rm_site *site, const struct setting *setting, struct rm_text value,
                          const char *where)
{
    if (setting->is_text) {
        size_t length = rm_text_left(&value);
        for (size_t i = 0; i < length; i++) {
            if ((unsigned char)value.at[i] < ' ' || value.at[i] == 0x7f) {
                return rm_error(RESMON_EFORMAT, "%s: %s has a control character", where,
                                setting->name);
            }
        }
        if (length >= RM_SITE_TEXT_BYTES) {
            return rm_error(RESMON_EFORMAT, "%s: %s has more than %d bytes", where, setting->name,
                            RM_SITE_TEXT_BYTES - 1);
        }
        (void)rm_text_copy(text_of(site, setting), RM_SITE_TEXT_BYTES, value.at, length);
        return RESMON_OK;
    }
    double number;
    struct rm_text rest = value;
    if (!rm_parse_decimal(&rest, &number) || rm_text_left(&rest) > 0 || number < setting->least ||
        number > setting->most) {
        return rm_error(RESMON_EFORMAT, "%s: %s is '%.*s': it must be a number from %g to %g",
                        where, setting->name, (int)fmin((double)rm_text_left(&value), 40.0),
                        value.at, setting->least, setting->most);
    }
    *number_of(site, setting) = number;
    return RESMON_OK;
}

resmon_status rm_site_check(const struct rm_site *site, const char *where)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(settings); i++) {
        const struct setting *setting = &settings[i];
        double number = 0.0;
        if (!setting->is_text) {
            memcpy(&number, (const char *)site + setting->offset, sizeof number);
        }
        if (!setting->is_text && !isnan(number) &&
            !(number >= setting->least && number <= setting->most)) {
            return rm_error(RESMON_EINVAL, "%s: %s is %g: it must be from %g to %g", where,
                            setting->name, number, setting->least, setting->most);
        }
    }
    return RESMON_OK;
}

/* ---- the file --------------------------------------------------------------------------- */

static const struct setting *find(const struct rm_text *name)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(settings); i++) {
        if (rm_text_equals(name, settings[i].name)) {
            return &settings[i];
        }
    }
    return NULL;
}

/* Takes a line "country = FR". */
static resmon_status take_entry(struct rm_site *site, const struct rm_ini_entry *entry,
                                const char *where)
{
    const struct setting *setting = find(&entry->name);
    if (rm_text_left(&entry->name) == 0) {
        return rm_error(RESMON_EFORMAT, "%s: '%.*s' is not of the form 'name = value'", where,
                        (int)fmin((double)rm_text_left(&entry->whole), 40.0), entry->whole.at);
    }
    if (rm_text_left(&entry->section) > 0) {
        return rm_error(RESMON_EFORMAT, "%s: settings of a site must not be in a section", where);
    }
    if (setting == NULL) {
        return rm_error(
            RESMON_EFORMAT,
            "%s: there is no setting '%.*s'; the settings are country, region, cloud_provider, "
            "cloud_region, g_per_kwh, pue, wue, cpu_watts and ram_watts",
            where, (int)fmin((double)rm_text_left(&entry->name), 40.0), entry->name.at);
    }
    return take(site, setting, entry->value, where);
}

static resmon_status take_entries(struct rm_site *site, struct rm_text text, const char *path)
{
    struct rm_ini ini = {.rest = text};
    struct rm_ini_entry entry;
    char where[352];
    char first[RM_ERROR_TEXT_BYTES] = "";
    resmon_status status = RESMON_OK;
    while (rm_ini_next(&ini, &entry)) {
        (void)snprintf(where, sizeof where, "%.300s line %u", path, entry.line);
        resmon_status taken = take_entry(site, &entry, where);
        if (taken != RESMON_OK && status == RESMON_OK) {
            status = taken;
            (void)rm_text_set(first, sizeof first, resmon_last_error());
        }
    }
    return status == RESMON_OK ? RESMON_OK : rm_error(status, "%s", first);
}

static resmon_status read_file(struct rm_site *site, const char *path, bool is_named)
{
    struct rm_infile file;
    resmon_status status = rm_infile_open(&file, path, MOST_BYTES);
    if (status != RESMON_OK) {
        return status == RESMON_ENOENT && !is_named ? RESMON_OK : status;
    }
    char *text;
    status = rm_infile_read_all(&file, &text);
    if (status == RESMON_OK) {
        status = take_entries(site, rm_text_of(text, file.bytes), path);
    }
    rm_free(text);
    rm_infile_close(&file);
    return status;
}

/* ---- the environment -------------------------------------------------------------------- */

static resmon_status read_variable(struct rm_site *site,
                                   const struct rm_job_environment *environment,
                                   const struct setting *setting)
{
    char name[64];
    (void)snprintf(name, sizeof name, "RESMON_%s", setting->variable);
    const char *value = rm_job_variable(environment, name);
    if (value == NULL && setting->codecarbon != NULL) {
        (void)snprintf(name, sizeof name, "CODECARBON_%s", setting->codecarbon);
        value = rm_job_variable(environment, name);
    }
    return value != NULL ? take(site, setting, rm_ini_trim(rm_text_of(value, strlen(value))), name)
                         : RESMON_OK;
}

void rm_site_clear(struct rm_site *site)
{
    *site = (struct rm_site){.g_per_kwh = RM_NAN,
                             .pue = RM_NAN,
                             .wue = RM_NAN,
                             .cpu_watts = RM_NAN,
                             .ram_watts = RM_NAN};
}

resmon_status rm_site_read(const struct rm_job_environment *environment, struct rm_site *ret_site)
{
    char path[LONGEST_PATH];
    const char *named = rm_job_variable(environment, "RESMON_SITE_CONF");
    rm_site_clear(ret_site);
    (void)snprintf(path, sizeof path, "%s%s", environment->root != NULL ? environment->root : "",
                   named != NULL ? named : DEFAULT_FILE);
    char first[RM_ERROR_TEXT_BYTES];
    resmon_status status = read_file(ret_site, path, named != NULL);
    (void)rm_text_set(first, sizeof first, resmon_last_error());
    for (size_t i = 0; i < RM_ARRAY_LEN(settings); i++) {
        resmon_status taken = read_variable(ret_site, environment, &settings[i]);
        if (taken != RESMON_OK && status == RESMON_OK) {
            status = taken;
            (void)rm_text_set(first, sizeof first, resmon_last_error());
        }
    }
    return status == RESMON_OK ? RESMON_OK : rm_error(status, "%s", first);
}
