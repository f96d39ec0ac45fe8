/* SPDX-License-Identifier: MIT */
/*
 * Owns the names and texts that the program gives to code that is in no file (cells of notebooks),
 * for stacks of this process.  Any thread.
 */
#ifndef RM_STACK_NAMED_SOURCES_H
#define RM_STACK_NAMED_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "store/stack_writer.h"

/** As resmon_name_source(). */
resmon_status rm_named_source_add(const char *file, const char *name, const char *text);

/** rm_stack_writer_name() of "function\tfile", with the file's name if it has one, whose text is
 * then in the block, too: "\nNAME\nTEXT".  Its top level, "<module>", has that name as well. */
uint64_t rm_named_source_value(struct rm_stack_writer *writer, const char *text,
                               bool *ret_is_named);

#endif
