/* SPDX-License-Identifier: MIT */
#include "net/mlflow_client.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "format/json.h"
#include "os/outfile.h"

#define API          "/api/2.0/mlflow/"
#define ARTIFACT_API "/api/2.0/mlflow-artifacts/artifacts"
#define LARGEST_BODY ((size_t)1 << 30)
#define POLL_STEP_NS (RM_NS_PER_S / 2)
#define JSON_TYPE    "application/json"
#define SERVER_WORDS 200
#define LONGEST_NAME 2000

static const char *const call_names[RM_MLFLOW_CALLS] = {"log-batch", "artifact", "update", "params",
                                                        "set-tag"};

const char *rm_mlflow_call_name(enum rm_mlflow_call call)
{
    return call_names[call];
}

void rm_mlflow_client_init(struct rm_mlflow_client *client, const struct rm_mlflow_config *config,
                           struct rm_http *http)
{
    *client = (struct rm_mlflow_client){.config = config, .http = http};
    rm_buffer_init(&client->name, LONGEST_NAME);
    rm_buffer_init(&client->body, LARGEST_BODY);
    (void)rm_text_set(client->experiment_id, sizeof client->experiment_id, config->experiment_id);
}

void rm_mlflow_client_free(struct rm_mlflow_client *client)
{
    rm_http_reply_free(&client->reply);
    rm_buffer_free(&client->name);
    rm_buffer_free(&client->body);
    rm_json_free(client->answer);
    rm_json_free(client->found);
    rm_http_close(client->http);
    client->http = NULL;
}

/* ---- answers ---------------------------------------------------------------------------- */

/* Reduces the reply to plain text: without tags, on one line, bounded. */
static void plain_words(const struct rm_http_reply *reply, char words[SERVER_WORDS])
{
    char text[SERVER_WORDS];
    size_t out = 0;
    bool is_in_tag = false;
    for (size_t i = 0; i < reply->body.length && out < sizeof text; i++) {
        char byte = reply->body.text[i];
        bool is_space = strchr(" \n\r\t", byte) != NULL;
        bool is_double = is_space && (out == 0 || text[out - 1] == ' ');
        is_in_tag = is_in_tag || byte == '<';
        if (!is_in_tag && !is_double) {
            text[out++] = is_space ? ' ' : byte;
        }
        is_in_tag = is_in_tag && byte != '>';
    }
    (void)rm_text_copy(words, SERVER_WORDS, text, out);
}

/* The message of the server: from its JSON, or else the text of its page. */
static void words_of(const struct rm_mlflow_client *client, char code[64], char words[SERVER_WORDS])
{
    const struct rm_http_reply *reply = &client->reply;
    code[0] = '\0';
    if (client->answer == NULL || reply->body.text[0] != '{') {
        plain_words(reply, words);
        return;
    }
    (void)rm_text_set(code, 64, rm_json_text(rm_json_get(client->answer, "error_code")));
    (void)rm_text_set(words, SERVER_WORDS, rm_json_text(rm_json_get(client->answer, "message")));
    rm_http_strike(client->http, words);
}

/* A hint what the user can do about the failure. */
static const char *remedy_for(int code, const char *error_code, const char *words)
{
    if (code == 403 && strstr(words, "Invalid Host header") != NULL) {
        return "; the server knows itself by other names: start it with --allowed-hosts \"HOST,"
               "HOST:PORT\" (or MLFLOW_SERVER_ALLOWED_HOSTS), as in the tracking URI";
    }
    if (code == 401 || code == 403) {
        return "; check MLFLOW_TRACKING_USERNAME and _PASSWORD, or MLFLOW_TRACKING_TOKEN";
    }
    if (code >= 300 && code < 400) {
        return "; redirects are not followed (see MLFLOW_ALLOW_HTTP_REDIRECTS)";
    }
    if (code == 404) {
        return error_code[0] == '\0'
                   ? "; is the tracking URI right, with its prefix if there is one?"
                   : "; does it exist on this server, in this workspace?";
    }
    return "";
}

static resmon_status status_of_code(int code)
{
    return code == 401 || code == 403 ? RESMON_EACCES : RESMON_EREMOTE;
}

