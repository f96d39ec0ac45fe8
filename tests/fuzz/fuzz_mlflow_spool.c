/* SPDX-License-Identifier: MIT */
/* Spool files: read, sent to a server that takes all, and gone when all is sent. */
#include "fuzz.h"

#ifndef RM_HAVE_CJSON

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}

#else

#include "no_network.h"

#include <unistd.h>

#include <resmon/mlflow.h>
#include <resmon/resmon.h>

static const char answers[] = "\x00{\"experiment\":{\"experiment_id\":\"1\",\"lifecycle_stage\":"
                              "\"active\"},\"run\":{\"info\":{\"run_id\":\"r\",\"artifact_uri\":"
                              "\"mlflow-artifacts:/1/r\"}},\"runs\":[{\"info\":{\"run_id\":\"r\","
                              "\"artifact_uri\":\"mlflow-artifacts:/1/r\"}}]}\x1e";

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    PROMISE(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* One answer for each exchange there can be: as many as lines. */
static size_t repeat_answers(char **ret_text, const uint8_t *data, size_t size)
{
    size_t lines = 8;
    size = size < 4096 ? size : 4096;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n' ? 1 : 0;
    }
    size_t length = sizeof answers - 1;
    *ret_text = malloc(lines * length);
    PROMISE(*ret_text != NULL);
    for (size_t i = 0; i < lines; i++) {
        memcpy(*ret_text + i * length, answers, length);
    }
    return lines * length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[96];
    char *text = NULL;
    resmon_mlflow_options options = {.struct_size = sizeof options, .spool = "/tmp/none.spool"};
    resmon_mlflow_replay_info info = {.struct_size = sizeof info};
    (void)unsetenv("MLFLOW_TRACKING_URI");
    (void)unsetenv("HOME");
    (void)snprintf(path, sizeof path, "%s/a.spool", fuzz_directory());
    write_file(path, data, size);
    answers_left = repeat_answers(&text, data, size);
    answers_at = (const uint8_t *)text;
    resmon_status status = resmon_mlflow_replay(path, &options, &info);
    PROMISE(info.sent + info.refused <= info.requests);
    if (status == RESMON_OK) {
        PROMISE(info.refused == 0 && access(path, F_OK) != 0);
    } else {
        PROMISE(resmon_last_error()[0] != '\0' && access(path, F_OK) == 0);
    }
    (void)unlink(path);
    free(text);
    return 0;
}

#endif
