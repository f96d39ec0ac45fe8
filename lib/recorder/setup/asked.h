/* SPDX-License-Identifier: MIT */
/*
 * Owns the variable RESMON_RUN: what whoever runs this program, the command resmon, asks of it: a
 * directory in which its monitors with scopes are to have their blocks, and behind a comma options
 * as RESMON has them.
 */
#ifndef RM_SETUP_ASKED_H
#define RM_SETUP_ASKED_H

#include <stdbool.h>

#define RM_ASKED_BYTES 256

struct rm_asked {
    char directory[RM_ASKED_BYTES];
    const char *options; /* in the environment; "": none */
};

/** False: nothing is asked, or the directory is gone, is not this user's alone, or has so little
 * room that the program may need it itself. */
bool rm_asked_find(struct rm_asked *ret_asked);

#endif
