/* SPDX-License-Identifier: MIT */
/*
 * Owns the addresses of servers: as users give them, separated from the credentials that may be in
 * them; the URL of a group of series on a Pushgateway; and the proxy that the environment names, by
 * the rules that the mlflow package (requests, and Python's urllib) and libcurl have in common:
 * requests to a server on this machine go through the proxy too, unless no_proxy excludes it.
 */
#ifndef RM_NET_ADDRESS_H
#define RM_NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "format/exposition.h"

#define RM_SECRET_BYTES 4096

/* On the heap, and only while a client is opened; wiped afterwards. */
struct rm_secrets {
    char user[RM_SECRET_BYTES];
    char password[RM_SECRET_BYTES];
    char token[RM_SECRET_BYTES];
};

/**
 * "http://user:password@host/prefix/" as `uri` "http://host/prefix", and the rest in `secrets`,
 * which stay as they are where the text has none.  RESMON_EINVAL: the error text calls the address
 * `what`, and never shows it, as it may hold a password.
 */
RM_SHARED resmon_status rm_server_uri_take(const char *text, const char *what, char *uri,
                                           size_t room, struct rm_secrets *secrets);

#define RM_PUSH_URL_BYTES 8192

/**
 * "<base>/metrics/job/<job>/<label>/<value>..."; what a path cannot hold is percent-encoded, and a
 * value that is no path segment ("", ".", "a/b") stands in base64 (RFC 4648, section 5).
 * RESMON_EINVAL: `base` is no "http://host..." or "https://host...", `job` is empty, or a label is
 * called "job"; RESMON_ERANGE: longer than RM_PUSH_URL_BYTES; RESMON_ENOMEM.  No message repeats
 * `base`, which may hold a password.
 */
resmon_status rm_push_url(const char *base, const char *job, const struct rm_labels *grouping,
                          struct rm_buffer *ret_url);

struct rm_proxy {
    const char *address;  /* of the environment; "": none */
    const char *variable; /* its name */
    const char *except;   /* the value of no_proxy; "": none */
    bool is_excepted;     /* no_proxy excludes the server */
};

/** Of requests to `url`. */
struct rm_proxy rm_proxy_of(const char *url);

/** " by the proxy http://proxy:3128 (http_proxy)", without credentials; "" where it is not used. */
void rm_proxy_describe(const struct rm_proxy *proxy, char *text, size_t room);

#endif
