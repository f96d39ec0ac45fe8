/* SPDX-License-Identifier: MIT */
#include "sink/mlflow.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/deadline.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "net/mlflow_items.h"
#include "net/mlflow_names.h"
#include "net/mlflow_spool.h"
#include "sink/mlflow_note.h"
#include "sink/sinks.h"

#define LARGEST_BODY ((size_t)1 << 30)
#define JOB_WAIT_NS  (RM_NS_PER_S * 20) /* for the run of a job, when it should be there */

/* All that a delivery needs. */
struct mlflow {
    void (*note)(const char *key, const char *value); /* NULL: nobody wants to know */
    struct rm_mlflow_config config;
    struct rm_mlflow_client client;
    struct rm_mlflow_address address;
    struct rm_mlflow_place place;
    struct rm_buffer body;
    unsigned number;       /* among the sinks of this process, from 1; 0: of a run that is there */
    int64_t sent_until_ns; /* series: the end of the last row that was sent */
    size_t batch_metrics;  /* less than configured once the server found a request too large */
};

/* ---- life ------------------------------------------------------------------------------- */

static void mlflow_free(void *context)
{
    struct mlflow *mlflow = context;
    if (mlflow != NULL) {
        rm_mlflow_client_free(&mlflow->client);
        rm_mlflow_address_free(&mlflow->address);
        rm_buffer_free(&mlflow->body);
        rm_free(mlflow);
    }
}

static resmon_status make_uuid(char uuid[33])
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        return rm_error(RESMON_EIO, "no random numbers for the id of a run");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(uuid + 2 * i, 3, "%02x", bytes[i]);
    }
    return RESMON_OK;
}

static resmon_status mlflow_new(const resmon_mlflow_options *options, const char *uri,
                                struct mlflow **ret_mlflow)
{
    struct rm_http *http = NULL;
    struct mlflow *mlflow = rm_alloc(1, sizeof *mlflow);
    if (mlflow == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    resmon_status status = rm_mlflow_config_open(options, uri, &mlflow->config, &http);
    if (status != RESMON_OK) {
        rm_free(mlflow);
        return status;
    }
    rm_mlflow_client_init(&mlflow->client, &mlflow->config, http);
    rm_buffer_init(&mlflow->body, LARGEST_BODY);
    mlflow->sent_until_ns = -1;
    mlflow->batch_metrics = mlflow->config.batch_metrics;
    status = make_uuid(mlflow->address.wanted.uuid);
    if (status != RESMON_OK) {
        mlflow_free(mlflow);
        return status;
    }
    *ret_mlflow = mlflow;
    return RESMON_OK;
}

/* The second monitor of each process, beside that of RESMON or after the first, shares a run of its
 * own: all processes of a job are the same program. */
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

static const char *fact_of(const struct resmon_run *run, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, "run", key);
    return fact != NULL && fact->kind == RM_FACT_TEXT ? fact->value : "";
}

/* False: it is of another server, or none.  Outside text: ids are checked. */
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

/* Where the run is, or how it is to be made: settled once. */
static resmon_status settle_address(struct mlflow *mlflow, const struct resmon_run *run)
{
    struct rm_mlflow_address *address = &mlflow->address;
    if (address->create != NULL) {
        return RESMON_OK;
    }
    mlflow->place = rm_mlflow_place_of(&mlflow->config, run);
    number_job(mlflow, &mlflow->place);
    (void)rm_text_set(address->uri, sizeof address->uri, mlflow->config.uri);
    (void)rm_text_set(address->experiment, sizeof address->experiment, mlflow->config.experiment);
    (void)rm_text_set(address->experiment_id, sizeof address->experiment_id,
                      mlflow->config.experiment_id);
    (void)rm_text_set(address->run_id, sizeof address->run_id, mlflow->config.run_id);
    (void)rm_text_set(address->wanted.job, sizeof address->wanted.job, mlflow->place.job);
    address->wanted.is_first = mlflow->place.is_first;
    address->wanted.way = mlflow->place.is_first ? RM_MLFLOW_MAKE : RM_MLFLOW_AWAIT;
    rm_buffer_clear(&mlflow->body);
    resmon_status status = rm_mlflow_items_create(&mlflow->config, run, &mlflow->place,
                                                  address->wanted.uuid, &mlflow->body);
    if (status != RESMON_OK) {
        return status;
    }
    address->create = rm_strdup(mlflow->body.text);
    address->wanted.body = address->create;
    return address->create != NULL ? RESMON_OK
                                   : rm_error(RESMON_ENOMEM, "out of memory for MLflow");
}

