/* SPDX-License-Identifier: MIT */
#include "stack/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "os/library.h"
#include "os/mapping.h"
#include "stack/dwarf_index.h"
#include "stack/escape.h"
#include "stack/ranges.h"

#define MOST_DEPTH 128 /* of entries in one another: what lies deeper has no names of its own */
#define SPARE      ((size_t)8 << 20)

/* ---- libdw ------------------------------------------------------------------------------ */

/* By its own declarations. */
static struct {
#define FUNCTION(name, member) __typeof__(name) *member;
#include "stack/libdw.def"
#undef FUNCTION
} dw;

static const struct rm_library_function functions[] = {
#define FUNCTION(name, member) {#name, &dw.member},
#include "stack/libdw.def"
#undef FUNCTION
};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static resmon_status load_status;
static char load_error[256];

static void load(void)
{
    static const char *const names[] = {"libdw.so.1", NULL};
    static const struct rm_library library = {"libdw, for lines of stacks (Debian: libdw1)", names,
                                              functions, RM_ARRAY_LEN(functions)};
    load_status = rm_library_load(&library);
    if (load_status == RESMON_OK && dw.elf_version(EV_CURRENT) == EV_NONE) {
        load_status = rm_error(RESMON_ENOTSUP, "libelf is older than its header");
    }
    if (load_status != RESMON_OK) {
        (void)snprintf(load_error, sizeof load_error, "%s", resmon_last_error());
    }
}

resmon_status rm_dwarf_load(void)
{
    (void)pthread_once(&load_once, load);
    return load_status == RESMON_OK ? RESMON_OK : rm_error(load_status, "%s", load_error);
}

/* ---- an open file ----------------------------------------------------------------------- */

/* One debug information, as libdw has it. */
struct handle {
    struct rm_debug_image image;
    Elf *elf;
    Dwarf *dwarf;
};

struct rm_dwarf {
    struct handle own, alternate;
    struct rm_dwarf_index index;
    const struct rm_dwarf_unit *latest; /* whose entry this is: */
    Dwarf_Die latest_die;
    size_t budget;  /* of entries and ranges yet to be looked at: see spend() */
    bool is_broken; /* libdw ran out of memory in the middle of something */
};

/* Runs what calls libdw. */
static resmon_status run(struct rm_dwarf *dwarf, rm_escape_work_fn work, void *context)
{
    resmon_status status = RESMON_ENOMEM;
    if (dwarf->is_broken || !rm_escape_run(work, dwarf, context, &status)) {
        dwarf->is_broken = true;
        return rm_error(RESMON_ENOMEM, "libdw is out of memory");
    }
    return status;
}

static resmon_status no_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for an index of debug information");
}

/* Each entry, and each range, takes a byte at least, and is looked at once.  Where they are more
 * than that, damaged references lead to the same ones over and over. */
static bool spend(struct rm_dwarf *dwarf)
{
    if (dwarf->budget == 0) {
        return false;
    }
    dwarf->budget--;
    return true;
}

static bool entry_at(const struct rm_dwarf *dwarf, uint64_t offset, Dwarf_Die *die)
{
    return dw.offdie(dwarf->own.dwarf, offset, die) != NULL;
}

/* Addresses come in order, and many are of one unit. */
static Dwarf_Die *entry_of(struct rm_dwarf *dwarf, const struct rm_dwarf_unit *unit)
{
    if (dwarf->latest != unit) {
        dwarf->latest = entry_at(dwarf, unit->offset, &dwarf->latest_die) ? unit : NULL;
    }
    return dwarf->latest != NULL ? &dwarf->latest_die : NULL;
}

/* ---- units ------------------------------------------------------------------------------ */

/* Adds what ranges an entry has; how many that are. */
static resmon_status add_ranges(struct rm_dwarf *dwarf, struct rm_ranges *ranges, Dwarf_Die *die,
                                struct rm_range range, size_t *ret_count)
{
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;
    while (spend(dwarf) && (at = dw.ranges(die, at, &base, &low, &high)) > 0) {
        range.low = low;
        range.high = high;
        if (!rm_ranges_add(ranges, range)) {
            return no_memory();
        }
        (*ret_count)++;
    }
    return RESMON_OK;
}

