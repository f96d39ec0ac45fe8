/* SPDX-License-Identifier: MIT */
#include "os/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/status.h"

static resmon_status check_device(const struct rm_root *root, const char *path)
{
    return faccessat(rm_kept_fd(&root->kept), path, R_OK | W_OK, AT_EACCESS) == 0
               ? RESMON_OK
               : rm_error_errno(errno, "cannot open the device /%s", path);
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

/* ---- capabilities ---------------------------------------------------------------------------- */

/* How /proc/PID/uid_map of the first namespace ends: all numbers are what they are. */
#define ALL_USERS UINT64_C(4294967295)

static bool read_file(const struct rm_root *root, struct rm_scratch *scratch, const char *proc_dir,
                      const char *name, struct rm_text *ret_text)
{
    char path[RM_FILE_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", proc_dir, name);
    return length > 0 && length < RM_FILE_PATH_BYTES &&
           rm_file_read_once(root, path, scratch, ret_text) == RESMON_OK;
}

/* A kernel without namespaces has no such file. */
static bool is_first_namespace(const struct rm_root *root, struct rm_scratch *scratch,
                               const char *proc_dir)
{
    struct rm_text text;
    uint64_t inside, outside, count;
    if (!read_file(root, scratch, proc_dir, "uid_map", &text)) {
        return true;
    }
    return rm_parse_u64(&text, &inside) && rm_parse_u64(&text, &outside) &&
           rm_parse_u64(&text, &count) && inside == 0 && outside == 0 && count == ALL_USERS;
}

bool rm_capability_has(const struct rm_root *root, struct rm_scratch *scratch, const char *proc_dir,
                       enum rm_capability capability)
{
    struct rm_text text, line;
    uint64_t mask;
    if (!is_first_namespace(root, scratch, proc_dir) ||
        !read_file(root, scratch, proc_dir, "status", &text)) {
        return false;
    }
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "CapEff:")) { /* "\t000001ffffffffff" */
            return rm_parse_literal(&line, "\t") && rm_parse_hex(&line, &mask) &&
                   rm_text_left(&line) == 0 && (mask >> capability & 1) != 0;
        }
    }
    return false;
}
