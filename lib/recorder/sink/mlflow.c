/* SPDX-License-Identifier: MIT */
/*
 * Owns the delivery of a run to MLflow: as a sink, during the run and at its end; and of a finished
 * run.  A run that could not be sent is kept in a run document, with the facts that a later push
 * needs.
 */
#include "sink/sinks.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/map.h"
#include "base/number.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "format/document.h"
#include "net/mlflow_body.h"
#include "os/outfile.h"

/* Facts of a run, group "run", about its run at MLflow. */
#define FACT_UUID     "mlflow_uuid"     /* tag resmon.uuid of the run at MLflow */
#define FACT_RUN      "mlflow_run"      /* URL of the run that the sink made */
#define FACT_ATTACHED "mlflow_attached" /* URL of the run to which the sink attached */
#define FACT_LEFT     "mlflow_left"     /* artifact that only MLflow's package can write */

#define LARGEST_BODY ((size_t)1 << 30)
#define JOB_WAIT_NS  (RM_NS_PER_S * 20) /* for finding or making the run of a job */

/* State of a delivery. */
struct mlflow {
    void (*note)(const char *key, const char *value); /* NULL: facts are not kept */
    struct rm_mlflow_config config;
    struct rm_mlflow_client client;
    struct rm_mlflow_wanted wanted;
    struct rm_buffer create; /* wanted.body */
    struct rm_mlflow_place place;
    struct rm_mlflow_plan plan; /* of the current delivery */
    struct rm_buffer body;
    unsigned number;       /* number among the sinks of this process, from 1; 0: a finished run
                              is sent */
    int64_t sent_until_ns; /* of series: the end of the last row sent */
    size_t batch_metrics;  /* reduced below the configured number after the server found a
                              request too large */
};

/* ---- life ------------------------------------------------------------------------------- */

static void mlflow_free(void *context)
{
    struct mlflow *mlflow = context;
    if (mlflow != NULL) {
        rm_mlflow_client_free(&mlflow->client);
        rm_buffer_free(&mlflow->create);
        rm_buffer_free(&mlflow->body);
        rm_free(mlflow);
    }
}

static resmon_status make_uuid(char uuid[33])
{
    unsigned char bytes[16];
    if (!rm_random(bytes, sizeof bytes)) {
        return rm_error(RESMON_EIO, "no random numbers for the id of a run");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(uuid + 2 * i, 3, "%02x", bytes[i]);
    }
    return RESMON_OK;
}

static resmon_status mlflow_new(const resmon_mlflow_options *options, struct mlflow **ret_mlflow)
{
    struct rm_http *http = NULL;
    struct mlflow *mlflow = rm_alloc(1, sizeof *mlflow);
    if (mlflow == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    resmon_status status = rm_mlflow_config_open(options, &mlflow->config, &http);
    if (status != RESMON_OK) {
        rm_free(mlflow);
        return status;
    }
    rm_mlflow_client_init(&mlflow->client, &mlflow->config, http);
    rm_buffer_init(&mlflow->create, LARGEST_BODY);
    rm_buffer_init(&mlflow->body, LARGEST_BODY);
    mlflow->sent_until_ns = -1;
    mlflow->batch_metrics = mlflow->config.batch_metrics;
    *ret_mlflow = mlflow;
    return RESMON_OK;
}

/* Each further monitor of a process (beside the monitor of RESMON, or after the first one) has
 * another run, which it shares with the monitors of the same number in the job.  All processes of a
 * job are the same program. */
static void number_job(const struct mlflow *mlflow, struct rm_mlflow_place *place)
{
    char number[32];
    if (mlflow->number < 2 || place->job[0] == '\0') {
        return;
    }
    size_t bytes = (size_t)snprintf(number, sizeof number, "#%u", mlflow->number) + 1;
    size_t length = strlen(place->job);
    size_t most = sizeof place->job - bytes;
    memcpy(place->job + (length < most ? length : most), number, bytes);
}

#define URL_EXPERIMENT "/#/experiments/"
#define URL_RUN        "/runs/"

struct rm_mlflow_url {
    char experiment_id[RM_MLFLOW_ID_BYTES];
    char run_id[RM_MLFLOW_ID_BYTES];
};

static const char *fact_of(const resmon_run *run, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, "run", key);
    return fact != NULL && fact->kind == RM_FACT_TEXT ? fact->value : "";
}

