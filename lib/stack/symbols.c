/* SPDX-License-Identifier: MIT */
#include "stack/symbols.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "os/process_files.h"
#include "os/vdso.h"
#include "stack/answers.h"
#include "stack/debug_files.h"
#include "stack/elf_file.h"
#include "stack/symbol_table.h"

/* What libdw takes: when it is loaded, for the unit that an address is in, and in the worst case as
 * a multiple of the debug information.  From above, of what libc, C programs of 2 MiB of debug
 * information and samples at 1 to 100,000 addresses took. */
#define LIBDW_BYTES   (UINT64_C(5) << 19)
#define ADDRESS_BYTES (UINT64_C(64) << 10)
#define MOST_TIMES    3

struct rm_symbols {
    char *path, *build_id, *debug_root;
    int64_t pid, mapped_ns;
    resmon_status status;
    char reason[RM_SYMBOLS_REASON_BYTES]; /* of that */
    char remark[RM_SYMBOLS_REASON_BYTES];
    const struct rm_budget *budget;
    bool is_stripped;
    bool is_poor;  /* not all was read that is there: its answers are not kept */
    bool is_read;  /* the table was, or cannot be */
    bool is_whole; /* so was the debug information */
    struct rm_symbol_table table;
    struct rm_dwarf *dwarf;
    struct rm_answers answers;
};

/* The files of one module, while they are read. */
struct files {
    struct rm_elf own;
    char *image; /* of the vDSO, if that is it */
    struct rm_debug_file debug, alternate;
};

resmon_status rm_symbols_new(const struct rm_symbols_origin *origin,
                             struct rm_symbols **ret_symbols)
{
    struct rm_symbols *symbols = rm_alloc(1, sizeof *symbols);
    if (symbols == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the symbols of %s", origin->path);
    }
    symbols->path = rm_strdup(origin->path);
    symbols->build_id = rm_strdup(origin->build_id);
    symbols->debug_root =
        rm_strdup(origin->debug_root != NULL ? origin->debug_root : RM_DEBUG_ROOT);
    symbols->mapped_ns = origin->mapped_ns;
    symbols->pid = origin->pid;
    symbols->budget = origin->budget;
    if (symbols->path == NULL || symbols->build_id == NULL || symbols->debug_root == NULL) {
        rm_symbols_free(symbols);
        return rm_error(RESMON_ENOMEM, "out of memory for the symbols of %s", origin->path);
    }
    *ret_symbols = symbols;
    return RESMON_OK;
}

int rm_symbols_is_of(const struct rm_symbols *symbols, const char *path, const char *build_id)
{
    return strcmp(symbols->path, path) == 0 && strcmp(symbols->build_id, build_id) == 0;
}

/* ---- the file --------------------------------------------------------------------------- */

static resmon_status check_same(const struct rm_symbols *symbols, const struct rm_elf *elf)
{
    char build_id[RM_ELF_BUILD_ID_BYTES];
    resmon_status status = rm_elf_build_id(elf, build_id);
    if (status != RESMON_OK) {
        return status;
    }
    if (strcmp(build_id, symbols->build_id) != 0) {
        return rm_error(RESMON_ESTATE, "%s is not the file that was mapped: its build-id differs",
                        symbols->path);
    }
    if (build_id[0] == '\0' && symbols->mapped_ns != 0 && elf->changed_ns > symbols->mapped_ns) {
        return rm_error(RESMON_ESTATE, "%s was changed since the run began, and has no build-id",
                        symbols->path);
    }
    return RESMON_OK;
}

static resmon_status open_vdso(struct files *files)
{
    size_t length = 0;
    resmon_status status = rm_vdso_read(&files->image, &length);
    return status == RESMON_OK ? rm_elf_of_memory(&files->own, RM_VDSO_NAME, files->image, length)
                               : status;
}

static bool is_vdso(const struct rm_symbols *symbols)
{
    return strcmp(symbols->path, RM_VDSO_NAME) == 0 && symbols->build_id[0] != '\0';
}

static resmon_status open_path(const struct rm_symbols *symbols, const char *path,
                               struct files *files)
{
    resmon_status status = rm_elf_open(&files->own, path);
    if (status == RESMON_OK) {
        status = check_same(symbols, &files->own);
        if (status != RESMON_OK) {
            rm_elf_close(&files->own);
        }
    }
    return status;
}

/* A program that was deleted or replaced is still there for whoever looks while it runs. */
static resmon_status open_file(const struct rm_symbols *symbols, struct files *files)
{
    char path[64], why[RM_SYMBOLS_REASON_BYTES];
    resmon_status status = open_path(symbols, symbols->path, files);
    if (status == RESMON_OK || status == RESMON_ENOMEM || symbols->pid <= 0 ||
        symbols->build_id[0] == '\0') {
        return status;
    }
    (void)rm_text_set(why, sizeof why, resmon_last_error());
    rm_process_file_program((uint32_t)symbols->pid, path, sizeof path);
    return open_path(symbols, path, files) == RESMON_OK ? RESMON_OK : rm_error(status, "%s", why);
}

