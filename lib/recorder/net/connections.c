/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "net/connections.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void rm_connections_begin(struct rm_connections *connections)
{
    *connections = (struct rm_connections){0};
    (void)rm_kept_open_sentinel(&connections->sentinel);
}

/* A number that the kernel gives again is one that was lost. */
static struct rm_kept *slot_of(struct rm_connections *connections, int fd)
{
    struct rm_kept *room = NULL;
    for (int i = 0; i < RM_MOST_CONNECTIONS; i++) {
        struct rm_kept *socket = &connections->sockets[i];
        if (socket->is_open && socket->fd == fd) {
            return socket;
        }
        room = room == NULL && !socket->is_open ? socket : room;
    }
    return room;
}

int rm_connections_open(struct rm_connections *connections, int family, int type, int protocol)
{
    int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    struct rm_kept *slot = fd >= 0 ? slot_of(connections, fd) : NULL;
    if (fd >= 0 && slot == NULL) {
        (void)close(fd);
        errno = EMFILE;
        return -1;
    }
    if (fd >= 0) {
        rm_kept_take(slot, fd);
    }
    return slot != NULL ? slot->fd : -1;
}

void rm_connections_close(struct rm_connections *connections, int fd)
{
    struct rm_kept *slot = slot_of(connections, fd);
    if (slot != NULL) {
        rm_kept_close(slot);
    }
}

bool rm_connections_are_lost(const struct rm_connections *connections)
{
    const struct rm_kept *sentinel = &connections->sentinel;
    bool is_lost = sentinel->is_open && !rm_kept_is_ours(sentinel);
    for (int i = 0; i < RM_MOST_CONNECTIONS && !is_lost; i++) {
        const struct rm_kept *socket = &connections->sockets[i];
        is_lost = socket->is_open && !rm_kept_is_ours(socket);
    }
    return is_lost;
}

void rm_connections_end(struct rm_connections *connections)
{
    for (int i = 0; i < RM_MOST_CONNECTIONS; i++) {
        rm_kept_close(&connections->sockets[i]);
    }
    rm_kept_close(&connections->sentinel);
}
