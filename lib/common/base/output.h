/* SPDX-License-Identifier: MIT */
/*
 * Owns the form of a place that text is written to: a file, a buffer.
 */
#ifndef RM_BASE_OUTPUT_H
#define RM_BASE_OUTPUT_H

#include <stddef.h>

#include <resmon/status.h>

struct rm_output {
    resmon_status (*write)(void *context, const char *bytes, size_t length);
    void *context;
};

static inline resmon_status rm_output_write(const struct rm_output *output, const char *bytes,
                                            size_t length)
{
    return output->write(output->context, bytes, length);
}

#endif
