/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "setup/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <resmon/stack.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/text.h"
#include "job/site.h"
#include "os/pfm.h"
#include "store/block.h"
#include "store/run_records.h"
#include "store/scope_records.h"

/* ---- RESMON_RUN ----------------------------------------------------------------------------- */

#define LEAST_ROOM (128.0 * 1024 * 1024)

static bool is_own_directory(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0;
}

static bool has_room(const char *path)
{
    struct statvfs room;
    return statvfs(path, &room) == 0 && (double)room.f_bavail * (double)room.f_frsize >= LEAST_ROOM;
}

bool rm_run_request_read(struct rm_run_request *ret_request)
{
    const char *run = secure_getenv("RESMON_RUN");
    size_t length = run != NULL ? strcspn(run, ",") : 0;
    if (length == 0 || length >= sizeof ret_request->directory || run[0] != '/') {
        return false;
    }
    (void)rm_text_copy(ret_request->directory, sizeof ret_request->directory, run, length);
    ret_request->options = run + length + (run[length] == ',' ? 1 : 0);
    return is_own_directory(ret_request->directory) && has_room(ret_request->directory);
}

/* ---- the tables --------------------------------------------------------------------------- */

/* clang-format off */
#define RM_OPTION_NAMES(table)      static const struct rm_option_name table[] = {
#define RM_NAME(name_, bits_, use_) {name_, (bits_), RM_NAME_##use_},
#define RM_OPTION_NAMES_END         };
#define RM_OPTIONS(table)           static const struct rm_option table[] = {
#define RM_OPTION(key, type, member, traits, help_) \
    RM_OPTION_ROW(RM_OWNER, key, type, member, traits .help = (help_)),
#define RM_OPTIONS_END              };
#include "setup/options.def"
/* clang-format on */

const struct rm_option_set rm_monitor_options = {
    .name = "",
    .help = "a monitor",
    .options = monitor_options,
    .count = RM_ARRAY_LEN(monitor_options),
    .flags_offset = offsetof(resmon_monitor_options, flags),
};

const struct rm_option_set rm_carbon_options = {
    .name = "carbon",
    .main = "country",
    .help = "where the machine stands",
    .options = carbon_options,
    .count = RM_ARRAY_LEN(carbon_options),
    .flags_offset = offsetof(resmon_carbon_options, flags),
};

const struct rm_option_set rm_environment_options = {
    .name = "",
    .help = "the environment variable RESMON",
    .options = environment_options,
    .count = RM_ARRAY_LEN(environment_options),
    .flags_offset = offsetof(struct rm_environment, flags),
};

/* ---- options of one monitor --------------------------------------------------------------- */

static char *text_at(const resmon_monitor_options *values, const struct rm_option *option)
{
    char *text;
    memcpy(&text, (const char *)values + option->offset, sizeof text);
    return text;
}

static bool is_text(const struct rm_option *option)
{
    return option->type == RM_OPTION_TEXT || option->type == RM_OPTION_PATH;
}

/* On failure, the remaining texts are NULL. */
static resmon_status copy_texts(resmon_monitor_options *values)
{
    resmon_status status = RESMON_OK;
    values->name = values->name != NULL ? values->name : "";
    for (size_t i = 0; i < rm_monitor_options.count; i++) {
        const struct rm_option *option = &rm_monitor_options.options[i];
        const char *given = is_text(option) ? text_at(values, option) : NULL;
        if (given == NULL) {
            continue;
        }
        char *copy = status == RESMON_OK ? rm_strdup(given) : NULL;
        if (copy == NULL) {
            status = rm_error(RESMON_ENOMEM, "out of memory for the options of a monitor");
        }
        memcpy((char *)values + option->offset, &copy, sizeof copy);
    }
    return status;
}

#define LONGEST_NAME  47U /* of a label */
#define LONGEST_VALUE (RM_FACT_VALUE_BYTES - 1U)

static resmon_status check_label(const resmon_label *label)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    const char *name = label->name != NULL ? label->name : "";
    if (name[0] == '\0' || strlen(name) > LONGEST_NAME || name[strspn(name, letters)] != '\0') {
        return rm_error(RESMON_EINVAL,
                        "a label cannot be called '%.64s': 1 to %u letters, digits, '_' and '.'",
                        name, LONGEST_NAME);
    }
    return label->value != NULL && strlen(label->value) <= LONGEST_VALUE
               ? RESMON_OK
               : rm_error(RESMON_EINVAL,
                          "the label '%s' has no value, or one of more than %u bytes", name,
                          (unsigned)LONGEST_VALUE);
}

