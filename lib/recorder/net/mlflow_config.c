/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "net/mlflow_config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/ini.h"
#include "base/libc.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "format/json.h"
#include "job/path_pattern.h"
#include "net/address.h"
#include "net/variables.h"
#include "os/file.h"

/* ---- texts ------------------------------------------------------------------------------ */

static bool is_given(const char *option)
{
    return option != NULL && option[0] != '\0';
}

/* An experiment has a name or a number.  If the options have one of the two, the variable of the
 * other one is ignored: the mlflow package sets MLFLOW_EXPERIMENT_ID itself. */
static resmon_status take_texts(const resmon_mlflow_options *options,
                                struct rm_mlflow_config *config)
{
    bool has_name = is_given(options->experiment), has_id = is_given(options->experiment_id);
    resmon_status status = RESMON_OK;
    rm_variable_text(&status, options->experiment, has_id ? NULL : "MLFLOW_EXPERIMENT_NAME",
                     config->experiment, sizeof config->experiment);
    rm_variable_text(&status, options->experiment_id, has_name ? NULL : "MLFLOW_EXPERIMENT_ID",
                     config->experiment_id, sizeof config->experiment_id);
    rm_variable_text(&status, options->run_id, "MLFLOW_RUN_ID", config->run_id,
                     sizeof config->run_id);
    rm_variable_text(&status, options->run_name, NULL, config->run_name, sizeof config->run_name);
    rm_variable_text(&status, options->workspace, "MLFLOW_WORKSPACE", config->workspace,
                     sizeof config->workspace);
    rm_variable_text(&status, NULL, "MLFLOW_SYSTEM_METRICS_NODE_ID", config->node_id,
                     sizeof config->node_id);
    rm_variable_text(&status, NULL, "MLFLOW_RUN_CONTEXT", config->context, sizeof config->context);
    /* The server replies to invalid UTF-8 with an internal error, which would be retried. */
    char *const names[] = {config->experiment, config->run_name};
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        char clean[RM_MLFLOW_NAME_BYTES];
        (void)rm_text_set(clean, sizeof clean, names[i]);
        memcpy(names[i], clean, strlen(clean) + 1);
    }
    return status;
}

/* The pattern of the server: ^[a-zA-Z0-9][\w\-]{0,255}$ */
bool rm_mlflow_is_id(const char *text)
{
    size_t length = strlen(text);
    return length <= 256 && text[0] != '_' && text[0] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
               length;
}

static bool is_object(const char *text)
{
    struct rm_json *json = NULL;
    bool is_one = rm_json_parse(text, strlen(text), &json) == RESMON_OK && rm_json_is_object(json);
    rm_json_free(json);
    return is_one;
}

static resmon_status check_texts(const struct rm_mlflow_config *config)
{
    if (config->context[0] != '\0' && !is_object(config->context)) {
        return rm_error(RESMON_EINVAL, "MLFLOW_RUN_CONTEXT is not a JSON object of texts");
    }
    if (!rm_mlflow_is_id(config->run_id)) {
        return rm_error(RESMON_EINVAL, "MLFLOW_RUN_ID is not a run id: letters, digits, '-', '_'");
    }
    if (!rm_mlflow_is_id(config->experiment_id)) {
        return rm_error(RESMON_EINVAL,
                        "MLFLOW_EXPERIMENT_ID is not an id: letters, digits, '-', '_'");
    }
    for (const char *p = config->workspace; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20) {
            return rm_error(RESMON_EINVAL, "MLFLOW_WORKSPACE has a control character");
        }
    }
    return RESMON_OK;
}

/* ---- credentials ------------------------------------------------------------------------ */

#define LARGEST_CREDENTIALS 4096

/* Reads ~/.mlflow/credentials, like MLflow's client. */
static void read_credentials_file(struct rm_secrets *secrets)
{
    char path[1024];
    char text[LARGEST_CREDENTIALS];
    struct rm_infile file;
    const char *home = secure_getenv("HOME");
    if (home == NULL ||
        snprintf(path, sizeof path, "%s/.mlflow/credentials", home) >= (int)sizeof path) {
        return;
    }
    if (rm_infile_open(&file, path, sizeof text) != RESMON_OK) {
        return;
    }
    if (rm_infile_read(&file, 0, text, file.bytes) == RESMON_OK) {
        const struct rm_text ini = rm_text_of(text, file.bytes);
        (void)rm_ini_get(ini, "mlflow", "mlflow_tracking_username", secrets->user,
                         sizeof secrets->user);
        (void)rm_ini_get(ini, "mlflow", "mlflow_tracking_password", secrets->password,
                         sizeof secrets->password);
    }
    rm_infile_close(&file);
    rm_wipe(text, sizeof text);
}

/* Later sources take precedence: the file, the URI, the variables, the options.  A user without
 * a password is not used. */
