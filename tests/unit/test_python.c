/* SPDX-License-Identifier: MIT */
/*
 * stack/python: stacks from the memory of interpreters of each version, recorded by
 * truth/truth_python_frames.py with what these said themselves; the same memory with parts that
 * cannot be read, that change while they are read, or that are damaged; and joining them with
 * native stacks.
 */
#include "test.h"

#include "python_image.h"
#include "stack/python_join.h"

static const char *const names[] = {"3.9-main",  "3.9-deep",  "3.10-main",  "3.10-deep",
                                    "3.11-main", "3.11-deep", "3.12-main",  "3.12-deep",
                                    "3.13-main", "3.13-deep", "3.14-main",  "3.14-deep",
                                    "3.15-main", "3.15-deep", "3.14-tasks", "3.15-tasks"};

static struct python_image image;
static struct rm_python python;
static struct rm_python_codes codes;
static struct rm_python_window window;
static struct rm_python_walk walk;
static struct rm_python_stack stack;
static struct rm_python_thread thread;

static void load(const char *name)
{
    static char bytes[65536];
    char path[512];
    const char *fixtures = getenv("RESMON_FIXTURES");
    if (fixtures == NULL) {
        fail_msg("RESMON_FIXTURES is not set: it names tests/fixtures (CTest sets it)");
    }
    (void)snprintf(path, sizeof path, "%s/../fuzz/corpus/python/%s", fixtures, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size > 0 && size < sizeof bytes);
    assert_int_equal(fclose(file), 0);
    image_parse(&image, bytes, size);
    thread = (struct rm_python_thread){.number = image.thread};
}

static void open_image(void)
{
    const struct rm_python_memory memory = {image_read, &image};
    assert_ok(image_open(&image, &memory, &python));
}

static enum rm_python_result take(void)
{
    enum rm_python_result result = rm_python_walk(&python, &thread, image.stack, &window, &walk);
    return result == RM_PYTHON_READ && !rm_python_symbolize(&python, &codes, &walk, 0, &stack)
               ? RM_PYTHON_TORN
               : result;
}

static void close_image(void)
{
    rm_python_codes_free(&codes);
    image_free(&image);
}

static void check_frames(const char *name)
{
    char text[700];
    if (stack.depth != image.frame_count) {
        fail_msg("%s: %u frames, not %zu", name, stack.depth, image.frame_count);
    }
    for (uint32_t i = 0; i < stack.depth; i++) {
        (void)snprintf(text, sizeof text, "%u %s", stack.frames[i].line,
                       stack.frames[i].code->text);
        assert_string_equal(text, image.frames[i]);
    }
}

/* The frames without some that wait for the task. */
static void check_frames_in_order(void)
{
    char text[700];
    uint32_t found = 0;
    for (size_t i = 0; i < image.frame_count && found < stack.depth; i++) {
        (void)snprintf(text, sizeof text, "%u %s", stack.frames[found].line,
                       stack.frames[found].code->text);
        found += strcmp(text, image.frames[i]) == 0 ? 1 : 0;
    }
    assert_true(found == stack.depth && found + 5 >= image.frame_count);
}

TEST(each_version_is_read_as_it_says_itself)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        load(names[i]);
        open_image();
        assert_true(image.frame_count >= 8);
        assert_int_equal(take(), RM_PYTHON_READ);
        check_frames(names[i]);
        assert_false(walk.is_cut);
        assert_int_equal(take(), RM_PYTHON_READ); /* with what is known by now */
        check_frames(names[i]);
        close_image();
    }
}

/* What C code called begins an evaluation: sorted() calls the key, and something calls <module>. */
TEST(evaluations_are_told_apart)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i += 2) {
        load(names[i]);
        open_image();
        assert_int_equal(take(), RM_PYTHON_READ);
        for (uint32_t k = 0; k < stack.depth; k++) {
            const char *text = stack.frames[k].code->text;
            bool is_called = strstr(text, "<lambda>") != NULL || strstr(text, "<module>") != NULL;
            assert_true(!is_called || walk.frames[k].entry != 0);
        }
        assert_true((walk.frames[0].entry == 0) == (image.minor >= 11));
        close_image();
    }
}