/* Units that do not say where their code is; another section may. */
static resmon_status add_aranges(struct rm_dwarf *dwarf, const bool *is_known)
{
    Dwarf_Aranges *aranges = NULL;
    size_t count = 0;
    if (dw.getaranges(dwarf->own.dwarf, &aranges, &count) != 0) {
        return RESMON_OK;
    }
    for (size_t i = 0; i < count; i++) {
        Dwarf_Addr low = 0;
        Dwarf_Word length = 0;
        Dwarf_Off offset = 0;
        if (dw.getarangeinfo(dw.onearange(aranges, i), &low, &length, &offset) != 0) {
            continue;
        }
        size_t unit = rm_dwarf_index_unit_of(&dwarf->index, offset);
        const struct rm_range range = {.low = low, .high = low + length, .value = (uint32_t)unit};
        if (unit < dwarf->index.unit_count && !is_known[unit] &&
            !rm_ranges_add(&dwarf->index.ranges, range)) {
            return no_memory();
        }
    }
    return RESMON_OK;
}

static resmon_status list_units(struct rm_dwarf *dwarf)
{
    Dwarf_Off at = 0, next = 0;
    size_t header = 0;
    while (dw.nextcu(dwarf->own.dwarf, at, &next, &header, NULL, NULL, NULL) == 0 && next > at) {
        Dwarf_Die die;
        if (entry_at(dwarf, at + header, &die)) {
            int tag = dw.tag(&die);
            resmon_status status = tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit
                                       ? rm_dwarf_index_add_unit(&dwarf->index, at + header, next)
                                       : RESMON_OK;
            if (status != RESMON_OK) {
                return status;
            }
        }
        at = next;
    }
    return RESMON_OK;
}

static resmon_status index_units(void *owner, void *context)
{
    struct rm_dwarf *dwarf = owner;
    bool *is_known = context;
    resmon_status status = RESMON_OK;
    for (size_t i = 0; status == RESMON_OK && i < dwarf->index.unit_count; i++) {
        Dwarf_Die die;
        size_t count = 0;
        if (entry_at(dwarf, dwarf->index.units[i].offset, &die)) {
            status = add_ranges(dwarf, &dwarf->index.ranges, &die,
                                (struct rm_range){.value = (uint32_t)i}, &count);
        }
        is_known[i] = count > 0;
    }
    if (status == RESMON_OK) {
        status = add_aranges(dwarf, is_known);
    }
    return status == RESMON_OK && !rm_ranges_flatten(&dwarf->index.ranges) ? no_memory() : status;
}

static resmon_status begin(void *owner, void *context)
{
    struct rm_dwarf *dwarf = owner;
    struct handle *handle = context;
    handle->elf = dw.elf_memory(handle->image.mapping.memory, handle->image.length);
    handle->dwarf = handle->elf != NULL ? dw.begin_elf(handle->elf, DWARF_C_READ, NULL) : NULL;
    if (handle->dwarf == NULL) {
        return rm_error(RESMON_EFORMAT, "libdw rejects the debug information");
    }
    (void)dw.new_oom_handler(handle->dwarf, rm_escape_leave);
    return handle == &dwarf->own ? list_units(dwarf) : RESMON_OK;
}

static resmon_status open_handles(struct rm_dwarf *dwarf)
{
    /* Without the alternate one, some names are missing. */
    if (dwarf->alternate.image.length > 0) {
        resmon_status status = run(dwarf, begin, &dwarf->alternate);
        if (status == RESMON_ENOMEM) {
            return status;
        }
    }
    resmon_status status = run(dwarf, begin, &dwarf->own);
    if (status == RESMON_OK && dwarf->alternate.dwarf != NULL) {
        dw.setalt(dwarf->own.dwarf, dwarf->alternate.dwarf);
    }
    return status;
}

static resmon_status open_dwarf(struct rm_dwarf *dwarf)
{
    resmon_status status = open_handles(dwarf);
    if (status != RESMON_OK || dwarf->index.unit_count == 0) {
        return status;
    }
    bool *is_known = rm_alloc(dwarf->index.unit_count, sizeof *is_known);
    status = is_known != NULL ? run(dwarf, index_units, is_known) : no_memory();
    rm_free(is_known);
    return status;
}

/* Where libdw has no memory it ends the program in places, whatever its handler is: there must be
 * plenty before it begins. */
static bool has_room(const struct rm_debug_image *image)
{
    struct rm_mapping room = {0};
    bool is_there =
        rm_mapping_anonymous(&room, 2 * (image->length + image->unpacked + SPARE)) == RESMON_OK;
    rm_mapping_free(&room);
    return is_there;
}

