/* SPDX-License-Identifier: MIT */
/*
 * Owns the sinks that save the stacks of the run to a file, now and then and at the end: as folded
 * lines, or for pprof.
 */
#include "format/folded.h"
#include "format/pprof.h"
#include "sink/saver.h"
#include "sink/sinks.h"

static resmon_status save_cpu(const resmon_run *run, const char *path)
{
    return rm_folded_save(run, RESMON_STACK_CPU, path);
}

static resmon_status save_memory(const resmon_run *run, const char *path)
{
    return rm_folded_save(run, RESMON_STACK_MEMORY, path);
}

static resmon_status save_file(const resmon_run *run, const char *path)
{
    return rm_folded_save(run, RESMON_STACK_FILE, path);
}

static resmon_status new_stacks(const char *name, const resmon_stacks_options *options,
                                resmon_status (*save_stacks)(const resmon_run *, const char *),
                                struct rm_sink *ret_sink)
{
    const struct rm_saver saver = {.name = name,
                                   .pattern = options->path,
                                   .interval_ms = options->interval_ms,
                                   .save = save_stacks};
    return rm_saver_new(&saver, ret_sink);
}

resmon_status rm_folded_sink_new(const resmon_stacks_options *options, struct rm_sink *ret_sink)
{
    return new_stacks("folded", options, save_cpu, ret_sink);
}

resmon_status rm_folded_memory_sink_new(const resmon_stacks_options *options,
                                        struct rm_sink *ret_sink)
{
    return new_stacks("folded_memory", options, save_memory, ret_sink);
}

resmon_status rm_folded_file_sink_new(const resmon_stacks_options *options,
                                      struct rm_sink *ret_sink)
{
    return new_stacks("folded_file", options, save_file, ret_sink);
}

resmon_status rm_pprof_sink_new(const resmon_stacks_options *options, struct rm_sink *ret_sink)
{
    return new_stacks("pprof", options, rm_pprof_save, ret_sink);
}