TEST(a_reading_that_fails_gives_no_wrong_stack)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool is_refused = true;
        for (uint64_t k = 1; is_refused; k++) {
            const struct rm_python_memory memory = {image_read, &image};
            load(names[i]);
            image.refused_read = k;
            if (image_open(&image, &memory, &python) == RESMON_OK && take() == RM_PYTHON_READ) {
                bool has_lines = true; /* a table of lines may be missing: then the first line */
                for (uint32_t f = 0; f < stack.depth; f++) {
                    has_lines = has_lines && stack.frames[f].code->table != NULL;
                }
                if (has_lines && stack.depth < image.frame_count && image.tasks[0] != 0) {
                    check_frames_in_order();
                } else if (has_lines) {
                    check_frames(names[i]);
                }
            }
            is_refused = image.reads >= k;
            assert_true(is_refused || k > 10);
            close_image();
        }
    }
}

/* A search that fails at another frame has checked none. */
TEST(memory_that_has_new_code_has_no_old_name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i += 2) {
        load(names[i]);
        open_image();
        assert_int_equal(take(), RM_PYTHON_READ);
        uint64_t both[] = {walk.frames[0].code, walk.frames[stack.depth - 1].code};
        struct rm_python_code *found[2];
        char other[512];
        (void)snprintf(other, sizeof other, "%s", stack.frames[stack.depth - 1].code->text);
        assert_string_not_equal(stack.frames[0].code->text, other);
        unsigned char *code = image_at(&image, both[0], python.layout.code_bytes);
        const unsigned char *outer = image_at(&image, both[1], python.layout.code_bytes);
        assert_true(code != NULL && outer != NULL);
        memcpy(code + python.layout.code_name, outer + python.layout.code_name, 8);
        memcpy(code + python.layout.code_file, outer + python.layout.code_file, 8);
        codes.now_ns = 20000000;
        both[1] = image.runtime + 1; /* no code object */
        assert_false(rm_python_codes_find(&codes, &python.memory, &python.layout, both, 2, found));
        codes.now_ns += 1000;
        assert_true(rm_python_codes_find(&codes, &python.memory, &python.layout, both, 1, found));
        assert_string_equal(found[0]->text, other);
        close_image();
    }
}

/* Clears or fills each word that is not zero, one after the other. */
TEST(damaged_memory_does_no_harm)
{
    static const uint64_t values[] = {0, 1, UINT64_MAX, 0xddddddddddddddddULL};
    size_t read = 0, not_read = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i += 2) {
        load(names[i]);
        for (size_t p = 0; p < image.part_count; p++) {
            for (uint64_t at = 0; at + 8 <= image.parts[p].bytes; at += 8) {
                const struct rm_python_memory memory = {image_read, &image};
                uint64_t kept;
                memcpy(&kept, image.parts[p].content + at, 8);
                for (size_t v = 0; kept != 0 && v < sizeof values / sizeof *values; v++) {
                    memcpy(image.parts[p].content + at, &values[v], 8);
                    thread = (struct rm_python_thread){.number = image.thread};
                    bool is_read = image_open(&image, &memory, &python) == RESMON_OK &&
                                   take() == RM_PYTHON_READ;
                    read += is_read ? 1 : 0;
                    not_read += is_read ? 0 : 1;
                    assert_true(!is_read || stack.depth <= RM_PYTHON_DEPTH);
                    rm_python_codes_free(&codes);
                }
                memcpy(image.parts[p].content + at, &kept, 8);
            }
        }
        image_free(&image);
    }
    assert_true(read > 1000 && not_read > 1000);
}

static void put_word(uint64_t address, uint64_t word)
{
    unsigned char *at = image_at(&image, address, sizeof word);
    assert_non_null(at);
    memcpy(at, &word, sizeof word);
}

