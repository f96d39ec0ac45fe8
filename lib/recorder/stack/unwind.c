/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SS_DISABLE */
#include "stack/unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "base/compiler.h"
#include "base/status.h"
#include "library_files.inc"
#include "os/kept.h"
#include "os/library.h"

/*
 * libunwind's interface for other processes is used: it gets memory, registers and unwind tables
 * from callbacks.  The local interface gets tables from the loader, under the loader's lock.  A
 * thread that holds this lock may wait for the allocator, whose lock may be held by the interrupted
 * thread.
 */
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
/* Bytes of stack used by unwinding; twice the highest observed. */
#define LEAST_ROOM 4096U

#define NAME(f) "_U" TEXT(UNW_TARGET) "_" #f

#ifdef RM_LINKED_UNWIND
extern int UNW_ARCH_OBJ(dwarf_search_unwind_table)(unw_addr_space_t of, unw_word_t ip,
                                                   unw_dyn_info_t *table, unw_proc_info_t *ret_info,
                                                   int wants_details, void *argument);
#define LINKED                                                                                   \
    {                                                                                            \
        unw_create_addr_space, unw_init_remote, unw_step, unw_get_reg, unw_is_signal_frame,      \
            unw_reg_states_iterate, unw_apply_reg_state, UNW_ARCH_OBJ(dwarf_search_unwind_table) \
    }
#else
#define LINKED       \
    {                \
        .step = NULL \
    }
#endif

/* Linked in, or loaded. */
static struct {
    unw_addr_space_t (*create_addr_space)(unw_accessors_t *accessors, int byte_order);
    int (*init_remote)(unw_cursor_t *cursor, unw_addr_space_t space, void *argument);
    int (*step)(unw_cursor_t *cursor);
    int (*get_reg)(unw_cursor_t *cursor, int number, unw_word_t *value);
    int (*is_signal_frame)(unw_cursor_t *cursor);
    int (*reg_states_iterate)(unw_cursor_t *cursor, unw_reg_states_callback visit, void *token);
    int (*apply_reg_state)(unw_cursor_t *cursor, void *state);
    int (*search_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
                        unw_proc_info_t *ret_info, int wants_details, void *argument);
} libunwind = LINKED;

static const struct rm_library_function functions[] = {
    {NAME(create_addr_space), &libunwind.create_addr_space},
    {NAME(init_remote), &libunwind.init_remote},
    {NAME(step), &libunwind.step},
    {NAME(get_reg), &libunwind.get_reg},
    {NAME(is_signal_frame), &libunwind.is_signal_frame},
    {NAME(reg_states_iterate), &libunwind.reg_states_iterate},
    {NAME(apply_reg_state), &libunwind.apply_reg_state},
    {NAME(dwarf_search_unwind_table), &libunwind.search_table},
};

static const char *const names[] = {RM_UNWIND_FILE, NULL};

_Static_assert(sizeof(unw_cursor_t) <= sizeof((struct rm_unwind *)NULL)->cursor, "cursor");

static unw_addr_space_t space;

/* ---- callbacks of libunwind ------------------------------------------------------------- */

static int access_memory(unw_addr_space_t of, unw_word_t address, unw_word_t *value, int is_write,
                         void *argument)
{
    struct rm_unwind *unwind = argument;
    uint64_t word;
    (void)of;
    if (is_write != 0 || !rm_view_word(&unwind->view, address, &word)) {
        return -UNW_EINVAL;
    }
    *value = word;
    return 0;
}

static int access_register(unw_addr_space_t of, unw_regnum_t number, unw_word_t *value,
                           int is_write, void *argument)
{
    const struct rm_unwind *unwind = argument;
    uint64_t word;
    (void)of;
    if (is_write != 0 || number < 0 || !rm_view_register(&unwind->view, (uint64_t)number, &word)) {
        return -UNW_EBADREG;
    }
    *value = word;
    return 0;
}

static bool find_table(const struct rm_unwind *unwind, uint64_t address,
                       struct rm_unwind_table *ret_table)
{
    if (unwind->code == NULL) {
        return unwind->foreign->find(unwind->foreign->context, address, ret_table);
    }
    const struct rm_module *module = rm_modules_find(unwind->code->modules, address);
    if (module == NULL) {
        return false;
    }
    *ret_table = (struct rm_unwind_table){
        .moved = address,
        .start = module->entry.start,
        .end = module->entry.end,
        .header = module->unwind_header,
        .rows = module->unwind_table,
        .row_count = module->unwind_count,
    };
    return true;
}

