/* SPDX-License-Identifier: MIT */
#include "names/names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "names/dwfl.h"
#include "os/library.h"

#define PIECE_BYTES ((size_t)1 << 20) /* of a request, as it is read */

struct place {
    uint32_t module;
    uint64_t address; /* of the file */
    size_t index;
};

struct work {
    struct rm_names_module *modules;
    uint64_t *biases; /* by module */
    struct place *places;
    struct rm_names_span *spans; /* by index of a place */
    size_t module_count, place_count;
    struct rm_names_results results;
};

/* ---- the request ------------------------------------------------------------------------ */

static void read_request(struct rm_buffer *request)
{
    ssize_t count = 1;
    while (count != 0) {
        char *at = rm_names_must(rm_buffer_room(request, PIECE_BYTES));
        count = read(STDIN_FILENO, at, PIECE_BYTES);
        if (count < 0 && errno != EINTR) {
            rm_names_end(RM_NAMES_WRONG_REQUEST);
        }
        rm_buffer_advance(request, count > 0 ? (size_t)count : 0);
    }
}

static char *take_string(struct rm_text *request)
{
    struct rm_text text = {NULL, NULL};
    if (!rm_names_take_text(request, &text)) {
        rm_names_end(RM_NAMES_WRONG_REQUEST);
    }
    char *copy = rm_names_must(rm_alloc(rm_text_left(&text) + 1, 1));
    memcpy(copy, text.at, rm_text_left(&text));
    return copy;
}

static uint32_t take_u32(struct rm_text *request)
{
    uint32_t value = 0;
    if (!rm_names_take_u32(request, &value)) {
        rm_names_end(RM_NAMES_WRONG_REQUEST);
    }
    return value;
}

static uint64_t take_u64(struct rm_text *request)
{
    uint64_t value = 0;
    if (!rm_names_take_u64(request, &value)) {
        rm_names_end(RM_NAMES_WRONG_REQUEST);
    }
    return value;
}

/* How many there are, of at least so many bytes each. */
static size_t take_count(struct rm_text *request, size_t bytes)
{
    size_t count = take_u32(request);
    if (count > rm_text_left(request) / bytes) {
        rm_names_end(RM_NAMES_WRONG_REQUEST);
    }
    return count;
}

static void take_modules(struct work *work, struct rm_text *request)
{
    struct rm_names_module all = {.pid = take_u64(request)};
    all.mapped_ns = (int64_t)take_u64(request);
    all.debug_root = take_string(request);
    work->module_count = take_count(request, 5 * sizeof(uint32_t));
    work->modules = rm_names_must(rm_alloc(work->module_count + 1, sizeof *work->modules));
    work->biases = rm_names_must(rm_alloc(work->module_count + 1, sizeof *work->biases));
    for (size_t i = 0; i < work->module_count; i++) {
        work->modules[i] = all;
        work->modules[i].path = take_string(request);
        work->modules[i].build_id = take_string(request);
        work->biases[i] = take_u64(request);
        work->modules[i].is_light = (take_u32(request) & RM_NAMES_LIGHT) != 0;
    }
}

static int compare(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->module != b->module) {
        return a->module < b->module ? -1 : 1;
    }
    return (a->address > b->address) - (a->address < b->address);
}

static void take_places(struct work *work, struct rm_text *request)
{
    work->place_count = take_count(request, sizeof(uint32_t) + sizeof(uint64_t));
    work->places = rm_names_must(rm_alloc(work->place_count + 1, sizeof *work->places));
    work->spans = rm_names_must(rm_alloc(work->place_count + 1, sizeof *work->spans));
    for (size_t i = 0; i < work->place_count; i++) {
        uint32_t module = take_u32(request);
        uint64_t address = take_u64(request);
        bool has_module = module < work->module_count;
        work->places[i] = (struct place){has_module ? module : RM_NAMES_NO_MODULE,
                                         address - (has_module ? work->biases[module] : 0), i};
    }
    qsort(work->places, work->place_count, sizeof *work->places, compare);
}

/* ---- the look-up ------------------------------------------------------------------------ */

