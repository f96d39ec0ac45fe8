/* SPDX-License-Identifier: MIT */
/*
 * Owns what a page shows of a run: lines of text, made of one snapshot.
 */
#ifndef RESMON_CLI_FRAME_H
#define RESMON_CLI_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>

#define CLI_FRAME_LINES 400
#define CLI_FRAME_BYTES 1024 /* of a line: a column may take four */

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_WARNING };

struct cli_line {
    char text[CLI_FRAME_BYTES];
    enum cli_style style;
    uint64_t scope; /* a number for its path; 0: it is no line of a scope */
};

enum cli_scope_order { CLI_BY_TREE, CLI_BY_WALL, CLI_BY_SELF, CLI_BY_CALLS };

struct cli_frame {
    unsigned columns; /* of the page */
    bool is_utf8;     /* small curves, in blocks of different height */
    enum cli_scope_order order;
    bool is_folded;   /* scopes: the outermost alone */
    uint64_t *folded; /* scopes whose branch is shut */
    size_t folded_count, folded_room;
    struct cli_line *lines;
    size_t count;
};

/** A frame for the locale of whoever called us. */
void cli_frame_begin(struct cli_frame *frame);

/** Makes the lines of a run anew. */
void cli_frame_make(struct cli_frame *frame, const resmon_run *run);

/** Adds the scopes of another run, below a line that says whose they are. */
void cli_frame_add_scopes(struct cli_frame *frame, const resmon_run *run);

/** Adds an empty line, and one that says what those below it are. */
void cli_frame_add_title(struct cli_frame *frame, const char *title);

/** Adds a line, of which what is no text is left out: what a program printed. */
void cli_frame_add_text(struct cli_frame *frame, const char *text, size_t length);

/** Shuts the branch of a scope, or opens it again. */
void cli_frame_fold(struct cli_frame *frame, uint64_t scope);

/** One line that says what is the matter, in place of all. */
void cli_frame_say(struct cli_frame *frame, const char *text);

void cli_frame_free(struct cli_frame *frame);

#endif
