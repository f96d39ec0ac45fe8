/* SPDX-License-Identifier: MIT */
/*
 * Owns HTTP, by libcurl, which is loaded when the first client is opened: programs that send
 * nothing do not pay for it.  A client keeps its connections; it is for one thread at a time.
 *
 * Certificates are verified unless the configuration turns it off, the protocols are http and
 * https, redirects keep the method and take no credentials to another host, replies are bounded,
 * and no error text holds a credential.
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

/* How a client talks.  Texts may be NULL, and are not needed after rm_http_open(). */
struct rm_http_config {
    const char *url;             /* of the server: all requests go there; without credentials */
    const char *user, *password; /* Basic; both or none */
    const char *bearer;          /* token, when there is no user */
    const char *ca_path;         /* file, or directory, of trusted certificates */
    const char *client_cert;     /* PEM with certificate and key */
    const char *header;          /* one more line: "Name: value" */
    bool is_insecure;            /* certificates are not verified */
    bool refuses_redirects;
    int64_t timeout_ns; /* of one exchange */
    /* Retries after a transient failure (no connection, 408, 429, 500, 502, 503, 504, or a
     * Retry-After): how many, and the pause before each: nothing, then backoff * 2^(n-1), each plus
     * a share of jitter. */
    unsigned retries;
    double backoff_s, jitter_s;
    bool ignores_retry_after;
};

struct rm_http_request {
    const char *method; /* "GET", "POST", "PUT", "DELETE" */
    const char *url;    /* http or https; without credentials */
    const char *type;   /* of the body: "application/json" */
    const char *body;   /* NULL: none */
    size_t length;
    bool is_single; /* not to be repeated: libcurl would, on a connection that died */
};

/* Zeroed, or of an exchange before; rm_http_reply_free() when done. */
struct rm_http_reply {
    int code;            /* of HTTP; 0: there was no answer */
    bool is_sent;        /* the server may have received the request, and acted on it */
    bool is_passing;     /* a transient failure */
    bool is_unreachable; /* there was no server */
    bool is_untrusted;   /* the server's certificate was not accepted */
    int64_t retry_after_ns;
    struct rm_buffer body; /* after an exchange that did not fail: at least "" */
};

#define RM_HTTP_LARGEST_REPLY ((size_t)4 << 20) /* as JSON it takes some 40 times as much */

/** RESMON_ENOTSUP: this build has no libcurl, or it cannot be loaded here; RESMON_EINVAL: a
 * certificate file that is not there; RESMON_ENOMEM. */
RM_SHARED resmon_status rm_http_open(const struct rm_http_config *config,
                                     struct rm_http **ret_http);

/** Replaces the credentials of this client in a text by '*': a server may repeat a request in its
 * answer.  Done with all answers that are failures; to be called for texts decoded of them. */
void rm_http_strike(const struct rm_http *http, char *text);

/** The proxy before the server, for messages: "", or " by the proxy http://proxy:3128
 * (http_proxy)".  Without credentials. */
RM_SHARED const char *rm_http_route(const struct rm_http *http);

/** Closes connections and all else that libcurl keeps open: at the end of each call of a sink.  The
 * next exchange opens it again. */
void rm_http_rest(struct rm_http *http);

/** NULL is fine. */
RM_SHARED void rm_http_close(struct rm_http *http);

/**
 * One exchange, done by `deadline_ns` (CLOCK_MONOTONIC).  RESMON_OK: there is an answer, whatever
 * its code.  RESMON_ENET, RESMON_ETIMEDOUT, RESMON_EFORMAT (a reply past its bound, or none of
 * HTTP), RESMON_EINVAL (no such URL), RESMON_ENOMEM: the text says with which server.
 */
resmon_status rm_http_exchange(struct rm_http *http, const struct rm_http_request *request,
                               int64_t deadline_ns, struct rm_http_reply *reply);

/** rm_http_exchange() with the retries of the configuration, while there is time. */
RM_SHARED resmon_status rm_http_send(struct rm_http *http, const struct rm_http_request *request,
                                     int64_t deadline_ns, struct rm_http_reply *reply);

/**
 * Waits after a failed exchange until the next retry is due; false, without a wait: `attempt` is
 * more than the configuration allows, or there would be no time left.
 */
bool rm_http_wait(struct rm_http *http, unsigned attempt, const struct rm_http_reply *reply,
                  int64_t deadline_ns);

/** Waits so long; false when there is no time left then, a new deadline came meanwhile, or the
 * program ends. */
bool rm_http_pause(int64_t wait_ns, int64_t deadline_ns);

RM_SHARED void rm_http_reply_free(struct rm_http_reply *reply);

#endif
