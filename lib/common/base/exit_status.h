/* SPDX-License-Identifier: MIT */
/*
 * Owns how the library learns with which status the program exits.  The GNU C library tells it to
 * handlers of on_exit(), which run in the reverse order of their registration.  In the constructor
 * of a shared library that is too early: what was registered there runs last, when all libraries
 * have been taken down.  So there is a second way, by a destructor of the thread that loads the
 * library, with which exit() begins, and a third for exits of other threads.
 */
#ifndef RM_BASE_EXIT_STATUS_H
#define RM_BASE_EXIT_STATUS_H

#include <resmon/status.h>

/** From now on `note` is called in exit(), before the program's own handlers where that can be
 * had, and maybe more than once.  On the thread that loads the library, once. */
void rm_exit_status_watch(void (*note)(int exit_status));

/** On any thread, once the program's main() is under way, which nobody knows better than the first
 * scope: any later exit is noted then.  Does nothing when nobody watches, or the second time. */
void rm_exit_status_main_runs(void);

/** `run` is called in exit() once, before what was registered until now.  RESMON_ENOMEM,
 * RESMON_ENOTSUP. */
resmon_status rm_exit_status_hand(void (*run)(int exit_status, void *context), void *context);

#endif