resmon_status rm_dwarf_open(struct rm_debug_image *image, struct rm_debug_image *alternate,
                            struct rm_dwarf **ret_dwarf)
{
    resmon_status status = rm_dwarf_load();
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_dwarf *dwarf = has_room(image) ? rm_alloc(1, sizeof *dwarf) : NULL;
    if (dwarf == NULL) {
        return no_memory();
    }
    dwarf->budget = 2 * (image->length + image->unpacked);
    dwarf->own.image = *image;
    dwarf->alternate.image = *alternate;
    status = open_dwarf(dwarf);
    if (status != RESMON_OK) {
        dwarf->own.image = dwarf->alternate.image = (struct rm_debug_image){0};
        rm_dwarf_close(dwarf);
        return status;
    }
    *image = *alternate = (struct rm_debug_image){0};
    *ret_dwarf = dwarf;
    return RESMON_OK;
}

/* ---- functions of a unit ---------------------------------------------------------------- */

/* A walk through the entries of a unit: the entry at each depth, and the function around it. */
struct walk {
    struct rm_dwarf *dwarf;
    struct rm_dwarf_unit *unit;
    Dwarf_Die dies[MOST_DEPTH];
    uint32_t nodes[MOST_DEPTH];
    size_t depth;
};

static resmon_status add_node(struct walk *walk, Dwarf_Die *die, bool is_inlined)
{
    struct rm_dwarf_unit *unit = walk->unit;
    size_t count = 0;
    uint32_t index = (uint32_t)unit->node_count;
    resmon_status status =
        add_ranges(walk->dwarf, &unit->ranges, die,
                   (struct rm_range){.value = index, .order = (uint32_t)walk->depth}, &count);
    if (status != RESMON_OK || count == 0) {
        return status;
    }
    walk->nodes[walk->depth] = index;
    return rm_dwarf_unit_add_node(unit, dw.dieoffset(die),
                                  is_inlined ? walk->nodes[walk->depth - 1] : RM_NO_NODE);
}

/* Whether functions with code may be in it. */
static bool holds_functions(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return true;
    default:
        return false;
    }
}

/* To the next entry on the same level, or on the one above; false at the end.  An entry that
 * claims to be followed by one before it, or in another unit, is the last. */
static bool step(struct walk *walk)
{
    while (walk->depth > 0 && spend(walk->dwarf)) {
        Dwarf_Die *die = &walk->dies[walk->depth];
        Dwarf_Off offset = dw.dieoffset(die);
        if (dw.siblingof(die, die) == 0 && dw.dieoffset(die) > offset &&
            dw.dieoffset(die) < walk->unit->past) {
            return true;
        }
        walk->depth--;
    }
    return false;
}

static bool descend(struct walk *walk)
{
    if (walk->depth + 1 < MOST_DEPTH &&
        dw.child(&walk->dies[walk->depth], &walk->dies[walk->depth + 1]) == 0) {
        walk->depth++;
        return true;
    }
    return false;
}

static resmon_status walk_unit(struct rm_dwarf *dwarf, struct rm_dwarf_unit *unit)
{
    struct walk walk = {.dwarf = dwarf, .unit = unit};
    bool is_more = entry_at(dwarf, unit->offset, &walk.dies[0]) && descend(&walk);
    walk.nodes[0] = RM_NO_NODE;
    while (is_more) {
        Dwarf_Die *die = &walk.dies[walk.depth];
        int tag = dw.tag(die);
        walk.nodes[walk.depth] = walk.nodes[walk.depth - 1];
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
            resmon_status status = add_node(&walk, die, tag == DW_TAG_inlined_subroutine);
            if (status != RESMON_OK) {
                return status;
            }
        }
        is_more = (holds_functions(tag) && descend(&walk)) || step(&walk);
    }
    return rm_ranges_flatten(&unit->ranges) ? RESMON_OK : no_memory();
}

static resmon_status index_unit(struct rm_dwarf *dwarf, struct rm_dwarf_unit *unit)
{
    if (unit->is_indexed) {
        return RESMON_OK;
    }
    rm_dwarf_unit_clear(unit);
    resmon_status status = walk_unit(dwarf, unit);
    unit->is_indexed = status == RESMON_OK;
    return status;
}

/* ---- an address ------------------------------------------------------------------------- */

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dw.attr_integrate(die, name, &attribute) != NULL ? dw.formstring(&attribute) : NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dw.attr(die, name, &attribute) == NULL || dw.formudata(&attribute, &value) != 0) {
        return 0;
    }
    return value <= INT32_MAX ? (uint32_t)value : 0;
}

