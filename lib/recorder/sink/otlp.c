/* SPDX-License-Identifier: MIT */
/*
 * Owns the sink that sends the metrics of a run by OTLP over HTTP, and its settings.
 */
#include "sink/sinks.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"
#include "net/address.h"
#include "net/http.h"
#include "net/otlp_body.h"
#include "net/variables.h"
#include "os/outfile.h"

#define RETRIES         7
#define BACKOFF_S       1.0
#define JITTER_S        1.0
#define LARGEST_REQUEST ((size_t)64 << 20)
#define LONGEST_MS      86400000.0

#define URI_BYTES     2048
#define HEADERS_BYTES 4096
#define LIST_BYTES    8192
#define SERVICE_BYTES 256
#define MOST_HEADERS  8
#define PATH          "/v1/metrics"

struct otlp {
    struct rm_http *http;
    struct rm_http_reply reply;
    struct rm_buffer body;
    char uri[URI_BYTES + sizeof PATH];
    char service[SERVICE_BYTES];
    char attributes[LIST_BYTES];
    uint64_t interval_ms;
};

/* Values that are needed only until the client is open. */
struct settings {
    struct rm_secrets secrets;
    char address[URI_BYTES];
    char list[LIST_BYTES];       /* of headers, as the user gave it */
    char headers[HEADERS_BYTES]; /* as lines */
    char ca_path[RM_PATH_BYTES], client_cert[RM_PATH_BYTES], client_key[RM_PATH_BYTES];
    double timeout_ms, interval_ms;
};

/* ---- settings ------------------------------------------------------------------------------- */

#define VARIABLE(name) "OTEL_EXPORTER_OTLP_" name, "OTEL_EXPORTER_OTLP_METRICS_" name

/* Takes the option, else the variable of metrics, else the one of all signals. */
static void take(resmon_status *status, const char *option, const char *of_all,
                 const char *of_metrics, char *target, size_t room)
{
    rm_variable_text(status, option, of_metrics, target, room);
    if (option == NULL && target[0] == '\0') {
        rm_variable_text(status, NULL, of_all, target, room);
    }
}

static void take_file(resmon_status *status, const char *option, const char *of_all,
                      const char *of_metrics, char *path)
{
    rm_variable_file(status, option, of_metrics, path, RM_PATH_BYTES);
    if (option == NULL && path[0] == '\0') {
        rm_variable_file(status, NULL, of_all, path, RM_PATH_BYTES);
    }
}

static resmon_status check_protocol(void)
{
    char protocol[64] = "";
    resmon_status status = RESMON_OK;
    take(&status, NULL, VARIABLE("PROTOCOL"), protocol, sizeof protocol);
    if (status == RESMON_OK && strcmp(protocol, "grpc") == 0) {
        status = rm_error(RESMON_ENOTSUP,
                          "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but only http/protobuf is "
                          "supported: give the address of a receiver over HTTP (port 4318, not "
                          "4317) as the option endpoint");
    }
    return status;
}

static bool ends_with_path(const char *uri)
{
    size_t length = strlen(uri);
    return length >= sizeof PATH - 1 && strcmp(uri + length - (sizeof PATH - 1), PATH) == 0;
}

/* The address of metrics is used as it is. */
static resmon_status take_address(struct otlp *otlp, const char *option, struct settings *settings)
{
    bool is_whole = false;
    char *address = settings->address;
    resmon_status status = option == NULL ? check_protocol() : RESMON_OK;
    if (option == NULL) {
        rm_variable_text(&status, NULL, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", address, URI_BYTES);
        is_whole = address[0] != '\0';
    }
    if (!is_whole) {
        rm_variable_text(&status, option, "OTEL_EXPORTER_OTLP_ENDPOINT", address, URI_BYTES);
    }
    if (status == RESMON_OK) {
        status =
            rm_server_uri_take(address[0] != '\0' ? address : "http://localhost:4318",
                               "the endpoint of OTLP", otlp->uri, URI_BYTES, &settings->secrets);
    }
    if (status == RESMON_OK && !is_whole && !ends_with_path(otlp->uri)) {
        memcpy(otlp->uri + strlen(otlp->uri), PATH, sizeof PATH);
    }
    return status;
}

static bool is_header_name(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "!#$%&'*+-.^_`|~")] == '\0';
}

