/* SPDX-License-Identifier: MIT */
/*
 * A server that costs next to nothing: HTTP/1.1 with connections that stay, one thread, answers
 * that are known beforehand.  It knows as much of MLflow as a push asks, counts what comes, and can
 * keep it to be sent once more.
 */
#ifndef RESMON_TESTS_BENCH_HTTP_SERVER_H
#define RESMON_TESTS_BENCH_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/* What a request is about. */
enum http_call {
    HTTP_EXPERIMENT, /* looked up or made */
    HTTP_RUN,        /* made, got or searched */
    HTTP_BATCH,
    HTTP_UPDATE,
    HTTP_OTHER,
    HTTP_CALLS
};

struct http_counts {
    size_t calls[HTTP_CALLS];
    size_t connections;
};

struct http_kept {
    char *path; /* with the query */
    char *body;
    size_t length;
    bool is_get;
};

struct http_server;

/** Listens on a port of 127.0.0.1 that is free; never fails, the bench ends. */
struct http_server *http_server_start(void);
void http_server_stop(struct http_server *server);

/** "http://127.0.0.1:40001", until the stop. */
const char *http_server_url(const struct http_server *server);

/** What came since the last call of this.  Between requests, as what follows. */
struct http_counts http_server_take_counts(struct http_server *server);

/** From now on, each answer takes that long. */
void http_server_set_pause(struct http_server *server, long pause_ns);

/** From now on, requests are kept, or not. */
void http_server_keep(struct http_server *server, bool keeps);
const struct http_kept *http_server_kept(const struct http_server *server, size_t *ret_count);

#endif
