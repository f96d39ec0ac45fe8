/* SPDX-License-Identifier: MIT */
#include "sink/pen.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"

static void free_parts(struct rm_pen *pen)
{
    rm_free(pen->file);
    rm_free(pen->piece);
    pen->file = NULL;
    pen->piece = NULL;
}

resmon_status rm_pen_open(struct rm_pen *pen, const char *path)
{
    *pen = (struct rm_pen){
        .file = rm_alloc(1, sizeof *pen->file), /* two paths: too big for a stack frame */
        .piece = rm_alloc(1, RM_PEN_BYTES),
    };
    resmon_status status = pen->file != NULL && pen->piece != NULL
                               ? rm_outfile_open(pen->file, path, 0)
                               : rm_error(RESMON_ENOMEM, "out of memory for writing %s", path);
    if (status != RESMON_OK) {
        free_parts(pen);
    }
    return status;
}

static void flush(struct rm_pen *pen)
{
    if (pen->status == RESMON_OK) {
        pen->status = rm_outfile_write(pen->file, pen->piece, pen->length);
    }
    pen->length = 0;
}

void rm_pen_add_slowly(struct rm_pen *pen, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t room = RM_PEN_BYTES - pen->length;
        size_t part = length < room ? length : room;
        memcpy(pen->piece + pen->length, bytes, part);
        pen->length += part;
        bytes += part;
        length -= part;
        if (pen->length == RM_PEN_BYTES) {
            flush(pen);
        }
    }
}

void rm_pen_u64(struct rm_pen *pen, uint64_t number)
{
    char text[RM_NUMBER_BYTES];
    rm_pen_add(pen, text, rm_number_u64(text, number));
}

void rm_pen_fixed(struct rm_pen *pen, int64_t number, int places)
{
    char text[RM_NUMBER_BYTES];
    rm_pen_add(pen, text, rm_number_fixed(text, number, places));
}

resmon_status rm_pen_close(struct rm_pen *pen)
{
    flush(pen);
    resmon_status status = pen->status;
    if (status == RESMON_OK) {
        status = rm_outfile_commit(pen->file);
    } else {
        rm_outfile_abandon(pen->file);
    }
    free_parts(pen);
    return status;
}
