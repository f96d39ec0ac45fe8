/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* getdents64 */
#include "sys/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/status.h"

static bool is_self_or_parent(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Returns 0 at the end, 1 when `visit` ended it, -1 with errno on failure. */
static int visit_entries(int fd, rm_dir_visit_fn visit, void *context)
{
    _Alignas(struct dirent64) char bytes[4096];
    for (;;) {
        ssize_t got = getdents64(fd, bytes, sizeof bytes);
        if (got <= 0) {
            return (int)got;
        }
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(bytes + at);
            if (!is_self_or_parent(entry->d_name) && !visit(context, entry->d_name)) {
                return 1;
            }
            at += entry->d_reclen;
        }
    }
}

resmon_status rm_dir_visit(const struct rm_root *root, const char *path, rm_dir_visit_fn visit,
                           void *context)
{
    int fd = -1;
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
    } else {
        fd = openat(rm_kept_fd(&root->kept), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0) {
        return rm_error_errno(errno, "cannot open /%s", path);
    }
    int result = visit_entries(fd, visit, context);
    int error = errno;
    (void)close(fd);
    return result < 0 ? rm_error_errno(error, "cannot list /%s", path) : RESMON_OK;
}
