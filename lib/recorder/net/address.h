/* SPDX-License-Identifier: MIT */
/*
 * Owns the addresses of servers: separating credentials from the addresses that users give; the URL
 * of a group of series on a Pushgateway; and the proxy that the environment names.  The rules for
 * proxies are those that the mlflow package (requests, and Python's urllib) and libcurl have in
 * common.  Requests to a server on this machine use the proxy, too, unless no_proxy excludes it.
 */
#ifndef RM_NET_ADDRESS_H
#define RM_NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "format/exposition.h"

#define RM_SECRET_BYTES 4096

/* Allocated on the heap while a client is opened, and erased afterwards. */
struct rm_secrets {
    char user[RM_SECRET_BYTES];
    char password[RM_SECRET_BYTES];
    char token[RM_SECRET_BYTES];
};

/**
 * Splits "http://user:password@host/prefix/" into `uri`, "http://host/prefix", and the credentials
 * in `secrets`.  Members of `secrets` for which the text has no credentials stay unchanged.
 * RESMON_EINVAL: the error text calls the address `what`, and never contains the address itself,
 * which may hold a password.
 */
RM_SHARED resmon_status rm_server_uri_take(const char *text, const char *what, char *uri,
                                           size_t room, struct rm_secrets *secrets);

#define RM_PUSH_URL_BYTES 8192

/**
 * Writes "<base>/metrics/job/<job>/<label>/<value>...".  Characters that a path cannot hold are
 * percent-encoded.  A value that is no path segment ("", ".", "a/b") is encoded in base64 (RFC
 * 4648, section 5).  RESMON_EINVAL: `base` does not begin with "http://host" or "https://host",
 * `job` is empty, or a label is called "job"; RESMON_ERANGE: longer than RM_PUSH_URL_BYTES;
 * RESMON_ENOMEM.  No error text contains `base`, which may hold a password.
 */
resmon_status rm_push_url(const char *base, const char *job, const struct rm_labels *grouping,
                          struct rm_buffer *ret_url);

struct rm_proxy {
    const char *address;  /* value of the variable; "": no proxy */
    const char *variable; /* name of the environment variable */
    const char *except;   /* the value of no_proxy; "": none */
    bool is_excepted;     /* no_proxy excludes the server */
};

/** The proxy for requests to `url`. */
struct rm_proxy rm_proxy_of(const char *url);

/** Writes " by the proxy http://proxy:3128 (http_proxy)", without credentials; "": no proxy is
 * used. */
void rm_proxy_describe(const struct rm_proxy *proxy, char *text, size_t room);

#endif
