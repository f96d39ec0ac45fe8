/* SPDX-License-Identifier: MIT */
/*
 * Owns the sink that keeps the last values of a run in a file for the textfile collector of
 * node_exporter, and removes the file at the end.
 */
#include "sink/sinks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "format/exported.h"
#include "format/prometheus.h"
#include "os/outfile.h"

#define PART_BYTES 80 /* of a file name */

struct textfile {
    struct rm_labels labels;
    unsigned slot; /* number among the open sinks of this process */
    uint64_t flags;
    bool is_written; /* this sink has written the file at `path` */
    char directory[RM_PATH_BYTES];
    char path[RM_PATH_BYTES];
    struct rm_outfile file;
};

/* ---- the file's name -------------------------------------------------------------------- */

/* Sinks of a process that are open at the same time have different files.  A later sink uses a
 * free slot, and so the same file, again. */
static uint64_t slots; /* atomic bits; further sinks share the last slot */

static unsigned take_slot(void)
{
    uint64_t taken = RM_LOAD(&slots);
    for (;;) {
        unsigned slot = 0;
        while (slot < 63 && (taken >> slot & 1) != 0) {
            slot++;
        }
        if (__atomic_compare_exchange_n(&slots, &taken, taken | UINT64_C(1) << slot, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return slot;
        }
    }
}

static void give_slot(unsigned slot)
{
    (void)__atomic_fetch_and(&slots, ~(UINT64_C(1) << slot), __ATOMIC_RELAXED);
}

/* Makes a part of a file name from a fact, or from `otherwise`. */
static void set_part(char part[PART_BYTES], const char *fact, const char *otherwise)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";
    size_t length = 0;
    for (const char *p = fact != NULL ? fact : otherwise; *p != '\0' && length < PART_BYTES - 1;
         p++) {
        part[length] = '_';
        if (strchr(plain, *p) != NULL) {
            part[length] = *p;
        }
        length++;
    }
    part[length] = '\0';
}

static resmon_status set_path(struct textfile *textfile, const resmon_run *run)
{
    char job[PART_BYTES], pid[PART_BYTES], node[PART_BYTES], number[16] = "";
    set_part(job, rm_exported_fact(run, "job_id"), "");
    set_part(pid, rm_exported_fact(run, "pid"), "0");
    set_part(node, rm_exported_fact(run, "node"), "localhost");
    if (textfile->slot > 0) {
        (void)snprintf(number, sizeof number, "_%u", textfile->slot + 1);
    }
    int length = snprintf(textfile->path, sizeof textfile->path, "%s/resmon_%s%s%s_%s%s.prom",
                          textfile->directory, job, job[0] != '\0' ? "_" : "", pid, node, number);
    return length > 0 && (size_t)length < sizeof textfile->path
               ? RESMON_OK
               : rm_error(RESMON_EINVAL, "path longer than %d bytes below %s", RM_PATH_BYTES - 1,
                          textfile->directory);
}

/* ---- operations ------------------------------------------------------------------------- */

static void remove_file(struct textfile *textfile)
{
    if (textfile->is_written) {
        (void)unlink(textfile->path);
        textfile->is_written = false;
    }
}

static resmon_status write_file(struct textfile *textfile, const resmon_run *run)
{
    const struct rm_prometheus how = {.flags = textfile->flags, .labels = &textfile->labels};
    resmon_status status = rm_outfile_open(&textfile->file, textfile->path, 0);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_prometheus_write(run, &how, rm_outfile_output(&textfile->file));
    if (status != RESMON_OK) {
        rm_outfile_abandon(&textfile->file);
        return status;
    }
    return rm_outfile_rename(&textfile->file);
}

/* The values have no timestamp, so old ones would look current.  After a failure the file is
 * removed. */
static resmon_status refresh(void *context, const resmon_run *run)
{
    struct textfile *textfile = context;
    resmon_status status = textfile->path[0] != '\0' ? RESMON_OK : set_path(textfile, run);
    if (status == RESMON_OK) {
        status = write_file(textfile, run);
    }
    if (status == RESMON_OK) {
        textfile->is_written = true;
    } else {
        remove_file(textfile);
    }
    return status;
}

static resmon_status finish(void *context, const resmon_run *run)
{
    struct textfile *textfile = context;
    if ((textfile->flags & RESMON_PROMETHEUS_KEEP) != 0) {
        return refresh(textfile, run);
    }
    remove_file(textfile);
    return RESMON_OK;
}

static void close_sink(void *context)
{
    struct textfile *textfile = context;
    if ((textfile->flags & RESMON_PROMETHEUS_KEEP) == 0) {
        remove_file(textfile);
    }
    give_slot(textfile->slot);
    rm_labels_free(&textfile->labels);
    rm_free(textfile);
}

/* ---- creation --------------------------------------------------------------------------- */

/* Makes the directory absolute, since the program may change its working directory.  It is
 * checked now, with a file name in it. */
static resmon_status settle(struct textfile *textfile, const char *directory)
{
    static const char name[] = "/resmon.prom";
    char wanted[RM_PATH_BYTES];
    int length = snprintf(wanted, sizeof wanted, "%s%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof wanted) {
        return rm_error(RESMON_EINVAL, "path longer than %d bytes", RM_PATH_BYTES - 1);
    }
    resmon_status status = rm_outfile_settle(wanted, textfile->directory);
    if (status == RESMON_OK) {
        textfile->directory[strlen(textfile->directory) - strlen(name)] = '\0';
    }
    return status;
}

resmon_status rm_prometheus_sink_new(const resmon_prometheus_options *options,
                                     struct rm_sink *ret_sink)
{
    struct textfile *textfile = rm_alloc(1, sizeof *textfile);
    if (textfile == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a sink");
    }
    textfile->flags = options->flags;
    resmon_status status = settle(textfile, options->directory);
    if (status == RESMON_OK) {
        status = rm_labels_take(options->labels, options->label_count, &textfile->labels);
    }
    if (status != RESMON_OK) {
        rm_free(textfile);
        return status;
    }
    textfile->slot = take_slot();
    *ret_sink = (struct rm_sink){
        .ops = {.name = "prometheus",
                .stop = finish,
                .close = close_sink,
                .snapshot = refresh,
                .snapshot_interval_ms = options->interval_ms},
        .context = textfile,
    };
    return RESMON_OK;
}
