/* SPDX-License-Identifier: MIT */
#include "names/chains.h"

#include "base/alloc.h"
#include "base/compiler.h"

#define MOST_DEPTH 128 /* of entries in one another: what lies deeper has no names of its own */

void rm_chains_open(struct rm_chains *chains, const uint64_t *addresses, size_t count,
                    struct rm_names_results *results)
{
    *chains = (struct rm_chains){.addresses = addresses, .count = count, .results = results};
    chains->found = rm_names_must(rm_alloc(count + 1, sizeof *chains->found));
    for (size_t i = 0; i < count; i++) {
        chains->found[i].node = RM_CHAIN_END;
    }
}

void rm_chains_free(struct rm_chains *chains)
{
    rm_free(chains->found);
    rm_free(chains->nodes);
}

/* ---- functions, and what was inlined into them ------------------------------------------- */

/* The first address that is not below `low`. */
static size_t lower_bound(const struct rm_chains *chains, uint64_t low)
{
    size_t from = 0, past = chains->count;
    while (from < past) {
        size_t middle = from + (past - from) / 2;
        if (chains->addresses[middle] < low) {
            from = middle + 1;
        } else {
            past = middle;
        }
    }
    return from;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return rm_dw.dwarf_attr_integrate(die, name, &attribute) != NULL
               ? rm_dw.dwarf_formstring(&attribute)
               : NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (rm_dw.dwarf_attr(die, name, &attribute) == NULL ||
        rm_dw.dwarf_formudata(&attribute, &value) != 0) {
        return 0;
    }
    return value <= INT32_MAX ? (uint32_t)value : 0;
}

static uint32_t file_of(struct rm_chains *chains, Dwarf_Die *unit, uint32_t index)
{
    Dwarf_Files *files = NULL;
    size_t count = 0;
    return rm_dw.dwarf_getsrcfiles(unit, &files, &count) == 0 && index < count
               ? rm_names_text(chains->results, rm_dw.dwarf_filesrc(files, index, NULL, NULL))
               : 0;
}

/* Where the walk through the entries of a unit is. */
struct scope {
    Dwarf_Die *unit;
    size_t from, to;   /* addresses that may be in it */
    uint32_t function; /* node */
    uint32_t depth;
};

static uint32_t add_node(struct rm_chains *chains, const struct scope *scope, Dwarf_Die *die)
{
    bool is_inlined = rm_dw.dwarf_tag(die) == DW_TAG_inlined_subroutine;
    const char *name = text_of(die, DW_AT_linkage_name);
    if (name == NULL) {
        name = text_of(die, DW_AT_MIPS_linkage_name);
    }
    struct rm_chain_node node = {.parent = is_inlined ? scope->function : RM_CHAIN_END,
                                 .is_linked = name != NULL};
    node.function =
        rm_names_function(chains->results, name != NULL ? name : text_of(die, DW_AT_name));
    if (node.parent != RM_CHAIN_END) {
        node.call_file = file_of(chains, scope->unit, number_of(die, DW_AT_call_file));
        node.call_line = number_of(die, DW_AT_call_line);
    }
    chains->nodes = rm_names_must(
        rm_grow(chains->nodes, chains->node_count, &chains->node_room, sizeof *chains->nodes));
    chains->nodes[chains->node_count] = node;
    return (uint32_t)chains->node_count++;
}

/* What of the scope's addresses is in a range. */
static bool cut(const struct rm_chains *chains, const struct scope *scope, uint64_t low,
                uint64_t high, size_t *ret_from, size_t *ret_to)
{
    size_t from = lower_bound(chains, low), to = high > low ? lower_bound(chains, high) : from;
    *ret_from = from > scope->from ? from : scope->from;
    *ret_to = to < scope->to ? to : scope->to;
    return *ret_from < *ret_to;
}