/* Converts a reply with another status than 200 to a failure. */
static resmon_status refuse(struct rm_mlflow_client *client, const char *call)
{
    char code[64];
    char words[SERVER_WORDS];
    const struct rm_http_reply *reply = &client->reply;
    words_of(client, code, words);
    client->is_refused = !reply->is_passing;
    return rm_error(status_of_code(reply->code), "MLflow at %.120s%s: %s: HTTP %d%s%s%s%s%s",
                    client->config->uri, rm_http_route(client->http), call, reply->code,
                    code[0] != '\0' ? " " : "", code, words[0] != '\0' ? ": " : "", words,
                    remedy_for(reply->code, code, words));
}

static bool has_error_code(const struct rm_mlflow_client *client, const char *wanted)
{
    char code[64];
    char words[SERVER_WORDS];
    words_of(client, code, words);
    return strcmp(code, wanted) == 0;
}

/* ---- calls ------------------------------------------------------------------------------ */

static resmon_status exchange(struct rm_mlflow_client *client,
                              const struct rm_http_request *request, int64_t deadline_ns)
{
    rm_json_free(client->answer);
    client->answer = NULL;
    resmon_status status =
        request->is_single ? rm_http_exchange(client->http, request, deadline_ns, &client->reply)
                           : rm_http_send(client->http, request, deadline_ns, &client->reply);
    if (status == RESMON_OK) {
        (void)rm_json_parse(client->reply.body.text, client->reply.body.length, &client->answer);
    }
    return status;
}

/* Sends a request to the call `name` of the REST API. */
static resmon_status call(struct rm_mlflow_client *client, const char *name,
                          const struct rm_http_request *how, int64_t deadline_ns)
{
    char url[RM_MLFLOW_URI_BYTES + 2048];
    struct rm_http_request request = *how;
    int wanted = snprintf(url, sizeof url, "%s" API "%s", client->config->uri, name);
    if (wanted >= (int)sizeof url) {
        return rm_error(RESMON_EINVAL, "the URL of a request to MLflow is longer than %zu bytes",
                        sizeof url);
    }
    request.url = url;
    client->is_refused = false;
    resmon_status status = exchange(client, &request, deadline_ns);
    if (status != RESMON_OK && client->reply.is_untrusted) {
        char why[RM_ERROR_TEXT_BYTES];
        (void)rm_text_set(why, sizeof why, resmon_last_error());
        return rm_error(status,
                        "%.220s; MLFLOW_TRACKING_SERVER_CERT_PATH may name the certificate of its "
                        "authority",
                        why);
    }
    return status;
}

/* Sends a GET of client->name. */
static resmon_status get(struct rm_mlflow_client *client, int64_t deadline_ns)
{
    const struct rm_http_request how = {.method = "GET"};
    return client->name.status == RESMON_OK ? call(client, client->name.text, &how, deadline_ns)
                                            : client->name.status;
}

/* Sends a POST of client->body to `name`; `is_single`: it must not be repeated. */
static resmon_status post(struct rm_mlflow_client *client, const char *name, bool is_single,
                          int64_t deadline_ns)
{
    const struct rm_buffer *body = &client->body;
    const struct rm_http_request how = {.method = "POST",
                                        .type = JSON_TYPE,
                                        .body = body->text,
                                        .length = body->length,
                                        .is_single = is_single};
    return body->status == RESMON_OK ? call(client, name, &how, deadline_ns) : body->status;
}

/* Begins the text of client->name or client->body. */
static struct rm_buffer *begin(struct rm_buffer *buffer, const char *text)
{
    rm_buffer_clear(buffer);
    rm_buffer_puts(buffer, text);
    return buffer;
}

/* The result of a call; a reply with another status than 200 is a failure. */
static resmon_status expect_200(struct rm_mlflow_client *client, resmon_status status,
                                const char *name)
{
    return status == RESMON_OK && client->reply.code != 200 ? refuse(client, name) : status;
}

static resmon_status no_server(struct rm_mlflow_client *client)
{
    char start[40];
    rm_http_strike(client->http, client->reply.body.text);
    (void)rm_text_copy(start, sizeof start, client->reply.body.text, client->reply.body.length);
    client->is_refused = true;
    return rm_error(RESMON_EFORMAT,
                    "MLflow at %.120s%s: the answer is not from an MLflow server: '%s'; is the "
                    "tracking URI right, and is there a login or a proxy before it?",
                    client->config->uri, rm_http_route(client->http), start);
}

