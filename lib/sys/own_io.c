/* SPDX-License-Identifier: MIT */
#include "sys/own_io.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/parse.h"

static const struct rm_key keys[RM_OWN_IO_FIELDS] = {
    RM_KEY("rchar:", 0), RM_KEY("wchar:", 1),      RM_KEY("syscr:", 2),
    RM_KEY("syscw:", 3), RM_KEY("read_bytes:", 4), RM_KEY("write_bytes:", 5),
};

bool rm_own_io_open(struct rm_kept *kept)
{
    return rm_kept_open(kept, AT_FDCWD, "/proc/self/io", O_RDONLY);
}

bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_OWN_IO_FIELDS])
{
    char bytes[512];
    ssize_t length = pread(rm_kept_fd(kept), bytes, sizeof bytes, 0);
    if (length <= 0) {
        return false;
    }
    uint64_t found =
        rm_parse_keys(rm_text_of(bytes, (size_t)length), keys, RM_OWN_IO_FIELDS, numbers);
    return found == (1U << RM_OWN_IO_FIELDS) - 1;
}