/* What an earlier delivery of this run has begun there is gone on with: the run that it made, found
 * by its tag in its experiment, or the one that it was attached to, on the same server.  What the
 * options and the environment say goes before. */
static void take_up(struct mlflow *mlflow, const struct resmon_run *run)
{
    struct rm_mlflow_config *config = &mlflow->config;
    struct rm_mlflow_wanted *wanted = &mlflow->address.wanted;
    struct rm_mlflow_url made = {{0}, {0}}, attached = {{0}, {0}};
    const char *uuid = fact_of(run, RM_MLFLOW_FACT_UUID);
    if (strlen(uuid) == sizeof wanted->uuid - 1 &&
        strspn(uuid, "0123456789abcdef") == sizeof wanted->uuid - 1) {
        (void)rm_text_set(wanted->uuid, sizeof wanted->uuid, uuid);
        wanted->may_exist = true;
    }
    bool has_made = read_url(config->uri, fact_of(run, RM_MLFLOW_FACT_RUN), &made);
    if (has_made && config->experiment[0] == '\0' && config->experiment_id[0] == '\0') {
        (void)rm_text_set(config->experiment_id, sizeof config->experiment_id, made.experiment_id);
        (void)rm_text_set(mlflow->client.experiment_id, sizeof mlflow->client.experiment_id,
                          made.experiment_id);
    }
    if (!has_made && config->run_id[0] == '\0' &&
        read_url(config->uri, fact_of(run, RM_MLFLOW_FACT_ATTACHED), &attached)) {
        (void)rm_text_set(config->run_id, sizeof config->run_id, attached.run_id);
    }
}

/* Monitors of this process in one run, each with keys of its own: the second would write over the
 * first one's figures, and its parameters would be refused. */