static const struct rm_json *walk(const struct rm_json *json, const char *const path[])
{
    for (size_t i = 0; path[i] != NULL; i++) {
        json = path[i][0] == '[' ? rm_json_first(json) : rm_json_get(json, path[i]);
    }
    return json;
}

/* Reads the text at a path of the reply; RESMON_EFORMAT: it is missing. */
static resmon_status read_reply(struct rm_mlflow_client *client, const char *const path[],
                                char *target, size_t room)
{
    const char *text = rm_json_text(walk(client->answer, path));
    if (text == NULL || text[0] == '\0' || strlen(text) >= room) {
        return no_server(client);
    }
    (void)rm_text_set(target, room, text);
    return RESMON_OK;
}

/* ---- the experiment --------------------------------------------------------------------- */

static resmon_status read_experiment(struct rm_mlflow_client *client)
{
    char stage[32];
    static const char *const id[] = {"experiment", "experiment_id", NULL};
    static const char *const lifecycle[] = {"experiment", "lifecycle_stage", NULL};
    resmon_status status = read_reply(client, lifecycle, stage, sizeof stage);
    if (status == RESMON_OK && strcmp(stage, "deleted") == 0) {
        client->is_refused = true;
        return rm_error(RESMON_EREMOTE,
                        "MLflow at %.120s: the experiment '%.100s' was deleted: restore it (mlflow "
                        "experiments restore), or choose another name",
                        client->config->uri, client->config->experiment);
    }
    return status == RESMON_OK
               ? read_reply(client, id, client->experiment_id, sizeof client->experiment_id)
               : status;
}

static resmon_status get_experiment(struct rm_mlflow_client *client, int64_t deadline_ns)
{
    rm_buffer_percent(begin(&client->name, "experiments/get-by-name?experiment_name="),
                      client->config->experiment);
    return get(client, deadline_ns);
}

/* Takes the reply to get_experiment(). */
static resmon_status take_experiment(struct rm_mlflow_client *client, resmon_status status)
{
    status = expect_200(client, status, "experiments/get-by-name");
    return status == RESMON_OK ? read_experiment(client) : status;
}

/* Many ranks may create the experiment at the same time.  The server accepts one request, and
 * the other ranks then look it up. */
static resmon_status create_experiment(struct rm_mlflow_client *client, int64_t deadline_ns)
{
    static const char *const id[] = {"experiment_id", NULL};
    struct rm_buffer *body = begin(&client->body, "{\"name\":");
    rm_buffer_json(body, client->config->experiment);
    rm_buffer_puts(body, "}");
    resmon_status status = post(client, "experiments/create", false, deadline_ns);
    if (status == RESMON_OK && client->reply.code != 200 &&
        has_error_code(client, "RESOURCE_ALREADY_EXISTS")) {
        return take_experiment(client, get_experiment(client, deadline_ns));
    }
    status = expect_200(client, status, "experiments/create");
    return status == RESMON_OK
               ? read_reply(client, id, client->experiment_id, sizeof client->experiment_id)
               : status;
}

static resmon_status find_experiment(struct rm_mlflow_client *client, int64_t deadline_ns)
{
    const struct rm_mlflow_config *config = client->config;
    if (config->experiment[0] == '\0') {
        if (client->experiment_id[0] == '\0') {
            (void)rm_text_set(client->experiment_id, sizeof client->experiment_id, "0");
        }
        return RESMON_OK;
    }
    resmon_status status = get_experiment(client, deadline_ns);
    bool is_missing = status == RESMON_OK && client->reply.code == 404 &&
                      has_error_code(client, "RESOURCE_DOES_NOT_EXIST");
    status = is_missing ? create_experiment(client, deadline_ns) : take_experiment(client, status);
    if (status == RESMON_OK && config->experiment_id[0] != '\0' &&
        strcmp(config->experiment_id, client->experiment_id) != 0) {
        client->is_refused = true;
        return rm_error(RESMON_EINVAL,
                        "MLFLOW_EXPERIMENT_NAME '%.100s' has the id %s, and MLFLOW_EXPERIMENT_ID "
                        "is %.60s: unset one of them",
                        config->experiment, client->experiment_id, config->experiment_id);
    }
    return status;
}

