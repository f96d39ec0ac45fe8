/* SPDX-License-Identifier: MIT */
/*
 * resmon/arrow.h - the table of a run for pyarrow, polars, DuckDB, R and others, without a copy.
 *
 * Through the Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html and
 * CStreamInterface.html) consumers read the run's own memory.  Neither they nor libresmon need a
 * library for it: the three structs below are all there is to it, as the specification has them,
 * under its guards, so that other headers may define them too.
 *
 *     struct ArrowArrayStream stream;
 *     resmon_run_export_arrow(run, RESMON_SERIES_VALUE, &stream);
 *     resmon_run_free(run);                    // the stream keeps what it needs
 *     consume(&stream);                        // for one, pyarrow.RecordBatchReader._import_from_c
 *     if (stream.release != NULL) {            // nobody took it over
 *         stream.release(&stream);
 *     }
 */
#ifndef RESMON_ARROW_H
#define RESMON_ARROW_H

#include <stdint.h>

#include <resmon/run.h>

RESMON_BEGIN_DECLS

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

/** The type of a column.  Released once `release` is NULL. */
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

/** The values of a column.  Released once `release` is NULL. */
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/** A schema, and arrays of it one after the other.  Released once `release` is NULL. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/**
 * Gives the table of a run as a stream of one struct array, a child per column; a run without rows
 * has the columns, but no array.  `series` (RESMON_SERIES_*) says which numbers of the metrics:
 * RESMON_SERIES_VALUE for one plain table.  The columns, in this order:
 *
 * - "time", timestamp in ns, UTC ("tsn:UTC"), never null: the row's last sample as real time;
 * - "elapsed", duration in ns ("tDn"), never null: the row's last sample as time since the start of
 * the run;
 * - "samples", uint64 ("L"), never null: how many samples the row covers;
 * - one float64 ("g") for each column of the run, in its order, called as in CSV files:
 *   "proc.mem.rss", or "node.fs.used[/home]" where there is an instance.  A name that another
 *   column has already gets '#' and the index of the column after it, so that all differ.  What was
 *   not read in a row is null; its value in memory is NaN.
 *
 * Metadata of the field of a metric: "resmon.metric", "resmon.instance" ("" for most),
 * "resmon.unit" of the numbers ("B"; "B/s" for the rates of a counter), "resmon.kind" ("gauge" or
 * "counter"), "resmon.series" ("last", "min", "max" or "mean"; what RESMON_SERIES_VALUE stands for
 * in this column).  Of the schema: "resmon.start_realtime_ns" (since 1970-01-01 UTC), and where
 * they are known "resmon.name" (of the run) and "resmon.host_name".
 *
 * Values are not copied: the buffers of "elapsed", "samples" and of the metrics are what
 * resmon_run_row_last_ns(), resmon_run_row_samples() and resmon_run_series() return, and nobody
 * may write to them.  "time", and the validity bitmaps of the columns that have nulls, are made by
 * this call; a column without nulls has no bitmap.
 *
 * The stream, each schema and array that it gives, and each child that is moved out of those hold
 * the run; it goes with the last of them, however early resmon_run_free() was called.  The caller
 * has the stream released, or moves it to a consumer who does.  Its get_schema() may be asked any
 * number of times; it and get_next() return 0, or ENOMEM with a text by get_last_error(), and may
 * then be asked again.
 *
 * RESMON_EINVAL: an argument is NULL, or there is no such series; RESMON_ENOMEM.  On failure
 * `ret_stream` stays as it was.
 * Thread class: any thread, also several at once with the same run.  A stream is for one thread at
 * a time; schemas, arrays and children may be released on any threads, at once too.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_export_arrow(const resmon_run *run, int32_t series,
                                                 struct ArrowArrayStream *ret_stream);

RESMON_END_DECLS

#endif