/* Parses the URL of a run.  False: it belongs to another server, or is no such URL.  It is
 * untrusted, so ids are checked. */
static bool read_url(const char *uri, const char *url, struct rm_mlflow_url *ret_url)
{
    size_t own = strlen(uri);
    bool is_of_server = strncmp(url, uri, own) == 0 &&
                        strncmp(url + own, URL_EXPERIMENT, strlen(URL_EXPERIMENT)) == 0;
    const char *id = is_of_server ? url + own + strlen(URL_EXPERIMENT) : "";
    const char *end = strstr(id, URL_RUN);
    if (end == NULL || (size_t)(end - id) >= sizeof ret_url->experiment_id) {
        return false;
    }
    memcpy(ret_url->experiment_id, id, (size_t)(end - id));
    ret_url->experiment_id[end - id] = '\0';
    (void)rm_text_set(ret_url->run_id, sizeof ret_url->run_id, end + strlen(URL_RUN));
    return rm_mlflow_is_id(ret_url->experiment_id) && rm_mlflow_is_id(ret_url->run_id) &&
           ret_url->run_id[0] != '\0';
}

/* Decides once how the run is made if it does not exist. */
static resmon_status settle_run(struct mlflow *mlflow, const resmon_run *run)
{
    struct rm_mlflow_wanted *wanted = &mlflow->wanted;
    if (wanted->body != NULL) {
        return RESMON_OK;
    }
    mlflow->place = rm_mlflow_place_of(&mlflow->config, run);
    number_job(mlflow, &mlflow->place);
    (void)rm_text_set(wanted->job, sizeof wanted->job, mlflow->place.job);
    wanted->is_first = mlflow->place.is_first;
    wanted->way = mlflow->place.is_first ? RM_MLFLOW_MAKE : RM_MLFLOW_AWAIT;
    rm_buffer_clear(&mlflow->create);
    resmon_status status =
        rm_mlflow_items_create(&mlflow->config, run, &mlflow->place, wanted->uuid, &mlflow->create);
    wanted->body = status == RESMON_OK ? mlflow->create.text : NULL;
    return status;
}

/* ---- settings as facts -------------------------------------------------------------------- */

#define SETTING(key, member, ...)                                           \
    {                                                                       \
        .fact = (key), .offset = offsetof(struct rm_mlflow_config, member), \
        .room = sizeof(((struct rm_mlflow_config *)0)->member), __VA_ARGS__ \
    }

/* Texts that determine the run at MLflow and its names.  Ids are valid for one server only. */
static const struct {
    const char *fact;
    size_t offset, room;
    bool is_experiment; /* the name and the id are used together */
    bool is_id;
} settings[] = {
    SETTING("mlflow_experiment", experiment, .is_experiment = true),
    SETTING("mlflow_experiment_id", experiment_id, .is_experiment = true, .is_id = true),
    SETTING("mlflow_run_id", run_id, .is_id = true),
    SETTING("mlflow_run_name", run_name, .is_id = false),
    SETTING("mlflow_node_id", node_id, .is_id = false),
    SETTING("mlflow_context", context, .is_id = false),
    SETTING("mlflow_monitor", monitor, .is_id = false),
};

#define FACT_URI    "mlflow_uri"
#define FACT_FLAGS  "mlflow_flags"
#define FACT_NODE   "mlflow_node_index"
#define FACT_NUMBER "mlflow_number" /* number of this sink among those of its process */
#define KEPT_FLAGS                                                                    \
    (RESMON_MLFLOW_SERIES | RESMON_MLFLOW_NO_ARTIFACT | RESMON_MLFLOW_MODEL_METRICS | \
     RESMON_MLFLOW_FINISH)

struct noted {
    struct rm_fact facts[RM_ARRAY_LEN(settings) + 5];
    size_t count;
    char numbers[3][RM_NUMBER_BYTES];
};

