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

#include "base/buffer.h"
#include "base/compiler.h"

struct rm_http;

/* Configuration of a client.  Texts may be NULL, and are not used after rm_http_open(). */
struct rm_http_config {
    const char *url;             /* of the server, without credentials; for all requests */
    const char *user, *password; /* for Basic authentication; both or neither */
    const char *bearer;          /* token; used without a user */
    const char *ca_path;         /* file, or directory, of trusted certificates */
    const char *client_cert;     /* PEM with certificate and key */
    const char *client_key;      /* PEM; NULL: the key is in client_cert */
    const char *headers;         /* additional lines, "Name: value", with '\n' between them */
    bool has_secret_headers;     /* their values are credentials */
    bool is_insecure;            /* certificates are not verified */
    bool refuses_redirects;
    int64_t timeout_ns; /* of one exchange */
    /* Number of retries after a transient failure (no connection, 408, 429, 500, 502, 503, 504,
     * or a Retry-After).  The pause before the first one is 0, before the n-th one backoff_s *
     * 2^(n-1).  A random part of jitter_s is added to each pause. */
    unsigned retries;
    double backoff_s, jitter_s;
    bool ignores_retry_after;
};

struct rm_http_request {
    const char *method; /* "GET", "POST", "PUT", "DELETE" */
    const char *url;    /* http or https, without credentials */
    const char *type;   /* of the body: "application/json" */
    const char *body;   /* NULL: none */
    size_t length;
    bool is_single; /* must not be repeated, as libcurl does when a kept connection turns out to
                       be closed */
};

/* Zeroed, or of an earlier exchange; free it with rm_http_reply_free(). */
struct rm_http_reply {
    int code;            /* HTTP status; 0: no reply */
    bool is_sent;        /* the server may have received the request, and acted on it */
    bool is_passing;     /* a transient failure */
    bool is_unreachable; /* the server could not be reached */
    bool is_untrusted;   /* the server's certificate was not accepted */
    int64_t retry_after_ns;
    struct rm_buffer body; /* after a successful exchange at least "" */
};

#define RM_HTTP_LARGEST_REPLY ((size_t)4 << 20) /* as parsed JSON about 40 times as much */

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
