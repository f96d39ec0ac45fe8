/* SPDX-License-Identifier: MIT */
/*
 * resmon/arrow.h - the table of a run for pyarrow, polars, DuckDB, R and others, without a copy. In
 * libresmon-reader.
 *
 *     struct ArrowArrayStream stream;
 *     if (resmon_run_export_arrow(run, RESMON_SERIES_VALUE, &stream) == RESMON_OK) {
 *         resmon_run_free(run);          // the stream keeps what it needs
 *         // pass &stream to a consumer, such as pyarrow.RecordBatchReader._import_from_c
 *         if (stream.release != NULL) {  // no consumer has moved it
 *             stream.release(&stream);
 *         }
 *     }
 *
 * Consumers read the run's own memory through the Arrow C data interface
 * (https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html).  Neither
 * they nor libresmon need a library for it.  The interface consists of the three structures below,
 * as in the specification, with its include guards, so other headers may define them too.
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

/** The type of a column; `release` is NULL after it was released. */
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

/** The values of a column; `release` is NULL after they were released. */
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

/** A schema and a sequence of arrays with it; `release` is NULL after the stream was released. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/**
 * Exports the table of a run as a stream of one struct array with a child per column.
 * A run without rows has the columns but no array.  `series` (RESMON_SERIES_*) chooses the values
 * of the metrics; use RESMON_SERIES_VALUE for one plain table.  The columns, in this order:
 *
 * - "time", timestamp in ns, UTC ("tsn:UTC"), never null: real time of the row's last sample;
 * - "elapsed", duration in ns ("tDn"), never null: time of the row's last sample since the start
 *   of the run;
 * - "samples", uint64 ("L"), never null: number of samples in the row;
 * - one float64 ("g") for each column of the run, in its order.  Names are as in CSV files:
 *   "proc.mem.rss", or "node.fs.used[/home]" with an instance.  If an earlier column has the same
 *   name, '#' and the index of the column are appended, so all names differ.  If a metric was not
 *   read in a row, its value is null, and NaN in memory.
 *
 * Metadata of the field of a metric:
 *
 * - "resmon.metric";
 * - "resmon.instance": "" for most;
 * - "resmon.unit": of the values ("B"; "B/s" for the rates of a counter);
 * - "resmon.kind": "gauge" or "counter";
 * - "resmon.series": "last", "min", "max" or "mean"; for RESMON_SERIES_VALUE, the series that this
 *   column contains.
 *
 * Metadata of the schema: "resmon.start_realtime_ns" (since 1970-01-01 UTC), and if known
 * "resmon.name" (of the run) and "resmon.host_name".
 *
 * Values are not copied: the buffers of "elapsed", "samples" and of the metrics are the arrays that
 * resmon_run_row_last_ns(), resmon_run_row_samples() and resmon_run_series() return.  They are
 * read-only.  This call computes "time" and the validity bitmaps of the columns with nulls; other
 * columns have no bitmap.
 *
 * The stream, its schemas and arrays, and each child moved out of them hold a reference to the run.
 * The run is freed with the last of them, even if resmon_run_free() was called earlier.  The caller
 * releases the stream, or moves it to a consumer that does.  Its get_schema() may be called any
 * number of times.  get_schema() and get_next() return 0, or ENOMEM with a text in
 * get_last_error(); after ENOMEM they may be called again.
 *
 * RESMON_EINVAL: an argument is NULL, or there is no such series; RESMON_ENOMEM: out of memory.  On
 * failure `ret_stream` is unchanged.
 * Thread class: any thread, also several at once with the same run.  A stream is for one thread at
 * a time; schemas, arrays and children may be released on any thread, also at once.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_export_arrow(const resmon_run *run, int32_t series,
                                                 struct ArrowArrayStream *ret_stream);

RESMON_END_DECLS

#endif
