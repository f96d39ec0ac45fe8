/* SPDX-License-Identifier: MIT */
/*
 * resmon/export.h - macros that mark exported symbols.
 *
 *     RESMON_BEGIN_DECLS
 *     RESMON_API int exported_function(void);
 *     RESMON_END_DECLS
 *
 * Every header of libresmon compiles alone, as C11 and as C++11 or later, and includes nothing
 * inside extern "C".  Programs need not include this file.
 */
#ifndef RESMON_EXPORT_H
#define RESMON_EXPORT_H

#define RESMON_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define RESMON_BEGIN_DECLS extern "C" {
#define RESMON_END_DECLS   }
#else
#define RESMON_BEGIN_DECLS
#define RESMON_END_DECLS
#endif

#endif