static resmon_status open_own(const struct rm_symbols *symbols, struct files *files)
{
    resmon_status status = RESMON_OK;
    if (symbols->path[0] == '/') {
        return open_file(symbols, files);
    }
    if (is_vdso(symbols)) {
        status = open_vdso(files);
    } else {
        status = rm_error(RESMON_ENOENT, "%s is not a file",
                          symbols->path[0] != '\0' ? symbols->path : "code made at run time");
    }
    return status == RESMON_OK ? check_same(symbols, &files->own) : status;
}

/* ---- what is in it ---------------------------------------------------------------------- */

static bool has_debug(const struct rm_elf *elf)
{
    return rm_elf_find(elf, ".debug_info", 0) != NULL;
}

/* What cannot be had for another reason than that it is not there. */
static resmon_status remark(struct rm_symbols *symbols, resmon_status status)
{
    if (status != RESMON_OK && status != RESMON_ENOENT && status != RESMON_ENOMEM) {
        (void)snprintf(symbols->remark, sizeof symbols->remark, "%s", resmon_last_error());
    }
    return status == RESMON_ENOMEM ? status : RESMON_OK;
}

/* What there is no room for is left out. */
static resmon_status check_budget(struct rm_symbols *symbols, uint64_t bytes, const char *of)
{
    char what[RM_SYMBOLS_REASON_BYTES];
    (void)snprintf(what, sizeof what, "%s %s", of, symbols->path);
    resmon_status status = rm_budget_check(symbols->budget, bytes, what);
    symbols->is_poor = symbols->is_poor || status != RESMON_OK;
    return status;
}

static resmon_status read_a_table(struct rm_symbols *symbols, const struct rm_elf *elf)
{
    resmon_status status = check_budget(symbols, rm_symbol_table_measure(elf), "the symbols of");
    return status == RESMON_OK ? rm_symbol_table_read(elf, &symbols->table) : status;
}

static resmon_status read_table(struct rm_symbols *symbols, const struct files *files)
{
    if (symbols->is_read) {
        return RESMON_OK;
    }
    bool is_apart =
        !rm_symbol_table_is_full(&files->own) && rm_symbol_table_is_full(&files->debug.elf);
    symbols->is_stripped = !rm_symbol_table_is_full(&files->own) && !is_apart && !is_vdso(symbols);
    resmon_status status = RESMON_ENOENT;
    if (is_apart) {
        status = read_a_table(symbols, &files->debug.elf);
    }
    if (status != RESMON_OK && status != RESMON_ENOMEM) {
        status = read_a_table(symbols, &files->own);
    }
    bool is_left_out = status == RESMON_ENOSPC;
    status = remark(symbols, status);
    symbols->is_read = status == RESMON_OK && !is_left_out;
    return status;
}

static uint64_t measure_debug(const struct rm_symbols *symbols, const struct rm_elf *elf)
{
    uint64_t image = rm_debug_image_measure(elf);
    uint64_t most = MOST_TIMES * image;
    uint64_t addresses = symbols->budget != NULL ? symbols->budget->addresses : 0;
    uint64_t units = addresses < most / ADDRESS_BYTES ? addresses * ADDRESS_BYTES : most;
    return image > 0 ? LIBDW_BYTES + image + units : 0;
}

static resmon_status read_alternate(struct rm_symbols *symbols, struct files *files,
                                    const struct rm_elf *elf, struct rm_debug_image *alternate)
{
    resmon_status status =
        rm_debug_file_open_alternate(&files->alternate, elf, symbols->debug_root);
    if (status == RESMON_OK) {
        status = check_budget(symbols, rm_debug_image_measure(&files->alternate.elf),
                              "the shared debug information of");
    }
    if (status == RESMON_OK) {
        status = rm_debug_image_read(&files->alternate.elf, RM_ELF_MOST_READ, alternate);
    }
    return status == RESMON_ENOMEM ? status : RESMON_OK;
}

static resmon_status read_debug(struct rm_symbols *symbols, struct files *files)
{
    struct rm_debug_image image = {0}, alternate = {0};
    const struct rm_elf *elf = has_debug(&files->own) ? &files->own : &files->debug.elf;
    if (!has_debug(elf)) {
        return RESMON_OK;
    }
    if (symbols->budget != NULL && symbols->budget->has_no_lines) {
        symbols->is_poor = true;
        return remark(symbols, rm_error(RESMON_ENOSPC,
                                        "out of memory for the debug information of "
                                        "%s",
                                        symbols->path));
    }
    bool is_light = symbols->budget != NULL && symbols->budget->is_light;
    if (is_light && elf == &files->debug.elf && symbols->is_read) {
        symbols->is_poor = true;
        return RESMON_OK;
    }
    resmon_status status =
        check_budget(symbols, measure_debug(symbols, elf), "the debug information of");
    if (status == RESMON_OK) {
        status = rm_dwarf_load(); /* before much is read */
    }
    if (status == RESMON_OK) {
        status = rm_debug_image_read(elf, RM_ELF_MOST_READ, &image);
    }
    if (status == RESMON_OK) {
        status = read_alternate(symbols, files, elf, &alternate);
    }
    if (status == RESMON_OK) {
        status = rm_dwarf_open(&image, &alternate, &symbols->dwarf);
    }
    rm_debug_image_free(&image);
    rm_debug_image_free(&alternate);
    return remark(symbols, status);
}

