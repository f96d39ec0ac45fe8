/* SPDX-License-Identifier: MIT */
/*
 * Owns the sinks that save the run to a file, at the end, and now and then if wanted: what they
 * have in common, and those that save it in one of the formats.  What a file holds is for others to
 * say (format/).
 */
#ifndef RM_SINK_SAVER_H
#define RM_SINK_SAVER_H

#include <stdbool.h>

#include "sink/sink.h"

struct rm_saver {
    const char *name;                         /* of the sink */
    const char *pattern;                      /* of the path */
    uint64_t interval_ms;                     /* 0: only at the end */
    bool is_late;                             /* its directory may not be there yet */
    resmon_status (*begin)(const char *path); /* before the first save; NULL: nothing */
    resmon_status (*save)(const resmon_run *run, const char *path);
};

/** Looks at the place already, as the end of a program is late for bad news: RESMON_EINVAL,
 * RESMON_ENOENT, RESMON_EACCES as rm_outfile_settle(); RESMON_ENOMEM. */
resmon_status rm_saver_new(const struct rm_saver *saver, struct rm_sink *ret_sink);

#endif