static void share_run(struct rm_mlflow_config *config)
{
    static struct {
        uint64_t run; /* a hash of its id; 0: free */
        unsigned monitors;
    } runs[64]; /* atomic: no lock that a fork may find held */
    uint64_t run = rm_hash_bytes(RM_HASH_START, config->run_id, strlen(config->run_id)) | 1;
    unsigned number = 1;
    for (size_t i = 0; i < RM_ARRAY_LEN(runs) && config->run_id[0] != '\0'; i++) {
        uint64_t found = 0; /* or what stands there */
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

/* Where this run goes, for a recording whose program is killed. */
static resmon_status find_run(struct mlflow *mlflow, int64_t deadline_ns)
{
    const struct rm_mlflow_client *client = &mlflow->client;
    bool is_new = client->run_id[0] == '\0';
    bool is_chosen = mlflow->config.run_id[0] != '\0';
    if (is_new && !is_chosen && mlflow->note != NULL) {
        mlflow->note(RM_MLFLOW_FACT_UUID, mlflow->address.wanted.uuid);
    }
    resmon_status status =
        rm_mlflow_find_run(&mlflow->client, &mlflow->address.wanted, deadline_ns);
    if (status == RESMON_OK && is_new && mlflow->note != NULL) {
        char url[RM_FACT_VALUE_BYTES];
        int length = snprintf(url, sizeof url, "%s" URL_EXPERIMENT "%s" URL_RUN "%s",
                              mlflow->config.uri, client->experiment_id, client->run_id);
        if (length > 0 && (size_t)length < sizeof url) {
            mlflow->note(is_chosen ? RM_MLFLOW_FACT_ATTACHED : RM_MLFLOW_FACT_RUN, url);
        }
        if (rm_mlflow_needs_package(client)) {
            char path[RM_MLFLOW_ARTIFACT_BYTES];
            rm_mlflow_artifact_path(&mlflow->config, mlflow->place.node_index, path);
            mlflow->note(RM_MLFLOW_FACT_LEFT, path);
        }
    }
    return status;
}

/* ---- sending a plan --------------------------------------------------------------------- */

/* How a delivery went. */
struct account {
    resmon_status status; /* of the first failure */
    char text[RM_ERROR_TEXT_BYTES];
    uint64_t sent, left;
};

static void note_failure(struct account *account, resmon_status status)
{
    if (account->status == RESMON_OK) {
        account->status = status;
        (void)snprintf(account->text, sizeof account->text, "%s", resmon_last_error());
    }
}

/* A request that was too large is made again in smaller portions; false: it cannot be smaller. */
static bool shrink(struct mlflow *mlflow, const struct rm_mlflow_item *item)
{
    if (mlflow->client.reply.code != 413 || item->call != RM_MLFLOW_LOG_BATCH ||
        mlflow->batch_metrics <= 32) {
        return false;
    }
    mlflow->batch_metrics /= 4;
    return true;
}

/* Sends items from the cursor on, and leaves it at the first that is to be sent later.  The end of
 * the run is not held up by a document that the server refuses. */
static void send_items(struct mlflow *mlflow, const struct rm_mlflow_plan *plan,
                       struct rm_mlflow_cursor *cursor, int64_t deadline_ns,
                       struct account *account)
{
    struct rm_mlflow_cursor at = *cursor;
    for (;;) {
        struct rm_mlflow_item item = {.call = RM_MLFLOW_LOG_BATCH};
        struct rm_mlflow_cursor next = at;
        bool has_item;
        resmon_status status = rm_mlflow_items_next(plan, &next, mlflow->batch_metrics,
                                                    &mlflow->body, &item, &has_item);
        if (status == RESMON_OK && has_item) {
            status = rm_mlflow_send(&mlflow->client, &item, deadline_ns);
        }
        if (status == RESMON_OK) {
            account->sent += has_item ? 1 : 0;
        } else if (shrink(mlflow, &item)) {
            continue;
        } else if (rm_mlflow_is_optional(&mlflow->client, &item, status)) {
            rm_log(RESMON_LOG_WARNING, "%s", resmon_last_error());
        } else {
            note_failure(account, status);
            if (!mlflow->client.is_refused || item.call != RM_MLFLOW_ARTIFACT) {
                return;
            }
        }
        at = next;
        *cursor = account->status == RESMON_OK ? at : *cursor;
        if (!has_item) {
            return;
        }
    }
}

/* Puts what is left from the cursor on into a file. */
static resmon_status spool_items(struct mlflow *mlflow, const struct rm_mlflow_plan *plan,
                                 struct rm_mlflow_cursor *cursor, struct account *account,
                                 struct rm_mlflow_spool *spool)
{
    struct rm_mlflow_address *address = &mlflow->address;
    (void)rm_text_set(address->run_id, sizeof address->run_id,
                      mlflow->client.run_id[0] != '\0' ? mlflow->client.run_id
                                                       : mlflow->config.run_id);
    resmon_status status = rm_mlflow_spool_begin(spool, mlflow->config.spool, address);
    if (status != RESMON_OK) {
        return status;
    }
    bool has_item = true;
    while (status == RESMON_OK && has_item) {
        struct rm_mlflow_item item;
        status = rm_mlflow_items_next(plan, cursor, mlflow->batch_metrics, &mlflow->body, &item,
                                      &has_item);
        if (status == RESMON_OK && has_item) {
            status = rm_mlflow_spool_add(spool, &item);
        }
    }
    account->left = spool->requests;
    resmon_status ended = rm_mlflow_spool_end(spool);
    return status == RESMON_OK ? ended : status;
}

/* The rest goes into a file; the text says why, and where it is. */
static resmon_status put_away(struct mlflow *mlflow, const struct rm_mlflow_plan *plan,
                              struct rm_mlflow_cursor *cursor, struct account *account)
{
    if ((mlflow->config.flags & RESMON_MLFLOW_NO_SPOOL) != 0) {
        return rm_error(account->status,
                        "%.380s; the rest is lost, as spool files are switched off", account->text);
    }
    struct rm_mlflow_spool *spool = rm_alloc(1, sizeof *spool);
    if (spool == NULL) {
        return rm_error(RESMON_ENOMEM, "%.300s; no memory to put the rest into a file",
                        account->text);
    }
    resmon_status status = spool_items(mlflow, plan, cursor, account, spool);
    if (status == RESMON_OK) {
        status = rm_error(account->status,
                          "%llu requests wait in %.190s, for resmon push --mlflow: %.260s",
                          (unsigned long long)account->left, spool->file.path, account->text);
    } else {
        char why[RM_ERROR_TEXT_BYTES];
        (void)rm_text_set(why, sizeof why, resmon_last_error());
        status =
            rm_error(status, "%.200s; and the rest could not be kept: %.250s", account->text, why);
    }
    rm_free(spool);
    return status;
}

/* There is no memory for as much as a list of what is to be sent. */
static resmon_status lose(resmon_status status)
{
    char why[RM_ERROR_TEXT_BYTES];
    (void)rm_text_set(why, sizeof why, resmon_last_error());
    return rm_error(status, "%.400s; nothing was sent to MLflow or kept in a file", why);
}

static bool is_spooled(const struct mlflow *mlflow)
{
    return (mlflow->config.flags & RESMON_MLFLOW_SPOOL_ONLY) != 0;
}

/* All of it, as was asked for. */
static resmon_status spool_all(struct mlflow *mlflow, struct rm_mlflow_plan *plan,
                               struct rm_mlflow_cursor *cursor)
{
    struct account account = {0};
    struct rm_mlflow_spool *spool = rm_alloc(1, sizeof *spool);
    if (spool == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    plan->is_made = mlflow->config.run_id[0] == '\0';
    resmon_status status = spool_items(mlflow, plan, cursor, &account, spool);
    if (status == RESMON_OK) {
        rm_log(RESMON_LOG_INFO, "MLflow: %llu requests in %s", (unsigned long long)account.left,
               spool->file.path);
    }
    rm_free(spool);
    return status;
}

/* What cannot be sent is put away. */
static resmon_status send_all(struct mlflow *mlflow, struct rm_mlflow_plan *plan,
                              struct rm_mlflow_cursor *cursor, int64_t deadline_ns)
{
    struct account account = {0};
    resmon_status status = find_run(mlflow, deadline_ns);
    if (status != RESMON_OK) {
        note_failure(&account, status);
        plan->is_made = mlflow->config.run_id[0] == '\0';
    } else {
        plan->is_made = mlflow->client.is_made;
        send_items(mlflow, plan, cursor, deadline_ns, &account);
    }
    if (account.status != RESMON_OK) {
        return put_away(mlflow, plan, cursor, &account);
    }
    rm_log(RESMON_LOG_INFO, "MLflow: %s" URL_EXPERIMENT "%s" URL_RUN "%s", mlflow->config.uri,
           mlflow->client.experiment_id, mlflow->client.run_id);
    return RESMON_OK;
}

/* The whole way of a finished run, from the cursor on. */
static resmon_status deliver(struct mlflow *mlflow, const struct resmon_run *run,
                             struct rm_mlflow_cursor cursor, int64_t deadline_ns)
{
    struct rm_mlflow_plan *plan = rm_alloc(1, sizeof *plan);
    if (plan == NULL) {
        return lose(rm_error(RESMON_ENOMEM, "out of memory for MLflow"));
    }
    resmon_status status = settle_address(mlflow, run);
    if (status == RESMON_OK) {
        status = rm_mlflow_plan_init(plan, &mlflow->config, run, mlflow->sent_until_ns);
    }
    if (status != RESMON_OK) {
        rm_free(plan);
        return lose(status);
    }
    char *note = plan->place.is_first ? rm_mlflow_note_of(run) : NULL;
    struct rm_buffer page;
    plan->note = note;
    plan->page = rm_mlflow_page_of(run, &page) ? &page : NULL;
    status = is_spooled(mlflow) ? spool_all(mlflow, plan, &cursor)
                                : send_all(mlflow, plan, &cursor, deadline_ns);
    rm_mlflow_plan_free(plan);
    rm_buffer_free(&page);
    rm_free(note);
    rm_free(plan);
    return status;
}

/* ---- as a sink -------------------------------------------------------------------------- */

static bool reports(const struct mlflow *mlflow)
{
    return mlflow->place.is_reporter;
}

/* The run is made early, so that the other ranks find it; if that fails, there is time. */
static resmon_status start(void *context, const resmon_run *run)
{
    struct mlflow *mlflow = context;
    share_run(&mlflow->config);
    resmon_status status = settle_address(mlflow, run);
    if (status == RESMON_OK && mlflow->place.is_first && !is_spooled(mlflow)) {
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
    struct rm_mlflow_cursor cursor = {.stage = RM_MLFLOW_STAGE_SERIES};
    struct account account = {0};
    struct rm_mlflow_plan *plan = rm_alloc(1, sizeof *plan);
    if (plan == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    int64_t deadline_ns = rm_clock_monotonic_ns() + JOB_WAIT_NS;
    resmon_status status = settle_address(mlflow, run);
    if (status == RESMON_OK) {
        status = rm_mlflow_plan_init(plan, &mlflow->config, run, mlflow->sent_until_ns);
    }
    if (status != RESMON_OK) {
        rm_free(plan);
        return status;
    }
    plan->row_end = run->row_count - 1; /* the last one may still grow */
    plan->last_stage = RM_MLFLOW_STAGE_SERIES;
    status = find_run(mlflow, deadline_ns);
    if (status == RESMON_OK && plan->first_row < plan->row_end) {
        send_items(mlflow, plan, &cursor, deadline_ns, &account);
        status = account.status;
        if (status == RESMON_OK) {
            mlflow->sent_until_ns = run->t_last[plan->row_end - 1];
        }
    }
    rm_mlflow_plan_free(plan);
    rm_free(plan);
    return status;
}

/* Series while it runs: whole rows that are new.  What fails comes with the next, or at the end. */
static resmon_status snapshot(void *context, const resmon_run *run)
{
    struct mlflow *mlflow = context;
    if (!reports(mlflow) || run->row_count < 2 || is_spooled(mlflow)) {
        return RESMON_OK;
    }
    resmon_status status = send_series(mlflow, run);
    rm_http_rest(mlflow->client.http);
    return status;
}

/* Who made the run also describes and ends it, even where another process of the host reports. */
static resmon_status stop(void *context, const resmon_run *run)
{
    struct mlflow *mlflow = context;
    struct rm_mlflow_cursor cursor = {0};
    if (!reports(mlflow) && !mlflow->place.is_first) {
        return RESMON_OK;
    }
    if (!reports(mlflow)) {
        cursor.stage = RM_MLFLOW_STAGE_NOTE;
    }
    resmon_status status = deliver(mlflow, run, cursor, RM_DEADLINE_NONE);
    rm_http_rest(mlflow->client.http);
    return status;
}

/* Such a fact is put down while the run lasts. */
static void take_note(void *context, void (*note)(const char *key, const char *value))
{
    ((struct mlflow *)context)->note = note;
}

resmon_status rm_mlflow_sink_new(const resmon_mlflow_options *options, struct rm_sink *ret_sink)
{
    struct mlflow *mlflow = NULL;
    resmon_status status = mlflow_new(options, NULL, &mlflow);
    if (mlflow == NULL) {
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

/* ---- of a run that is there ------------------------------------------------------------- */

resmon_status rm_mlflow_push(const struct resmon_run *run, const resmon_mlflow_options *options)
{
    struct mlflow *mlflow = NULL;
    resmon_status status = mlflow_new(options, NULL, &mlflow);
    if (mlflow == NULL) {
        return status;
    }
    take_up(mlflow, run);
    status = settle_address(mlflow, run);
    if (status == RESMON_OK) {
        /* Nobody else may come to make the job's run: it is looked for, and made. */
        mlflow->address.wanted.way = RM_MLFLOW_LOOK;
        status = deliver(mlflow, run, (struct rm_mlflow_cursor){0},
                         rm_clock_monotonic_ns() + mlflow->config.budget_ns);
    }
    mlflow_free(mlflow);
    return status;
}

/* ---- of a spool file -------------------------------------------------------------------- */

static resmon_status replay_entry(struct mlflow *mlflow, struct rm_mlflow_replay *replay,
                                  const struct rm_mlflow_entry *entry, int64_t deadline_ns,
                                  struct account *account, resmon_mlflow_replay_info *info)
{
    resmon_status status = rm_mlflow_send(&mlflow->client, &entry->item, deadline_ns);
    bool is_optional = rm_mlflow_is_optional(&mlflow->client, &entry->item, status);
    if (is_optional) {
        rm_log(RESMON_LOG_WARNING, "%s", resmon_last_error());
    }
    if (status == RESMON_OK || is_optional) {
        info->sent++;
        return rm_mlflow_replay_mark(replay, entry, RM_MLFLOW_MARK_SENT);
    }
    note_failure(account, status);
    if (!mlflow->client.is_refused) {
        return status;
    }
    info->refused++;
    return rm_mlflow_replay_mark(replay, entry, RM_MLFLOW_MARK_REFUSED);
}

static resmon_status replay_entries(struct mlflow *mlflow, struct rm_mlflow_replay *replay,
                                    int64_t deadline_ns, resmon_mlflow_replay_info *info)
{
    struct account account = {0};
    struct rm_mlflow_entry entry;
    resmon_status status;
    while ((status = rm_mlflow_replay_next(replay, &entry)) == RESMON_OK) {
        if (entry.mark != RM_MLFLOW_MARK_SENT) {
            status = replay_entry(mlflow, replay, &entry, deadline_ns, &account, info);
        }
        rm_mlflow_entry_free(&entry);
        if (status != RESMON_OK) {
            return status;
        }
    }
    if (status != RESMON_ENOENT) {
        return status;
    }
    if (account.status != RESMON_OK) {
        return rm_error(account.status, "%.350s; %llu requests stay in the file", account.text,
                        (unsigned long long)info->refused);
    }
    return rm_lockedfile_remove(&replay->file);
}

/* A file is outside text, too: what becomes part of a URL is checked. */
static resmon_status take_address(struct mlflow *mlflow)
{
    const struct rm_mlflow_address *address = &mlflow->address;
    struct rm_mlflow_config *config = &mlflow->config;
    if (!rm_mlflow_is_id(address->run_id) || !rm_mlflow_is_id(address->experiment_id)) {
        return rm_error(RESMON_EFORMAT,
                        "the spool file has an invalid id of a run or an experiment");
    }
    if (!config->is_experiment_chosen) {
        (void)rm_text_set(config->experiment, sizeof config->experiment, address->experiment);
        (void)rm_text_set(config->experiment_id, sizeof config->experiment_id,
                          address->experiment_id);
        (void)rm_text_set(mlflow->client.experiment_id, sizeof mlflow->client.experiment_id,
                          address->experiment_id);
    }
    if (!config->is_run_chosen) {
        (void)rm_text_set(config->run_id, sizeof config->run_id, address->run_id);
    }
    return RESMON_OK;
}

static resmon_status replay_file(struct rm_mlflow_replay *replay,
                                 const resmon_mlflow_options *options,
                                 struct rm_mlflow_address *address, resmon_mlflow_replay_info *info)
{
    struct mlflow *mlflow = NULL;
    resmon_status status = mlflow_new(options, address->uri, &mlflow);
    if (mlflow == NULL) {
        return status;
    }
    mlflow->address = *address;
    address->create = NULL; /* passed on */
    status = take_address(mlflow);
    int64_t deadline_ns = rm_clock_monotonic_ns() + mlflow->config.budget_ns;
    struct rm_mlflow_wanted *wanted = &mlflow->address.wanted;
    wanted->may_exist = true;
    wanted->way = RM_MLFLOW_LOOK;
    wanted->wait_ns = wanted->is_first ? 0 : JOB_WAIT_NS;
    if (status == RESMON_OK) {
        status = rm_mlflow_find_run(&mlflow->client, wanted, deadline_ns);
    }
    if (status == RESMON_OK) {
        (void)rm_text_set(info->run_id, sizeof info->run_id, mlflow->client.run_id);
        status = replay_entries(mlflow, replay, deadline_ns, info);
    }
    mlflow_free(mlflow);
    return status;
}

/* The file says which server is shown the credentials of whoever sends it. */
static resmon_status check_owner(const struct rm_lockedfile *file,
                                 const resmon_mlflow_options *options)
{
    bool is_named = options->tracking_uri != NULL;
    return is_named || file->owner == geteuid()
               ? RESMON_OK
               : rm_error(
                     RESMON_EACCES,
                     "%s belongs to user %lu: give the server that may receive it (tracking_uri)",
                     file->path, (unsigned long)file->owner);
}

resmon_status rm_mlflow_replay(const char *path, const resmon_mlflow_options *options,
                               resmon_mlflow_replay_info *info)
{
    struct rm_mlflow_replay replay;
    struct rm_mlflow_address *address = rm_alloc(1, sizeof *address);
    if (address == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a spool file");
    }
    resmon_status status = rm_mlflow_replay_open(&replay, path, address);
    if (status == RESMON_OK) {
        info->requests = rm_mlflow_replay_count(&replay);
        status = check_owner(&replay.file, options);
        status = status == RESMON_OK ? replay_file(&replay, options, address, info) : status;
        rm_mlflow_replay_close(&replay);
        rm_mlflow_address_free(address);
    }
    rm_free(address);
    return status;
}
