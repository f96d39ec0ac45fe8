/* SPDX-License-Identifier: MIT */
/*
 * Owns the content of the live view: lines of text, made of one snapshot of a run.
 */
#ifndef RESMON_CLI_FRAME_H
#define RESMON_CLI_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>

#define CLI_FRAME_LINES 400
#define CLI_FRAME_BYTES 1024 /* of a line: a column may take four bytes */

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_WARNING };

struct cli_line {
    char text[CLI_FRAME_BYTES];
    enum cli_style style;
    uint64_t scope; /* hash of its path; 0: no line of a scope */
};

enum cli_scope_order { CLI_BY_TREE, CLI_BY_WALL, CLI_BY_SELF, CLI_BY_CALLS };

struct cli_frame {
    unsigned columns; /* of the terminal */
    bool is_utf8;     /* sparklines may use block characters */
    enum cli_scope_order order;
    bool is_folded;   /* all scopes are folded: outermost scopes only */
    uint64_t *folded; /* scopes whose state is the opposite of `is_folded` */
    size_t folded_count, folded_capacity;
    struct cli_line *lines;
    size_t count;
};

/** Prepares a frame for the locale of the user. */
void cli_frame_begin(struct cli_frame *frame);

/** Replaces all lines by those of a run. */
void cli_frame_make(struct cli_frame *frame, const resmon_run *run);

/** Adds the scopes of another run, below a title with its program. */
void cli_frame_add_scopes(struct cli_frame *frame, const resmon_run *run);

/** Adds an empty line and a title. */
void cli_frame_add_title(struct cli_frame *frame, const char *title);

/** Adds a line of a program's output, without control characters and escape sequences. */
void cli_frame_add_text(struct cli_frame *frame, const char *text, size_t length);

/** Folds the branch of a scope, or unfolds it. */
void cli_frame_fold(struct cli_frame *frame, uint64_t scope);

/** Replaces all lines by a message. */
void cli_frame_say(struct cli_frame *frame, const char *text);

void cli_frame_free(struct cli_frame *frame);

#endif
