/* SPDX-License-Identifier: MIT */
/*
 * Sends to MLflow what did not get there: run documents, recordings of programs that were killed,
 * and spool files, in which the library puts what it could not send.  The content of a file says
 * which of these it is.
 *
 *     MLFLOW_TRACKING_URI=http://localhost:5000 mlflow_push run.json run.rec *.spool
 */
#include <resmon/resmon.h>

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: mlflow_push FILE...\n"
    "\n"
    "FILE is one of\n"
    "  a run document (json=FILE)       a run of its own, or of its job, on the server\n"
    "  a recording (record=FILE)        likewise; KILLED if its program did not end well\n"
    "  a spool file (*.spool)           what is left of it goes to the server and the run that it\n"
    "                                   names; when all is sent the file is removed\n"
    "\n"
    "The server, the experiment and the credentials are those of MLFLOW_TRACKING_URI,\n"
    "MLFLOW_EXPERIMENT_NAME, MLFLOW_TRACKING_TOKEN, ...; with MLFLOW_RUN_ID documents and\n"
    "recordings go to that run.  The exit code is 0 when all was sent.\n";

static int is_spool(const char *path)
{
    static const char mark[] = "resmon-mlflow-spool ";
    char start[sizeof mark - 1];
    FILE *file = fopen(path, "rb");
    size_t length = file != NULL ? fread(start, 1, sizeof start, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return length == sizeof start && memcmp(start, mark, length) == 0;
}

static resmon_status replay(const char *path)
{
    resmon_mlflow_replay_info info = {.struct_size = sizeof info};
    resmon_status status = resmon_mlflow_replay(path, NULL, &info);
    if (status == RESMON_OK) {
        printf("%s: %llu of %llu requests sent now to the run %s\n", path,
               (unsigned long long)info.sent, (unsigned long long)info.requests, info.run_id);
    }
    return status;
}

static resmon_status push(const char *path)
{
    resmon_run *run = NULL;
    resmon_status status = resmon_run_load(path, &run);
    if (status == RESMON_OK) {
        status = resmon_run_push_mlflow(run, NULL);
        resmon_run_free(run);
    }
    if (status == RESMON_OK) {
        printf("%s: sent\n", path);
    }
    return status;
}

int main(int argc, char **argv)
{
    int result = 0;
    if (argc < 2 || argv[1][0] == '-') {
        fputs(usage, stderr);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        if ((is_spool(argv[i]) ? replay(argv[i]) : push(argv[i])) != RESMON_OK) {
            fprintf(stderr, "mlflow_push: %s: %s\n", argv[i], resmon_last_error());
            result = 1;
        }
    }
    return result;
}