/* ---- the run ---------------------------------------------------------------------------- */

/* Paths to the fields of the run in a reply. */
struct run_paths {
    const char *id[5];
    const char *artifact_uri[5];
    const char *points[5];
};

static const struct run_paths one_run = {
    {"run", "info", "run_id"}, {"run", "info", "artifact_uri"}, {"run", "data", "metrics"}};
static const struct run_paths found_run = {{"runs", "[0]", "info", "run_id"},
                                           {"runs", "[0]", "info", "artifact_uri"},
                                           {"runs", "[0]", "data", "metrics"}};

static resmon_status read_run(struct rm_mlflow_client *client, const struct run_paths *paths)
{
    char run_id[RM_MLFLOW_ID_BYTES];
    resmon_status status = read_reply(client, paths->id, run_id, sizeof run_id);
    if (status == RESMON_OK) {
        status = read_reply(client, paths->artifact_uri, client->artifact_uri,
                            sizeof client->artifact_uri);
    }
    if (status == RESMON_OK && client->wants_points) {
        rm_json_free(client->found);
        client->found = client->answer;
        client->answer = NULL;
        client->known_points = walk(client->found, paths->points);
    }
    if (status == RESMON_OK) {
        (void)rm_text_set(client->run_id, sizeof client->run_id, run_id);
    }
    return status;
}

/* Whether the run in a reply to runs/get has the tag RM_MLFLOW_NOTE_TAG. */
static bool read_note(const struct rm_json *answer)
{
    bool has = false;
    const struct rm_json *data = rm_json_get(rm_json_get(answer, "run"), "data");
    for (const struct rm_json *tag = rm_json_first(rm_json_get(data, "tags")); tag != NULL;
         tag = rm_json_next(tag)) {
        const char *key = rm_json_text(rm_json_get(tag, "key"));
        has = has || (key != NULL && strcmp(key, RM_MLFLOW_NOTE_TAG) == 0);
    }
    return has;
}

static resmon_status attach_run(struct rm_mlflow_client *client, int64_t deadline_ns)
{
    rm_buffer_puts(begin(&client->name, "runs/get?run_id="), client->config->run_id);
    resmon_status status = expect_200(client, get(client, deadline_ns), "runs/get");
    if (status != RESMON_OK) {
        return status;
    }
    client->has_note = read_note(client->answer);
    return read_run(client, &one_run);
}

/* If no run is found, run_id stays empty, and the result is RESMON_OK. */
static resmon_status search_run(struct rm_mlflow_client *client, const char *tag, const char *value,
                                int64_t deadline_ns)
{
    char filter[sizeof((struct rm_mlflow_wanted *)0)->job + 64];
    struct rm_buffer *body = begin(&client->body, "{\"experiment_ids\":[");
    (void)snprintf(filter, sizeof filter, "tags.`%s` = '%s'", tag, value);
    rm_buffer_json(body, client->experiment_id);
    rm_buffer_puts(body, "],\"filter\":");
    rm_buffer_json(body, filter);
    rm_buffer_puts(body, ",\"max_results\":1,\"order_by\":[\"attributes.start_time DESC\"]}");
    resmon_status status =
        expect_200(client, post(client, "runs/search", false, deadline_ns), "runs/search");
    if (status != RESMON_OK) {
        return status;
    }
    bool is_none = rm_json_is_object(client->answer) &&
                   rm_json_count(rm_json_get(client->answer, "runs")) == 0;
    return is_none ? RESMON_OK : read_run(client, &found_run);
}

static resmon_status try_create(struct rm_mlflow_client *client,
                                const struct rm_mlflow_wanted *wanted, int64_t deadline_ns)
{
    struct rm_buffer *body = begin(&client->body, "{\"experiment_id\":");
    rm_buffer_json(body, client->experiment_id);
    rm_buffer_puts(body, ",");
    rm_buffer_puts(body, wanted->body);
    resmon_status status =
        expect_200(client, post(client, "runs/create", true, deadline_ns), "runs/create");
    status = status == RESMON_OK ? read_run(client, &one_run) : status;
    /* The run may exist after a missing reply, or after an invalid one, which may come from a
     * proxy. */
    client->may_exist = client->may_exist || (status != RESMON_OK && client->reply.is_sent);
    return status;
}