static void add_noted(struct noted *noted, const char *key, const char *value)
{
    if (value[0] != '\0') {
        noted->facts[noted->count++] = (struct rm_fact){"run", key, value, RM_FACT_TEXT};
    }
}

/* Lists the settings for a push of a recording whose program is killed, or of a document that
 * was not sent.  They contain no credentials, since the URI has none. */
static void list_settings(const struct mlflow *mlflow, struct noted *noted)
{
    const struct rm_mlflow_config *config = &mlflow->config;
    const struct {
        const char *fact;
        int64_t number;
        bool is_said;
    } numbers[RM_ARRAY_LEN(noted->numbers)] = {
        {FACT_FLAGS, (int64_t)(config->flags & KEPT_FLAGS), (config->flags & KEPT_FLAGS) != 0},
        {FACT_NODE, config->node_index, config->node_index >= 0},
        {FACT_NUMBER, mlflow->number, mlflow->number > 1},
    };
    noted->count = 0;
    add_noted(noted, FACT_UUID, mlflow->wanted.uuid);
    add_noted(noted, FACT_URI, config->uri);
    for (size_t i = 0; i < RM_ARRAY_LEN(settings); i++) {
        add_noted(noted, settings[i].fact, (const char *)config + settings[i].offset);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        size_t length =
            numbers[i].is_said ? rm_number_i64(noted->numbers[i], numbers[i].number) : 0;
        noted->numbers[i][length] = '\0';
        add_noted(noted, numbers[i].fact, noted->numbers[i]);
    }
}

static void note_settings(const struct mlflow *mlflow)
{
    struct noted noted;
    list_settings(mlflow, &noted);
    for (size_t i = 0; i < noted.count && mlflow->note != NULL; i++) {
        mlflow->note(noted.facts[i].key, noted.facts[i].value);
    }
}

/* 0: no such fact. */
static uint64_t number_of(const resmon_run *run, const char *key)
{
    const char *value = fact_of(run, key);
    struct rm_text text = rm_text_of(value, strlen(value));
    uint64_t number;
    return rm_parse_u64(&text, &number) && text.at == text.end ? number : 0;
}

static void take_settings(struct mlflow *mlflow, const resmon_run *run)
{
    struct rm_mlflow_config *config = &mlflow->config;
    bool is_same_server = strcmp(fact_of(run, FACT_URI), config->uri) == 0;
    bool has_experiment = config->experiment[0] != '\0' || config->experiment_id[0] != '\0';
    uint64_t node = number_of(run, FACT_NODE);
    for (size_t i = 0; i < RM_ARRAY_LEN(settings); i++) {
        char *target = (char *)config + settings[i].offset;
        const char *text = fact_of(run, settings[i].fact);
        bool is_right = !settings[i].is_id || (is_same_server && rm_mlflow_is_id(text));
        bool is_open = target[0] == '\0' && !(settings[i].is_experiment && has_experiment);
        if (is_open && is_right) {
            (void)rm_text_set(target, settings[i].room, text);
        }
    }
    if (strspn(config->monitor, "monitor_0123456789/") != strlen(config->monitor)) {
        config->monitor[0] = '\0'; /* untrusted, and a part of keys and paths */
    }
    config->flags |= number_of(run, FACT_FLAGS) & KEPT_FLAGS;
    if (config->node_index < 0 && fact_of(run, FACT_NODE)[0] != '\0' && node < INT32_MAX) {
        config->node_index = (int64_t)node;
    }
    mlflow->number = (unsigned)(number_of(run, FACT_NUMBER) % 1000);
}

/* Derives the tag of a run that has none.  It is the same at each push of the run: otherwise an
 * interrupted push could not be continued. */
