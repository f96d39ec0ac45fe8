/* SPDX-License-Identifier: MIT */
/* <resmon/prometheus.h>: checks arguments and calls down. */
#include <resmon/prometheus.h>

#include "base/status.h"
#include "base/struct_size.h"
#include "format/prometheus.h"

#define LARGEST_TEXT ((size_t)256 << 20)

static resmon_status read_options(const resmon_prometheus_options *given,
                                  resmon_prometheus_options *ret_options)
{
    *ret_options = (resmon_prometheus_options){.struct_size = sizeof *ret_options};
    if (given == NULL) {
        return RESMON_OK;
    }
    resmon_status status =
        rm_struct_take(given, RM_STRUCT_SIZE(resmon_prometheus_options), ret_options);
    if (status == RESMON_OK && (ret_options->flags & ~RM_PROMETHEUS_FLAGS) != 0) {
        return rm_error(RESMON_EINVAL, "resmon_prometheus_options: unknown flags");
    }
    return status;
}

resmon_status resmon_prometheus_text(const resmon_run *run,
                                     const resmon_prometheus_options *options, char **ret_text)
{
    RM_KEEP_ERRNO;
    resmon_prometheus_options known;
    struct rm_labels labels = {0};
    struct rm_buffer buffer;
    if (run == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_prometheus_text: an argument is NULL");
    }
    resmon_status status = read_options(options, &known);
    if (status == RESMON_OK) {
        status = rm_labels_take(known.labels, known.label_count, &labels);
    }
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_prometheus how = {.flags = known.flags, .labels = &labels};
    rm_buffer_init(&buffer, LARGEST_TEXT);
    status = rm_prometheus_print(run, &how, &buffer);
    rm_labels_free(&labels);
    return rm_buffer_give(&buffer, status, ret_text);
}