static resmon_status check_labels(const resmon_monitor_options *values)
{
    resmon_status status = RESMON_OK;
    if (values->label_count > RM_OPTION_LABELS_MOST ||
        (values->label_count > 0 && values->labels == NULL)) {
        return rm_error(RESMON_EINVAL, "%zu labels: at most %d, in an array", values->label_count,
                        RM_OPTION_LABELS_MOST);
    }
    for (size_t i = 0; i < values->label_count && status == RESMON_OK; i++) {
        status = check_label(&values->labels[i]);
    }
    return status;
}

/* The labels with their texts, in one piece of memory.  On failure, there are none. */
static resmon_status copy_labels(resmon_monitor_options *values)
{
    const resmon_label *given = values->labels;
    size_t count = values->label_count, bytes = count * sizeof *given;
    for (size_t i = 0; i < count; i++) {
        bytes += strlen(given[i].name) + strlen(given[i].value) + 2;
    }
    resmon_label *labels = count > 0 ? rm_alloc(1, bytes) : NULL;
    values->labels = labels;
    values->label_count = 0;
    if (labels == NULL) {
        return count == 0 ? RESMON_OK
                          : rm_error(RESMON_ENOMEM, "out of memory for the options of a monitor");
    }
    char *at = (char *)&labels[count];
    for (size_t i = 0; i < count; i++) {
        labels[i].name = at;
        at = stpcpy(at, given[i].name) + 1;
        labels[i].value = at;
        at = stpcpy(at, given[i].value) + 1;
    }
    values->label_count = count;
    return RESMON_OK;
}

static resmon_status copy_energy_root(struct rm_options *options)
{
    const char *given = secure_getenv("RESMON_ENERGY_ROOT");
    options->energy_root = given != NULL ? rm_strdup(given) : NULL;
    return given == NULL || options->energy_root != NULL
               ? RESMON_OK
               : rm_error(RESMON_ENOMEM, "out of memory for the options of a monitor");
}

/* A parent command wants the scopes of this program. */
static resmon_status find_run(struct rm_options *options)
{
    static unsigned count; /* atomic */
    struct rm_run_request request;
    bool is_asked = options->wants_scopes && options->values.pid == 0 &&
                    options->values.cgroup == NULL && options->values.job == NULL &&
                    rm_run_request_read(&request);
    if (!is_asked) {
        return RESMON_OK;
    }
    const size_t room = RM_ASKED_BYTES + 64;
    options->run_record = rm_alloc(1, room);
    if (options->run_record == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the options of a monitor");
    }
    (void)snprintf(options->run_record, room, "%s/%ld-%u.rec", request.directory, (long)getpid(),
                   RM_FETCH_ADD(&count, 1));
    return RESMON_OK;
}

/* Bad options are refused; a bad site file is a remark in the run. */
static resmon_status find_place(const resmon_monitor_options *given, struct rm_options *options)
{
    resmon_carbon_options carbon;
    struct rm_job_environment environment = rm_job_own_environment;
    environment.root = options->values.fs_root;
    resmon_status status =
        given->carbon != NULL
            ? rm_struct_take(given->carbon, RM_STRUCT_SIZE(resmon_carbon_options), &carbon)
            : RESMON_OK;
    if (status != RESMON_OK || (options->values.domains & RESMON_DOMAIN_ENERGY) == 0) {
        return status;
    }
    status = rm_place_find(given->carbon != NULL ? &carbon : NULL, &environment, &options->place);
    if (status != RESMON_OK && status != RESMON_EINVAL) {
        (void)rm_text_set(options->place_remark, sizeof options->place_remark, resmon_last_error());
        rm_log(RESMON_LOG_WARNING, "location of the machine: %s", options->place_remark);
        status = RESMON_OK;
    } else if (status == RESMON_OK && options->place.unknown[0] != '\0') {
        (void)snprintf(options->place_remark, sizeof options->place_remark,
                       "the place '%s' is in no table: the world average is used",
                       options->place.unknown);
    }
    return status;
}

/* Names unknown to libpfm4 are refused; without libpfm4, the run has a remark. */
static resmon_status read_counters(const char *name, const char *text, size_t most,
                                   struct rm_counters_wanted *ret_wanted)
{
    char why[RM_ERROR_TEXT_BYTES];
    struct rm_pfm_code code;
    const char *meant = NULL;
    resmon_status status = rm_counters_parse(text, most, ret_wanted);
    for (size_t i = 0; i < ret_wanted->event_count && status == RESMON_OK; i++) {
        const struct rm_perf_event *event = &ret_wanted->events[i];
        status = event->is_named ? rm_pfm_encode(event->name, &code) : RESMON_OK;
        status = status == RESMON_ENOTSUP ? RESMON_OK : status;
        meant = status != RESMON_OK ? rm_counters_nearest(event->name) : NULL;
    }
    if (status != RESMON_OK) {
        (void)rm_text_set(why, sizeof why, resmon_last_error());
        return rm_error(status, "%s: %.400s%s%s%s", name, why,
                        meant != NULL ? "; did you mean '" : "", meant != NULL ? meant : "",
                        meant != NULL ? "'?" : "");
    }
    return RESMON_OK;
}

