/* SPDX-License-Identifier: MIT */
/*
 * Owns what `resmon live` shows of a run: lines of text, made of one snapshot.
 */
#ifndef RESMON_CLI_FRAME_H
#define RESMON_CLI_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/run.h>

#define CLI_FRAME_LINES 400
#define CLI_FRAME_BYTES 1024 /* of a line: a column may take four */

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_WARNING };

struct cli_line {
    char text[CLI_FRAME_BYTES];
    enum cli_style style;
};

enum cli_scope_order { CLI_BY_TREE, CLI_BY_WALL, CLI_BY_SELF, CLI_BY_CALLS };

struct cli_frame {
    unsigned columns; /* of the page */
    bool is_utf8;     /* small curves, in blocks of different height */
    enum cli_scope_order order;
    bool is_folded; /* scopes: the outermost alone */
    struct cli_line *lines;
    size_t count;
};

/** Makes the lines of a run anew. */
void cli_frame_make(struct cli_frame *frame, const resmon_run *run);

/** One line that says what is the matter, in place of all. */
void cli_frame_say(struct cli_frame *frame, const char *text);

void cli_frame_free(struct cli_frame *frame);

#endif