static int find_unwind_info(unw_addr_space_t of, unw_word_t ip, unw_proc_info_t *ret_info,
                            int wants_details, void *argument)
{
    struct rm_unwind_table found;
    if (!find_table(argument, ip, &found) || found.header == 0) {
        return -UNW_ENOINFO;
    }
    unw_dyn_info_t table = {
        .start_ip = found.start,
        .end_ip = found.end,
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
    };
    table.u.rti.segbase = found.header;
    table.u.rti.table_data = found.rows;
    table.u.rti.table_len = found.row_count * 8 / sizeof(unw_word_t);
    return libunwind.search_table(of, found.moved, &table, ret_info, wants_details, argument);
}

static void put_unwind_info(unw_addr_space_t of, unw_proc_info_t *info, void *argument)
{
    (void)of, (void)info, (void)argument;
}

static int get_no_dynamic_list(unw_addr_space_t of, unw_word_t *ret_list, void *argument)
{
    (void)of, (void)ret_list, (void)argument;
    return -UNW_ENOINFO;
}

static int access_no_fp_register(unw_addr_space_t of, unw_regnum_t number, unw_fpreg_t *value,
                                 int is_write, void *argument)
{
    (void)of, (void)number, (void)value, (void)is_write, (void)argument;
    return -UNW_EBADREG;
}

static int resume_nothing(unw_addr_space_t of, unw_cursor_t *cursor, void *argument)
{
    (void)of, (void)cursor, (void)argument;
    return -UNW_EINVAL;
}

static int get_no_name(unw_addr_space_t of, unw_word_t address, char *name, size_t room,
                       unw_word_t *ret_offset, void *argument)
{
    (void)of, (void)address, (void)name, (void)room, (void)ret_offset, (void)argument;
    return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
    .find_proc_info = find_unwind_info,
    .put_unwind_info = put_unwind_info,
    .get_dyn_info_list_addr = get_no_dynamic_list,
    .access_mem = access_memory,
    .access_reg = access_register,
    .access_fpreg = access_no_fp_register,
    .resume = resume_nothing,
    .get_proc_name = get_no_name,
};

/* ---- open ------------------------------------------------------------------------------- */

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static resmon_status open_status;
static char open_error[RM_ERROR_TEXT_BYTES];

/* libunwind initializes its locks and pools with the first cursor: here, not in concurrent
 * handlers. */
static void set_up_library(void)
{
    static const struct rm_perf_record nowhere;
    static struct rm_unwind first;
    rm_view_begin(&first.view, &(const struct rm_view_start){.sample = &nowhere});
    (void)libunwind.init_remote((unw_cursor_t *)(void *)first.cursor, space, &first);
}

static resmon_status open_library(void)
{
    static const struct rm_library library = {
        .what = "libunwind, which follows stacks",
        .names = names,
        .functions = functions,
        .function_count = RM_ARRAY_LEN(functions),
    };
    resmon_status status = rm_view_try();
    if (status == RESMON_OK && libunwind.step == NULL) {
        status = rm_library_load(&library);
    }
    if (status != RESMON_OK) {
        return status;
    }
    rm_kept_hold_standard(); /* libunwind opens a pipe */
    space = libunwind.create_addr_space(&accessors, 0);
    if (space != NULL) {
        set_up_library();
    }
    rm_kept_release_standard();
    return space != NULL ? RESMON_OK : rm_error(RESMON_ENOMEM, "libunwind has no memory");
}

static void open_first(void)
{
    open_status = open_library();
    if (open_status != RESMON_OK) {
        strncpy(open_error, resmon_last_error(), sizeof open_error - 1);
    }
}

resmon_status rm_unwind_open(void)
{
    (void)pthread_once(&open_once, open_first);
    return open_status == RESMON_OK ? RESMON_OK : rm_error(open_status, "%s", open_error);
}

/* ---- follow ----------------------------------------------------------------------------- */

/* Copies the rows of a function's unwind table to the cache entry; less than 0 ends it. */
static int copy_step(void *argument, void *state, size_t bytes, unw_word_t start, unw_word_t end)
{
    struct rm_unwind *unwind = argument;
    if (unwind->wanted < start || unwind->wanted >= end || bytes > sizeof unwind->step) {
        return 0;
    }
    memcpy(unwind->step, state, bytes);
    unwind->step_bytes = bytes;
    return -1;
}

