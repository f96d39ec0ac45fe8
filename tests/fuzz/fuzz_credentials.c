/* SPDX-License-Identifier: MIT */
/* ~/.mlflow/credentials: whatever is in it, nobody falls over it, and none of it is shown. */
#include "fuzz.h"

#ifndef RM_HAVE_CJSON

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}

#else

#include "no_network.h"

#include <sys/stat.h>

#include <resmon/resmon.h>

#include "net/mlflow_config.h"

static struct rm_mlflow_config config;

static void write_file(const uint8_t *data, size_t size)
{
    static char path[128];
    if (path[0] == '\0') {
        (void)setenv("HOME", fuzz_directory(), 1);
        (void)snprintf(path, sizeof path, "%s/.mlflow", fuzz_directory());
        PROMISE(mkdir(path, 0700) == 0);
        (void)snprintf(path, sizeof path, "%s/.mlflow/credentials", fuzz_directory());
    }
    FILE *file = fopen(path, "wb");
    PROMISE(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rm_http *http = NULL;
    const resmon_mlflow_options options = {
        .struct_size = sizeof options, .tracking_uri = "http://h", .spool = "/tmp/none.json"};
    write_file(data, size);
    memset(&opened, 0, sizeof opened);
    PROMISE(rm_mlflow_config_open(&options, &config, &http) == RESMON_OK);
    PROMISE((opened.user[0] == '\0') == (opened.password[0] == '\0')); /* both or none */
    PROMISE(strlen(opened.user) < 4096 && strlen(opened.password) < 4096);
    PROMISE(strpbrk(opened.password, "\n") == NULL && strpbrk(opened.user, "\n") == NULL);
    rm_http_close(http);
    return 0;
}

#endif