static bool is_header_value(const char *value)
{
    for (; *value != '\0'; value++) {
        if ((unsigned char)*value < 0x20 || *value == 0x7F) {
            return false;
        }
    }
    return true;
}

/* No error text contains a value. */
static resmon_status set_headers(struct settings *settings)
{
    char name[128], value[HEADERS_BYTES];
    size_t used = 0, count = 0;
    const char *at = settings->list;
    resmon_status status;
    do {
        status = rm_otlp_pair_next(&at, name, sizeof name, value, sizeof value);
        if (status == RESMON_OK && name[0] != '\0' &&
            (!is_header_name(name) || !is_header_value(value) || ++count > MOST_HEADERS ||
             used + strlen(name) + strlen(value) + 4 > sizeof settings->headers)) {
            status = RESMON_EINVAL;
        }
        if (status == RESMON_OK && name[0] != '\0') {
            used += (size_t)snprintf(settings->headers + used, sizeof settings->headers - used,
                                     "%s%s: %s", used > 0 ? "\n" : "", name, value);
        }
    } while (status == RESMON_OK && name[0] != '\0');
    rm_wipe(value, sizeof value);
    return status == RESMON_OK
               ? RESMON_OK
               : rm_error(RESMON_EINVAL,
                          "the headers for OTLP (OTEL_EXPORTER_OTLP_HEADERS) are not "
                          "\"Name=value,Name=value\", or are more than 8");
}

static resmon_status check_attributes(const struct otlp *otlp)
{
    char key[128], value[RM_LABEL_VALUE_BYTES];
    const char *at = otlp->attributes;
    resmon_status status;
    do {
        status = rm_otlp_pair_next(&at, key, sizeof key, value, sizeof value);
    } while (status == RESMON_OK && key[0] != '\0');
    return status == RESMON_OK ? RESMON_OK
                               : rm_error(RESMON_EINVAL, "OTEL_RESOURCE_ATTRIBUTES is not "
                                                         "\"key=value,key=value\"");
}

static resmon_status take_settings(struct otlp *otlp, const resmon_otlp_options *options,
                                   struct settings *settings)
{
    resmon_status status = take_address(otlp, options->endpoint, settings);
    take(&status, options->headers, VARIABLE("HEADERS"), settings->list, sizeof settings->list);
    take_file(&status, options->ca_path, VARIABLE("CERTIFICATE"), settings->ca_path);
    take_file(&status, options->client_cert, VARIABLE("CLIENT_CERTIFICATE"), settings->client_cert);
    if (options->client_cert == NULL) {
        take_file(&status, NULL, VARIABLE("CLIENT_KEY"), settings->client_key);
    }
    rm_variable_text(&status, options->service, "OTEL_SERVICE_NAME", otlp->service,
                     sizeof otlp->service);
    rm_variable_text(&status, NULL, "OTEL_RESOURCE_ATTRIBUTES", otlp->attributes,
                     sizeof otlp->attributes);
    settings->timeout_ms = 10000.0;
    settings->interval_ms = 60000.0;
    rm_variable_number(&status, "OTEL_EXPORTER_OTLP_TIMEOUT", 1.0, LONGEST_MS,
                       &settings->timeout_ms);
    rm_variable_number(&status, "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", 1.0, LONGEST_MS,
                       &settings->timeout_ms);
    rm_variable_number(&status, "OTEL_METRIC_EXPORT_INTERVAL", 1.0, LONGEST_MS,
                       &settings->interval_ms);
    if (status == RESMON_OK) {
        status = set_headers(settings);
    }
    return status == RESMON_OK ? check_attributes(otlp) : status;
}

