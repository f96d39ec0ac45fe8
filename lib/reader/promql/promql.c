/* SPDX-License-Identifier: MIT */
#include "promql/promql.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/number.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/text.h"
#include "format/json.h"
#include "net/address.h"
#include "net/http.h"

#define TIMEOUT_MS    30000
#define LARGEST_QUERY 65536
#define URI_BYTES     2048
#define FORM_TYPE     "application/x-www-form-urlencoded"

struct rm_promql {
    struct rm_http *http;
    struct rm_http_reply reply;
    int64_t deadline_ns;
    char uri[URI_BYTES];
};

/* ---- life ------------------------------------------------------------------------------- */

static resmon_status open_client(struct rm_promql *promql, const resmon_promql_options *options)
{
    struct rm_secrets *secrets = rm_alloc(1, sizeof *secrets);
    if (secrets == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a query");
    }
    resmon_status status = rm_server_uri_take(options->url, "the URL of Prometheus", promql->uri,
                                              sizeof promql->uri, secrets);
    if (status == RESMON_OK) {
        const struct rm_http_config how = {
            .url = promql->uri,
            .user = secrets->user[0] != '\0' ? secrets->user : NULL,
            .password = secrets->user[0] != '\0' ? secrets->password : NULL,
            .bearer = options->token,
            .ca_path = options->ca_path,
            .is_insecure = (options->flags & RESMON_PROMQL_INSECURE_TLS) != 0,
            .timeout_ns = promql->deadline_ns - rm_clock_monotonic_ns(),
            .retries = 3,
            .backoff_s = 1.0,
        };
        status = rm_http_open(&how, &promql->http);
    }
    rm_wipe(secrets, sizeof *secrets);
    rm_free(secrets);
    return status;
}

resmon_status rm_promql_open(const resmon_promql_options *options, struct rm_promql **ret_promql)
{
    resmon_promql_options known;
    resmon_status status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_promql_options), &known);
    if (status == RESMON_OK) {
        status = rm_json_check(); /* what the answers are in */
    }
    if (status != RESMON_OK) {
        return status;
    }
    if (known.url == NULL || (known.flags & ~RESMON_PROMQL_INSECURE_TLS) != 0) {
        return rm_error(RESMON_EINVAL, "options of a query: %s",
                        known.url == NULL ? "url is missing" : "unknown flags");
    }
    struct rm_promql *promql = rm_alloc(1, sizeof *promql);
    if (promql == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a query");
    }
    uint64_t timeout_ms = known.timeout_ms != 0 ? known.timeout_ms : TIMEOUT_MS;
    timeout_ms = timeout_ms < 86400000 ? timeout_ms : 86400000;
    promql->deadline_ns = rm_clock_monotonic_ns() + (int64_t)timeout_ms * RM_NS_PER_MS;
    status = open_client(promql, &known);
    if (status != RESMON_OK) {
        rm_promql_close(promql);
        return status;
    }
    *ret_promql = promql;
    return RESMON_OK;
}

void rm_promql_close(struct rm_promql *promql)
{
    rm_http_close(promql->http);
    rm_http_reply_free(&promql->reply);
    rm_free(promql);
}

/* ---- questions -------------------------------------------------------------------------- */

/* As a form, so that no query is too long for a URL. */
static resmon_status ask(struct rm_promql *promql, const char *query, double unix_s)
{
    struct rm_buffer form;
    char url[URI_BYTES + 32];
    char time[RM_NUMBER_BYTES];
    (void)snprintf(url, sizeof url, "%s/api/v1/query", promql->uri);
    rm_buffer_init(&form, LARGEST_QUERY);
    rm_buffer_puts(&form, "query=");
    rm_buffer_percent(&form, query);
    if (unix_s > 0.0) {
        rm_buffer_puts(&form, "&time=");
        rm_buffer_add(&form, time, rm_number_double(time, unix_s));
    }
    resmon_status status = form.status;
    if (status == RESMON_OK) {
        const struct rm_http_request request = {
            .method = "POST",
            .url = url,
            .type = FORM_TYPE,
            .body = form.text,
            .length = form.length,
        };
        status = rm_http_send(promql->http, &request, promql->deadline_ns, &promql->reply);
    }
    rm_buffer_free(&form);
    return status;
}

/* ---- answers ---------------------------------------------------------------------------- */

/* Values are texts: "1.5e+09", but also "NaN" and "+Inf", which are no figures. */
static double value_of(const struct rm_json *result)
{
    const struct rm_json *pair = rm_json_first(rm_json_get(result, "value"));
    const char *text = pair != NULL ? rm_json_text(rm_json_next(pair)) : NULL;
    struct rm_json *number = NULL;
    double value = RM_NAN;
    if (text != NULL && rm_json_parse(text, strlen(text), &number) == RESMON_OK) {
        value = rm_json_number(number);
        rm_json_free(number);
    }
    return value;
}

static resmon_status largest(const struct rm_json *results, double *ret_value)
{
    double value = RM_NAN;
    for (const struct rm_json *result = rm_json_first(results); result != NULL;
         result = rm_json_next(result)) {
        value = fmax(value, value_of(result));
    }
    if (isnan(value)) {
        return rm_error(RESMON_ENOENT, "Prometheus has no such series, or no value of it");
    }
    *ret_value = value;
    return RESMON_OK;
}

static resmon_status read_answer(const struct rm_promql *promql, const struct rm_json *json,
                                 double *ret_value)
{
    const char *state = rm_json_text(rm_json_get(json, "status"));
    const char *error = rm_json_text(rm_json_get(json, "error"));
    const struct rm_json *data = rm_json_get(json, "data");
    const char *type = rm_json_text(rm_json_get(data, "resultType"));
    if (error != NULL) {
        char words[200];
        (void)rm_text_set(words, sizeof words, error);
        return rm_error(RESMON_EREMOTE, "Prometheus at %.120s: %s", promql->uri, words);
    }
    if (state == NULL || strcmp(state, "success") != 0 || type == NULL ||
        strcmp(type, "vector") != 0) {
        return rm_error(RESMON_EFORMAT,
                        "Prometheus at %.120s: the answer is not a vector of values", promql->uri);
    }
    return largest(rm_json_get(data, "result"), ret_value);
}

resmon_status rm_promql_value(struct rm_promql *promql, const char *query, double unix_s,
                              double *ret_value)
{
    struct rm_json *json = NULL;
    resmon_status status = ask(promql, query, unix_s);
    int code = promql->reply.code;
    if (status != RESMON_OK) {
        return status;
    }
    if (code == 401 || code == 403) {
        return rm_error(RESMON_EACCES, "Prometheus at %.120s%s: HTTP %d", promql->uri,
                        rm_http_route(promql->http), code);
    }
    if (rm_json_parse(promql->reply.body.text, promql->reply.body.length, &json) != RESMON_OK) {
        return code == 200 ? rm_error(RESMON_EFORMAT,
                                      "Prometheus at %.120s: the answer is not JSON", promql->uri)
                           : rm_error(RESMON_EREMOTE, "Prometheus at %.120s%s: HTTP %d",
                                      promql->uri, rm_http_route(promql->http), code);
    }
    status = read_answer(promql, json, ret_value);
    rm_json_free(json);
    return status;
}
