/* SPDX-License-Identifier: MIT */
/*
 * Owns the end of a program whose main thread has left by pthread_exit().  The C library then ends
 * the program, as by exit(0), when its last thread ends: which ours, that wait for a monitor to be
 * stopped, would never do.  So when only threads of this library are left, this does in its place
 * what the C library would have done.
 */
#ifndef RM_ENGINE_LAST_THREAD_H
#define RM_ENGINE_LAST_THREAD_H

/** On any thread, when a monitor starts: if it is the main thread, its leaving will be noticed. */
void rm_last_thread_watch(void);

#endif