static resmon_status open_client(struct otlp *otlp, const resmon_otlp_options *options,
                                 const struct settings *settings)
{
    uint64_t timeout_ms =
        options->timeout_ms != 0 ? options->timeout_ms : (uint64_t)settings->timeout_ms;
    bool has_basic = settings->secrets.user[0] != '\0';
    const struct rm_http_config how = {
        .url = otlp->uri,
        .user = has_basic ? settings->secrets.user : NULL,
        .password = has_basic ? settings->secrets.password : NULL,
        .ca_path = rm_variable_or_null(settings->ca_path),
        .client_cert = rm_variable_or_null(settings->client_cert),
        .client_key = rm_variable_or_null(settings->client_key),
        .headers = rm_variable_or_null(settings->headers),
        .has_secret_headers = true,
        .is_insecure = (options->flags & RESMON_OTLP_INSECURE_TLS) != 0,
        .refuses_redirects = true, /* headers are for this server only */
        .timeout_ns = (int64_t)timeout_ms * RM_NS_PER_MS,
        .retries = RETRIES,
        .backoff_s = BACKOFF_S,
        .jitter_s = JITTER_S,
        .is_otlp = true,
    };
    return rm_http_open(&how, &otlp->http);
}

static resmon_status set_up(struct otlp *otlp, const resmon_otlp_options *options)
{
    struct settings *settings = rm_alloc(1, sizeof *settings);
    if (settings == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for OTLP");
    }
    rm_buffer_init(&otlp->body, LARGEST_REQUEST);
    resmon_status status = take_settings(otlp, options, settings);
    if (status == RESMON_OK) {
        otlp->interval_ms =
            options->interval_ms != 0 ? options->interval_ms : (uint64_t)settings->interval_ms;
        status = open_client(otlp, options, settings);
    }
    rm_wipe(settings, sizeof *settings);
    rm_free(settings);
    return status;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* A receiver that takes a part of the points replies with success; a repetition would not help. */
static resmon_status judge(const struct otlp *otlp)
{
    char words[160];
    uint64_t rejected;
    int code = otlp->reply.code;
    bool is_success = code >= 200 && code < 300;
    rm_otlp_read_reply(is_success, otlp->reply.body.text, otlp->reply.body.length, &rejected, words,
                       sizeof words);
    rm_http_strike(otlp->http, words);
    const char *colon = words[0] != '\0' ? ": " : "";
    if (is_success && rejected > 0) {
        return rm_error(RESMON_EREMOTE, "the OTLP receiver at %.120s rejected %llu points%s%s",
                        otlp->uri, (unsigned long long)rejected, colon, words);
    }
    return is_success ? RESMON_OK
                      : rm_error(code == 401 || code == 403 ? RESMON_EACCES : RESMON_EREMOTE,
                                 "the OTLP receiver at %.120s%s: HTTP %d%s%s", otlp->uri,
                                 rm_http_route(otlp->http), code, colon, words);
}

/* Values are cumulative, so a request may be repeated or lost. */
static resmon_status send_run(void *context, const resmon_run *run)
{
    struct otlp *otlp = context;
    const struct rm_otlp_resource resource = {otlp->service, otlp->attributes};
    rm_buffer_clear(&otlp->body);
    resmon_status status = rm_otlp_write(run, &resource, &otlp->body);
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_http_request request = {
        .method = "POST",
        .url = otlp->uri,
        .type = "application/x-protobuf",
        .body = otlp->body.text,
        .length = otlp->body.length,
    };
    status = rm_http_send(otlp->http, &request, RM_DEADLINE_NONE, &otlp->reply);
    rm_http_rest(otlp->http);
    return status == RESMON_OK ? judge(otlp) : status;
}

static void close_sink(void *context)
{
    struct otlp *otlp = context;
    rm_http_close(otlp->http);
    rm_http_reply_free(&otlp->reply);
    rm_buffer_free(&otlp->body);
    rm_free(otlp);
}

resmon_status rm_otlp_sink_new(const resmon_otlp_options *options, struct rm_sink *ret_sink)
{
    struct otlp *otlp = rm_alloc(1, sizeof *otlp);
    if (otlp == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for OTLP");
    }
    resmon_status status = set_up(otlp, options);
    if (status != RESMON_OK) {
        close_sink(otlp);
        return status;
    }
    *ret_sink = (struct rm_sink){
        .ops = {.name = "otlp",
                .stop = send_run,
                .close = close_sink,
                .snapshot = send_run,
                .snapshot_interval_ms = otlp->interval_ms,
                .flags = RESMON_SINK_REMOTE},
        .context = otlp,
    };
    return RESMON_OK;
}
