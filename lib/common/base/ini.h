/* SPDX-License-Identifier: MIT */
/*
 * Owns the reading of INI files, by the rules of Python's configparser, which the programs that
 * share these files with us read them with: "[section]", "name = value" or "name: value", whole
 * lines after '#' or ';' as comments, values that go on in lines that are indented deeper.
 */
#ifndef RM_BASE_INI_H
#define RM_BASE_INI_H

#include <stdbool.h>

#include "base/parse.h"

/* Set `rest` to the text, and whether values may go on; the rest zeroed. */
struct rm_ini {
    struct rm_text rest;
    struct rm_text section; /* that has begun */
    unsigned line;          /* the last one that was taken, from 1 */
    bool goes_on;           /* a line that is indented deeper than its name belongs to the value */
};

/* All texts but the section's are without blanks around them. */
struct rm_ini_entry {
    struct rm_text section;     /* empty before the first */
    struct rm_text whole;       /* the first line */
    struct rm_text name, value; /* of a line with neither '=' nor ':', `name` is empty */
    unsigned line;              /* its number */
    bool has_more;              /* the value goes on in further lines, which are left out */
};

/** Without the blanks around it. */
struct rm_text rm_ini_trim(struct rm_text text);

/** The next line that is neither a remark nor a section; false at the end. */
bool rm_ini_next(struct rm_ini *ini, struct rm_ini_entry *ret_entry);

/**
 * The last value of a name, in whatever case, in `section` or else in [DEFAULT], as a string of at
 * most `room` bytes with its end.  "%%" is a '%'.  False: it is not there, has several lines,
 * refers to another value ("%(other)s"), or is too long; `target` is "" then.
 */
bool rm_ini_get(struct rm_text text, const char *section, const char *name, char *target,
                size_t room);

#endif
