/* SPDX-License-Identifier: MIT */
/*
 * Owns the sockets of an HTTP client while its library has them open: that library closes and
 * writes by number, and knows nothing of programs that close what they do not know (os/kept.h).
 * Called by net/http.
 */
#ifndef RM_NET_CONNECTIONS_H
#define RM_NET_CONNECTIONS_H

#include <stdbool.h>

#include "os/kept.h"

#define RM_MOST_CONNECTIONS 16

/* Zeroed: none. */
struct rm_connections {
    struct rm_kept sentinel; /* for what the library opens itself */
    struct rm_kept sockets[RM_MOST_CONNECTIONS];
};

/** Before the library opens anything. */
void rm_connections_begin(struct rm_connections *connections);

/** A socket, close-on-exec; -1 with errno, EMFILE past the bound. */
int rm_connections_open(struct rm_connections *connections, int family, int type, int protocol);

/** Closes a socket, unless the number is another file's by now. */
void rm_connections_close(struct rm_connections *connections, int fd);

/** Whether the program has closed one of them. */
bool rm_connections_are_lost(const struct rm_connections *connections);

/** After the library has closed all; what is still open and ours is closed. */
void rm_connections_end(struct rm_connections *connections);

#endif
