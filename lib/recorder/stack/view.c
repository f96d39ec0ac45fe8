/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall, REG_RIP */
#include "stack/view.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/status.h"

/* Memory up to this far above a sample's copy belongs to the same stack. */
#define MOST_STACK (UINT64_C(1) << 20)

/* ---- memory ----------------------------------------------------------------------------- */

/* Copied by the kernel, which fails for unmapped memory instead of trapping.  By thread id, since
 * the process id has no memory when the main thread has ended. */
static bool read_memory(uint64_t address, void *target, size_t bytes)
{
    struct iovec to = {target, bytes};
    struct iovec from = {(void *)(uintptr_t)address, bytes}; // NOLINT(performance-no-int-to-ptr)
    /* Not the C library's function, which sanitizers would check as an access. */
    return syscall(SYS_process_vm_readv, (pid_t)syscall(SYS_gettid), &to, 1UL, &from, 1UL, 0UL) ==
           (long)bytes;
}

static const struct rm_view_window *window_of(struct rm_view *view, uint64_t address)
{
    uint64_t start = address & ~(uint64_t)(RM_VIEW_WINDOW_BYTES - 1);
    if (start == 0) {
        return NULL;
    }
    if (view->windows[view->latest].start == start) {
        return &view->windows[view->latest];
    }
    for (uint32_t i = 0; i < RM_VIEW_WINDOWS; i++) {
        if (view->windows[i].start == start) {
            view->latest = i;
            return &view->windows[i];
        }
    }
    struct rm_view_window *window = &view->windows[view->next];
    window->start = 0;
    if (!read_memory(start, window->bytes, sizeof window->bytes)) {
        return NULL;
    }
    window->start = start;
    view->latest = view->next;
    view->next = (view->next + 1) % RM_VIEW_WINDOWS;
    return window;
}

/* Words need not be aligned, and may be in two windows. */
static bool read_windows(struct rm_view *view, uint64_t address, uint64_t *ret_value)
{
    unsigned char bytes[sizeof *ret_value];
    size_t done = 0;
    while (done < sizeof bytes) {
        const struct rm_view_window *window = window_of(view, address + done);
        if (window == NULL) {
            return false;
        }
        size_t at = (address + done) % RM_VIEW_WINDOW_BYTES;
        size_t part = RM_VIEW_WINDOW_BYTES - at;
        part = part < sizeof bytes - done ? part : sizeof bytes - done;
        memcpy(bytes + done, window->bytes + at, part);
        done += part;
    }
    memcpy(ret_value, bytes, sizeof bytes);
    return true;
}

static void note(const struct rm_view *view, uint64_t where, uint64_t value)
{
    struct rm_view_log *log = view->start.log;
    if (log == NULL) {
        return;
    }
    if (log->count == RM_VIEW_READS) {
        log->is_whole = false;
        return;
    }
    log->reads[log->count].where = where;
    log->reads[log->count++].value = value;
}

/* From the kernel's copy; false: read the memory itself. */
static bool read_copy(struct rm_view *view, uint64_t address, uint64_t *ret_value)
{
    const struct rm_perf_record *sample = view->start.sample;
    uint64_t offset = address - view->stack_address;
    if (rm_perf_record_read(sample, offset, ret_value, sizeof *ret_value)) {
        note(view, address, *ret_value);
        return true;
    }
    if (offset - sample->stack_bytes < MOST_STACK) {
        view->is_short = true;
    }
    if (view->start.log != NULL) {
        view->start.log->is_whole = false;
    }
    return false;
}

bool rm_view_word(struct rm_view *view, uint64_t address, uint64_t *ret_word)
{
    if (view->start.context == NULL && read_copy(view, address, ret_word)) {
        return true;
    }
    const struct rm_view_memory *memory = view->start.memory;
    return memory != NULL ? memory->word(memory->context, address, ret_word)
                          : read_windows(view, address, ret_word);
}

