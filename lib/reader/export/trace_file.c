/* SPDX-License-Identifier: MIT */
/* Files of traces: one trace, or an archive of one for each machine. */
#include <string.h>

#include "export/trace.h"
#include "export/trace_archive.h"
#include "os/outfile.h"

struct traced {
    const struct resmon_run *const *runs;
    size_t count;
};

static resmon_status write_one(const struct rm_output *output, const void *what)
{
    const struct traced *traced = what;
    return rm_trace_write(output, traced->runs, traced->count);
}

static resmon_status write_archive(const struct rm_output *output, const void *what)
{
    const struct traced *traced = what;
    return rm_trace_archive_write(output, traced->runs, traced->count);
}

resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path)
{
    const struct traced traced = {runs, count};
    const char *ending = strrchr(path, '.');
    bool is_archive = ending != NULL && strcmp(ending, ".tar") == 0;
    return rm_outfile_save(path, 0, is_archive ? write_archive : write_one, &traced);
}