static resmon_status read_all_counters(const resmon_monitor_options *given,
                                       struct rm_options *options)
{
    const char *of_scopes = given->scope_counters != NULL ? given->scope_counters : "default";
    resmon_status status =
        given->counters != NULL
            ? read_counters("counters", given->counters, RM_WANTED_EVENTS, &options->counters)
            : RESMON_OK;
    options->meters |= given->scope_counters != NULL ? RESMON_METER_PERF : 0;
    if (status == RESMON_OK && (options->meters & RESMON_METER_PERF) != 0) {
        status =
            read_counters("scope_counters", of_scopes, RM_SCOPE_COUNTERS, &options->scope_counters);
    }
    if (status == RESMON_OK &&
        (options->scope_counters.groups & ~(RM_COUNTERS_DEFAULT | RM_COUNTERS_EVENTS)) != 0) {
        status = rm_error(
            RESMON_EINVAL,
            "scope_counters: the only group for scopes is default; other events are given by name");
    }
    if (status == RESMON_OK && (options->scope_counters.groups & RM_COUNTERS_DEFAULT) != 0 &&
        options->scope_counters.event_count > RM_SCOPE_COUNTERS / 2) {
        status = rm_error(RESMON_EINVAL,
                          "scope_counters: %s is one event too many: at most %d are allowed beside "
                          "the default ones",
                          options->scope_counters.events[RM_SCOPE_COUNTERS / 2].name,
                          RM_SCOPE_COUNTERS / 2);
    }
    return status;
}

static resmon_status check_rows(const resmon_monitor_options *values)
{
    return values->rows % 2 == 0
               ? RESMON_OK
               : rm_error(RESMON_ERANGE, "rows is %zu: it must be even, for halving", values->rows);
}

static resmon_status check_observed(const resmon_monitor_options *values)
{
    int count = (values->pid != 0) + (values->cgroup != NULL) + (values->job != NULL);
    return count <= 1 ? RESMON_OK
                      : rm_error(RESMON_EINVAL, "of pid, cgroup and job, only one can be observed");
}

static resmon_status read_all(const resmon_monitor_options *given, struct rm_options *options)
{
    resmon_monitor_options values = *given;
    resmon_status status = rm_options_complete(&rm_monitor_options, &values);
    status = status == RESMON_OK ? check_rows(&values) : status;
    status = status == RESMON_OK ? check_observed(&values) : status;
    status = status == RESMON_OK ? check_labels(&values) : status;
    if (status != RESMON_OK) {
        return status;
    }
    options->given = *given;
    values.carbon = NULL;
    options->values = values;
    options->interval_ns = (int64_t)values.interval_ms * RM_NS_PER_MS;
    options->meters = values.scopes | RESMON_METER_WALL;
    options->wants_scopes = (values.flags & RESMON_FLAG_NO_SCOPES) == 0;
    options->needs_scopes = options->wants_scopes && values.scopes != 0;
    status = copy_labels(&options->values);
    resmon_status copied = copy_texts(&options->values); /* or clears what it does not copy */
    status = status == RESMON_OK ? copied : status;
    status = status == RESMON_OK ? copy_energy_root(options) : status;
    status = status == RESMON_OK ? find_run(options) : status;
    status = status == RESMON_OK ? read_all_counters(given, options) : status;
    return status == RESMON_OK ? find_place(given, options) : status;
}

resmon_status rm_options_read(const resmon_monitor_options *given, struct rm_options *ret_options)
{
    resmon_monitor_options known = {.struct_size = sizeof known};
    struct rm_options options = {0};
    resmon_status status =
        given != NULL ? rm_struct_take(given, RM_STRUCT_SIZE(resmon_monitor_options), &known)
                      : RESMON_OK;
    if (status == RESMON_OK) {
        status = read_all(&known, &options);
    }
    if (status != RESMON_OK) {
        rm_options_free(&options);
        return status;
    }
    *ret_options = options;
    return RESMON_OK;
}

void rm_options_free(struct rm_options *options)
{
    for (size_t i = 0; i < rm_monitor_options.count; i++) {
        if (is_text(&rm_monitor_options.options[i])) {
            rm_free(text_at(&options->values, &rm_monitor_options.options[i]));
        }
    }
    void *labels = NULL;
    memcpy(&labels, &options->values.labels, sizeof labels); /* ours: not constant */
    rm_free(labels);
    rm_free(options->energy_root);
    rm_free(options->run_record);
    *options = (struct rm_options){0};
}