static const char *file_of(struct rm_dwarf *dwarf, const struct rm_dwarf_unit *unit, uint32_t index)
{
    Dwarf_Die *die = entry_of(dwarf, unit);
    Dwarf_Files *files = NULL;
    size_t count = 0;
    if (die == NULL || dw.getsrcfiles(die, &files, &count) != 0 || index >= count) {
        return NULL;
    }
    return dw.filesrc(files, index, NULL, NULL);
}

static const struct rm_dwarf_node *named(struct rm_dwarf *dwarf, struct rm_dwarf_unit *unit,
                                         uint32_t index)
{
    Dwarf_Die die;
    struct rm_dwarf_node *node = &unit->nodes[index];
    if (node->is_named || !entry_at(dwarf, node->offset, &die)) {
        return node;
    }
    const char *function = text_of(&die, DW_AT_linkage_name);
    if (function == NULL) {
        function = text_of(&die, DW_AT_MIPS_linkage_name);
    }
    node->symbol.is_linked = function != NULL;
    node->symbol.function = function != NULL ? function : text_of(&die, DW_AT_name);
    if (node->around != RM_NO_NODE) {
        node->symbol.file = file_of(dwarf, unit, number_of(&die, DW_AT_call_file));
        node->symbol.line = number_of(&die, DW_AT_call_line);
    }
    node->is_named = 1;
    return node;
}

struct question {
    uint64_t address;
    struct rm_symbol *frames; /* RM_MOST_INLINED */
    size_t count;
};

static void find_line(struct rm_dwarf *dwarf, const struct rm_dwarf_unit *unit,
                      struct question *question)
{
    Dwarf_Die *die = entry_of(dwarf, unit);
    int number = 0;
    Dwarf_Line *line = die != NULL ? dw.getsrc_die(die, question->address) : NULL;
    if (line == NULL) {
        return;
    }
    question->frames[0].file = dw.linesrc(line, NULL, NULL);
    if (question->frames[0].file != NULL && dw.lineno(line, &number) == 0 && number > 0) {
        question->frames[0].line = (uint32_t)number;
    }
    question->count = question->frames[0].file != NULL ? 1 : 0;
}

static resmon_status find(void *owner, void *context)
{
    struct rm_dwarf *dwarf = owner;
    struct question *question = context;
    uint32_t index = 0;
    if (!rm_ranges_find(&dwarf->index.ranges, question->address, &index)) {
        return RESMON_OK;
    }
    struct rm_dwarf_unit *unit = &dwarf->index.units[index];
    resmon_status status = index_unit(dwarf, unit);
    if (status != RESMON_OK) {
        return status;
    }
    question->frames[0] = (struct rm_symbol){0};
    find_line(dwarf, unit, question);
    if (!rm_ranges_find(&unit->ranges, question->address, &index)) {
        return RESMON_OK;
    }
    for (question->count = 0; index != RM_NO_NODE && question->count < RM_MOST_INLINED;) {
        const struct rm_dwarf_node *node = named(dwarf, unit, index);
        struct rm_symbol *frame = &question->frames[question->count++];
        frame->function = node->symbol.function;
        frame->is_linked = node->symbol.is_linked;
        index = node->around;
        if (index != RM_NO_NODE && question->count < RM_MOST_INLINED) {
            frame[1] = (struct rm_symbol){.file = node->symbol.file, .line = node->symbol.line};
        }
    }
    return RESMON_OK;
}

resmon_status rm_dwarf_find(struct rm_dwarf *dwarf, uint64_t address,
                            struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count)
{
    struct question question = {address, frames, 0};
    resmon_status status = run(dwarf, find, &question);
    if (status == RESMON_OK) {
        *ret_count = question.count;
    }
    return status;
}

/* ---- the end ---------------------------------------------------------------------------- */

static void end(struct handle *handle)
{
    if (handle->dwarf != NULL) {
        (void)dw.end(handle->dwarf);
    }
    if (handle->elf != NULL) {
        (void)dw.elf_end(handle->elf);
    }
    rm_debug_image_free(&handle->image);
}

void rm_dwarf_close(struct rm_dwarf *dwarf)
{
    if (dwarf == NULL) {
        return;
    }
    end(&dwarf->own);
    end(&dwarf->alternate);
    rm_dwarf_index_free(&dwarf->index);
    rm_free(dwarf);
}
