/* SPDX-License-Identifier: MIT */
/* <resmon/promql.h>: the queries about pods. */
#include <resmon/promql.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/number.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "format/exposition.h"
#include "promql/promql.h"

#define LARGEST_QUERY  16384
#define LONGEST_STEP_S 15.0

static resmon_status null_argument(const char *function)
{
    return rm_error(RESMON_EINVAL, "%s: an argument is NULL", function);
}

resmon_status resmon_promql_value(const resmon_promql_options *options, const char *query,
                                  double unix_s, double *ret_value)
{
    RM_KEEP_ERRNO;
    struct rm_promql *promql = NULL;
    if (query == NULL || ret_value == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = rm_promql_open(options, &promql);
    if (status == RESMON_OK) {
        status = rm_promql_value(promql, query, unix_s, ret_value);
        rm_promql_close(promql);
    }
    return status;
}

/* ---- queries from parts ----------------------------------------------------------------- */

/* Values for the placeholders of a query: %n is the namespace, %p the pod, %w a window in seconds.
 * %s is the step of a subquery, which is evaluated only at whole multiples of its step.  Kepler's
 * series have the label pod_name: for them %q is a matcher of the pod, and %j keeps only the pods
 * with a given label. */
struct places {
    const char *kube_namespace;
    const char *pod;      /* NULL: pods are chosen by the label */
    const char *selector; /* "job-name=train" */
    double window_s;
};

static void put_seconds(struct rm_buffer *query, double seconds)
{
    char number[RM_NUMBER_BYTES];
    rm_buffer_add(query, number, rm_number_double(number, seconds));
    rm_buffer_add(query, "s", 1);
}

static void put_window(struct rm_buffer *query, const struct places *places)
{
    put_seconds(query, ceil(places->window_s));
}

static void put_step(struct rm_buffer *query, const struct places *places)
{
    put_seconds(query, fmin(fmax(floor(places->window_s / 60.0), 1.0), LONGEST_STEP_S));
}

static void put_namespace(struct rm_buffer *query, const struct places *places)
{
    rm_label_quote(query, places->kube_namespace);
}

static void put_pod(struct rm_buffer *query, const struct places *places)
{
    rm_label_quote(query, places->pod);
}

static void put_matcher(struct rm_buffer *query, const struct places *places)
{
    if (places->pod != NULL) {
        rm_buffer_puts(query, ",pod_name=");
        put_pod(query, places);
    }
}

/* kube-state-metrics exports the label "job-name" as "label_job_name". */
static void put_label(struct rm_buffer *query, const struct places *places)
{
    const char *at = places->selector;
    rm_buffer_puts(query, "label_");
    for (; *at != '='; at++) {
        bool is_plain =
            (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        rm_buffer_add(query, is_plain ? at : "_", 1);
    }
    rm_buffer_puts(query, "=");
    rm_label_quote(query, at + 1);
}

static void put_join(struct rm_buffer *query, const struct places *places)
{
    if (places->pod != NULL) {
        return;
    }
    rm_buffer_puts(query, " and on(pod_name) label_replace(max_over_time("
                          "kube_pod_labels{namespace=");
    put_namespace(query, places);
    rm_buffer_puts(query, ",");
    put_label(query, places);
    rm_buffer_puts(query, "}[");
    put_window(query, places);
    rm_buffer_puts(query, "]),\"pod_name\",\"$1\",\"pod\",\"(.*)\")");
}

static const struct {
    char letter;
    void (*put)(struct rm_buffer *query, const struct places *places);
} letters[] = {{'n', put_namespace}, {'p', put_pod},     {'w', put_window},
               {'s', put_step},      {'q', put_matcher}, {'j', put_join}};

static void fill_place(struct rm_buffer *query, char place, const struct places *places)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(letters); i++) {
        if (letters[i].letter == place) {
            letters[i].put(query, places);
        }
    }
}

static void fill(struct rm_buffer *query, const char *pattern, const struct places *places)
{
    rm_buffer_clear(query);
    for (const char *p = pattern; *p != '\0'; p++) {
        if (*p == '%') {
            fill_place(query, *++p, places);
        } else {
            rm_buffer_add(query, p, 1);
        }
    }
}

/* Requests one value for each pattern.  Values that the server does not know stay NaN; if the
 * server knows none, the status is a failure. */
static resmon_status ask_all(const resmon_promql_options *options, const char *const *patterns,
                             size_t count, const struct places *places, double unix_s,
                             double *ret_values)
{
    struct rm_promql *promql = NULL;
    struct rm_buffer query;
    size_t known = 0;
    resmon_status status = rm_promql_open(options, &promql);
    if (status != RESMON_OK) {
        return status;
    }
    rm_buffer_init(&query, LARGEST_QUERY);
    for (size_t i = 0; i < count && (status == RESMON_OK || status == RESMON_ENOENT); i++) {
        ret_values[i] = RM_NAN;
        fill(&query, patterns[i], places);
        status = query.status == RESMON_OK
                     ? rm_promql_value(promql, query.text, unix_s, &ret_values[i])
                     : query.status;
        known += status == RESMON_OK ? 1 : 0;
    }
    rm_buffer_free(&query);
    rm_promql_close(promql);
    return status == RESMON_ENOENT && known > 0 ? RESMON_OK : status;
}

static resmon_status check_window(double window_s)
{
    return window_s >= 1.0 && window_s <= 1e10
               ? RESMON_OK
               : rm_error(RESMON_ERANGE, "the window of a query is %g s: it must be 1 to 1e10",
                          window_s);
}