/* Finds the run that an earlier attempt may have made, by its tag. */
static resmon_status find_own(struct rm_mlflow_client *client,
                              const struct rm_mlflow_wanted *wanted, int64_t deadline_ns)
{
    if (!client->may_exist) {
        return RESMON_OK;
    }
    resmon_status status = search_run(client, "resmon.uuid", wanted->uuid, deadline_ns);
    if (status == RESMON_OK) {
        client->may_exist = client->run_id[0] != '\0';
    }
    return status;
}

/* A request that makes a run must not be repeated blindly.  Before each retry, a run of the last
 * attempt is looked for. */
static resmon_status create_run(struct rm_mlflow_client *client,
                                const struct rm_mlflow_wanted *wanted, int64_t deadline_ns)
{
    resmon_status status;
    unsigned attempt = 0;
    bool is_passing;
    do {
        status = find_own(client, wanted, deadline_ns);
        if (status != RESMON_OK || client->run_id[0] != '\0') {
            return status;
        }
        status = try_create(client, wanted, deadline_ns);
        is_passing = client->reply.is_passing;
    } while (status != RESMON_OK && is_passing &&
             rm_http_wait(client->http, ++attempt, &client->reply, deadline_ns));
    return status;
}

/* Looks for the job's run until `until_ns`, at least once, since another rank may not have made
 * it yet. */
static resmon_status await_run(struct rm_mlflow_client *client,
                               const struct rm_mlflow_wanted *wanted, int64_t until_ns,
                               int64_t deadline_ns)
{
    for (;;) {
        resmon_status status = search_run(client, "resmon.job", wanted->job, deadline_ns);
        if (status != RESMON_OK || client->run_id[0] != '\0') {
            return status;
        }
        if (!rm_http_pause(POLL_STEP_NS, until_ns)) {
            return RESMON_OK;
        }
    }
}

static resmon_status find_or_make(struct rm_mlflow_client *client,
                                  const struct rm_mlflow_wanted *wanted, int64_t deadline_ns)
{
    resmon_status status = RESMON_OK;
    if (wanted->way != RM_MLFLOW_MAKE && wanted->job[0] != '\0' && wanted->is_first) {
        status = find_own(client, wanted, deadline_ns);
    }
    if (status == RESMON_OK && client->run_id[0] == '\0' && wanted->way != RM_MLFLOW_MAKE &&
        wanted->job[0] != '\0') {
        int64_t until_ns = rm_clock_monotonic_ns() + wanted->wait_ns;
        bool is_patient = wanted->way == RM_MLFLOW_AWAIT || until_ns > deadline_ns;
        status = await_run(client, wanted, is_patient ? deadline_ns : until_ns, deadline_ns);
    }
    if (status != RESMON_OK || client->run_id[0] != '\0') {
        return status;
    }
    if (wanted->way == RM_MLFLOW_AWAIT) {
        return rm_error(RESMON_ETIMEDOUT,
                        "MLflow at %.120s: rank 0 of the job %.80s has not created its run yet",
                        client->config->uri, wanted->job);
    }
    return create_run(client, wanted, deadline_ns);
}

resmon_status rm_mlflow_find_run(struct rm_mlflow_client *client,
                                 const struct rm_mlflow_wanted *wanted, int64_t deadline_ns)
{
    if (client->run_id[0] != '\0') {
        return RESMON_OK;
    }
    if (client->config->run_id[0] != '\0') {
        return attach_run(client, deadline_ns);
    }
    client->may_exist = client->may_exist || wanted->may_exist;
    resmon_status status = find_experiment(client, deadline_ns);
    return status == RESMON_OK ? find_or_make(client, wanted, deadline_ns) : status;
}

/* Reads all points of the key: if many nodes share the run, its last point may be of another
 * node. */
resmon_status rm_mlflow_has_point(struct rm_mlflow_client *client, const char *key, int64_t step,
                                  int64_t time_ms, int64_t deadline_ns, bool *ret_has)
{
    struct rm_buffer *name = begin(&client->name, "metrics/get-history?run_id=");
    rm_buffer_printf(name, "%s&max_results=25000&metric_key=", client->run_id);
    rm_buffer_percent(name, key);
    resmon_status status = expect_200(client, get(client, deadline_ns), "metrics/get-history");
    if (status == RESMON_OK && client->answer == NULL) {
        return no_server(client);
    }
    for (const struct rm_json *point = rm_json_first(rm_json_get(client->answer, "metrics"));
         status == RESMON_OK && point != NULL && !*ret_has; point = rm_json_next(point)) {
        *ret_has = rm_json_number(rm_json_get(point, "step")) == (double)step &&
                   rm_json_number(rm_json_get(point, "timestamp")) == (double)time_ms;
    }
    return status;
}