static void derive_uuid(const resmon_run *run, char uuid[33])
{
    const char *name = rm_run_node_name(run), *title = rm_run_title(run);
    for (unsigned half = 0; half < 2; half++) {
        uint64_t hash = rm_hash_u64(RM_HASH_START, half);
        hash = rm_hash_u64(hash, (uint64_t)run->info.start_realtime_ns);
        hash = rm_hash_u64(hash, (uint64_t)rm_run_pid(run));
        hash = rm_hash_bytes(hash, name, strlen(name));
        hash = rm_hash_u64(rm_hash_bytes(hash, title, strlen(title)), run->node_count);
        (void)snprintf(uuid + 16 * half, 17, "%016" PRIx64, hash);
    }
}

/* Prepares to continue an earlier delivery of this run to the same server.  The run that it made
 * is found by its tag in its experiment; or the run that it was attached to is used.  Options and
 * the environment take precedence.  False: no sink delivered the run before. */
static bool take_up(struct mlflow *mlflow, const resmon_run *run)
{
    struct rm_mlflow_config *config = &mlflow->config;
    struct rm_mlflow_wanted *wanted = &mlflow->wanted;
    struct rm_mlflow_url made = {{0}, {0}}, attached = {{0}, {0}};
    const char *uuid = fact_of(run, FACT_UUID);
    bool has_uuid = strlen(uuid) == sizeof wanted->uuid - 1 &&
                    strspn(uuid, "0123456789abcdef") == sizeof wanted->uuid - 1;
    if (has_uuid) {
        (void)rm_text_set(wanted->uuid, sizeof wanted->uuid, uuid);
    } else {
        derive_uuid(run, wanted->uuid);
    }
    wanted->may_exist = true;
    bool has_made = read_url(config->uri, fact_of(run, FACT_RUN), &made);
    if (has_made && config->experiment[0] == '\0' && config->experiment_id[0] == '\0') {
        (void)rm_text_set(config->experiment_id, sizeof config->experiment_id, made.experiment_id);
    }
    if (!has_made && config->run_id[0] == '\0' &&
        read_url(config->uri, fact_of(run, FACT_ATTACHED), &attached)) {
        (void)rm_text_set(config->run_id, sizeof config->run_id, attached.run_id);
    }
    take_settings(mlflow, run);
    (void)rm_text_set(mlflow->client.experiment_id, sizeof mlflow->client.experiment_id,
                      config->experiment_id);
    return has_uuid;
}

/* If several monitors of this process share a run, each further one gets keys of its own.
 * Otherwise it would overwrite the values of the first one, and the server would refuse its
 * parameters. */