#define OF_GPUS(name)                                                        \
    "max_over_time(" name "{exported_namespace=%n,exported_pod=%p}[%w]) or " \
    "max_over_time(" name "{namespace=%n,pod=%p,exported_pod=\"\"}[%w])"
#define MIB 1048576.0 /* the unit of DCGM_FI_DEV_FB_USED */

resmon_status resmon_promql_pod_peak(const resmon_promql_options *options,
                                     const char *kube_namespace, const char *pod, double window_s,
                                     resmon_pod_peak *ret_peak)
{
    RM_KEEP_ERRNO;
    static const char *const patterns[] = {
        "max_over_time(sum(rate(container_cpu_usage_seconds_total"
        "{namespace=%n,pod=%p,container!=\"\"}[1m]))[%w:%s])",
        "max_over_time(container_memory_working_set_bytes"
        "{namespace=%n,pod=%p,container!=\"\"}[%w])",
        OF_GPUS("DCGM_FI_DEV_GPU_UTIL"),
        OF_GPUS("DCGM_FI_DEV_FB_USED"),
    };
    double values[RM_ARRAY_LEN(patterns)];
    const struct places places = {
        .kube_namespace = kube_namespace, .pod = pod, .window_s = window_s};
    if (kube_namespace == NULL || pod == NULL || ret_peak == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = check_window(window_s);
    if (status == RESMON_OK) {
        status = ask_all(options, patterns, RM_ARRAY_LEN(patterns), &places, 0.0, values);
    }
    if (status != RESMON_OK) {
        return status;
    }
    const resmon_pod_peak peak = {.cpu_cores = values[0],
                                  .memory_bytes = values[1],
                                  .gpu_percent = values[2],
                                  .gpu_memory_bytes = values[3] * MIB};
    return rm_struct_give(&peak, RM_STRUCT_SIZE(resmon_pod_peak), ret_peak);
}

/* Kepler before 0.10 has series by component, and later versions have series by zone.  Kepler's
 * series of containers on GPUs identify the pod by its id only. */
#define BEFORE(component)                                                               \
    "sum(increase(kepler_container_" component "joules_total{container_namespace=%n%q}" \
    "[%w])%j)"
#define SINCE(zone) \
    "sum(increase(kepler_pod_cpu_joules_total{pod_namespace=%n,zone=\"" zone "\"%q}[%w])%j)"
#define SINCE_GPU                                                                       \
    "sum(increase(kepler_container_gpu_joules_total{pod_id!=\"\"}[%w]) and on(pod_id) " \
    "(max_over_time(kepler_pod_cpu_joules_total{pod_namespace=%n%q}[%w])%j))"

static double known(double joules)
{
    return isnan(joules) ? 0.0 : joules;
}

static resmon_status ask_energy(const resmon_promql_options *options, const struct places *places,
                                double to_unix_s, resmon_pod_energy *ret_energy)
{
    static const char *const patterns[] = {
        BEFORE(""),
        BEFORE("core_") " or " SINCE("core"),
        BEFORE("uncore_") " or " SINCE("uncore"),
        BEFORE("package_") " or " SINCE("package"),
        BEFORE("dram_") " or " SINCE("dram"),
        BEFORE("other_"),
        BEFORE("gpu_") " or " SINCE_GPU,
    };
    double values[RM_ARRAY_LEN(patterns)];
    resmon_status status = check_window(places->window_s);
    if (status == RESMON_OK) {
        status = ask_all(options, patterns, RM_ARRAY_LEN(patterns), places, to_unix_s, values);
    }
    if (status != RESMON_OK) {
        return status;
    }
    resmon_pod_energy energy = {
        .total_j = values[0],
        .core_j = values[1],
        .uncore_j = values[2],
        .package_j = values[3],
        .dram_j = values[4],
        .other_j = values[5],
        .gpu_j = values[6],
    };
    if (isnan(energy.total_j)) {
        energy.total_j = energy.package_j + known(energy.dram_j) + known(energy.gpu_j);
    }
    energy.mean_w = energy.total_j / places->window_s;
    return rm_struct_give(&energy, RM_STRUCT_SIZE(resmon_pod_energy), ret_energy);
}

resmon_status resmon_promql_pod_energy(const resmon_promql_options *options,
                                       const char *kube_namespace, const char *pod,
                                       double from_unix_s, double to_unix_s,
                                       resmon_pod_energy *ret_energy)
{
    RM_KEEP_ERRNO;
    const struct places places = {
        .kube_namespace = kube_namespace, .pod = pod, .window_s = to_unix_s - from_unix_s};
    if (kube_namespace == NULL || pod == NULL || ret_energy == NULL) {
        return null_argument(__func__);
    }
    return ask_energy(options, &places, to_unix_s, ret_energy);
}

resmon_status resmon_promql_pods_energy(const resmon_promql_options *options,
                                        const char *kube_namespace, const char *selector,
                                        double from_unix_s, double to_unix_s,
                                        resmon_pod_energy *ret_energy)
{
    RM_KEEP_ERRNO;
    const struct places places = {.kube_namespace = kube_namespace,
                                  .selector = selector,
                                  .window_s = to_unix_s - from_unix_s};
    if (kube_namespace == NULL || selector == NULL || ret_energy == NULL) {
        return null_argument(__func__);
    }
    if (selector[0] == '=' || strchr(selector, '=') == NULL) {
        return rm_error(RESMON_EINVAL, "'%.64s' does not select pods: write LABEL=VALUE", selector);
    }
    return ask_energy(options, &places, to_unix_s, ret_energy);
}
