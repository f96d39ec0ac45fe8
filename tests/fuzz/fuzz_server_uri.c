/* SPDX-License-Identifier: MIT */
/* Addresses of servers as users give them: an address has no credentials, and no text shows one. */
#include "fuzz.h"

#include <resmon/resmon.h>

#include "net/address.h"

#define MOST_BYTES 20000

static char text[MOST_BYTES + 1];
static struct rm_secrets secrets;

static void check_address(const char *uri)
{
    const char *host = strstr(uri, "://");
    PROMISE(host != NULL && strncmp(uri, "http", 4) == 0);
    host += 3;
    size_t length = strcspn(host, "/");
    PROMISE(length > 0 && memchr(host, '@', length) == NULL);
    for (const char *at = uri; *at != '\0'; at++) {
        PROMISE(*at != ' ' && *at != '\t' && *at != '\r' && *at != '\n');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char uri[256];
    size_t length = size < MOST_BYTES ? size : MOST_BYTES;
    memcpy(text, data, length);
    text[length] = '\0';
    memset(&secrets, 0, sizeof secrets);
    resmon_status status = rm_server_uri_take(text, "it", uri, sizeof uri, &secrets);
    PROMISE(status == RESMON_OK || status == RESMON_EINVAL);
    PROMISE(memchr(secrets.user, '\0', sizeof secrets.user) != NULL);
    PROMISE(memchr(secrets.password, '\0', sizeof secrets.password) != NULL);
    if (status == RESMON_OK) {
        check_address(uri);
    } else if (strlen(secrets.password) > 8) {
        PROMISE(strstr(resmon_last_error(), secrets.password) == NULL);
    }
    return 0;
}
