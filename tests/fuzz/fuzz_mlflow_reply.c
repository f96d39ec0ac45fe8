/* SPDX-License-Identifier: MIT */
/* What an MLflow server answers: one conversation to come to a run, and items sent to it. */
#include "fuzz.h"

#ifndef RM_HAVE_CJSON

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}

#else

#include "no_network.h"

#include <resmon/resmon.h>

#include "net/mlflow_client.h"

static struct rm_mlflow_config config;
static struct rm_mlflow_client client;
static struct rm_mlflow_wanted wanted;

static void check_text(resmon_status status)
{
    const char *text = resmon_last_error();
    if (status == RESMON_OK) {
        return;
    }
    PROMISE(text[0] != '\0' && strlen(text) < 512);
    for (const char *at = text; *at != '\0'; at++) {
        PROMISE((unsigned char)*at >= 0x20 && *at != 0x7f);
    }
}

static void send(enum rm_mlflow_call call)
{
    const struct rm_mlflow_item item = {
        .call = call, .path = "resmon/run.json", .body = "\"x\":1}", .length = 6};
    check_text(rm_mlflow_send(&client, &item, INT64_MAX));
}

/* The first byte says how one comes to the run. */
static void prepare(uint8_t choice)
{
    struct rm_http *http = NULL;
    const struct rm_http_config how = {.url = "http://h"};
    config = (struct rm_mlflow_config){.uri = "http://h/p", .batch_metrics = 1000};
    wanted = (struct rm_mlflow_wanted){.uuid = "0123456789abcdef0123456789abcdef",
                                       .way = (enum rm_mlflow_way)(choice % 3),
                                       .may_exist = (choice & 8) != 0,
                                       .body = "\"run_name\":\"r\"}"};
    if ((choice & 16) != 0) {
        (void)snprintf(config.experiment, sizeof config.experiment, "an experiment");
    }
    if ((choice & 32) != 0) {
        (void)snprintf(config.run_id, sizeof config.run_id, "given");
    }
    if (wanted.way != RM_MLFLOW_MAKE) {
        (void)snprintf(wanted.job, sizeof wanted.job, "slurm/7");
    }
    PROMISE(rm_http_open(&how, &http) == RESMON_OK);
    rm_mlflow_client_init(&client, &config, http);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    prepare(data[0]);
    answers_at = data + 1;
    answers_left = size - 1;
    for (int i = 0; i < 2 && client.run_id[0] == '\0'; i++) {
        resmon_status status = rm_mlflow_find_run(&client, &wanted, INT64_MAX);
        check_text(status);
        PROMISE((status == RESMON_OK) == (client.run_id[0] != '\0'));
    }
    PROMISE(memchr(client.run_id, '\0', sizeof client.run_id) != NULL);
    PROMISE(memchr(client.artifact_uri, '\0', sizeof client.artifact_uri) != NULL);
    if (client.run_id[0] != '\0') {
        send(RM_MLFLOW_LOG_BATCH);
        send(RM_MLFLOW_ARTIFACT);
        send(RM_MLFLOW_UPDATE);
    }
    rm_mlflow_client_free(&client);
    return 0;
}

#endif