/* Those that wait for the running task become a set, as when there is or was more than one. */
TEST(of_several_that_wait_for_a_task_none_is_shown)
{
    const uint64_t set = 0x10000, entries = 0x20000;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strstr(names[i], "tasks") == NULL) {
            continue;
        }
        load(names[i]);
        open_image();
        assert_int_equal(take(), RM_PYTHON_READ);
        struct rm_python_layout *layout = &python.layout;
        const struct rm_python_tasks *tasks = &python.tasks;
        layout->set_used = 24; /* which the image leaves out, as nothing depended on them */
        layout->set_mask = 32;
        layout->set_table = 40;
        uint64_t task = rm_python_word(image_at(&image, thread.address + tasks->running, 8), 0);
        uint64_t waits = rm_python_word(image_at(&image, task + tasks->waiting, 8), 0);
        image_begin_part(&image, set, RM_PYTHON_OBJECT_BYTES);
        image_begin_part(&image, entries, 128);
        put_word(task + tasks->waiting, set);
        *image_at(&image, task + tasks->waiting_is_set, 1) = 1;
        put_word(set + layout->set_used, 1);
        put_word(set + layout->set_table, entries);
        put_word(set + layout->set_mask, 7);
        put_word(entries + 16, set); /* what is in the place of a removed one */
        put_word(entries + 24, UINT64_MAX);
        put_word(entries + 96, waits);
        assert_int_equal(take(), RM_PYTHON_READ);
        check_frames(names[i]);
        put_word(set + layout->set_used, 2);
        assert_int_equal(take(), RM_PYTHON_READ);
        assert_int_equal(stack.depth, image.frame_count - 5);
        assert_non_null(strstr(stack.frames[3].code->text, "Handle._run"));
        close_image();
    }
}

TEST(a_chain_that_has_no_end_is_torn_or_cut)
{
    load("3.12-main");
    open_image();
    assert_int_equal(take(), RM_PYTHON_READ);
    /* the outermost frame of Python leads back to itself, through the innermost */
    for (size_t p = 0; p < image.part_count; p++) {
        struct image_part *part = &image.parts[p];
        if (part->bytes == RM_PYTHON_CHUNK_BYTES) {
            uint64_t innermost = part->address + 24;
            memcpy(part->content + 24 + python.layout.frame_previous, &innermost, 8);
        }
    }
    enum rm_python_result result = take();
    assert_true(result != RM_PYTHON_READ || walk.is_cut);
    close_image();
}

TEST(unknown_versions_are_refused_with_the_reason)
{
    load("3.12-main");
    const struct rm_python_memory memory = {image_read, &image};
    assert_status(RESMON_ENOTSUP, rm_python_open(&python, &memory, image.runtime, 8));
    assert_non_null(strstr(resmon_last_error(), "Python 3.8 is older than 3.9"));
    assert_status(RESMON_ENOTSUP, rm_python_open(&python, &memory, image.runtime, 0));
    assert_status(RESMON_EACCES, rm_python_open(&python, &memory, 8, 12));
    image_free(&image);
    load("3.14-main");
    for (size_t i = 0; i < image.part_count; i++) {
        if (image.parts[i].address == image.runtime) {
            image.parts[i].content[8 + 2] = 16; /* 3.16 */
        }
    }
    assert_status(RESMON_ENOTSUP, rm_python_open(&python, &memory, image.runtime, 0));
    assert_non_null(strstr(resmon_last_error(), "Python 3.16 is newer than 3.15"));
    image_free(&image);
}

TEST(a_thread_that_is_not_pythons_is_idle)
{
    for (size_t i = 4; i < sizeof names / sizeof *names; i++) {
        load(names[i]);
        open_image();
        thread.number = 1;
        enum rm_python_result result = take();
        /* the image may lack the states of other threads, which a search passes */
        if (result != RM_PYTHON_IDLE && result != RM_PYTHON_UNREADABLE) {
            fail_msg("%s: %d", names[i], (int)result);
        }
        close_image();
    }
}

