/* SPDX-License-Identifier: MIT */
#include "node_ranks.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

void cli_node_ranks_enter(struct cli_node_ranks *ranks, const struct cli_job_place *place)
{
    ranks->fd = -1;
    if (place->key[0] == '\0') {
        return;
    }
    (void)snprintf(ranks->path, sizeof ranks->path, "%.512s/resmon-%lu-%s-%s.ranks",
                   cli_store_temporary(), (unsigned long)geteuid(), place->key, place->node);
    ranks->fd = open(ranks->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat info;
    bool is_own = ranks->fd >= 0 && fstat(ranks->fd, &info) == 0 && info.st_uid == geteuid();
    if (ranks->fd >= 0 && (!is_own || flock(ranks->fd, LOCK_SH | LOCK_NB) != 0)) {
        (void)close(ranks->fd);
        ranks->fd = -1;
    }
}

/* Who gets the file for itself is alone. */
bool cli_node_ranks_are_left(const struct cli_node_ranks *ranks)
{
    if (ranks->fd < 0) {
        return false;
    }
    if (flock(ranks->fd, LOCK_EX | LOCK_NB) != 0) {
        return flock(ranks->fd, LOCK_SH | LOCK_NB) ==
               0; /* it may have been lost by asking for more */
    }
    return false;
}

void cli_node_ranks_leave(struct cli_node_ranks *ranks)
{
    if (ranks->fd >= 0 && flock(ranks->fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlink(ranks->path);
    }
    if (ranks->fd >= 0) {
        (void)close(ranks->fd);
    }
    ranks->fd = -1;
}
