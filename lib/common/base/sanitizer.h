/* SPDX-License-Identifier: MIT */
/*
 * Owns what a program's sanitizer must be told.  A program that is built with ThreadSanitizer, and
 * this library without it, share a C library whose calls it watches: it sees what such a call reads
 * and writes, but not the atomics that order these accesses, and takes sound hand-overs for races.
 */
#ifndef RM_BASE_SANITIZER_H
#define RM_BASE_SANITIZER_H

#include <stdbool.h>

#include "base/compiler.h"

/** Whether AddressSanitizer or ThreadSanitizer is in this process, in whatever part of it. */
RM_SHARED bool rm_sanitizer_is_here(void);

/** From here on, the calling thread's accesses are not looked at; nests.  Nothing where there is no
 * ThreadSanitizer, or where this library is built with it. */
void rm_sanitizer_look_away(void);
void rm_sanitizer_look_again(void);

#endif