/* ---- items ------------------------------------------------------------------------------ */

/* A page of a login or a proxy, sent instead of the reply of the server, may have the status
 * 200; it is not accepted.  The reply to an upload of an artifact may be empty. */
static resmon_status check_yes(struct rm_mlflow_client *client, resmon_status status,
                               const char *name, bool may_be_empty)
{
    status = expect_200(client, status, name);
    if (status != RESMON_OK || (client->reply.body.length == 0 && may_be_empty)) {
        return status;
    }
    return rm_json_is_object(client->answer) ? RESMON_OK : no_server(client);
}

/* The path of an artifact location that the tracking server itself serves:
 * "mlflow-artifacts:/1/<run>/artifacts".  NULL: another server has it.  Nothing is sent to another
 * server, which would get our credentials. */
static const char *served_path(const struct rm_mlflow_client *client)
{
    static const char *const schemes[] = {"mlflow-artifacts:/", "mlflow-artifacts:///"};
    const char *uri = client->artifact_uri;
    size_t own = strlen(client->config->uri);
    const char *rest = NULL;
    if (strncmp(uri, schemes[1], strlen(schemes[1])) == 0) {
        rest = uri + strlen(schemes[1]);
    } else if (strncmp(uri, schemes[0], strlen(schemes[0])) == 0 && uri[18] != '/') {
        rest = uri + strlen(schemes[0]);
    } else if (strncmp(uri, client->config->uri, own) == 0 &&
               strncmp(uri + own, ARTIFACT_API "/", sizeof ARTIFACT_API) == 0) {
        rest = uri + own + sizeof ARTIFACT_API;
    }
    bool is_path =
        rest != NULL && strstr(rest, "..") == NULL && strpbrk(rest, "?# \"<>\\^`{|}") == NULL;
    return is_path ? rest : NULL;
}

bool rm_mlflow_needs_package(const struct rm_mlflow_client *client)
{
    const char *uri = client->artifact_uri;
    return strstr(uri, "://") != NULL && strncmp(uri, "file:", 5) != 0 &&
           served_path(client) == NULL;
}

static resmon_status artifact_url(const struct rm_mlflow_client *client, const char *path,
                                  struct rm_buffer *url)
{
    const char *uri = client->artifact_uri;
    const char *rest = served_path(client);
    if (rest == NULL) {
        return rm_error(RESMON_ENOTSUP,
                        "MLflow at %.120s keeps artifacts at '%.*s:', which only its Python client "
                        "can write to: the run document is uploaded only if the program also uses "
                        "resmon's Python package",
                        client->config->uri, (int)strcspn(uri, ":"), uri);
    }
    rm_buffer_printf(url, "%s" ARTIFACT_API "/%s/%s", client->config->uri, rest, path);
    return url->status;
}

/* The directory of an artifact location to which the client writes itself:
 * "/srv/mlruns/0/<run>/artifacts", "file:///srv/...".  NULL: the location is no directory.  For
 * safety, only a directory of the run itself is accepted from the server. */
static const char *directory_of(const struct rm_mlflow_client *client, size_t *ret_root)
{
    const char *uri = client->artifact_uri;
    char end[RM_MLFLOW_ID_BYTES + 16];
    uri += strncmp(uri, "file:///", 8) == 0 ? 7 : strncmp(uri, "file:/", 6) == 0 ? 5 : 0;
    int length = snprintf(end, sizeof end, "/%s/artifacts", client->run_id);
    size_t all = strlen(uri);
    if (uri[0] != '/' || uri[1] == '/' || strstr(uri, "/../") != NULL ||
        strpbrk(uri, "%?#") != NULL || length <= 0 || all <= (size_t)length ||
        strcmp(uri + all - length, end) != 0) {
        return NULL;
    }
    size_t root = all - (size_t)length; /* position of the experiment's directory name; the
                                           artifact root is above */
    while (root > 0 && uri[root - 1] != '/') {
        root--;
    }
    *ret_root = root;
    return uri;
}

