/* SPDX-License-Identifier: MIT */
/*
 * Owns the page as a person uses it: looked at again and again, scrolled, sorted, folded, paused.
 */
#ifndef RESMON_CLI_VIEW_H
#define RESMON_CLI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

struct cli_view {
    struct cli_frame frame;
    int every_ms;
    int longest_ms;                      /* wait for a key */
    void (*look)(struct cli_view *view); /* gets what there is now */
    void (*make)(struct cli_view *view); /* makes the frame of it */
    const char *note;                    /* before the keys at the bottom; "": nothing */
    bool is_over;                        /* there is nothing new to look at */

    int64_t next_ms;   /* CLOCK_MONOTONIC: when to look again */
    size_t first;      /* line that is shown */
    uint64_t selected; /* scope; 0: none */
    bool is_paused;
};

/** Looks if it is time, shows the page, and waits for a key, until the next look is due or `fd`
 * (below 0: none) can be read.  False: a key ends it, or the terminal has gone away. */
bool cli_view_turn(struct cli_view *view, int fd);

#endif
