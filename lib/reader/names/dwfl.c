/* SPDX-License-Identifier: MIT */
#include "names/names.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"
#include "library_files.inc"
#include "os/library.h"
#include "os/proc_pid.h"

/* ---- libdw ----------------------------------------------------------------------------------- */

/* The functions of libdw, with libdwfl in it, and of libelf that are used here. */
#define LIBDW_FUNCTIONS(FUNCTION)          \
    FUNCTION(dwfl_begin)                   \
    FUNCTION(dwfl_end)                     \
    FUNCTION(dwfl_errmsg)                  \
    FUNCTION(dwfl_report_begin)            \
    FUNCTION(dwfl_report_elf)              \
    FUNCTION(dwfl_report_end)              \
    FUNCTION(dwfl_standard_find_debuginfo) \
    FUNCTION(dwfl_offline_section_address) \
    FUNCTION(dwfl_module_build_id)         \
    FUNCTION(dwfl_module_getelf)           \
    FUNCTION(dwfl_module_getsymtab)        \
    FUNCTION(dwfl_module_getsym_info)      \
    FUNCTION(dwfl_module_getdwarf)         \
    FUNCTION(dwarf_get_units)              \
    FUNCTION(dwarf_cu_info)                \
    FUNCTION(dwarf_dieoffset)              \
    FUNCTION(dwarf_tag)                    \
    FUNCTION(dwarf_child)                  \
    FUNCTION(dwarf_siblingof)              \
    FUNCTION(dwarf_ranges)                 \
    FUNCTION(dwarf_attr)                   \
    FUNCTION(dwarf_attr_integrate)         \
    FUNCTION(dwarf_formstring)             \
    FUNCTION(dwarf_formudata)              \
    FUNCTION(dwarf_getsrc_die)             \
    FUNCTION(dwarf_lineno)                 \
    FUNCTION(dwarf_linesrc)                \
    FUNCTION(dwarf_getsrcfiles)            \
    FUNCTION(dwarf_filesrc)                \
    FUNCTION(elf_getscn)                   \
    FUNCTION(elf_nextscn)                  \
    FUNCTION(elf_getshdrstrndx)            \
    FUNCTION(elf_strptr)                   \
    FUNCTION(gelf_getshdr)

static struct {
#define FUNCTION(name) __typeof__(name) *name;
    LIBDW_FUNCTIONS(FUNCTION)
#undef FUNCTION
} dw;

/* ---- lines and inlined functions ------------------------------------------------------------- */

#define CHAIN_END UINT32_MAX

/* A function with code, or an inlined one. */
struct chain_node {
    uint32_t parent;    /* the function that it is inlined into; CHAIN_END: none */
    uint32_t function;  /* number of its name */
    uint32_t call_file; /* number of the file of the call in the parent */
    uint32_t call_line;
    bool is_linked; /* the name is the linkage name */
};

struct chain_address {
    uint32_t node, depth; /* the innermost function with the address; CHAIN_END: none */
    uint32_t file, line;
    bool has_line;
};

struct chains {
    const uint64_t *addresses; /* ascending */
    size_t count;
    uint64_t bias; /* subtracted from an address gives one of the debug information */
    struct rm_names_results *results;
    struct chain_address *found; /* by address */
    struct chain_node *nodes;
    size_t node_count, node_room;
};

#define MOST_DEPTH 128 /* of nested entries; deeper functions have no names */

/* Begins with no functions found. */
static void chains_open(struct chains *chains, const uint64_t *addresses, size_t count,
                        struct rm_names_results *results)
{
    *chains = (struct chains){.addresses = addresses, .count = count, .results = results};
    chains->found = rm_names_must(rm_alloc(count + 1, sizeof *chains->found));
    for (size_t i = 0; i < count; i++) {
        chains->found[i].node = CHAIN_END;
    }
}

static void chains_free(struct chains *chains)
{
    rm_free(chains->found);
    rm_free(chains->nodes);
}

/* ---- functions, and what was inlined into them ------------------------------------------- */

