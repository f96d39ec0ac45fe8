/* SPDX-License-Identifier: MIT */
/* Replaces net/http.c in a library that is built without libcurl. */
#include "net/http.h"

#include <resmon/http.h>

#include "base/feature.h"

static resmon_status unsupported(void)
{
    return rm_feature_need(RM_FEATURE_CURL);
}

resmon_status rm_http_open(const struct rm_http_config *config, struct rm_http **ret_http)
{
    (void)config, (void)ret_http;
    return unsupported();
}

int32_t resmon_set_http(resmon_http_fn function, void *context)
{
    (void)function, (void)context;
    return 0;
}

const char *rm_http_route(const struct rm_http *http)
{
    (void)http;
    return "";
}

void rm_http_rest(struct rm_http *http)
{
    (void)http;
}

void rm_http_close(struct rm_http *http)
{
    (void)http;
}

void rm_http_strike(const struct rm_http *http, char *text)
{
    (void)http, (void)text;
}

resmon_status rm_http_exchange(struct rm_http *http, const struct rm_http_request *request,
                               int64_t deadline_ns, struct rm_http_reply *reply)
{
    (void)http, (void)request, (void)deadline_ns, (void)reply;
    return unsupported();
}

resmon_status rm_http_send(struct rm_http *http, const struct rm_http_request *request,
                           int64_t deadline_ns, struct rm_http_reply *reply)
{
    return rm_http_exchange(http, request, deadline_ns, reply);
}

bool rm_http_wait(struct rm_http *http, unsigned attempt, const struct rm_http_reply *reply,
                  int64_t deadline_ns)
{
    (void)http, (void)attempt, (void)reply, (void)deadline_ns;
    return false;
}

bool rm_http_pause(int64_t wait_ns, int64_t deadline_ns)
{
    (void)wait_ns, (void)deadline_ns;
    return false;
}

void rm_http_reply_free(struct rm_http_reply *reply)
{
    *reply = (struct rm_http_reply){0};
}
