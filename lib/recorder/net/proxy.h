/* SPDX-License-Identifier: MIT */
/*
 * Owns which proxy the environment wants requests to go through, by the rules that the mlflow
 * package (requests, and Python's urllib) and libcurl have in common: a server on this very machine
 * too goes through it, unless no_proxy leaves it out.
 */
#ifndef RM_NET_PROXY_H
#define RM_NET_PROXY_H

#include <stdbool.h>
#include <stddef.h>

struct rm_proxy {
    const char *address;  /* of the environment; "": none */
    const char *variable; /* that said so */
    const char *except;   /* what no_proxy says; "": nothing */
    bool is_excepted;     /* the server is among those */
};

/** Of requests to `url`. */
struct rm_proxy rm_proxy_of(const char *url);

/** " by the proxy http://proxy:3128 (http_proxy)", without credentials; "" where it is not used. */
void rm_proxy_describe(const struct rm_proxy *proxy, char *text, size_t room);

#endif
