/* SPDX-License-Identifier: MIT */
/*
 * Owns the code objects of one interpreter, by address: their names and line tables, read once and
 * checked again now and then, since the memory of a code object may be used again.  Called by
 * python.c and by who writes its stacks.
 */
#ifndef RM_STACK_PYTHON_CODE_H
#define RM_STACK_PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stack/python_layout.h"

/* A code object. */
struct rm_python_code {
    uint64_t address;
    uint64_t file, name, lines; /* addresses of objects: equal while it is the same code */
    uint32_t first_line;
    uint32_t bytecode_units;
    uint32_t table_bytes;
    unsigned char *table; /* of lines; NULL: none, or too long */
    char *text;           /* "function\tfile" */
    uint64_t value;       /* by which the run knows the text; set by the user of this file; 0 */
    bool is_named;        /* its file has a name that the program gave; set like `value` */
    int64_t checked_ns;
};

struct rm_python_codes {
    struct rm_python_code *rows;
    size_t count, room;
    struct rm_map by_address;
    uint64_t bytes; /* of texts and tables */
    uint64_t type;  /* address of the type of code objects; 0: not known yet */
    int64_t now_ns; /* of the next search; set by the user of this file */
};

void rm_python_codes_free(struct rm_python_codes *codes);

/** Finds the code objects at addresses, reading those that are new or were not checked recently;
 * `addresses` may repeat.  False: one of them is no code object, or is not readable.  Results are
 * valid until the next call. */
bool rm_python_codes_find(struct rm_python_codes *codes, const struct rm_python_memory *memory,
                          const struct rm_python_layout *layout, const uint64_t *addresses,
                          size_t count, struct rm_python_code **ret_codes);

/** The line of an instruction, by its position in bytes (up to 3.10) or in units of two bytes; less
 * than 0: before the first.  0: the code has no line there. */
uint32_t rm_python_code_line(const struct rm_python_code *code, uint32_t minor, int64_t position);

#endif
