/* SPDX-License-Identifier: MIT */
/*
 * Owns the addresses of servers as users give them, and the parting of the credentials that may be
 * in them.
 */
#ifndef RM_NET_SERVER_URI_H
#define RM_NET_SERVER_URI_H

#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"

#define RM_SECRET_BYTES 4096

/* On the heap, and only while a client is opened; wiped afterwards. */
struct rm_secrets {
    char user[RM_SECRET_BYTES];
    char password[RM_SECRET_BYTES];
    char token[RM_SECRET_BYTES];
};

/**
 * "http://user:password@host/prefix/" as `uri` "http://host/prefix", and the rest in `secrets`,
 * which stay as they are where the text has none.  RESMON_EINVAL says what is wrong with `what`,
 * and never shows the text, which may hold a password.
 */
RM_SHARED resmon_status rm_server_uri_take(const char *text, const char *what, char *uri,
                                           size_t room, struct rm_secrets *secrets);

#endif