resmon_status rm_view_try(void)
{
    const uint64_t probe = 42;
    uint64_t seen = 0;
    if (!read_memory((uint64_t)(uintptr_t)&probe, &seen, sizeof seen) || seen != probe) {
        return rm_error_errno(errno, "this process may not read its own memory by "
                                     "process_vm_readv(), which stacks need");
    }
    return RESMON_OK;
}

/* ---- registers -------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* By libunwind's numbers, which are DWARF's: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 ... r15,
 * rip; their positions in a context, and in a sample. */
static const int of_context[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                 REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
static const int of_sample[] = {0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};
#define STACK_POINTER       7
#define INSTRUCTION_POINTER 16

static uint64_t in_context(const ucontext_t *context, size_t number)
{
    return (uint64_t)context->uc_mcontext.gregs[of_context[number]];
}
#elif defined(__aarch64__)
/* x0 ... x30, sp, pc, in the same order in all structures. */
static const int of_sample[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#define STACK_POINTER       31
#define INSTRUCTION_POINTER 32

static uint64_t in_context(const ucontext_t *context, size_t number)
{
    return number < 31    ? context->uc_mcontext.regs[number]
           : number == 31 ? context->uc_mcontext.sp
                          : context->uc_mcontext.pc;
}
#else
static const int of_sample[] = {0};
#define STACK_POINTER       0
#define INSTRUCTION_POINTER 0

static uint64_t in_context(const ucontext_t *context, size_t number)
{
    (void)context, (void)number;
    return 0;
}
#endif

bool rm_view_register(const struct rm_view *view, uint64_t number, uint64_t *ret_value)
{
    if (number >= RM_ARRAY_LEN(of_sample)) {
        return false;
    }
    if (view->start.context != NULL) {
        *ret_value = in_context(view->start.context, (size_t)number);
    } else {
        *ret_value = view->start.sample->registers[of_sample[number]];
        note(view, number, *ret_value);
    }
    return true;
}

uint64_t rm_view_stack_in(const void *context)
{
    return in_context(context, STACK_POINTER);
}

uint64_t rm_view_instruction_in(const void *context)
{
    return in_context(context, INSTRUCTION_POINTER);
}

uint64_t rm_view_instruction(const struct rm_view *view)
{
    return view->start.context != NULL
               ? in_context(view->start.context, INSTRUCTION_POINTER)
               : view->start.sample->registers[of_sample[INSTRUCTION_POINTER]];
}

void rm_view_begin(struct rm_view *view, const struct rm_view_start *start)
{
    view->start = *start;
    view->is_short = false;

    for (uint32_t i = 0; i < RM_VIEW_WINDOWS; i++) {
        view->windows[i].start = 0;
    }
    if (start->context == NULL) {
        view->stack_address = rm_view_stack(start->sample);
    }
    if (start->log != NULL) {
        start->log->is_whole = true;
        start->log->count = 0;
    }
}

uint64_t rm_view_stack(const struct rm_perf_record *sample)
{
    return sample->registers[of_sample[STACK_POINTER]];
}

/* ---- the same stack again --------------------------------------------------------------- */

uint64_t rm_view_place(const struct rm_perf_record *sample)
{
    uint64_t stack = rm_view_stack(sample);
    uint64_t code = sample->registers[of_sample[INSTRUCTION_POINTER]];
    return (stack >> 3) + code;
}

bool rm_view_repeats(const struct rm_view_log *log, const struct rm_perf_record *sample)
{
    uint64_t stack = rm_view_stack(sample);
    bool is_same = log->is_whole;
    for (uint32_t i = 0; is_same && i < log->count; i++) {
        uint64_t where = log->reads[i].where;
        uint64_t value = 0;
        if (where < RM_ARRAY_LEN(of_sample)) {
            value = sample->registers[of_sample[where]];
        } else {
            is_same = rm_perf_record_read(sample, where - stack, &value, sizeof value);
        }
        is_same = is_same && value == log->reads[i].value;
    }
    return is_same;
}
