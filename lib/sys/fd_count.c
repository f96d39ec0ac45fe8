/* SPDX-License-Identifier: MIT */
#include "sys/fd_count.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/status.h"
#include "sys/dir.h"

static bool count_entry(void *context, const char *name)
{
    *(uint64_t *)context += name[0] >= '0' && name[0] <= '9' ? 1 : 0;
    return true;
}

resmon_status rm_fd_count(const struct rm_root *root, const char *proc_dir, uint64_t *ret_count)
{
    char path[RM_FILE_PATH_BYTES];
    struct stat info;
    uint64_t count = 0;
    (void)snprintf(path, sizeof path, "%s/fd", proc_dir);
    if (root->is_live && fstatat(rm_kept_fd(&root->kept), path, &info, 0) == 0 &&
        info.st_size > 0) {
        *ret_count = (uint64_t)info.st_size;
        return RESMON_OK;
    }
    resmon_status status = rm_dir_visit(root, path, count_entry, &count);
    if (status == RESMON_OK) {
        *ret_count = count;
    }
    return status;
}