/* The first address that is not below `low`. */
static size_t lower_bound(const struct chains *chains, uint64_t low)
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
    return dw.dwarf_attr_integrate(die, name, &attribute) != NULL ? dw.dwarf_formstring(&attribute)
                                                                  : NULL;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dw.dwarf_attr(die, name, &attribute) == NULL ||
        dw.dwarf_formudata(&attribute, &value) != 0) {
        return 0;
    }
    return value <= INT32_MAX ? (uint32_t)value : 0;
}

static uint32_t file_of(struct chains *chains, Dwarf_Die *unit, uint32_t index)
{
    Dwarf_Files *files = NULL;
    size_t count = 0;
    return dw.dwarf_getsrcfiles(unit, &files, &count) == 0 && index < count
               ? rm_names_text(chains->results, dw.dwarf_filesrc(files, index, NULL, NULL))
               : 0;
}

/* The state of the walk through the entries of a unit. */
struct scope {
    Dwarf_Die *unit;
    size_t from, to;   /* indexes of the addresses that may be in it */
    uint32_t function; /* node */
    uint32_t depth;
};

static uint32_t add_node(struct chains *chains, const struct scope *scope, Dwarf_Die *die)
{
    bool is_inlined = dw.dwarf_tag(die) == DW_TAG_inlined_subroutine;
    const char *name = text_of(die, DW_AT_linkage_name);
    if (name == NULL) {
        name = text_of(die, DW_AT_MIPS_linkage_name);
    }
    struct chain_node node = {.parent = is_inlined ? scope->function : CHAIN_END,
                              .is_linked = name != NULL};
    node.function =
        rm_names_function(chains->results, name != NULL ? name : text_of(die, DW_AT_name));
    if (node.parent != CHAIN_END) {
        node.call_file = file_of(chains, scope->unit, number_of(die, DW_AT_call_file));
        node.call_line = number_of(die, DW_AT_call_line);
    }
    chains->nodes = rm_names_must(
        rm_grow(chains->nodes, chains->node_count, &chains->node_room, sizeof *chains->nodes));
    chains->nodes[chains->node_count] = node;
    return (uint32_t)chains->node_count++;
}

/* The scope's addresses in a range. */
static bool cut(const struct chains *chains, const struct scope *scope, uint64_t low, uint64_t high,
                size_t *ret_from, size_t *ret_to)
{
    size_t from = lower_bound(chains, low), to = high > low ? lower_bound(chains, high) : from;
    *ret_from = from > scope->from ? from : scope->from;
    *ret_to = to < scope->to ? to : scope->to;
    return *ret_from < *ret_to;
}

/* Assigns a function to the addresses in its ranges.  False: there are none. */
static bool enter(struct chains *chains, struct scope *scope, Dwarf_Die *die)
{
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;
    uint32_t node = CHAIN_END;
    struct scope inner = *scope;
    inner.from = chains->count;
    inner.to = 0;
    while ((at = dw.dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        size_t from, to;
        if (!cut(chains, scope, low + chains->bias, high + chains->bias, &from, &to)) {
            continue;
        }
        node = node != CHAIN_END ? node : add_node(chains, scope, die);
        for (size_t i = from; i < to; i++) {
            struct chain_address *address = &chains->found[i];
            if (address->node == CHAIN_END || address->depth <= scope->depth) {
                address->node = node;
                address->depth = scope->depth;
            }
        }
        inner.from = from < inner.from ? from : inner.from;
        inner.to = to > inner.to ? to : inner.to;
    }
    inner.function = node;
    *scope = inner;
    return node != CHAIN_END;
}

/* Whether an entry may contain functions with code. */
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

/* In damaged files the next entry may be in front of this one or in another unit: then the walk
 * ends. */
static void walk(struct chains *chains, const struct scope *outer, Dwarf_Die *parent)
{
    Dwarf_Die die;
    if (outer->depth >= MOST_DEPTH || dw.dwarf_child(parent, &die) != 0) {
        return;
    }
    for (Dwarf_Off before = 0; dw.dwarf_dieoffset(&die) > before;) {
        int tag = dw.dwarf_tag(&die);
        struct scope scope = *outer;
        if (holds_functions(tag)) {
            bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
            if (!is_function || enter(chains, &scope, &die)) {
                scope.depth++;
                walk(chains, &scope, &die);
            }
        }
        before = dw.dwarf_dieoffset(&die);
        if (dw.dwarf_siblingof(&die, &die) != 0) {
            return;
        }
    }
}

/* ---- units ------------------------------------------------------------------------------ */

static void find_lines(struct chains *chains, Dwarf_Die *unit, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct chain_address *address = &chains->found[i];
        int number = 0;
        Dwarf_Line *line = address->has_line
                               ? NULL
                               : dw.dwarf_getsrc_die(unit, chains->addresses[i] - chains->bias);
        uint32_t file =
            line != NULL ? rm_names_text(chains->results, dw.dwarf_linesrc(line, NULL, NULL)) : 0;
        if (file == 0) {
            continue;
        }
        address->has_line = true;
        address->file = file;
        address->line = dw.dwarf_lineno(line, &number) == 0 && number > 0 ? (uint32_t)number : 0;
    }
}

