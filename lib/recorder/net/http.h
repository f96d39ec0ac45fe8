/* SPDX-License-Identifier: MIT */
/*
 * Owns HTTP, by libcurl, which is loaded when the first client is opened: programs that send
 * nothing do not pay for it.  A client keeps its connections, and is used by one thread at a time.
 *
 * Certificates are verified unless the configuration disables it.  The protocols are http and
 * https.  Redirects keep the method, and send no credentials to another host.  Replies are bounded,
 * and no error text contains a credential.
 */
#ifndef RM_NET_HTTP_H
#define RM_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "net/exchange.h"

struct rm_http;

/** RESMON_ENOTSUP: this build has no libcurl, or libcurl cannot be loaded; RESMON_EINVAL: a
 * certificate file does not exist; RESMON_ENOMEM. */
RM_SHARED resmon_status rm_http_open(const struct rm_http_config *config,
                                     struct rm_http **ret_http);

/** Replaces the client's credentials in a text by '*', since a server may repeat a request in
 * its reply.  The replies of failures are already treated; texts decoded from them are not. */
void rm_http_strike(const struct rm_http *http, char *text);

/** The proxy in front of the server, for messages, without credentials: "", or " by the proxy
 * http://proxy:3128 (http_proxy)". */
RM_SHARED const char *rm_http_route(const struct rm_http *http);

/** Closes connections and everything else that libcurl keeps open, at the end of each call of a
 * sink.  The next exchange opens them again. */
void rm_http_rest(struct rm_http *http);

/** NULL: no-op. */
RM_SHARED void rm_http_close(struct rm_http *http);

/**
 * Makes one exchange, until `deadline_ns` (CLOCK_MONOTONIC) at the latest.  RESMON_OK: there is a
 * reply, with any HTTP status.  The error texts of the failures name the server: RESMON_ENET,
 * RESMON_ETIMEDOUT, RESMON_EFORMAT (a reply that exceeds its bound, or is not HTTP), RESMON_EINVAL
 * (an invalid URL), RESMON_ENOMEM.
 */
resmon_status rm_http_exchange(struct rm_http *http, const struct rm_http_request *request,
                               int64_t deadline_ns, struct rm_http_reply *reply);

/** rm_http_exchange() with the configured retries, while time is left. */
RM_SHARED resmon_status rm_http_send(struct rm_http *http, const struct rm_http_request *request,
                                     int64_t deadline_ns, struct rm_http_reply *reply);

/**
 * Waits after a failed exchange until the next retry is due.  False, without a wait: `attempt`
 * exceeds the configured number, or no time would be left.
 */
bool rm_http_wait(struct rm_http *http, unsigned attempt, const struct rm_http_reply *reply,
                  int64_t deadline_ns);

/** Waits for `wait_ns`.  False: no time is left then, a new deadline was set meanwhile, or the
 * program is exiting. */
bool rm_http_pause(int64_t wait_ns, int64_t deadline_ns);

RM_SHARED void rm_http_reply_free(struct rm_http_reply *reply);

#endif
