/* SPDX-License-Identifier: MIT */
#include "os/pfm.h"

#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "library_files.inc"
#include "os/library.h"

static struct {
    __typeof__(pfm_initialize) *initialize;
    __typeof__(pfm_strerror) *strerror;
    __typeof__(pfm_get_os_event_encoding) *encode;
    __typeof__(pfm_get_pmu_info) *pmu_info;
    __typeof__(pfm_get_event_info) *event_info;
    __typeof__(pfm_get_event_next) *event_next;
} pfm;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static resmon_status status_of_load;
static char why_not[256];

/* The library is not said to be fit for several threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(void)
{
    static const char *const names[] = {RM_PFM_FILE, NULL};
    static const struct rm_library_function functions[] = {
        {"pfm_initialize", &pfm.initialize},        {"pfm_strerror", &pfm.strerror},
        {"pfm_get_os_event_encoding", &pfm.encode}, {"pfm_get_pmu_info", &pfm.pmu_info},
        {"pfm_get_event_info", &pfm.event_info},    {"pfm_get_event_next", &pfm.event_next},
    };
    static const struct rm_library library = {"libpfm4, for the names of events", names, functions,
                                              RM_ARRAY_LEN(functions)};
    status_of_load = rm_library_load(&library);
    if (status_of_load == RESMON_OK) {
        int code = pfm.initialize();
        if (code != PFM_SUCCESS) {
            status_of_load = rm_error(RESMON_ENOTSUP, "libpfm4: %s", pfm.strerror(code));
        }
    }
    if (status_of_load != RESMON_OK) {
        (void)rm_text_set(why_not, sizeof why_not, resmon_last_error());
    }
}

static resmon_status need(void)
{
    (void)pthread_once(&once, load);
    return status_of_load == RESMON_OK ? RESMON_OK : rm_error(status_of_load, "%s", why_not);
}

/* ---- names that are like another ---------------------------------------------------------- */

struct near {
    const char *wanted; /* without the PMU */
    size_t length;      /* up to the first ':' */
    char list[256];
    size_t used;
    int count;
};

static size_t common_length(const char *a, const char *b)
{
    size_t length = 0;
    while (a[length] != '\0' && rm_text_compare(a + length, b + length, 1) == 0) {
        length++;
    }
    return length;
}

/* Half of the name or more is the same from the beginning. */
static void look_at_event(struct near *near, const char *name)
{
    size_t common = common_length(name, near->wanted);
    common = common < near->length ? common : near->length;
    bool is_near = common >= 3 && 2 * common >= near->length;
    if (is_near && near->count < 5) {
        int wrote = snprintf(near->list + near->used, sizeof near->list - near->used, "%s%s",
                             near->count > 0 ? ", " : "", name);
        if (wrote > 0 && (size_t)wrote < sizeof near->list - near->used) {
            near->used += (size_t)wrote;
            near->count++;
        } else {
            near->list[near->used] = '\0';
        }
    }
}

static void look_at_pmu(struct near *near, const pfm_pmu_info_t *pmu)
{
    for (int i = pmu->first_event; i != -1; i = pfm.event_next(i)) {
        pfm_event_info_t event = {.size = sizeof event};
        if (pfm.event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS) {
            look_at_event(near, event.name);
        }
    }
}

static resmon_status refuse(const char *name, int code)
{
    const char *colons = strstr(name, "::");
    struct near near = {.wanted = colons != NULL ? colons + 2 : name};
    near.length = strcspn(near.wanted, ":");
    for (int p = 0; p < PFM_PMU_MAX; p++) {
        pfm_pmu_info_t pmu = {.size = sizeof pmu};
        if (pfm.pmu_info((pfm_pmu_t)p, &pmu) == PFM_SUCCESS && pmu.is_present) {
            look_at_pmu(&near, &pmu);
        }
    }
    return rm_error(RESMON_EINVAL, "libpfm4 does not know the event %s on this machine (%s)%s%s",
                    name, pfm.strerror(code), near.count > 0 ? "; it knows " : "", near.list);
}

resmon_status rm_pfm_encode(const char *name, struct rm_pfm_code *ret_code)
{
    resmon_status status = need();
    if (status != RESMON_OK) {
        return status;
    }
    struct perf_event_attr attributes = {.size = sizeof attributes};
    pfm_perf_encode_arg_t argument = {.attr = &attributes, .size = sizeof argument};
    (void)pthread_mutex_lock(&lock);
    int code = pfm.encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
    status = code != PFM_SUCCESS ? refuse(name, code) : RESMON_OK;
    (void)pthread_mutex_unlock(&lock);
    if (status == RESMON_OK) {
        *ret_code = (struct rm_pfm_code){
            .type = attributes.type,
            .config = {attributes.config, attributes.config1, attributes.config2},
            .skips_user = attributes.exclude_user != 0,
            .skips_kernel = attributes.exclude_kernel != 0,
        };
    }
    return status;
}

bool rm_pfm_has_pmu(const char *name)
{
    bool is_known = false;
    if (need() != RESMON_OK) {
        return false;
    }
    (void)pthread_mutex_lock(&lock);
    for (int p = 0; p < PFM_PMU_MAX && !is_known; p++) {
        pfm_pmu_info_t pmu = {.size = sizeof pmu};
        is_known = pfm.pmu_info((pfm_pmu_t)p, &pmu) == PFM_SUCCESS && strcmp(pmu.name, name) == 0;
    }
    (void)pthread_mutex_unlock(&lock);
    return is_known;
}