/*
 * Steps to the caller.  libunwind's own step looks the table up, runs its program, and has a
 * cache whose lock costs two system calls per frame; our cache has the same rows.  For code
 * without a table, libunwind's step is used, which has heuristics.
 */
static int step_from(struct rm_unwind *unwind, unw_cursor_t *cursor, uint64_t address)
{
    struct rm_unwind_table table = {.moved = address};
    struct rm_unwind_cache *cache =
        unwind->code != NULL ? unwind->code->cache : unwind->foreign->cache;
    if (unwind->code == NULL && !find_table(unwind, address, &table)) {
        return libunwind.step(cursor);
    }
    address = table.moved;
    void *step = cache != NULL ? rm_unwind_cache_find(cache, address) : NULL;
    if (step != NULL) {
        return libunwind.apply_reg_state(cursor, step);
    }
    unwind->wanted = address;
    unwind->step_bytes = 0;
    (void)libunwind.reg_states_iterate(cursor, copy_step, unwind);
    if (unwind->step_bytes == 0) {
        return libunwind.step(cursor);
    }
    if (cache != NULL) {
        rm_unwind_cache_add(cache, address, unwind->step, unwind->step_bytes);
    }
    return libunwind.apply_reg_state(cursor, unwind->step);
}

bool rm_unwind_has_room(const void *context_)
{
    const ucontext_t *context = context_;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t low = (uintptr_t)context->uc_stack.ss_sp;
    bool is_there = (context->uc_stack.ss_flags & SS_DISABLE) == 0 && here >= low &&
                    here - low < context->uc_stack.ss_size;
    return !is_there || here - low >= LEAST_ROOM;
}

static struct rm_unwound follow_nothing(const struct rm_view *view, uint64_t *ret_addresses)
{
    ret_addresses[0] = rm_view_instruction(view);
    return (struct rm_unwound){.depth = 1, .is_broken = true};
}

#if defined(__x86_64__)
static const int saved[] = {UNW_X86_64_RBX, UNW_X86_64_RBP, UNW_X86_64_R12,
                            UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15};
#elif defined(__aarch64__)
static const int saved[] = {UNW_AARCH64_X19, UNW_AARCH64_X20, UNW_AARCH64_X21, UNW_AARCH64_X22,
                            UNW_AARCH64_X23, UNW_AARCH64_X24, UNW_AARCH64_X25, UNW_AARCH64_X26,
                            UNW_AARCH64_X27, UNW_AARCH64_X28};
#else
static const int saved[] = {UNW_REG_SP};
#endif

static void note_frame(struct rm_unwind *unwind, unw_cursor_t *cursor, uint32_t frame)
{
    unw_word_t word = 0;
    if (unwind->stacks != NULL) {
        (void)libunwind.get_reg(cursor, UNW_REG_SP, &word);
        unwind->stacks[frame] = word;
    }
    if (unwind->saved != NULL) {
        unwind->saved[frame] = (struct rm_unwind_saved){{0}};
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(saved) && unwind->saved != NULL; i++) {
        bool is_known = libunwind.get_reg(cursor, saved[i], &word) == 0;
        unwind->saved[frame].words[i] = is_known ? word : 0;
    }
}

struct rm_unwound rm_unwind_follow(struct rm_unwind *unwind, const struct rm_view_start *start,
                                   uint64_t *ret_addresses, uint32_t room)
{
    struct rm_unwound unwound = {.depth = 0};
    unw_cursor_t *cursor = (unw_cursor_t *)(void *)unwind->cursor;
    unw_word_t ip = 0;
    bool is_call = false; /* the innermost address is the current instruction, not a call */
    rm_view_begin(&unwind->view, start);
    if (start->context != NULL && !rm_unwind_has_room(start->context)) {
        return follow_nothing(&unwind->view, ret_addresses);
    }
    int result = libunwind.init_remote(cursor, space, unwind);
    while (result >= 0 && libunwind.get_reg(cursor, UNW_REG_IP, &ip) == 0 && ip != 0) {
        if (unwound.depth == room) {
            unwound.is_cut = true;
            return unwound;
        }
        uint64_t address = is_call ? ip - 1 : ip;
        note_frame(unwind, cursor, unwound.depth);
        ret_addresses[unwound.depth++] = address;
        is_call = libunwind.is_signal_frame(cursor) <= 0;
        result = step_from(unwind, cursor, address);
        if (result == 0) {
            return unwound; /* the outermost frame */
        }
    }
    unwound.is_broken = result < 0;
    return unwound;
}
