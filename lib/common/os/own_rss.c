/* SPDX-License-Identifier: MIT */
#include "os/own_rss.h"

#include <fcntl.h>
#include <unistd.h>

#include "os/own_io.h"
#include "os/pid_stat.h"

bool rm_own_rss_open(struct rm_kept *kept)
{
    return rm_kept_open(kept, "/proc/self/statm", O_RDONLY);
}

bool rm_own_rss_read(const struct rm_kept *kept, uint64_t *ret_bytes)
{
    char bytes[128];
    struct rm_pid_statm statm;
    ssize_t length = rm_kept_is_ours(kept) ? pread(kept->fd, bytes, sizeof bytes, 0) : -1;
    if (length <= 0) {
        return false;
    }
    rm_own_io_note_read(length);
    if (!rm_pid_statm_parse(rm_text_of(bytes, (size_t)length), &statm)) {
        return false;
    }
    *ret_bytes = statm.resident * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}
