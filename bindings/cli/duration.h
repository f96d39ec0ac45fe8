/* SPDX-License-Identifier: MIT */
/*
 * Owns times as people say them on a command line: "30s", "1.5min".
 */
#ifndef RESMON_CLI_DURATION_H
#define RESMON_CLI_DURATION_H

/** In seconds; below 0: it is none, or has no unit. */
double cli_duration(const char *text);

#endif
