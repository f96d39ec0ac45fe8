/* SPDX-License-Identifier: MIT */
#include "sys/own_rss.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/parse.h"
#include "sys/own_io.h"

bool rm_own_rss_open(struct rm_kept *kept)
{
    return rm_kept_open(kept, "/proc/self/statm", O_RDONLY);
}

/* "size resident shared ...", in pages. */
bool rm_own_rss_read(const struct rm_kept *kept, uint64_t *ret_bytes)
{
    char bytes[128];
    uint64_t size;
    uint64_t resident;
    ssize_t length = rm_kept_is_ours(kept) ? pread(kept->fd, bytes, sizeof bytes, 0) : -1;
    if (length <= 0) {
        return false;
    }
    rm_own_io_note_read(length);
    struct rm_text text = rm_text_of(bytes, (size_t)length);
    if (!rm_parse_u64(&text, &size) || !rm_parse_u64(&text, &resident)) {
        return false;
    }
    *ret_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}