/* ---- lines ------------------------------------------------------------------------------ */

TEST(damaged_tables_of_lines_end)
{
    unsigned char table[64];
    for (uint32_t minor = 9; minor <= 15; minor++) {
        for (int fill = 0; fill < 256; fill++) {
            memset(table, fill, sizeof table);
            const struct rm_python_code code = {
                .first_line = 10, .table = table, .table_bytes = sizeof table};
            for (int64_t position = -1; position < 600; position += 7) {
                (void)rm_python_code_line(&code, minor, position);
            }
            assert_int_equal(rm_python_code_line(&code, minor, -1), 10);
        }
    }
}

/* ---- joining ---------------------------------------------------------------------------- */

/* Addresses from 100 on are the interpreter's. */
static bool is_interpreters(void *context, uint64_t address)
{
    (void)context;
    return address >= 100;
}

/* Only the address 4. */
static bool is_starts(void *context, uint64_t address)
{
    (void)context;
    return address == 4;
}

static uint64_t same(void *context, uint64_t address)
{
    (void)context;
    return address;
}

static struct rm_joined_python sample;
static struct rm_perf_record record;

/* Of C code: 1, called by the interpreter (100, 101), 2, the interpreter (102, 103), 3, and the C
 * library's 4. */
static struct rm_native_stack native_stack(void)
{
    static const uint64_t addresses[] = {1, 100, 101, 2, 102, 103, 3, 4};
    static uint64_t stacks[8];
    static struct rm_unwind_saved saved[8];
    for (size_t i = 0; i < 8; i++) {
        stacks[i] = 1000 + 100 * i;
    }
    for (size_t i = 1; i < 7; i += 4) {
        saved[i].words[2] = record.registers[3];
        saved[i].words[4] = record.registers[4];
    }
    return (struct rm_native_stack){
        .sample = &record,
        .depth = 8,
        .addresses = addresses,
        .stacks = stacks,
        .saved = saved,
        .is_interpreter = is_interpreters,
        .is_start = is_starts,
        .value = same,
    };
}

static void check_values(const uint64_t *values, uint32_t depth, const uint64_t *wanted,
                         uint32_t count)
{
    assert_int_equal(depth, count);
    assert_memory_equal(values, wanted, count * sizeof *wanted);
}

static struct rm_python_places places;

static bool is_same(const struct rm_native_stack *native)
{
    places = (struct rm_python_places){.samples = 0};
    return rm_python_is_same(native, &sample, &places, true);
}

#define CHECK_JOINED(...)                                                                \
    do {                                                                                 \
        static const uint64_t wanted[] = {__VA_ARGS__};                                  \
        const struct rm_native_stack native = native_stack();                            \
        uint64_t values[16];                                                             \
        uint32_t depth = rm_python_join(&native, &sample, is_same(&native), values, 16); \
        check_values(values, depth, wanted, sizeof wanted / sizeof *wanted);             \
    } while (0)

/* The innermost frame is at 7000, and its instruction at 8000. */
static void set(uint32_t depth, const uint64_t *entries, bool is_same_call)
{
    sample = (struct rm_joined_python){.depth = depth, .address = 7000, .instruction = 8000};
    record = (struct rm_perf_record){.stack_bytes = 0};
    record.registers[3] = is_same_call ? 7000 : 7008;
    record.registers[4] = 8006;
    for (uint32_t i = 0; i < depth; i++) {
        sample.values[i] = 50 + i;
        sample.entries[i] = entries[i];
    }
}

TEST(pythons_frames_replace_the_interpreters)
{
    set(4, (const uint64_t[]){0, 1150, 0, 1420}, true);
    CHECK_JOINED(1, 50, 51, 2, 52, 53, 3);
    set(2, (const uint64_t[]){0, 1560}, true); /* C code that the interpreter called, too */
    CHECK_JOINED(1, 2, 50, 51, 3);
    set(3, (const uint64_t[]){1150, 1420, 1800}, true); /* the native stack ends early */
    CHECK_JOINED(1, 50, 2, 51, 52);
}

