/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* getdents64 */
#include "os/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/status.h"

static bool is_self_or_parent(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Returns 0 at the end, 1 when `visit` ended it, -1 with errno on failure. */
static int visit_entries(int fd, bool wants_all, rm_dir_visit_fn visit, void *context)
{
    _Alignas(struct dirent64) char bytes[4096];
    for (;;) {
        ssize_t got = getdents64(fd, bytes, sizeof bytes);
        if (got <= 0) {
            return (int)got;
        }
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(bytes + at);
            bool is_wanted =
                (wants_all || entry->d_type == DT_DIR) && !is_self_or_parent(entry->d_name);
            if (is_wanted && !visit(context, entry->d_name)) {
                return 1;
            }
            at += entry->d_reclen;
        }
    }
}

static resmon_status visit_dir(const struct rm_root *root, const char *path, bool wants_all,
                               rm_dir_visit_fn visit, void *context)
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
    rm_kept_mark(fd);
    int result = visit_entries(fd, wants_all, visit, context);
    int error = errno;
    rm_kept_drop(fd);
    return result < 0 ? rm_error_errno(error, "cannot list /%s", path) : RESMON_OK;
}

resmon_status rm_dir_visit(const struct rm_root *root, const char *path, rm_dir_visit_fn visit,
                           void *context)
{
    return visit_dir(root, path, true, visit, context);
}

resmon_status rm_dir_visit_below(const struct rm_root *root, const char *path,
                                 rm_dir_visit_fn visit, void *context)
{
    return visit_dir(root, path, false, visit, context);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool count_entry(void *context, const char *name)
{
    *(uint64_t *)context += name[0] >= '0' && name[0] <= '9' ? 1 : 0;
    return true;
}

bool rm_fd_count_kept(const struct rm_kept *directory, uint64_t *ret_count)
{
    struct stat info;
    bool is_told = fstat(rm_kept_fd(directory), &info) == 0 && info.st_size > 0;
    *ret_count = is_told ? (uint64_t)info.st_size : 0;
    return is_told;
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