/* The functions of a unit may be in another file (.dwo), but not its lines. */
static void read_unit(struct chains *chains, Dwarf_Die *unit)
{
    const struct scope all = {.to = chains->count, .function = CHAIN_END};
    struct scope scope = {.from = all.to, .function = CHAIN_END};
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;
    Dwarf_Die split = {.cu = NULL};
    uint8_t type = 0;
    while ((at = dw.dwarf_ranges(unit, at, &base, &low, &high)) > 0) {
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
    (void)dw.dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL);
    scope.unit = type == DW_UT_skeleton && split.cu != NULL ? &split : unit;
    walk(chains, &scope, scope.unit);
}

/* False: there are no units. */
static bool chains_read(struct chains *chains, Dwarf *dwarf)
{
    bool has_units = false;
    Dwarf_CU *unit = NULL;
    Dwarf_Half version = 0;
    uint8_t type = 0;
    Dwarf_Die die;
    while (dw.dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, NULL) == 0) {
        has_units = true;
        if (type == DW_UT_compile || type == DW_UT_skeleton) {
            read_unit(chains, &die);
        }
    }
    return has_units;
}

/* ---- modules --------------------------------------------------------------------------------- */

static const struct rm_library_function functions[] = {
#define FUNCTION(name) {#name, &dw.name},
    LIBDW_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

resmon_status rm_dwfl_load(void)
{
    static const char *const names[] = {RM_DW_FILE, NULL};
    static const struct rm_library library = {"libdw, for the lines of stacks (Debian: libdw1)",
                                              names, functions, RM_ARRAY_LEN(functions)};
    return rm_library_load(&library);
}

/* ---- a module --------------------------------------------------------------------------- */

struct work {
    struct rm_names_module *module;
    struct rm_names_results *results;
    Dwfl *dwfl;
    Dwfl_Module *mod;
    struct rm_symbols symbols;
    bool is_stripped;
    struct chains chains;
};

/* ---- the file --------------------------------------------------------------------------- */

static bool refuse(struct work *work, const char *format, ...) RM_PRINTF(2, 3);
static bool refuse(struct work *work, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(work->module->reason, sizeof work->module->reason, format, arguments);
    va_end(arguments);
    return false;
}

/* Copies the vDSO, which has no file, to a file in memory. */
static int open_vdso(struct work *work)
{
    char *image = NULL;
    size_t length = 0;
    if (rm_vdso_read(&image, &length) != RESMON_OK) {
        (void)refuse(work, "%s", resmon_last_error());
        return -1;
    }
    int fd = rm_memory_file(RM_VDSO_NAME);
    if (fd < 0 || write(fd, image, length) != (ssize_t)length) {
        (void)refuse(work, "cannot copy the vDSO: %s", strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        fd = -1;
    }
    rm_free(image);
    return fd;
}

static int open_file(struct work *work, const char *path)
{
    struct stat info;
    if (strcmp(path, RM_VDSO_NAME) == 0) {
        return open_vdso(work);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &info) != 0) {
        (void)refuse(work, "cannot open %s: %s", path, strerror(errno));
        return -1;
    }
    if (!S_ISREG(info.st_mode)) {
        (void)refuse(work, "%s is not a regular file", path);
    } else if (rm_names_was_changed(work->module, &info)) {
        (void)refuse(work, RM_NAMES_CHANGED, path);
    } else {
        return fd;
    }
    (void)close(fd);
    return -1;
}

static void end_dwfl(struct work *work)
{
    if (work->dwfl != NULL) {
        dw.dwfl_end(work->dwfl);
        work->dwfl = NULL;
    }
}

static bool is_same(struct work *work)
{
    const unsigned char *bytes = NULL;
    GElf_Addr address = 0;
    const char *wanted = work->module->build_id;
    int length = dw.dwfl_module_build_id(work->mod, &bytes, &address);
    bool is_same = strlen(wanted) == 2 * (size_t)(length > 0 ? length : 0);
    for (int i = 0; i < length && is_same; i++) {
        char digits[3];
        (void)snprintf(digits, sizeof digits, "%02x", bytes[i]);
        is_same = memcmp(digits, wanted + 2 * (size_t)i, 2) == 0;
    }
    return is_same;
}

/* Reports the module without an offset, so that addresses are those of the file. */
static bool open_module(struct work *work, const char *path)
{
    static char *search;
    static const Dwfl_Callbacks *callbacks;
    static Dwfl_Callbacks made;
    if (callbacks == NULL) {
        char places[RM_NAMES_MOST_TEXT];
        (void)snprintf(places, sizeof places, ":.debug:%s", work->module->debug_root);
        search = work->module->debug_root[0] != '\0' ? rm_names_must(rm_strdup(places)) : NULL;
        made = (Dwfl_Callbacks){.find_debuginfo = dw.dwfl_standard_find_debuginfo,
                                .section_address = dw.dwfl_offline_section_address,
                                .debuginfo_path = search != NULL ? &search : NULL};
        callbacks = &made;
    }
    int fd = open_file(work, path);
    if (fd < 0) {
        return false;
    }
    work->dwfl = rm_names_must(dw.dwfl_begin(callbacks));
    dw.dwfl_report_begin(work->dwfl);
    work->mod = dw.dwfl_report_elf(work->dwfl, path, path, fd, 0, true);
    if (work->mod == NULL) {
        (void)close(fd);
        return refuse(work, "%s: %s", path, dw.dwfl_errmsg(-1));
    }
    (void)dw.dwfl_report_end(work->dwfl, NULL, NULL);
    return is_same(work) ||
           refuse(work, "%s is not the file that was mapped: its build-id differs", path);
}

/* A deleted or replaced program can be opened by /proc/PID/exe while it runs. */
static bool open_any(struct work *work)
{
    char program[64], why[RM_NAMES_MOST_REASON];
    if (open_module(work, work->module->path)) {
        return true;
    }
    end_dwfl(work);
    if (work->module->pid == 0 || work->module->build_id[0] == '\0') {
        return false;
    }
    (void)rm_text_set(why, sizeof why, work->module->reason);
    rm_process_file_program((uint32_t)work->module->pid, program, sizeof program);
    if (open_module(work, program)) {
        return true;
    }
    end_dwfl(work);
    return refuse(work, "%s", why);
}

/* ---- the symbol table ------------------------------------------------------------------- */

static uint64_t section_end_of(GElf_Word section, Elf *elf)
{
    GElf_Shdr header;
    Elf_Scn *scn = elf != NULL ? dw.elf_getscn(elf, section) : NULL;
    return scn != NULL && dw.gelf_getshdr(scn, &header) != NULL ? header.sh_addr + header.sh_size
                                                                : 0;
}

static void add_symbol(struct work *work, int index)
{
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    Elf *elf = NULL;
    Dwarf_Addr bias = 0;
    const char *name =
        dw.dwfl_module_getsym_info(work->mod, index, &symbol, &address, &section, &elf, &bias);
    const struct rm_symbol_facts facts = {
        .name = name,
        .address = address,
        .bytes = name != NULL ? symbol.st_size : 0,
        .section_end = name != NULL && symbol.st_size == 0 ? section_end_of(section, elf) : 0,
        .section = section,
        .info = name != NULL ? symbol.st_info : 0,
    };
    rm_symbols_add(&work->symbols, &facts);
}

static void read_symbols(struct work *work)
{
    int count = dw.dwfl_module_getsymtab(work->mod);
    for (int i = 0; i < count; i++) {
        add_symbol(work, i);
    }
    rm_symbols_sort(&work->symbols);
    work->is_stripped = !work->symbols.has_local && strcmp(work->module->path, RM_VDSO_NAME) != 0;
}

/* ---- the debug information ------------------------------------------------------------- */

static bool has_debug(Elf *elf)
{
    size_t names = 0;
    GElf_Shdr header;
    if (elf == NULL || dw.elf_getshdrstrndx(elf, &names) != 0) {
        return false;
    }
    for (Elf_Scn *scn = NULL; (scn = dw.elf_nextscn(elf, scn)) != NULL;) {
        const char *name = dw.gelf_getshdr(scn, &header) != NULL
                               ? dw.elf_strptr(elf, names, header.sh_name)
                               : NULL;
        if (name != NULL && header.sh_type != SHT_NOBITS &&
            (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)) {
            return true;
        }
    }
    return false;
}

/* Reads the debug information; for a light module not from a separate debug file.  False: the
 * module has debug information that cannot be read. */
static bool read_lines(struct work *work)
{
    GElf_Addr bias = 0;
    bool is_own = has_debug(dw.dwfl_module_getelf(work->mod, &bias));
    if (!is_own && work->module->is_light && work->symbols.count > 0) {
        return true;
    }
    Dwarf *dwarf = dw.dwfl_module_getdwarf(work->mod, &work->chains.bias);
    return (dwarf != NULL && chains_read(&work->chains, dwarf)) || !is_own;
}

/* ---- the frames -------------------------------------------------------------------------- */

/* The name of the outermost function, from the symbol table if the debug information has no linkage
 * name, as for functions of local classes in C++. */
static uint32_t outermost_name(struct work *work, uint64_t address, const struct chain_node *node)
{
    struct rm_symbol *symbol =
        node == NULL || !node->is_linked ? rm_symbols_find(&work->symbols, address) : NULL;
    if (symbol == NULL ||
        (node != NULL && node->function != 0 && strncmp(symbol->name, "_Z", 2) != 0)) {
        return node != NULL ? node->function : 0;
    }
    return rm_symbol_text(work->results, symbol);
}

/* Adds the frames from the innermost function outwards.  False: the outermost has no name. */
static bool add_frames(struct work *work, size_t index)
{
    struct rm_names_results *results = work->results;
    const struct chain_address *address = &work->chains.found[index];
    const struct chain_node *node =
        address->node != CHAIN_END ? &work->chains.nodes[address->node] : NULL;
    uint32_t file = address->file, line = address->line;
    struct rm_names_span *span = &work->module->spans[index];
    span->first = results->frame_count;
    while (node != NULL && node->parent != CHAIN_END && span->count + 1 < RM_NAMES_MOST_INLINED) {
        rm_names_add_frame(results, node->function, file, line);
        span->count++;
        file = node->call_file;
        line = node->call_line;
        node = &work->chains.nodes[node->parent];
    }
    uint32_t function = outermost_name(work, work->module->addresses[index], node);
    if (span->count > 0 || function != 0 || file != 0) {
        rm_names_add_frame(results, function, file, line);
        span->count++;
    }
    return function != 0;
}

static void add_all_frames(struct work *work)
{
    for (size_t i = 0; i < work->module->count; i++) {
        if (!add_frames(work, i) && work->is_stripped) {
            work->module->flags |= RM_NAMES_STRIPPED;
        }
    }
}

static void close_work(struct work *work)
{
    end_dwfl(work);
    rm_free(work->symbols.all);
    chains_free(&work->chains);
    rm_free(work);
}

void rm_dwfl_symbolize(struct rm_names_module *module, struct rm_names_results *results)
{
    struct work *work = rm_names_must(rm_alloc(1, sizeof *work));
    work->module = module;
    work->results = results;
    chains_open(&work->chains, module->addresses, module->count, results);
    if (!open_any(work)) {
        module->flags = RM_NAMES_NO_NAMES;
    } else {
        read_symbols(work);
        if (!read_lines(work)) {
            module->flags = work->symbols.count > 0 ? RM_NAMES_NO_LINES : RM_NAMES_NO_NAMES;
            (void)refuse(work, "%s: its debug information cannot be read", module->path);
        }
        add_all_frames(work);
    }
    close_work(work);
}