/* A function: the addresses in its ranges are of it.  False: there are none. */
static bool enter(struct rm_chains *chains, struct scope *scope, Dwarf_Die *die)
{
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;
    uint32_t node = RM_CHAIN_END;
    struct scope inner = *scope;
    inner.from = chains->count;
    inner.to = 0;
    while ((at = rm_dw.dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        size_t from, to;
        if (!cut(chains, scope, low + chains->bias, high + chains->bias, &from, &to)) {
            continue;
        }
        node = node != RM_CHAIN_END ? node : add_node(chains, scope, die);
        for (size_t i = from; i < to; i++) {
            struct rm_chain_address *address = &chains->found[i];
            if (address->node == RM_CHAIN_END || address->depth <= scope->depth) {
                address->node = node;
                address->depth = scope->depth;
            }
        }
        inner.from = from < inner.from ? from : inner.from;
        inner.to = to > inner.to ? to : inner.to;
    }
    inner.function = node;
    *scope = inner;
    return node != RM_CHAIN_END;
}

/* Whether functions with code may be in it. */
static bool holds_functions(int tag)
{
    static const int tags[] = {
        DW_TAG_subprogram, DW_TAG_inlined_subroutine, DW_TAG_lexical_block,  DW_TAG_namespace,
        DW_TAG_module,     DW_TAG_class_type,         DW_TAG_structure_type, DW_TAG_union_type,
        DW_TAG_try_block,  DW_TAG_catch_block,        DW_TAG_with_stmt,      DW_TAG_interface_type};
    for (size_t i = 0; i < RM_ARRAY_LEN(tags); i++) {
        if (tags[i] == tag) {
            return true;
        }
    }
    return false;
}

/* An entry that claims to be followed by one before it, or in another unit, is the last. */
static void walk(struct rm_chains *chains, const struct scope *outer, Dwarf_Die *parent)
{
    Dwarf_Die die;
    if (outer->depth >= MOST_DEPTH || rm_dw.dwarf_child(parent, &die) != 0) {
        return;
    }
    for (Dwarf_Off before = 0; rm_dw.dwarf_dieoffset(&die) > before;) {
        int tag = rm_dw.dwarf_tag(&die);
        struct scope scope = *outer;
        if (holds_functions(tag)) {
            bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
            if (!is_function || enter(chains, &scope, &die)) {
                scope.depth++;
                walk(chains, &scope, &die);
            }
        }
        before = rm_dw.dwarf_dieoffset(&die);
        if (rm_dw.dwarf_siblingof(&die, &die) != 0) {
            return;
        }
    }
}

/* ---- units ------------------------------------------------------------------------------ */

static void find_lines(struct rm_chains *chains, Dwarf_Die *unit, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct rm_chain_address *address = &chains->found[i];
        int number = 0;
        Dwarf_Line *line = address->has_line
                               ? NULL
                               : rm_dw.dwarf_getsrc_die(unit, chains->addresses[i] - chains->bias);
        uint32_t file = line != NULL
                            ? rm_names_text(chains->results, rm_dw.dwarf_linesrc(line, NULL, NULL))
                            : 0;
        if (file == 0) {
            continue;
        }
        address->has_line = true;
        address->file = file;
        address->line = rm_dw.dwarf_lineno(line, &number) == 0 && number > 0 ? (uint32_t)number : 0;
    }
}

/* The functions of a unit may be in another file (.dwo), its lines are not. */
static void read_unit(struct rm_chains *chains, Dwarf_Die *unit)
{
    const struct scope all = {.to = chains->count, .function = RM_CHAIN_END};
    struct scope scope = {.from = all.to, .function = RM_CHAIN_END};
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;
    Dwarf_Die split = {.cu = NULL};
    uint8_t type = 0;
    while ((at = rm_dw.dwarf_ranges(unit, at, &base, &low, &high)) > 0) {
        size_t from, to;
        if (cut(chains, &all, low + chains->bias, high + chains->bias, &from, &to)) {
            find_lines(chains, unit, from, to);
            scope.from = from < scope.from ? from : scope.from;
            scope.to = to > scope.to ? to : scope.to;
        }
    }
    if (scope.from >= scope.to) {
        return;
    }
    (void)rm_dw.dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL);
    scope.unit = type == DW_UT_skeleton && split.cu != NULL ? &split : unit;
    walk(chains, &scope, scope.unit);
}

bool rm_chains_read(struct rm_chains *chains, Dwarf *dwarf)
{
    bool has_units = false;
    Dwarf_CU *unit = NULL;
    Dwarf_Half version = 0;
    uint8_t type = 0;
    Dwarf_Die die;
    while (rm_dw.dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, NULL) == 0) {
        has_units = true;
        if (type == DW_UT_compile || type == DW_UT_skeleton) {
            read_unit(chains, &die);
        }
    }
    return has_units;
}