/* Code that was made at run time is in no file. */
static bool has_symbols(const struct rm_names_module *module)
{
    bool is_vdso = strcmp(module->path, RM_VDSO_NAME) == 0 && module->build_id[0] != '\0';
    return module->path[0] == '/' || is_vdso;
}

/* The places[from ... past - 1], which are those of one module. */
static void answer_module(struct work *work, struct rm_names_module *module, size_t from,
                          size_t past)
{
    const struct place *places = work->places;
    uint64_t *addresses = rm_names_must(rm_alloc(past - from, sizeof *addresses));
    module->spans = rm_names_must(rm_alloc(past - from, sizeof *module->spans));
    for (size_t i = from; i < past; i++) {
        if (i == from || places[i].address != places[i - 1].address) {
            addresses[module->count++] = places[i].address;
        }
    }
    module->addresses = addresses;
    rm_dwfl_symbolize(module, &work->results);
    for (size_t i = from, at = 0; i < past; i++) {
        at += i > from && places[i].address != places[i - 1].address;
        work->spans[places[i].index] = module->spans[at];
    }
    rm_free(addresses);
    rm_free(module->spans);
}

static void answer_all(struct work *work)
{
    const struct place *places = work->places;
    size_t past = 0;
    for (size_t from = 0; from < work->place_count; from = past) {
        uint32_t module = places[from].module;
        for (past = from; past < work->place_count && places[past].module == module; past++) {
        }
        if (module != RM_NAMES_NO_MODULE && has_symbols(&work->modules[module])) {
            answer_module(work, &work->modules[module], from, past);
        }
    }
}

/* ---- the reply -------------------------------------------------------------------------- */

static void put_answers(struct work *work, struct rm_buffer *reply)
{
    for (size_t i = 0; i < work->module_count; i++) {
        rm_names_put_u32(reply, work->modules[i].flags);
        rm_names_put_text(reply, work->modules[i].reason, RM_NAMES_MOST_REASON);
    }
    for (size_t i = 0; i < work->place_count; i++) {
        rm_names_put_frames(&work->results, work->spans[i], reply);
    }
    rm_names_put_u32(reply, RM_NAMES_END);
}

static void send(const struct rm_buffer *reply)
{
    if (reply->status != RESMON_OK) {
        rm_names_end(RM_NAMES_NO_MEMORY);
    }
    for (size_t at = 0; at < reply->length;) {
        ssize_t count = write(STDOUT_FILENO, reply->text + at, reply->length - at);
        if (count < 0 && errno != EINTR) {
            rm_names_end(RM_NAMES_NO_OUTPUT);
        }
        at += count > 0 ? (size_t)count : 0;
    }
}

static resmon_status serve(void *nothing)
{
    struct rm_buffer request, reply;
    struct work work = {.modules = NULL};
    (void)nothing;
    rm_buffer_init(&request, RM_NAMES_MOST_BYTES + 2 * PIECE_BYTES);
    rm_buffer_init(&reply, RM_NAMES_MOST_BYTES);
    read_request(&request);
    struct rm_text left = rm_text_of(request.text, request.length);
    if (take_u32(&left) != RM_NAMES_REQUEST || take_u32(&left) != RM_NAMES_VERSION) {
        rm_names_end(RM_NAMES_WRONG_REQUEST);
    }
    take_modules(&work, &left);
    take_places(&work, &left);
    const char *why = rm_dwfl_load() == RESMON_OK ? "" : resmon_last_error();
    rm_names_put_u32(&reply, RM_NAMES_REPLY);
    rm_names_put_u32(&reply, RM_NAMES_VERSION);
    rm_names_put_text(&reply, why, RM_NAMES_MOST_REASON);
    if (why[0] == '\0') {
        answer_all(&work);
        put_answers(&work, &reply);
    }
    send(&reply);
    rm_names_end(0); /* the kernel takes all memory back at once */
}

/* On a stack of known size: the limit of the host's may be low. */
int rm_names_main(void)
{
    (void)prctl(PR_SET_NAME, "resmon-names");
    (void)rm_thread_call(serve, NULL); /* returns where it had no thread */
    return RM_NAMES_NO_THREAD;
}