TEST(native_frames_of_another_call_are_left_out)
{
    set(4, (const uint64_t[]){0, 1150, 0, 1420}, false); /* the same evaluations, another call */
    CHECK_JOINED(50, 51, 2, 52, 53, 3);
    set(3, (const uint64_t[]){0, 1150, 1420}, true);
    sample.instruction = 9000;
    CHECK_JOINED(50, 51, 2, 52, 3);
    set(2, (const uint64_t[]){900, 1420}, false); /* a new evaluation, deeper */
    CHECK_JOINED(50, 51, 3);
    set(2, (const uint64_t[]){1350, 1420}, false); /* a new one in place of C code */
    CHECK_JOINED(50, 51, 3);
}

/* Up to 3.10 each frame has an evaluation of its own, and it is not known where. */
TEST(evaluations_without_entries_are_together)
{
    set(2, (const uint64_t[]){1, 1}, true);
    CHECK_JOINED(1, 50, 51, 3);
    set(2, (const uint64_t[]){1, 1}, false);
    CHECK_JOINED(50, 51, 3);
}

TEST(native_stacks_say_where_python_was_not_read)
{
    static const uint64_t wanted[] = {1, 99, 2, 99, 3, 4};
    const struct rm_native_stack native = native_stack();
    uint64_t values[16];
    uint32_t depth = rm_python_leave_out(&native, 99, values, 16);
    check_values(values, depth, wanted, 6);
}

TEST(stacks_are_the_same_if_their_calls_are)
{
    set(3, (const uint64_t[]){0, 1150, 1420}, true);
    struct rm_native_stack native = native_stack();
    assert_true(is_same(&native));
    assert_true(rm_python_may_be_same(&native, &sample));
    set(3, (const uint64_t[]){0, 1150, 1420}, false); /* of another frame */
    native = native_stack();
    assert_false(is_same(&native));
    assert_false(rm_python_may_be_same(&native, &sample));
    set(3, (const uint64_t[]){0, 900, 1420}, true); /* of another evaluation */
    native = native_stack();
    assert_false(is_same(&native));
    set(2, (const uint64_t[]){1, 1}, true);
    native = native_stack();
    assert_true(is_same(&native));
    sample.instruction = 0;
    assert_false(is_same(&native));
}

/* Once it is known which registers the interpreter uses, others do not count. */
TEST(places_of_the_evaluation_are_learned)
{
    set(3, (const uint64_t[]){0, 1150, 1420}, true);
    struct rm_native_stack native = native_stack();
    struct rm_unwind_saved saved[8];
    memcpy(saved, native.saved, sizeof saved);
    native.saved = saved;
    places = (struct rm_python_places){.samples = 0};
    saved[1].words[5] = sample.address; /* left over from a call, in one of two samples */
    for (uint64_t i = 0; i < 40; i++) {
        saved[1].words[5] = i % 2 == 0 ? sample.address : 0;
        sample.instruction = 8000 + i % 3;
        assert_true(rm_python_is_same(&native, &sample, &places, true));
    }
    saved[1].words[5] = sample.address;
    saved[1].words[2] = 7777; /* in truth, another frame is evaluated */
    assert_false(rm_python_is_same(&native, &sample, &places, true));
    assert_int_equal(places.samples, 32);
}

TEST(joined_stacks_are_bounded)
{
    static uint64_t values[5];
    static uint64_t entries[RM_PYTHON_DEPTH];
    set(RM_PYTHON_DEPTH, entries, true);
    struct rm_native_stack native = native_stack();
    assert_int_equal(rm_python_join(&native, &sample, true, values, 5), 5);
    set(1, (const uint64_t[]){0}, true); /* cut off before its entry */
    native = native_stack();
    assert_int_equal(rm_python_join(&native, &sample, true, values, 5), 2);
}