/* ---- what outputs need ---------------------------------------------------------------------- */

static resmon_status refuse_stacks(const char *what, uint64_t stacks)
{
    bool has_cpu = (stacks & RESMON_STACKS_CPU) != 0;
    bool has_memory = (stacks & RESMON_STACKS_MEMORY) != 0;
    return rm_error(RESMON_EINVAL,
                    "%s needs stacks of %s%s%s, which stacks= does not include: add them there, or "
                    "omit stacks=",
                    what, has_cpu ? "cpu" : "", has_cpu && has_memory ? " or " : "",
                    has_memory ? "memory" : "");
}

resmon_status rm_needs_add(struct rm_needs *needs, const struct rm_options *options,
                           const char *what, uint64_t stacks, uint64_t events)
{
    uint64_t set = options->values.stacks;
    if (stacks != 0 && set != 0 && (set & stacks) == 0) {
        return refuse_stacks(what, stacks);
    }
    needs->stacks |= stacks;
    needs->events = events > needs->events ? events : needs->events;
    return RESMON_OK;
}

static void settle(const struct rm_needs *needs, resmon_monitor_options *values)
{
    values->stacks = values->stacks != 0 ? values->stacks : needs->stacks;
    values->events = values->events != 0 ? values->events : (size_t)needs->events;
}

void rm_needs_settle(const struct rm_needs *needs, struct rm_options *options)
{
    settle(needs, &options->values);
}

static void add_line(char *text, size_t room, const char *line)
{
    size_t length = strlen(text);
    if (line[0] != '\0') {
        (void)snprintf(text + length, room - length, "%s%s", length > 0 ? "\n" : "", line);
    }
}

/* Warns of a table that takes as much memory as a program, before it is allocated. */
static void remark_on_table(size_t rows, uint64_t row_bytes, char *text, size_t room)
{
    static const double large_bytes = 64.0 * 1048576.0;
    char line[160], of_all[RM_HUMAN_BYTES], of_one[RM_HUMAN_BYTES];
    const double bytes = (double)rows * (double)row_bytes;
    if (bytes >= large_bytes) {
        rm_human_bytes(of_all, bytes);
        rm_human_bytes(of_one, (double)row_bytes);
        (void)snprintf(line, sizeof line,
                       "rows=%zu takes up to %s of memory as the table fills, %s a row", rows,
                       of_all, of_one);
        add_line(text, room, line);
    }
}

void rm_needs_remark(const struct rm_needs *needs, const struct rm_options *options,
                     uint64_t row_bytes, char *text, size_t room)
{
    resmon_monitor_options values = options->values;
    settle(needs, &values);
    values.scopes = options->meters; /* scope_counters is a meter */
    rm_options_remark(&rm_monitor_options, &options->given, &values, text, room);
    bool has_place = options->given.carbon != NULL;
    bool has_energy = (values.domains & RESMON_DOMAIN_ENERGY) != 0;
    const char *of_place = !has_energy && has_place ? "carbon has no effect without domains=energy"
                           : has_energy             ? options->place_remark
                                                    : "";
    add_line(text, room, of_place);
    remark_on_table(values.rows, row_bytes, text, room);
}

/* ---- the place of the machine --------------------------------------------------------------- */

#define CARBON_FLAGS (RESMON_CARBON_CODECARBON | RESMON_CARBON_NO_SITE | RESMON_CARBON_ZERO)

static void set_text(char target[RM_SITE_TEXT_BYTES], const char *given)
{
    if (given != NULL && given[0] != '\0') {
        (void)rm_text_set(target, RM_SITE_TEXT_BYTES, given);
    }
}

static void set_number(double *target, double given)
{
    *target = given != 0.0 ? given : *target; /* NaN is not ignored, so that it is refused */
}

/* Options take precedence over the site file.  A more specific place of the file is dropped if the
 * options give another country. */
static resmon_status merge_carbon_options(struct rm_site *site, const resmon_carbon_options *given)
{
    bool is_zero = (given->flags & RESMON_CARBON_ZERO) != 0;
    if ((given->flags & ~CARBON_FLAGS) != 0) {
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

/* Warns once that the world average is used for a place that is not found. */
static void warn_of_world_average(const struct rm_site *site, const struct rm_intensity *found)
{
    static int is_warned; /* atomic */
    bool is_named =
        site->country[0] != '\0' || site->region[0] != '\0' || site->cloud_region[0] != '\0';
    if (found->basis != RESMON_CARBON_BASIS_WORLD ||
        __atomic_exchange_n(&is_warned, 1, __ATOMIC_RELAXED) != 0) {
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
        resmon_status merged = merge_carbon_options(&site, given);
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
    warn_of_world_average(&site, &found);
    return status;
}
