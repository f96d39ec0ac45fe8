/* SPDX-License-Identifier: MIT */
/*
 * Owns the sink that puts the metrics of a run to a Prometheus Pushgateway.
 */
#include "sink/sinks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"
#include "format/exported.h"
#include "format/prometheus.h"
#include "net/address.h"
#include "net/http.h"

#define RETRIES      7
#define BACKOFF_S    1.0
#define JITTER_S     1.0
#define URI_BYTES    2048
#define LARGEST_TEXT ((size_t)64 << 20)
#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct pushgateway {
    struct rm_http *http;
    struct rm_http_reply reply;
    struct rm_labels labels; /* of the group */
    struct rm_buffer text;
    struct rm_buffer url; /* empty until the run is known */
    char uri[URI_BYTES];
    char job[RM_LABEL_VALUE_BYTES];
};

/* ---- the group -------------------------------------------------------------------------- */

/* A gateway keeps groups until they are deleted.  So in a job, a group is identified by the
 * place of its process in the job, not by the process id. */
static const char *const own_labels[] = {"node", "job_id", "rank"};

static resmon_status add_own_labels(struct pushgateway *push, const resmon_run *run,
                                    struct rm_labels *group)
{
    group->items = rm_alloc(push->labels.count + RM_ARRAY_LEN(own_labels), sizeof *group->items);
    if (group->items == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a Pushgateway");
    }
    for (size_t i = 0; i < push->labels.count; i++) {
        group->items[group->count++] = push->labels.items[i];
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(own_labels); i++) {
        const char *value = rm_exported_fact(run, own_labels[i]);
        if (value != NULL && rm_labels_find(&push->labels, own_labels[i]) == NULL) {
            struct rm_label *label = &group->items[group->count++];
            (void)rm_text_set(label->name, sizeof label->name, own_labels[i]);
            rm_label_value_set(label->value, value);
        }
    }
    return RESMON_OK;
}

static resmon_status make_url(struct pushgateway *push, const resmon_run *run)
{
    struct rm_labels group = {0};
    if (push->url.length > 0) {
        return RESMON_OK;
    }
    resmon_status status = add_own_labels(push, run, &group);
    if (status == RESMON_OK) {
        status = rm_push_url(push->uri, push->job, &group, &push->url);
    }
    rm_labels_free(&group);
    return status;
}

/* ---- operations ------------------------------------------------------------------------- */

/* Makes a failure with the gateway's message, on one line. */
static resmon_status refuse(const struct pushgateway *push)
{
    char words[160];
    size_t length = strcspn(push->reply.body.text, "\r\n");
    (void)rm_text_copy(words, sizeof words, push->reply.body.text, length);
    int code = push->reply.code;
    return rm_error(code == 401 || code == 403 ? RESMON_EACCES : RESMON_EREMOTE,
                    "the Pushgateway at %.120s%s: HTTP %d%s%s", push->uri,
                    rm_http_route(push->http), code, words[0] != '\0' ? ": " : "", words);
}

/* PUT replaces the whole group, so it may be repeated. */
static resmon_status push_run(void *context, const resmon_run *run)
{
    struct pushgateway *push = context;
    const struct rm_prometheus how = {0};
    resmon_status status = make_url(push, run);
    if (status != RESMON_OK) {
        return status;
    }
    rm_buffer_clear(&push->text);
    status = rm_prometheus_print(run, &how, &push->text);
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_http_request request = {
        .method = "PUT",
        .url = push->url.text,
        .type = CONTENT_TYPE,
        .body = push->text.text,
        .length = push->text.length,
    };
    status = rm_http_send(push->http, &request, RM_DEADLINE_NONE, &push->reply);
    rm_http_rest(push->http);
    if (status != RESMON_OK) {
        return status;
    }
    return push->reply.code >= 200 && push->reply.code < 300 ? RESMON_OK : refuse(push);
}

static void close_sink(void *context)
{
    struct pushgateway *push = context;
    rm_http_close(push->http);
    rm_http_reply_free(&push->reply);
    rm_labels_free(&push->labels);
    rm_buffer_free(&push->text);
    rm_buffer_free(&push->url);
    rm_free(push);
}

/* ---- creation --------------------------------------------------------------------------- */

static resmon_status open_client(struct pushgateway *push,
                                 const resmon_pushgateway_options *options,
                                 const struct rm_secrets *secrets)
{
    const struct rm_http_config how = {
        .url = push->uri,
        .user = secrets->user[0] != '\0' ? secrets->user : NULL,
        .password = secrets->user[0] != '\0' ? secrets->password : NULL,
        .ca_path = options->ca_path,
        .is_insecure = (options->flags & RESMON_PUSHGATEWAY_INSECURE_TLS) != 0,
        .timeout_ns = (int64_t)options->timeout_ms * RM_NS_PER_MS,
        .retries = RETRIES,
        .backoff_s = BACKOFF_S,
        .jitter_s = JITTER_S,
    };
    return rm_http_open(&how, &push->http);
}

static resmon_status set_up(struct pushgateway *push, const resmon_pushgateway_options *options)
{
    struct rm_secrets *secrets = rm_alloc(1, sizeof *secrets);
    if (secrets == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a Pushgateway");
    }
    rm_buffer_init(&push->text, LARGEST_TEXT);
    rm_buffer_init(&push->url, RM_PUSH_URL_BYTES);
    rm_label_value_set(push->job, options->job != NULL ? options->job : "resmon");
    resmon_status status = rm_server_uri_take(options->url, "the URL of the Pushgateway", push->uri,
                                              sizeof push->uri, secrets);
    if (status == RESMON_OK && push->job[0] == '\0') {
        status = rm_error(RESMON_EINVAL, "options of a Pushgateway: job is empty");
    }
    if (status == RESMON_OK) {
        status = rm_labels_take(options->labels, options->label_count, &push->labels);
    }
    if (status == RESMON_OK && rm_labels_find(&push->labels, "job") != NULL) {
        status = rm_error(RESMON_EINVAL, "options of a Pushgateway: the label \"job\" is the "
                                         "option job");
    }
    if (status == RESMON_OK) {
        status = open_client(push, options, secrets);
    }
    rm_wipe(secrets, sizeof *secrets);
    rm_free(secrets);
    return status;
}

resmon_status rm_pushgateway_sink_new(const resmon_pushgateway_options *options,
                                      struct rm_sink *ret_sink)
{
    struct pushgateway *push = rm_alloc(1, sizeof *push);
    if (push == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a Pushgateway");
    }
    resmon_status status = set_up(push, options);
    if (status != RESMON_OK) {
        close_sink(push);
        return status;
    }
    *ret_sink = (struct rm_sink){
        .ops = {.name = "pushgateway",
                .stop = push_run,
                .close = close_sink,
                .snapshot = push_run,
                .snapshot_interval_ms = options->interval_ms,
                .flags = RESMON_SINK_REMOTE},
        .context = push,
    };
    return RESMON_OK;
}