static void share_run(struct rm_mlflow_config *config)
{
    static struct {
        uint64_t run; /* hash of the run id; 0: free */
        unsigned monitors;
    } runs[64]; /* atomic, as a fork could leave a lock held */
    uint64_t run = rm_hash_bytes(RM_HASH_START, config->run_id, strlen(config->run_id)) | 1;
    unsigned number = 1;
    for (size_t i = 0; i < RM_ARRAY_LEN(runs) && config->run_id[0] != '\0'; i++) {
        uint64_t found = 0; /* after a failed exchange: the hash in this slot */
        if (__atomic_compare_exchange_n(&runs[i].run, &found, run, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            found == run) {
            number = RM_FETCH_ADD(&runs[i].monitors, 1) + 1;
            break;
        }
    }
    if (number > 1) {
        (void)snprintf(config->monitor, sizeof config->monitor, "monitor_%u/", number % 1000);
        rm_log(RESMON_LOG_INFO,
               "MLflow: monitor %u of this process in the run %s: its keys begin "
               "with " RM_MLFLOW_SYSTEM "%s",
               number, config->run_id, config->monitor);
    }
}

/* Finds or makes the run at MLflow, and keeps its URL as a fact, for a recording whose program
 * is killed. */
static resmon_status find_run(struct mlflow *mlflow, int64_t deadline_ns)
{
    const struct rm_mlflow_client *client = &mlflow->client;
    bool is_new = client->run_id[0] == '\0';
    bool is_chosen = mlflow->config.run_id[0] != '\0';
    resmon_status status = rm_mlflow_find_run(&mlflow->client, &mlflow->wanted, deadline_ns);
    if (status == RESMON_OK && is_new && mlflow->note != NULL) {
        char url[RM_FACT_VALUE_BYTES];
        int length = snprintf(url, sizeof url, "%s" URL_EXPERIMENT "%s" URL_RUN "%s",
                              mlflow->config.uri, client->experiment_id, client->run_id);
        if (length > 0 && (size_t)length < sizeof url) {
            mlflow->note(is_chosen ? FACT_ATTACHED : FACT_RUN, url);
        }
        if (rm_mlflow_needs_package(client)) {
            char path[RM_MLFLOW_ARTIFACT_BYTES];
            rm_mlflow_artifact_path(&mlflow->config, mlflow->place.node_index, path);
            mlflow->note(FACT_LEFT, path);
        }
    }
    return status;
}

/* ---- sending a plan --------------------------------------------------------------------- */

/* Makes the portions smaller if a request was too large; the caller makes the request again.
 * False: no smaller portions. */
static bool shrink(struct mlflow *mlflow, const struct rm_mlflow_item *item)
{
    if (mlflow->client.reply.code != 413 || item->call != RM_MLFLOW_LOG_BATCH ||
        mlflow->batch_metrics <= 32) {
        return false;
    }
    mlflow->batch_metrics /= 4;
    return true;
}

/* Sends the items of the stage `from` and of later stages, until a failure; returns the first
 * failure.  If the server refuses an artifact, the run at MLflow is still ended. */
static resmon_status send_items(struct mlflow *mlflow, enum rm_mlflow_stage from,
                                int64_t deadline_ns)
{
    struct rm_mlflow_cursor at = {.stage = from};
    resmon_status first = RESMON_OK;
    char text[RM_ERROR_TEXT_BYTES];
    for (bool has_item = true, is_held_up = false; has_item && !is_held_up;) {
        struct rm_mlflow_item item = {.call = RM_MLFLOW_LOG_BATCH};
        struct rm_mlflow_cursor next = at;
        resmon_status status = rm_mlflow_items_next(&mlflow->plan, &next, mlflow->batch_metrics,
                                                    &mlflow->body, &item, &has_item);
        if (status == RESMON_OK && has_item) {
            status = rm_mlflow_send(&mlflow->client, &item, deadline_ns);
        }
        if (status != RESMON_OK && has_item && shrink(mlflow, &item)) {
            continue;
        }
        if (status != RESMON_OK && rm_mlflow_is_optional(&mlflow->client, &item, status)) {
            rm_log(RESMON_LOG_WARNING, "%s", resmon_last_error());
        } else if (status != RESMON_OK) {
            if (first == RESMON_OK) {
                first = status;
                (void)snprintf(text, sizeof text, "%s", resmon_last_error());
            }
            is_held_up = !mlflow->client.is_refused || item.call != RM_MLFLOW_ARTIFACT;
        }
        at = next;
    }
    return first == RESMON_OK ? RESMON_OK : rm_error(first, "%s", text);
}

static bool sends_nothing(const struct mlflow *mlflow)
{
    return (mlflow->config.flags & RESMON_MLFLOW_SPOOL_ONLY) != 0;
}

/* Removes the points that the run already has from an earlier delivery: file stores keep
 * duplicates. */
static resmon_status skip_known(struct mlflow *mlflow, int64_t deadline_ns)
{
    struct rm_mlflow_plan *plan = &mlflow->plan;
    const struct rm_mlflow_point *last = rm_mlflow_plan_skip(plan, mlflow->client.known_points);
    bool is_there = false;
    if (last == NULL) {
        return RESMON_OK;
    }
    char key[RM_MLFLOW_LONGEST_KEY + 1];
    rm_mlflow_point_key(plan, last, key);
    resmon_status status = rm_mlflow_has_point(&mlflow->client, key, last->step,
                                               rm_mlflow_end_ms(plan->run), deadline_ns, &is_there);
    if (status == RESMON_OK && is_there) {
        rm_mlflow_plan_skip_summary(plan);
    }
    return status;
}

/* Makes a plan of the whole run, with a description; the caller frees it. */
static resmon_status make_plan(struct mlflow *mlflow, const resmon_run *run)
{
    resmon_status status = settle_run(mlflow, run);
    if (status == RESMON_OK) {
        status = rm_mlflow_plan_init(&mlflow->plan, &mlflow->config, run, mlflow->sent_until_ns);
        mlflow->plan.is_made = mlflow->config.run_id[0] == '\0';
        mlflow->plan.is_described = true;
    }
    return status;
}

/* Sends a finished run from the stage `from` on. */
static resmon_status deliver(struct mlflow *mlflow, const resmon_run *run,
                             enum rm_mlflow_stage from, int64_t deadline_ns)
{
    resmon_status status = make_plan(mlflow, run);
    if (status != RESMON_OK) {
        return status;
    }
    status = find_run(mlflow, deadline_ns);
    status = status == RESMON_OK ? skip_known(mlflow, deadline_ns) : status;
    status = status == RESMON_OK ? send_items(mlflow, from, deadline_ns) : status;
    rm_mlflow_plan_free(&mlflow->plan);
    if (status == RESMON_OK) {
        rm_log(RESMON_LOG_INFO, "MLflow: %s" URL_EXPERIMENT "%s" URL_RUN "%s", mlflow->config.uri,
               mlflow->client.experiment_id, mlflow->client.run_id);
    }
    return status;
}

/* ---- runs that were not sent --------------------------------------------------------------- */

/* Saves the run with the settings as facts, which a run that ended before the sink began lacks. */
static resmon_status save_document(const struct mlflow *mlflow, const resmon_run *run)
{
    const char *path = mlflow->config.spool;
    struct noted noted;
    struct resmon_run whole = *run;
    list_settings(mlflow, &noted);
    whole.facts = rm_alloc(run->fact_count + noted.count, sizeof *whole.facts);
    if (whole.facts == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the run document");
    }
    for (size_t i = 0; i < run->fact_count; i++) {
        whole.facts[i] = run->facts[i];
    }
    for (size_t i = 0; i < noted.count; i++) {
        if (rm_run_fact(run, "run", noted.facts[i].key) == NULL) {
            whole.facts[whole.fact_count++] = noted.facts[i];
        }
    }
    resmon_status status = access(path, F_OK) == 0 ? rm_outfile_set_aside(path) : RESMON_OK;
    status = status == RESMON_OK ? rm_document_save_private(&whole, path) : status;
    rm_free(whole.facts);
    return status;
}

/* Saves the run document at `spool`; the error text has the command that sends it. */
static resmon_status keep(const struct mlflow *mlflow, const resmon_run *run,
                          resmon_status why_status)
{
    char why[RM_ERROR_TEXT_BYTES], trouble[RM_ERROR_TEXT_BYTES];
    (void)rm_text_set(why, sizeof why, resmon_last_error());
    if ((mlflow->config.flags & RESMON_MLFLOW_NO_SPOOL) != 0) {
        return rm_error(why_status, "%.380s; what was not sent is lost (no_spool)", why);
    }
    resmon_status status = save_document(mlflow, run);
    if (status == RESMON_OK) {
        return rm_error(why_status, "the run waits for: resmon push --mlflow=%.90s %.190s: %.280s",
                        mlflow->config.uri, mlflow->config.spool, why);
    }
    (void)rm_text_set(trouble, sizeof trouble, resmon_last_error());
    return rm_error(status, "%.200s; and the run could not be kept: %.250s", why, trouble);
}

/* ---- as a sink -------------------------------------------------------------------------- */

static bool reports(const struct mlflow *mlflow)
{
    return mlflow->place.is_reporter;
}

/* The process that made the run also describes and ends it, even if another process of the host
 * reports. */
static enum rm_mlflow_stage first_stage(const struct mlflow *mlflow)
{
    return reports(mlflow) ? RM_MLFLOW_STAGE_SUMMARY : RM_MLFLOW_STAGE_NOTE;
}

/* Makes the run early, so that the other ranks find it.  After a failure, the end of the run
 * tries again. */
static resmon_status start(void *context, const resmon_run *run)
{
    struct mlflow *mlflow = context;
    share_run(&mlflow->config);
    note_settings(mlflow);
    resmon_status status = settle_run(mlflow, run);
    if (status == RESMON_OK && mlflow->place.is_first && !sends_nothing(mlflow)) {
        status = find_run(mlflow, rm_clock_monotonic_ns() + JOB_WAIT_NS);
    }
    if (status != RESMON_OK) {
        rm_log(RESMON_LOG_WARNING, "%s; it is tried again at the end", resmon_last_error());
    }
    rm_http_rest(mlflow->client.http);
    return RESMON_OK;
}

static resmon_status send_series(struct mlflow *mlflow, const resmon_run *run)
{
    struct rm_mlflow_plan *plan = &mlflow->plan;
    int64_t deadline_ns = rm_clock_monotonic_ns() + JOB_WAIT_NS;
    resmon_status status = make_plan(mlflow, run);
    if (status != RESMON_OK) {
        return status;
    }
    plan->row_end = run->row_count - 1; /* the last row may still grow */
    plan->last_stage = RM_MLFLOW_STAGE_SERIES;
    status = find_run(mlflow, deadline_ns);
    if (status == RESMON_OK && plan->first_row < plan->row_end) {
        status = send_items(mlflow, RM_MLFLOW_STAGE_SERIES, deadline_ns);
        if (status == RESMON_OK) {
            mlflow->sent_until_ns = run->t_last[plan->row_end - 1];
        }
    }
    rm_mlflow_plan_free(plan);
    return status;
}

/* Sends series during the run: complete rows that are new.  Rows of a failed request are sent by
 * the next snapshot, or at the end. */
static resmon_status snapshot(void *context, const resmon_run *run)
{
    struct mlflow *mlflow = context;
    if (!reports(mlflow) || run->row_count < 2 || sends_nothing(mlflow)) {
        return RESMON_OK;
    }
    resmon_status status = send_series(mlflow, run);
    rm_http_rest(mlflow->client.http);
    return status;
}

static resmon_status stop(void *context, const resmon_run *run)
{
    struct mlflow *mlflow = context;
    if (!reports(mlflow) && !mlflow->place.is_first) {
        return RESMON_OK;
    }
    if (sends_nothing(mlflow)) {
        bool is_wanted = (mlflow->config.flags & RESMON_MLFLOW_NO_SPOOL) == 0;
        return is_wanted ? save_document(mlflow, run) : RESMON_OK;
    }
    resmon_status status = deliver(mlflow, run, first_stage(mlflow), RM_DEADLINE_NONE);
    rm_http_rest(mlflow->client.http);
    return status == RESMON_OK ? RESMON_OK : keep(mlflow, run, status);
}

/* Sets the function that adds facts to the run while it lasts. */
static void take_note(void *context, void (*note)(const char *key, const char *value))
{
    ((struct mlflow *)context)->note = note;
}

resmon_status rm_mlflow_sink_new(const resmon_mlflow_options *options, struct rm_sink *ret_sink)
{
    struct mlflow *mlflow = NULL;
    resmon_status status = mlflow_new(options, &mlflow);
    status = mlflow != NULL ? make_uuid(mlflow->wanted.uuid) : status;
    if (mlflow == NULL || status != RESMON_OK) {
        mlflow_free(mlflow);
        return status;
    }
    static unsigned sinks; /* atomic */
    mlflow->number = __atomic_add_fetch(&sinks, 1, __ATOMIC_RELAXED);
    bool has_series = (mlflow->config.flags & RESMON_MLFLOW_SERIES) != 0;
    *ret_sink = (struct rm_sink){
        .ops = {.name = "mlflow",
                .start = start,
                .stop = stop,
                .close = mlflow_free,
                .snapshot = snapshot,
                .snapshot_interval_ms = has_series ? mlflow->config.interval_ms : 0,
                .flags = RESMON_SINK_REMOTE},
        .context = mlflow,
        .take_note = take_note,
        .snapshot_parts = RESMON_PART_SERIES | RESMON_PART_SUMMARY,
    };
    return RESMON_OK;
}

/* ---- a finished run -------------------------------------------------------------------- */

resmon_status rm_mlflow_push(const resmon_run *run, const resmon_mlflow_options *options)
{
    struct mlflow *mlflow = NULL;
    resmon_mlflow_options unkept = *options;
    if ((options->flags & RESMON_MLFLOW_SPOOL_ONLY) != 0) {
        return rm_error(RESMON_EINVAL, "a push sends a run to MLflow: it cannot be spool_only");
    }
    unkept.flags |= RESMON_MLFLOW_NO_SPOOL; /* the run is in a file or in the caller's memory */
    resmon_status status = mlflow_new(&unkept, &mlflow);
    if (mlflow == NULL) {
        return status;
    }
    bool is_of_sink = take_up(mlflow, run);
    status = settle_run(mlflow, run);
    if (status == RESMON_OK) {
        struct rm_mlflow_wanted *wanted = &mlflow->wanted;
        /* Another process that pushes documents of ranks of this job may be making its run. */
        wanted->way = RM_MLFLOW_LOOK;
        wanted->wait_ns = is_of_sink && !wanted->is_first ? JOB_WAIT_NS : 0;
        mlflow->client.wants_points = true;
        status = deliver(mlflow, run, is_of_sink ? first_stage(mlflow) : RM_MLFLOW_STAGE_SUMMARY,
                         rm_clock_monotonic_ns() + mlflow->config.budget_ns);
    }
    mlflow_free(mlflow);
    return status;
}

static void put_member(struct rm_buffer *text, const char *key, const char *value)
{
    rm_buffer_printf(text, "\"%s\":", key);
    rm_buffer_json(text, value);
    rm_buffer_puts(text, ",");
}

static resmon_status put_requests(struct mlflow *mlflow, struct rm_buffer *text)
{
    struct rm_mlflow_cursor cursor = {.stage = RM_MLFLOW_STAGE_SUMMARY};
    bool has_item = true;
    for (unsigned count = 0; has_item; count++) {
        struct rm_mlflow_item item;
        resmon_status status = rm_mlflow_items_next(&mlflow->plan, &cursor, mlflow->batch_metrics,
                                                    &mlflow->body, &item, &has_item);
        if (status != RESMON_OK || !has_item) {
            return status;
        }
        rm_buffer_puts(text, count > 0 ? ",{" : "{");
        put_member(text, "call", rm_mlflow_call_name(item.call));
        if (item.call == RM_MLFLOW_ARTIFACT) {
            put_member(text, "path", item.path);
            rm_buffer_puts(text, "\"body\":");
            rm_buffer_json(text, item.body);
        } else {
            rm_buffer_puts(text, "\"body\":{");
            rm_buffer_add(text, item.body, item.length);
        }
        rm_buffer_puts(text, "}");
    }
    return RESMON_OK;
}

resmon_status rm_mlflow_requests(const resmon_run *run, const resmon_mlflow_options *options,
                                 struct rm_buffer *text)
{
    struct mlflow *mlflow = NULL;
    resmon_mlflow_options offline = *options;
    offline.flags |= RESMON_MLFLOW_SPOOL_ONLY | RESMON_MLFLOW_NO_SPOOL; /* no server, and no file */
    resmon_status status = mlflow_new(&offline, &mlflow);
    if (mlflow == NULL) {
        return status;
    }
    (void)take_up(mlflow, run);
    status = make_plan(mlflow, run);
    if (status == RESMON_OK) {
        rm_buffer_puts(text, "{");
        put_member(text, "run_id", mlflow->config.run_id);
        put_member(text, "experiment", mlflow->config.experiment);
        put_member(text, "experiment_id", mlflow->config.experiment_id);
        put_member(text, "uuid", mlflow->wanted.uuid);
        rm_buffer_printf(text, "\"create\":{%s,\"requests\":[", mlflow->wanted.body);
        status = put_requests(mlflow, text);
        rm_buffer_puts(text, "]}");
        status = status == RESMON_OK ? text->status : status;
        rm_mlflow_plan_free(&mlflow->plan);
    }
    mlflow_free(mlflow);
    return status;
}
