/* SPDX-License-Identifier: MIT */
/*
 * Owns the numbering of sites in a process, and the sites made for names at run time.
 */
#ifndef RM_SCOPE_SITE_H
#define RM_SCOPE_SITE_H

#include <stdint.h>

#include <resmon/scope.h>

#define RM_SITE_TOO_MANY UINT32_MAX

/** The site's number, given at its first visit; RM_SITE_TOO_MANY when there is none left. */
uint32_t rm_site_number(resmon_site *site);

/** One more than the highest number given so far. */
uint32_t rm_site_count(void);

#endif
