/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of the files in which batch systems list the hosts of a job, one line for each of
 * its slots (PBS_NODEFILE, OAR_NODEFILE, LSB_DJOB_HOSTFILE).
 * Called by job/detect.
 */
#ifndef RM_JOB_NODE_FILE_H
#define RM_JOB_NODE_FILE_H

#include "job/hosts.h"

#define RM_MAX_NODE_FILE_BYTES ((uint64_t)8 << 20)

/**
 * Adds the hosts in `path`, looked for below the directory `root` (NULL: "/").
 * RESMON_ENOENT, RESMON_EACCES, RESMON_EIO; RESMON_EFORMAT: not a regular file, empty, too large or
 * no list of hosts; RESMON_ERANGE: too many; RESMON_ENOMEM.
 */
resmon_status rm_node_file_add(struct rm_hosts *hosts, const char *root, const char *path);

#endif
