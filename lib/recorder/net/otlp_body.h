/* SPDX-License-Identifier: MIT */
/*
 * Owns the messages of OTLP, the protocol of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/otlp/): the request with the metrics of a run, and the texts
 * of replies.  <resmon/otlp.h> has the names of metrics and attributes.  Pure formatting, without
 * servers.
 */
#ifndef RM_NET_OTLP_BODY_H
#define RM_NET_OTLP_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>
#include <resmon/status.h>

#include "base/buffer.h"

/* Attributes that the user sets: they take precedence over those of the run.  "" : none. */
struct rm_otlp_resource {
    const char *service;    /* name of the service */
    const char *attributes; /* "key=value,key=value", percent-encoded (OTEL_RESOURCE_ATTRIBUTES) */
};

/** Takes the next pair of such a list, and moves `*at` behind it.  Both are decoded.
 * RESMON_EFORMAT: no '=', no key, or a '%' without two digits; RESMON_ERANGE: a part does not fit.
 * At the end, the key is "". */
resmon_status rm_otlp_pair_next(const char **at, char *key, size_t key_room, char *value,
                                size_t value_room);

/** Adds an ExportMetricsServiceRequest.  RESMON_ENOMEM, RESMON_ERANGE: it exceeds the bound of
 * `buffer`. */
resmon_status rm_otlp_write(const resmon_run *run, const struct rm_otlp_resource *resource,
                            struct rm_buffer *buffer);

/** Reads a reply: the number of points that were rejected, and the text of the message, cut and
 * cleaned.  What cannot be read counts as empty. */
void rm_otlp_read_reply(bool is_success, const char *bytes, size_t length, uint64_t *ret_rejected,
                        char *text, size_t room);

#endif