static resmon_status write_item(const struct rm_output *output, const void *item_)
{
    const struct rm_mlflow_item *item = item_;
    return rm_output_write(output, item->body, item->length);
}

/* Creates missing directories below the root, as MLflow's own client does. */
static resmon_status save_artifact(const struct rm_mlflow_client *client,
                                   const struct rm_mlflow_item *item, const char *directory,
                                   size_t root)
{
    char path[RM_PATH_BYTES], why[RM_ERROR_TEXT_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", directory, item->path);
    resmon_status status = length > 0 && (size_t)length < sizeof path
                               ? rm_outfile_make_directories(path, root)
                               : rm_error(RESMON_EINVAL, "the path is too long");
    if (status == RESMON_ENOENT) {
        return rm_error(RESMON_ENOTSUP,
                        "MLflow at %.120s keeps artifacts in %.*s, which this machine does not "
                        "have: the run document was not stored",
                        client->config->uri, (int)(root < 200 ? root : 200), directory);
    }
    status = status == RESMON_OK ? rm_outfile_save(path, 0, write_item, item) : status;
    if (status == RESMON_OK || status == RESMON_ENOMEM) {
        return status;
    }
    (void)rm_text_set(why, sizeof why, resmon_last_error());
    return rm_error(RESMON_ENOTSUP, "no run document at MLflow: %s", why);
}

static resmon_status put_artifact(struct rm_mlflow_client *client,
                                  const struct rm_mlflow_item *item, int64_t deadline_ns)
{
    struct rm_buffer url;
    size_t root = 0;
    const char *directory = directory_of(client, &root);
    if (directory != NULL) {
        resmon_status saved = save_artifact(client, item, directory, root);
        client->is_refused = saved == RESMON_ENOTSUP;
        return saved;
    }
    rm_buffer_init(&url, 3 * RM_MLFLOW_URI_BYTES);
    resmon_status status = artifact_url(client, item->path, &url);
    client->is_refused = status == RESMON_ENOTSUP;
    if (status == RESMON_OK) {
        const struct rm_http_request request = {
            .method = "PUT",
            .url = url.text,
            .type = JSON_TYPE,
            .body = item->body,
            .length = item->length,
        };
        status = exchange(client, &request, deadline_ns);
    }
    rm_buffer_free(&url);
    return check_yes(client, status, "artifact", true);
}

/* The body is {"run_id":"...", followed by the text of the item. */
static resmon_status post_item(struct rm_mlflow_client *client, const struct rm_mlflow_item *item,
                               int64_t deadline_ns)
{
    static const char *const names[RM_MLFLOW_CALLS] = {[RM_MLFLOW_LOG_BATCH] = "runs/log-batch",
                                                       [RM_MLFLOW_UPDATE] = "runs/update",
                                                       [RM_MLFLOW_PARAMS] = "runs/log-batch",
                                                       [RM_MLFLOW_NOTE] = "runs/set-tag"};
    struct rm_buffer *body = begin(&client->body, "{\"run_id\":\"");
    rm_buffer_printf(body, "%s\",", client->run_id);
    rm_buffer_add(body, item->body, item->length);
    return check_yes(client, post(client, names[item->call], false, deadline_ns), names[item->call],
                     false);
}

resmon_status rm_mlflow_send(struct rm_mlflow_client *client, const struct rm_mlflow_item *item,
                             int64_t deadline_ns)
{
    if (item->call == RM_MLFLOW_NOTE && client->has_note) {
        return RESMON_OK;
    }
    return item->call == RM_MLFLOW_ARTIFACT ? put_artifact(client, item, deadline_ns)
                                            : post_item(client, item, deadline_ns);
}

bool rm_mlflow_is_optional(const struct rm_mlflow_client *client, const struct rm_mlflow_item *item,
                           resmon_status status)
{
    bool is_another_value = item->call == RM_MLFLOW_PARAMS && client->reply.code == 400;
    return client->is_refused && (is_another_value || item->call == RM_MLFLOW_NOTE ||
                                  (item->call == RM_MLFLOW_ARTIFACT && status == RESMON_ENOTSUP));
}
