/* SPDX-License-Identifier: MIT */
/*
 * Owns spool files: what could not be sent to MLflow, one request a line, in the order and form in
 * which it can be sent later, and a mark at each that was.
 *
 *     resmon-mlflow-spool 1 {"uri":...,"experiment":...,"create":...}
 *     - {"call":"log-batch","path":"","body":"..."}       waits
 *     x {...}                                              was sent
 *     ! {...}                                              was refused
 *
 * The mark is changed in place, by one byte, when the server has said yes.
 */
#ifndef RM_NET_MLFLOW_SPOOL_H
#define RM_NET_MLFLOW_SPOOL_H

#include <stdint.h>

#include "net/mlflow_client.h"
#include "os/lockedfile.h"
#include "os/outfile.h"

/* Where the requests belong. */
struct rm_mlflow_address {
    char uri[RM_MLFLOW_URI_BYTES];
    char experiment[RM_MLFLOW_NAME_BYTES];
    char experiment_id[RM_MLFLOW_ID_BYTES];
    char run_id[RM_MLFLOW_ID_BYTES]; /* "": to be found or made */
    struct rm_mlflow_wanted wanted;
    char *create; /* wanted.body, owned */
};

void rm_mlflow_address_free(struct rm_mlflow_address *address);

/* ---- writing ---- */

struct rm_mlflow_spool {
    const char *wanted; /* path */
    struct rm_outfile file;
    uint64_t requests;
};

/** Begins a file at `path`, or beside it if there is one; mode 0600, through no link.  `path` lives
 * until the end. */
resmon_status rm_mlflow_spool_begin(struct rm_mlflow_spool *spool, const char *path,
                                    const struct rm_mlflow_address *address);
resmon_status rm_mlflow_spool_add(struct rm_mlflow_spool *spool, const struct rm_mlflow_item *item);

/** Puts the file in its place, with what it holds; spool->file.path is its name. */
resmon_status rm_mlflow_spool_end(struct rm_mlflow_spool *spool);

/* ---- reading ---- */

struct rm_mlflow_replay {
    struct rm_lockedfile file;
    char *text; /* of the whole file */
    size_t length;
    size_t at; /* of the next line */
};

#define RM_MLFLOW_MARK_WAITS   '-'
#define RM_MLFLOW_MARK_SENT    'x'
#define RM_MLFLOW_MARK_REFUSED '!'

/* A line of the file. */
struct rm_mlflow_entry {
    char mark;
    size_t offset; /* of the mark */
    struct rm_mlflow_item item;
    struct rm_json *json; /* owns the item's texts */
};

/** RESMON_EBUSY: another process reads it; RESMON_EFORMAT: none of ours. */
resmon_status rm_mlflow_replay_open(struct rm_mlflow_replay *replay, const char *path,
                                    struct rm_mlflow_address *ret_address);

/** Requests from here on. */
uint64_t rm_mlflow_replay_count(const struct rm_mlflow_replay *replay);

/** The next line, or RESMON_ENOENT at the end; to be freed. */
resmon_status rm_mlflow_replay_next(struct rm_mlflow_replay *replay,
                                    struct rm_mlflow_entry *ret_entry);
void rm_mlflow_entry_free(struct rm_mlflow_entry *entry);

resmon_status rm_mlflow_replay_mark(struct rm_mlflow_replay *replay,
                                    const struct rm_mlflow_entry *entry, char mark);
void rm_mlflow_replay_close(struct rm_mlflow_replay *replay);

#endif
