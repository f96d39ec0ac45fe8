/* SPDX-License-Identifier: MIT */
#include "job/node_file.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/status.h"
#include "job/hostlist.h"
#include "sys/infile.h"
#include "sys/outfile.h"

static resmon_status add_all(struct rm_hosts *hosts, const struct rm_infile *file)
{
    char *text;
    resmon_status status = rm_infile_read_all(file, &text);
    if (status == RESMON_OK) {
        status = rm_hostlist_add_lines(hosts, rm_text_of(text, file->bytes));
    }
    rm_free(text);
    return status;
}

resmon_status rm_node_file_add(struct rm_hosts *hosts, const char *root, const char *path)
{
    char below[RM_PATH_BYTES];
    struct rm_infile file;
    int length = snprintf(below, sizeof below, "%s%s%s", root != NULL ? root : "",
                          root != NULL ? "/" : "", path);
    if (length < 0 || (size_t)length >= sizeof below) {
        return rm_error(RESMON_EFORMAT, "the path of a node file has more than %d bytes",
                        RM_PATH_BYTES - 1);
    }
    resmon_status status = rm_infile_open(&file, below, RM_MAX_NODE_FILE_BYTES);
    if (status == RESMON_OK) {
        status = add_all(hosts, &file);
        rm_infile_close(&file);
    }
    return status;
}
