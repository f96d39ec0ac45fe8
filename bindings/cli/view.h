/* SPDX-License-Identifier: MIT */
/*
 * Owns the interaction with the live view: refresh, scroll, sort, fold, pause.
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
    int longest_ms;                      /* longest wait for a key */
    void (*look)(struct cli_view *view); /* takes a snapshot */
    void (*make)(struct cli_view *view); /* makes the frame of the snapshot */
    const char *note;                    /* before the keys in the bottom line; "": none */
    bool is_over;                        /* no more snapshots */

    int64_t next_ms;   /* CLOCK_MONOTONIC: time of the next snapshot */
    size_t first;      /* first line that is shown */
    uint64_t selected; /* scope; 0: none */
    bool is_paused;
};

/** Takes a snapshot if it is due, shows the page, and waits for a key until the next snapshot is
 * due or `fd` (below 0: none) is readable.  False: a key closes the view, or the terminal is gone.
 */
bool cli_view_turn(struct cli_view *view, int fd);

#endif
