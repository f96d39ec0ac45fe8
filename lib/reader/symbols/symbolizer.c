/* SPDX-License-Identifier: MIT */
#include "symbols/symbolizer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/sanitizer.h"
#include "base/status.h"
#include "base/text.h"
#include "names/names.h"
#include "names/protocol.h"
#include "os/library.h"
#include "os/memory_room.h"
#include "symbols/helper.h"

#define PROGRAM       "resmon-names"
#define MOST_DATA     (UINT64_C(4) << 30)
#define RESERVE_BYTES (UINT64_C(4) << 20) /* for what else goes on in a limited control group */

/* In programs that have it in themselves, as the command. */
extern RM_WEAK int rm_names_main(void);

/* ---- where it is ------------------------------------------------------------------------ */

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* Beside the library, as in a wheel or a build; from there as it was installed, also where all of
 * that was moved; where it was installed. */
static bool find_program(const char *own_file, char path[RM_LIBRARY_PATH_BYTES])
{
    static const char *const beside[] = {PROGRAM, RM_LIBEXEC_FROM_LIB "/" PROGRAM};
    const char *slash = strrchr(own_file, '/');
    int directory = slash != NULL ? (int)(slash - own_file) : 0;
    for (size_t i = 0; slash != NULL && i < RM_ARRAY_LEN(beside); i++) {
        if (snprintf(path, RM_LIBRARY_PATH_BYTES, "%.*s/%s", directory, own_file, beside[i]) <
                RM_LIBRARY_PATH_BYTES &&
            is_there(path)) {
            return true;
        }
    }
    static const char *const fixed[] = {RM_LIBEXEC "/" PROGRAM,
#ifdef RM_NAMES_OF_BUILD
                                        RM_NAMES_OF_BUILD
#endif
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(fixed); i++) {
        if (rm_text_set(path, RM_LIBRARY_PATH_BYTES, fixed[i]) > 0 && is_there(path)) {
            return true;
        }
    }
    return false;
}

/* ---- asking ----------------------------------------------------------------------------- */

/* What the program may take; a sanitizer in it has terabytes of address space. */
static uint64_t most_data(void)
{
    struct rm_memory_room room = {.bytes = UINT64_MAX};
    if (rm_sanitizer_is_here()) {
        return UINT64_MAX;
    }
    rm_memory_room_look(NULL, &room);
    uint64_t left = room.bytes > RESERVE_BYTES ? room.bytes - RESERVE_BYTES : 0;
    return left < MOST_DATA ? left : MOST_DATA;
}

/* Whose the library is, the program may be. */
static resmon_status find(struct rm_helper *helper, char path[RM_LIBRARY_PATH_BYTES])
{
    char own_file[RM_LIBRARY_PATH_BYTES];
    struct stat info = {0};
    if (rm_symbolizer.program != NULL) {
        helper->owner = geteuid();
        helper->group = getegid();
        (void)rm_text_set(path, RM_LIBRARY_PATH_BYTES, rm_symbolizer.program);
        return RESMON_OK;
    }
    rm_library_own_file(own_file);
    (void)stat(rm_names_main != NULL ? RM_HELPER_SELF : own_file, &info);
    helper->owner = info.st_uid;
    helper->group = info.st_gid;
    if (rm_names_main != NULL) {
        (void)rm_text_set(path, RM_LIBRARY_PATH_BYTES, RM_HELPER_SELF);
        return RESMON_OK;
    }
    return find_program(own_file, path)
               ? RESMON_OK
               : rm_error(RESMON_ENOENT, PROGRAM " is not installed beside the library");
}

static resmon_status ask(const struct rm_buffer *request, struct rm_buffer *reply)
{
    char path[RM_LIBRARY_PATH_BYTES];
    struct rm_helper helper = {
        .path = path,
        .name = PROGRAM,
        .input = request->text,
        .input_bytes = request->length,
        .most_output_bytes = RM_NAMES_MOST_BYTES,
        .most_data_bytes = most_data(),
        .most_ns = rm_symbolizer.most_ns,
    };
    resmon_status status = find(&helper, path);
    return status == RESMON_OK ? rm_helper_run(&helper, reply) : status;
}

struct rm_symbolizer rm_symbolizer = {.most_ns = 20 * RM_NS_PER_S, .ask = ask};

void rm_symbolizer_begin(struct rm_buffer *request, uint64_t pid, uint64_t mapped_ns,
                         const char *debug_root)
{
    rm_names_put_u32(request, RM_NAMES_REQUEST);
    rm_names_put_u32(request, RM_NAMES_VERSION);
    rm_names_put_u64(request, pid);
    rm_names_put_u64(request, mapped_ns);
    rm_names_put_text(request, debug_root != NULL ? debug_root : "", SIZE_MAX);
}

resmon_status rm_symbolizer_open_reply(struct rm_text *reply)
{
    uint32_t magic = 0, version = 0;
    struct rm_text why;
    if (!rm_names_take_u32(reply, &magic) || magic != RM_NAMES_REPLY ||
        !rm_names_take_u32(reply, &version)) {
        return rm_error(RESMON_EFORMAT, "the reply of " PROGRAM " makes no sense");
    }
    if (version != RM_NAMES_VERSION) {
        return rm_error(RESMON_EVERSION, PROGRAM " is of another version");
    }
    if (!rm_names_take_text(reply, &why)) {
        return rm_error(RESMON_EFORMAT, "the reply of " PROGRAM " makes no sense");
    }
    size_t length = rm_text_left(&why);
    int shown = length < RM_NAMES_MOST_REASON ? (int)length : (int)RM_NAMES_MOST_REASON;
    return length == 0 ? RESMON_OK : rm_error(RESMON_ENOTSUP, "%.*s", shown, why.at);
}

resmon_status rm_symbolizer_check(void)
{
    struct rm_buffer request, reply;
    rm_buffer_init(&request, RM_NAMES_MOST_BYTES);
    rm_buffer_init(&reply, RM_NAMES_MOST_BYTES + 1);
    rm_symbolizer_begin(&request, 0, 0, NULL);
    rm_names_put_u32(&request, 0);
    rm_names_put_u32(&request, 0);
    resmon_status status = request.status;
    if (status == RESMON_OK) {
        status = rm_symbolizer.ask(&request, &reply);
    }
    if (status == RESMON_OK) {
        struct rm_text text = rm_text_of(reply.text, reply.length);
        status = rm_symbolizer_open_reply(&text);
    }
    rm_buffer_free(&request);
    rm_buffer_free(&reply);
    return status;
}