static resmon_status take_secrets(const resmon_mlflow_options *options, struct rm_secrets *secrets)
{
    resmon_status status = RESMON_OK;
    rm_variable_text(&status, options->user, "MLFLOW_TRACKING_USERNAME", secrets->user,
                     sizeof secrets->user);
    rm_variable_text(&status, options->password, "MLFLOW_TRACKING_PASSWORD", secrets->password,
                     sizeof secrets->password);
    rm_variable_text(&status, options->token, "MLFLOW_TRACKING_TOKEN", secrets->token,
                     sizeof secrets->token);
    if (status == RESMON_OK && strpbrk(secrets->token, "\r\n") != NULL) {
        status = rm_error(RESMON_EINVAL, "MLFLOW_TRACKING_TOKEN has a line break");
    }
    return status;
}

/* ---- numbers and switches --------------------------------------------------------------- */

/* The defaults of MLflow's client. */
struct variables {
    double retries, backoff_s, jitter_s, timeout_s, interval_s, samples;
    bool respects_retry_after, follows_redirects, is_insecure, has_series;
};

static resmon_status read_variables(struct variables *v)
{
    *v = (struct variables){.retries = 7,
                            .backoff_s = 2,
                            .jitter_s = 1,
                            .timeout_s = 120,
                            .interval_s = 10,
                            .samples = 1,
                            .respects_retry_after = true,
                            .follows_redirects = true};
    resmon_status status = RESMON_OK;
    rm_variable_number(&status, "MLFLOW_HTTP_REQUEST_MAX_RETRIES", 0, 10, &v->retries);
    rm_variable_number(&status, "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", 0, 120, &v->backoff_s);
    rm_variable_number(&status, "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", 0, 120, &v->jitter_s);
    rm_variable_number(&status, "MLFLOW_HTTP_REQUEST_TIMEOUT", 0.001, 86400, &v->timeout_s);
    rm_variable_number(&status, "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", 0.001, 86400,
                       &v->interval_s);
    rm_variable_number(&status, "MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING", 1, 1e6,
                       &v->samples);
    rm_variable_switch(&status, "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", &v->respects_retry_after);
    rm_variable_switch(&status, "MLFLOW_ALLOW_HTTP_REDIRECTS", &v->follows_redirects);
    rm_variable_switch(&status, "MLFLOW_TRACKING_INSECURE_TLS", &v->is_insecure);
    rm_variable_switch(&status, "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", &v->has_series);
    return status;
}

static void set_numbers(const resmon_mlflow_options *options, const struct variables *v,
                        struct rm_mlflow_config *config)
{
    config->flags = options->flags | (v->has_series ? RESMON_MLFLOW_SERIES : 0);
    const char *azure = strstr(config->uri, "azureml"); /* a part of the host name */
    bool is_azure = azure != NULL && azure < strchrnul(strstr(config->uri, "//") + 2, '/');
    size_t most = is_azure ? 200 : 1000;
    config->batch_metrics = options->batch_metrics != 0 ? options->batch_metrics : most;
    config->batch_metrics = config->batch_metrics < most ? config->batch_metrics : most;
    config->node_index = options->node_index - 1;
    config->interval_ms = options->interval_ms != 0 ? options->interval_ms
                                                    : (uint64_t)(v->interval_s * v->samples * 1e3);
    config->interval_ms = config->interval_ms > 0 ? config->interval_ms : 1;
    config->budget_ns = (int64_t)options->budget_ms * RM_NS_PER_MS;
}

/* ---- the configuration ------------------------------------------------------------------- */

static void name_user(struct rm_mlflow_config *config, const struct rm_secrets *secrets)
{
    /* If there is no password, the user in a URI may be a token. */
    bool is_name = secrets->user[0] != '\0' && secrets->password[0] != '\0';
    const char *user = is_name ? secrets->user : secure_getenv("LOGNAME");
    user = user != NULL ? user : secure_getenv("USER");
    (void)rm_text_set(config->user, sizeof config->user, user != NULL ? user : "");
}