static resmon_status read_all(struct rm_symbols *symbols, struct files *files)
{
    resmon_status status = RESMON_ENOENT;
    symbols->remark[0] = '\0';
    symbols->is_poor = false;
    if (!has_debug(&files->own) || !rm_symbol_table_is_full(&files->own)) {
        status = rm_debug_file_open(&files->debug, &files->own, symbols->debug_root);
    }
    if (status != RESMON_ENOMEM) {
        status = read_table(symbols, files);
    }
    if (status == RESMON_OK && !symbols->is_poor) { /* it is the larger of the two */
        status = read_debug(symbols, files);
    }
    return status;
}

/* Reads what is not there yet, and closes the files. */
static resmon_status prepare(struct rm_symbols *symbols)
{
    if (symbols->is_whole) {
        return RESMON_OK;
    }
    struct files *files = rm_alloc(1, sizeof *files);
    if (files == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the symbols of %s", symbols->path);
    }
    resmon_status status = open_own(symbols, files);
    if (status == RESMON_OK) {
        symbols->status = RESMON_OK;
        status = read_all(symbols, files);
    } else if (status != RESMON_ENOMEM) {
        symbols->status = symbols->is_read ? RESMON_OK : status;
        (void)snprintf(symbols->reason, sizeof symbols->reason, "%s", resmon_last_error());
        status = RESMON_OK;
    }
    symbols->is_whole = status == RESMON_OK;
    rm_elf_close(&files->own);
    rm_debug_file_close(&files->debug);
    rm_debug_file_close(&files->alternate);
    rm_free(files->image);
    rm_free(files);
    return status;
}

/* ---- an address ------------------------------------------------------------------------- */

/* What the debug information does not name, or not as the linker does: functions of local classes
 * in C++ have no such name in it. */
static size_t complete(const struct rm_symbols *symbols, uint64_t address, struct rm_symbol *frames,
                       size_t count)
{
    if (count > 0 && frames[count - 1].is_linked != 0) {
        return count;
    }
    const char *name = rm_symbol_table_find(&symbols->table, address);
    if (name == NULL) {
        return count;
    }
    if (count == 0) {
        frames[0] = (struct rm_symbol){.function = name, .is_linked = 1};
        return 1;
    }
    struct rm_symbol *outermost = &frames[count - 1];
    if (outermost->function == NULL || strncmp(name, "_Z", 2) == 0) {
        outermost->function = name;
    }
    return count;
}

resmon_status rm_symbols_find(struct rm_symbols *symbols, uint64_t address,
                              struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count)
{
    size_t count = 0;
    if (rm_answers_find(&symbols->answers, address, frames, ret_count)) {
        return RESMON_OK;
    }
    resmon_status status = prepare(symbols);
    if (status == RESMON_OK && symbols->dwarf != NULL) {
        status = rm_dwarf_find(symbols->dwarf, address, frames, &count);
    }
    if (status == RESMON_OK && symbols->status == RESMON_OK) {
        count = complete(symbols, address, frames, count);
    }
    if (status == RESMON_OK && symbols->status == RESMON_OK && !symbols->is_poor) {
        status = rm_answers_add(&symbols->answers, address, frames, count);
    }
    if (status != RESMON_OK) {
        rm_symbols_rest(symbols);
        rm_answers_free(&symbols->answers);
        return status;
    }
    *ret_count = count;
    return RESMON_OK;
}

resmon_status rm_symbols_status(const struct rm_symbols *symbols, const char **ret_reason)
{
    *ret_reason = symbols->status != RESMON_OK ? symbols->reason : "";
    return symbols->status;
}

int rm_symbols_has_table(const struct rm_symbols *symbols)
{
    return symbols->is_read;
}

const char *rm_symbols_remark(const struct rm_symbols *symbols)
{
    return symbols->remark;
}

int rm_symbols_is_stripped(const struct rm_symbols *symbols)
{
    return symbols->is_stripped;
}

void rm_symbols_rest(struct rm_symbols *symbols)
{
    rm_dwarf_close(symbols->dwarf);
    symbols->dwarf = NULL;
    symbols->is_whole = false;
}

void rm_symbols_free(struct rm_symbols *symbols)
{
    if (symbols == NULL) {
        return;
    }
    rm_dwarf_close(symbols->dwarf);
    rm_answers_free(&symbols->answers);
    rm_symbol_table_free(&symbols->table);
    rm_free(symbols->path);
    rm_free(symbols->build_id);
    rm_free(symbols->debug_root);
    rm_free(symbols);
}
