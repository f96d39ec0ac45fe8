/* SPDX-License-Identifier: MIT */
/*
 * Owns what an HTTP client is told: its configuration, a request, and a reply.  Of net/http, by
 * libcurl, and of net/http_program, by the program.
 */
#ifndef RM_NET_EXCHANGE_H
#define RM_NET_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

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
    bool is_otlp; /* the specification of OTLP does not permit retries after 408, 413 and 500 */
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

#endif
