/* SPDX-License-Identifier: MIT */
/*
 * Owns the program resmon-names: what it does is one call.
 * Called by program.c, by the command resmon, and referred to by symbols/symbolizer.c.
 */
#ifndef RM_NAMES_NAMES_H
#define RM_NAMES_NAMES_H

/** Reads a request (protocol.h) from the standard input, and writes the reply to the standard
 * output.  The status to exit with. */
int rm_names_main(void);

#endif
