/* SPDX-License-Identifier: MIT */
#include "names/names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "os/library.h"

#define PIECE_BYTES ((size_t)1 << 20) /* read at a time */

struct place {
    uint32_t module;
    uint64_t address; /* in the file */
    size_t index;
};

struct work {
    struct rm_names_module *modules;
    uint64_t *biases; /* by module */
    struct place *places;
    struct rm_names_span *spans; /* by index of a place */
    size_t module_count, place_count;
    const char *lacks_dwfl; /* reason; "": it is there */
    struct rm_names_results results;
};

/* ---- texts and frames ------------------------------------------------------------------- */

void rm_names_end(int status)
{
    _exit(status);
}

void *rm_names_must(void *memory)
{
    if (memory == NULL) {
        rm_names_end(RM_NAMES_NO_MEMORY);
    }
    return memory;
}

uint32_t rm_names_text(struct rm_names_results *results, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    uint32_t before = results->texts.count;
    uint32_t number = rm_intern(&results->texts, text, strnlen(text, RM_NAMES_MOST_TEXT));
    if (results->texts.is_broken) {
        rm_names_end(RM_NAMES_NO_MEMORY);
    }
    if (number == before) {
        results->names = rm_names_must(
            rm_grow(results->names, number, &results->name_room, sizeof *results->names));
        results->names[number] = 0;
    }
    return number + 1;
}

uint32_t rm_names_function(struct rm_names_results *results, const char *name)
{
    char text[RM_NAMES_MOST_TEXT + 1];
    if (name == NULL) {
        return 0;
    }
    rm_demangle(name, text, sizeof text);
    return rm_names_text(results, text);
}

void rm_names_add_frame(struct rm_names_results *results, uint32_t function, uint32_t file,
                        uint32_t line)
{
    results->frames = rm_names_must(rm_grow(results->frames, results->frame_count,
                                            &results->frame_room, sizeof *results->frames));
    results->frames[results->frame_count++] = (struct rm_names_frame){function, file, line};
}

static void put_name(struct rm_names_results *results, uint32_t text, struct rm_buffer *reply)
{
    uint32_t *name = text > 0 ? &results->names[text - 1] : NULL;
    bool is_new = name != NULL && *name == 0;
    if (is_new) {
        *name = ++results->name_count;
    }
    rm_names_put_u32(reply, name != NULL ? *name : 0);
    if (is_new) {
        rm_names_put_text(reply, results->texts.keys[text - 1].bytes, RM_NAMES_MOST_TEXT);
    }
}

/* Writes frames to the reply. */
static void put_frames(struct rm_names_results *results, struct rm_names_span span,
                       struct rm_buffer *reply)
{
    rm_names_put_u32(reply, span.count);
    const struct rm_names_frame *frames = results->frames;
    for (size_t i = span.first; frames != NULL && i < span.first + span.count; i++) {
        const struct rm_names_frame *frame = &frames[i];
        put_name(results, frame->function, reply);
        put_name(results, frame->file, reply);
        rm_names_put_u32(reply, frame->line);
    }
}

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

/* A count of items, which take at least so many bytes each. */
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

bool rm_names_was_changed(const struct rm_names_module *module, const struct stat *info)
{
    const int64_t changed_ns = (int64_t)info->st_ctim.tv_sec * RM_NS_PER_S + info->st_ctim.tv_nsec;
    return module->build_id[0] == '\0' && module->mapped_ns != 0 && changed_ns > module->mapped_ns;
}

/* ---- the look-up ------------------------------------------------------------------------ */

/* Whether a module is a file or the vDSO; code that was generated at run time is neither. */
static bool has_symbols(const struct rm_names_module *module)
{
    bool is_vdso = strcmp(module->path, RM_VDSO_NAME) == 0 && module->build_id[0] != '\0';
    return module->path[0] == '/' || is_vdso;
}

/* Symbolizes places[from ... past - 1], which are in one module. */
static void symbolize_module(struct work *work, struct rm_names_module *module, size_t from,
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
    if (work->lacks_dwfl[0] == '\0') {
        rm_dwfl_symbolize(module, &work->results);
    } else {
        rm_symtab_symbolize(module, &work->results, work->lacks_dwfl);
    }
    for (size_t i = from, at = 0; i < past; i++) {
        at += i > from && places[i].address != places[i - 1].address;
        work->spans[places[i].index] = module->spans[at];
    }
    rm_free(addresses);
    rm_free(module->spans);
}

static void symbolize_all(struct work *work)
{
    const struct place *places = work->places;
    size_t past = 0;
    for (size_t from = 0; from < work->place_count; from = past) {
        uint32_t module = places[from].module;
        for (past = from; past < work->place_count && places[past].module == module; past++) {
        }
        if (module != RM_NAMES_NO_MODULE && has_symbols(&work->modules[module])) {
            symbolize_module(work, &work->modules[module], from, past);
        }
    }
}

/* ---- the reply -------------------------------------------------------------------------- */

static void put_results(struct work *work, struct rm_buffer *reply)
{
    for (size_t i = 0; i < work->module_count; i++) {
        rm_names_put_u32(reply, work->modules[i].flags);
        rm_names_put_text(reply, work->modules[i].reason, RM_NAMES_MOST_REASON);
    }
    for (size_t i = 0; i < work->place_count; i++) {
        put_frames(&work->results, work->spans[i], reply);
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
    char why[RM_NAMES_MOST_REASON] = "";
    if (rm_dwfl_load() != RESMON_OK) {
        (void)rm_text_set(why, sizeof why, resmon_last_error());
    }
    work.lacks_dwfl = why;
    rm_names_put_u32(&reply, RM_NAMES_REPLY);
    rm_names_put_u32(&reply, RM_NAMES_VERSION);
    rm_names_put_text(&reply, why, RM_NAMES_MOST_REASON);
    symbolize_all(&work);
    put_results(&work, &reply);
    send(&reply);
    rm_names_end(0); /* the kernel frees all memory at once */
}

/* On a stack of known size: the stack limit of the host program may be low. */
int rm_names_main(void)
{
    (void)prctl(PR_SET_NAME, "resmon-names");
    (void)rm_thread_call(serve, NULL); /* returns only if no thread could be created */
    return RM_NAMES_NO_THREAD;
}