static resmon_status open_client(const resmon_mlflow_options *options, const struct variables *v,
                                 const struct rm_mlflow_config *config,
                                 const struct rm_secrets *secrets, struct rm_http **ret_http)
{
    char ca_path[RM_PATH_BYTES] = "";
    char header[RM_MLFLOW_NAME_BYTES + 32] = "";
    char client_cert[1024] = "";
    resmon_status status = RESMON_OK;
    rm_variable_file(&status, options->ca_path, "MLFLOW_TRACKING_SERVER_CERT_PATH", ca_path,
                     sizeof ca_path);
    rm_variable_file(&status, options->client_cert, "MLFLOW_TRACKING_CLIENT_CERT_PATH", client_cert,
                     sizeof client_cert);
    if (status != RESMON_OK) {
        return status;
    }
    bool is_insecure = v->is_insecure || (options->flags & RESMON_MLFLOW_INSECURE_TLS) != 0;
    if (is_insecure && ca_path[0] != '\0') {
        return rm_error(RESMON_EINVAL, "MLFLOW_TRACKING_INSECURE_TLS and "
                                       "MLFLOW_TRACKING_SERVER_CERT_PATH contradict each other");
    }
    if (config->workspace[0] != '\0') {
        (void)snprintf(header, sizeof header, "X-MLFLOW-WORKSPACE: %s", config->workspace);
    }
    bool has_basic = secrets->user[0] != '\0' && secrets->password[0] != '\0';
    const struct rm_http_config how = {
        .url = config->uri,
        .user = has_basic ? secrets->user : NULL,
        .password = has_basic ? secrets->password : NULL,
        .bearer = rm_variable_or_null(secrets->token),
        .ca_path = rm_variable_or_null(ca_path),
        .client_cert = rm_variable_or_null(client_cert),
        .headers = rm_variable_or_null(header),
        .is_insecure = is_insecure,
        .refuses_redirects = !v->follows_redirects,
        .timeout_ns = options->timeout_ms != 0 ? (int64_t)options->timeout_ms * RM_NS_PER_MS
                                               : (int64_t)(v->timeout_s * 1e9),
        .retries = (unsigned)v->retries,
        .backoff_s = v->backoff_s,
        .jitter_s = v->jitter_s,
        .ignores_retry_after = !v->respects_retry_after,
    };
    return rm_http_open(&how, ret_http);
}

static resmon_status settle_spool(const resmon_mlflow_options *options,
                                  struct rm_mlflow_config *config)
{
    char expanded[RM_PATH_BYTES];
    const char *pattern = options->spool != NULL ? options->spool : "resmon-mlflow-%h-%p.json";
    resmon_status status = rm_path_expand(pattern, expanded);
    if (status != RESMON_OK || (config->flags & RESMON_MLFLOW_NO_SPOOL) != 0) {
        return status;
    }
    status = rm_outfile_settle(expanded, config->spool);
    /* The default directory need not be writable unless a run must be kept. */
    bool may_wait = status == RESMON_ENOENT || status == RESMON_EACCES;
    return options->spool == NULL && may_wait ? RESMON_OK : status;
}

/* If nothing is sent, no server is needed, and the URI may have a scheme that is not supported. */
static resmon_status take_uri(const resmon_mlflow_options *options, struct rm_mlflow_config *config,
                              struct rm_secrets *secrets)
{
    const char *uri = options->tracking_uri;
    uri = uri != NULL && uri[0] != '\0' ? uri : secure_getenv("MLFLOW_TRACKING_URI");
    uri = uri != NULL ? uri : "";
    if ((options->flags & RESMON_MLFLOW_SPOOL_ONLY) != 0 && strncmp(uri, "http", 4) != 0) {
        return RESMON_OK;
    }
    if (uri[0] == '\0') {
        return rm_error(RESMON_EINVAL, "no MLflow server: set MLFLOW_TRACKING_URI to its http or "
                                       "https address");
    }
    return rm_server_uri_take(uri, "the MLflow tracking URI", config->uri, sizeof config->uri,
                              secrets);
}

static resmon_status read_all(const resmon_mlflow_options *options, struct rm_mlflow_config *config,
                              struct rm_secrets *secrets, struct rm_http **ret_http)
{
    struct variables variables;
    bool sends_nothing = (options->flags & RESMON_MLFLOW_SPOOL_ONLY) != 0;
    read_credentials_file(secrets);
    resmon_status status = take_uri(options, config, secrets);
    status = status == RESMON_OK ? take_secrets(options, secrets) : status;
    status = status == RESMON_OK ? take_texts(options, config) : status;
    status = status == RESMON_OK ? check_texts(config) : status;
    status = status == RESMON_OK ? read_variables(&variables) : status;
    if (status == RESMON_OK) {
        set_numbers(options, &variables, config);
        status = settle_spool(options, config);
    }
    if (status == RESMON_OK) {
        name_user(config, secrets);
    }
    if (status == RESMON_OK && !sends_nothing) {
        status = open_client(options, &variables, config, secrets, ret_http);
    }
    return status;
}

resmon_status rm_mlflow_config_open(const resmon_mlflow_options *options,
                                    struct rm_mlflow_config *ret_config, struct rm_http **ret_http)
{
    struct rm_secrets *secrets = rm_alloc(1, sizeof *secrets);
    if (secrets == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the options of MLflow");
    }
    *ret_config = (struct rm_mlflow_config){.node_index = -1};
    resmon_status status = read_all(options, ret_config, secrets, ret_http);
    rm_wipe(secrets, sizeof *secrets);
    rm_free(secrets);
    return status;
}
