/* SPDX-License-Identifier: MIT */
/*
 * Owns exchanges by the program's own HTTP client (<resmon/http.h>), for net/http.c where libcurl
 * cannot be loaded.
 */
#ifndef RM_NET_HTTP_PROGRAM_H
#define RM_NET_HTTP_PROGRAM_H

#include <resmon/http.h>

#include "net/exchange.h"

struct rm_http_program;

/** Sets the function, or none; then waits until no thread is in it any more, 2 s at most. */
void rm_http_program_set(resmon_http_fn function, void *context);

/** Whether the program has given a function. */
bool rm_http_program_is_there(void);

/** Copies what requests need of a configuration, with its credentials.  NULL: out of memory. */
struct rm_http_program *rm_http_program_new(const struct rm_http_config *config);
void rm_http_program_free(struct rm_http_program *program);

/** Makes one exchange, within `left_ns`.  Sets all of `reply`; the errors are those of
 * rm_http_exchange(). */
resmon_status rm_http_program_exchange(const struct rm_http_program *program,
                                       const struct rm_http_request *request, int64_t left_ns,
                                       struct rm_http_reply *reply);

#endif
