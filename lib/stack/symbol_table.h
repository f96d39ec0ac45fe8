/* SPDX-License-Identifier: MIT */
/*
 * Owns the functions that the symbol table of an ELF file names, by address.
 * Called by symbols.c.
 */
#ifndef RM_STACK_SYMBOL_TABLE_H
#define RM_STACK_SYMBOL_TABLE_H

#include <stdint.h>

#include <resmon/status.h>

#include "stack/elf_file.h"
#include "stack/ranges.h"

/* Zeroed: empty. */
struct rm_symbol_table {
    struct rm_ranges functions; /* by offset of the name */
    char *names;
    uint64_t name_bytes;
};

/** Reads .symtab, else .dynsym.  RESMON_ENOENT: there is neither, or no function in them; else
 * RESMON_EFORMAT or RESMON_ENOMEM.  `table` stays as it is unless RESMON_OK. */
resmon_status rm_symbol_table_read(const struct rm_elf *elf, struct rm_symbol_table *table);

/** How much memory reading the table takes at most, in bytes. */
uint64_t rm_symbol_table_measure(const struct rm_elf *elf);

/** Whether the file has .symtab, which also names functions that are not exported. */
bool rm_symbol_table_is_full(const struct rm_elf *elf);

/** The function, as it is called in the table, or NULL; the table's own text. */
const char *rm_symbol_table_find(const struct rm_symbol_table *table, uint64_t address);

void rm_symbol_table_free(struct rm_symbol_table *table);

#endif
