/* SPDX-License-Identifier: MIT */
/*
 * Owns the frames that were found, and their texts, each of which is written once, where it is
 * first named; and how resmon-names ends, as without memory: the library has addresses then. Called
 * by dwfl.c and serve.c.
 */
#ifndef RM_NAMES_RESULTS_H
#define RM_NAMES_RESULTS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/map.h"

struct rm_names_frame {
    uint32_t function, file; /* texts */
    uint32_t line;
};

/* frames[first ... first + count - 1], innermost first. */
struct rm_names_span {
    size_t first;
    uint32_t count;
};

/* Zeroed: nothing. */
struct rm_names_results {
    struct rm_names_frame *frames;
    size_t frame_count, frame_room;
    struct rm_intern texts;
    uint32_t *names; /* in the reply, by text; 0: not written yet */
    size_t name_room;
    uint32_t name_count;
};

/** The number of a text; 0 for NULL and "". */
uint32_t rm_names_text(struct rm_names_results *results, const char *text);

/** The number of a function's name as people write it; 0 for NULL. */
uint32_t rm_names_function(struct rm_names_results *results, const char *name);

void rm_names_add_frame(struct rm_names_results *results, uint32_t function, uint32_t file,
                        uint32_t line);

/** Writes frames as the reply has them. */
void rm_names_put_frames(struct rm_names_results *results, struct rm_names_span span,
                         struct rm_buffer *reply);

#define RM_NAMES_WRONG_REQUEST 2
#define RM_NAMES_NO_MEMORY     3
#define RM_NAMES_NO_OUTPUT     4
#define RM_NAMES_NO_THREAD     5

/** Ends the program at once, with that status. */
void rm_names_end(int status) __attribute__((noreturn));

/** `memory`, unless that is NULL: then the program ends. */
void *rm_names_must(void *memory);

#endif
