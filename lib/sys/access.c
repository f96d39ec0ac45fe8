/* SPDX-License-Identifier: MIT */
#include "sys/access.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

static resmon_status check_device(const struct rm_root *root, const char *path)
{
    return faccessat(rm_kept_fd(&root->kept), path, R_OK | W_OK, AT_EACCESS) == 0
               ? RESMON_OK
               : rm_error_errno(errno, "cannot use the device /%s", path);
}

resmon_status rm_access_read(const struct rm_root *root, const char *path)
{
    struct stat facts;
    int fd;
    if (fstatat(rm_kept_fd(&root->kept), path, &facts, 0) == 0 &&
        (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode))) {
        return check_device(root, path);
    }
    resmon_status status = rm_fd_open(root, path, &fd);
    if (status == RESMON_OK) {
        (void)close(fd);
    }
    return status;
}

bool rm_access_is_of_group(const struct rm_root *root, const char *path)
{
    struct stat facts;
    return fstatat(rm_kept_fd(&root->kept), path, &facts, 0) == 0 && facts.st_gid != 0 &&
           (facts.st_mode & S_IRGRP) != 0;
}
