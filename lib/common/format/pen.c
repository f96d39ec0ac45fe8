/* SPDX-License-Identifier: MIT */
#include "format/pen.h"

#include "base/number.h"
#include "base/text.h"

void rm_pen_start(struct rm_pen *pen, const struct rm_output *output)
{
    pen->output = output;
    pen->status = RESMON_OK;
    pen->length = 0;
}

resmon_status rm_pen_finish(struct rm_pen *pen)
{
    if (pen->status == RESMON_OK && pen->length > 0) {
        pen->status = rm_output_write(pen->output, pen->piece, pen->length);
    }
    pen->length = 0;
    return pen->status;
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
            (void)rm_pen_finish(pen);
        }
    }
}

void rm_pen_u64(struct rm_pen *pen, uint64_t number)
{
    char text[RM_NUMBER_BYTES];
    rm_pen_add(pen, text, rm_number_u64(text, number));
}

void rm_pen_i64(struct rm_pen *pen, int64_t number)
{
    char text[RM_NUMBER_BYTES];
    rm_pen_add(pen, text, rm_number_i64(text, number));
}

void rm_pen_fixed(struct rm_pen *pen, int64_t number, int places)
{
    char text[RM_NUMBER_BYTES];
    rm_pen_add(pen, text, rm_number_fixed(text, number, places));
}

size_t rm_pen_double(struct rm_pen *pen, double number)
{
    char text[RM_NUMBER_BYTES];
    size_t length = rm_number_double(text, number);
    rm_pen_add(pen, text, length);
    return length;
}

static resmon_status add_piece(void *pen, const char *bytes, size_t length)
{
    rm_pen_add(pen, bytes, length);
    return RESMON_OK;
}

/* Most texts need no escape. */
void rm_pen_json(struct rm_pen *pen, const char *text)
{
    const struct rm_output output = {add_piece, pen};
    size_t length = rm_text_json_plain(text);
    if (text[length] == '\0') {
        rm_pen_puts(pen, "\"");
        rm_pen_add(pen, text, length);
        rm_pen_puts(pen, "\"");
    } else {
        (void)rm_text_json(&output, text);
    }
}
