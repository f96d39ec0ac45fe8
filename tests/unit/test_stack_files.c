/* SPDX-License-Identifier: MIT */
/*
 * format/folded and pprof: what becomes of stacks that are known, read again by readers
 * as strict as the real ones; names that would break a format; files that cannot be written; the
 * sink.  truth/truth_stack_files.py has the real readers.
 */
#include "test.h"

#include <dirent.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "export/stacks.h"
#include "made_profile.h"
#include "os/gzip.h"

static char text[1 << 20];

static size_t read_text(const char *name)
{
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    return length;
}

/* ---- folded --------------------------------------------------------------------------------- */

TEST(folded)
{
    resmon_run *run = made_profile("/src/train.c");
    assert_ok(resmon_run_save_folded(run, RESMON_STACK_CPU, path_of("f")));
    (void)read_text("f");
    assert_string_equal(text, "(cut);libc.so.6 40000\n"
                              "0xffffffffff600123 10000\n"
                              "[a:b?c???\"\\ \xc3\xa9 12];main;a:b?c???\"\\ \xc3\xa9_12 10000\n"
                              "[training];[epoch];main;work 100000\n"
                              "[training];[epoch];main;work;square 600000\n"
                              "[training];[epoch];main;work;work 40000\n"
                              "[training];main;load;memset 200000\n");
    assert_ok(resmon_run_save_folded(run, RESMON_STACK_MEMORY, path_of("f")));
    (void)read_text("f");
    assert_string_equal(text, "(cut) 142\n[training];main;load;memset 2930\n");
    assert_ok(resmon_run_save_folded(run, RESMON_STACK_FILE, path_of("f")));
    (void)read_text("f");
    assert_string_equal(text, "(cut);libc.so.6 4\n");
    assert_status(RESMON_EINVAL, resmon_run_save_folded(run, 3, path_of("f")));
    assert_status(RESMON_EINVAL, resmon_run_save_folded(NULL, 0, path_of("f")));
    resmon_run_free(run);
}

/* Places that differ in their addresses only are one line, and its parts are summed before they are
 * rounded. */
TEST(folded_merges)
{
    resmon_run *run = made_profile("/src/train.c");
    struct rm_run_profile *profile = &run->profile;
    uint32_t frames[] = {MADE_WORK, MADE_WORK_LATER};
    struct rm_run_stack stacks[4] = {
        {.scope = -1, .first = 0, .depth = 1, .samples = {1}, .weight = {400}},
        {.scope = -1, .first = 1, .depth = 1, .samples = {1}, .weight = {400}},
        {.scope = -1, .first = 0, .depth = 2, .samples = {1}, .weight = {400}},
        {.scope = -1, .first = 0, .depth = 1, .samples = {1}, .weight = {(double)NAN}},
    };
    profile->frames = frames;
    profile->stacks = stacks;
    profile->stack_count = 4;
    assert_ok(resmon_run_save_folded(run, RESMON_STACK_CPU, path_of("f")));
    (void)read_text("f");
    assert_string_equal(text, "work 1\n");
    resmon_run_free(run);
}

TEST(folded_names)
{
    static const struct {
        const char *name, *line;
    } rows[] = {
        {"f 12", "f_12 1\n"},
        {"f 1.5", "f_1.5 1\n"},
        {"12", "12 1\n"},
        {" f ", "_f_ 1\n"},
        {";", ": 1\n"},
        {" ", "_ 1\n"},
        {"f\r\ng", "f??g 1\n"},
        {"f 12 g", "f 12 g 1\n"},
        {"operator new(int, ...)", "operator new(int, ...) 1\n"},
        {" 1", "_1 1\n"},
        {"f  12", "f _12 1\n"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        resmon_run *run = made_profile("/src/train.c");
        uint32_t frame = MADE_MAIN;
        struct rm_run_stack stack = {.scope = -1, .depth = 1, .samples = {1}, .weight = {1000}};
        run->profile.places[MADE_MAIN].function = rows[i].name;
        run->profile.frames = &frame;
        run->profile.stacks = &stack;
        run->profile.stack_count = 1;
        assert_ok(resmon_run_save_folded(run, RESMON_STACK_CPU, path_of("f")));
        (void)read_text("f");
        assert_string_equal(text, rows[i].line);
        resmon_run_free(run);
    }
}

/* ---- pprof ---------------------------------------------------------------------------------- */

/* A field of a message: a number, or bytes. */
struct field {
    uint32_t number;
    bool is_bytes;
    uint64_t value;
    const unsigned char *bytes;
    size_t length;
};

struct message {
    const unsigned char *at, *end;
};

static uint64_t varint(struct message *message)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(message->at < message->end && shift < 70);
        value |= (uint64_t)(*message->at & 0x7f) << (shift < 64 ? shift : 63);
        if ((*message->at++ & 0x80) == 0) {
            return value;
        }
    }
}

static bool next(struct message *message, struct field *field)
{
    if (message->at == message->end) {
        return false;
    }
    uint64_t tag = varint(message);
    assert_true((tag & 7) == 0 || (tag & 7) == 2);
    *field = (struct field){.number = (uint32_t)(tag >> 3), .is_bytes = (tag & 7) == 2};
    if (!field->is_bytes) {
        field->value = varint(message);
        return true;
    }
    field->length = varint(message);
    assert_true(field->length <= (size_t)(message->end - message->at));
    field->bytes = message->at;
    message->at += field->length;
    return true;
}

/* The n-th field of that number, in a message. */
static struct field field_of(const void *bytes, size_t length, uint32_t number, size_t index)
{
    struct message message = {bytes, (const unsigned char *)bytes + length};
    struct field field;
    while (next(&message, &field)) {
        if (field.number == number && index-- == 0) {
            return field;
        }
    }
    return (struct field){0};
}

static size_t count_fields(const struct rm_buffer *profile, uint32_t number)
{
    size_t count = 0;
    while (field_of(profile->text, profile->length, number, count).number != 0) {
        count++;
    }
    return count;
}

static const char *string_of(const struct rm_buffer *profile, uint64_t index)
{
    static char strings[4][256];
    static unsigned turn;
    char *string = strings[turn++ % 4];
    struct field field = field_of(profile->text, profile->length, 6, (size_t)index);
    assert_int_equal(field.number, 6);
    (void)snprintf(string, sizeof strings[0], "%.*s", (int)field.length, field.bytes);
    return string;
}

static uint64_t number_of(struct field message, uint32_t number)
{
    return field_of(message.bytes, message.length, number, 0).value;
}

/* "square work main" of a sample, by the functions of its locations. */
static const char *functions_of(const struct rm_buffer *profile, struct field sample)
{
    static char names[512];
    struct field list = field_of(sample.bytes, sample.length, 1, 0);
    struct message message = {list.bytes, list.bytes + list.length};
    names[0] = '\0';
    while (message.at < message.end) {
        uint64_t id = varint(&message);
        struct field location = field_of(profile->text, profile->length, 4, (size_t)id - 1);
        assert_int_equal(number_of(location, 1), id);
        struct field line;
        for (size_t i = 0; (line = field_of(location.bytes, location.length, 4, i)).number; i++) {
            uint64_t function_id = number_of(line, 1);
            struct field function =
                field_of(profile->text, profile->length, 5, (size_t)function_id - 1);
            assert_int_equal(number_of(function, 1), function_id);
            size_t length = strlen(names);
            (void)snprintf(names + length, sizeof names - length, "%s%s:%u", length > 0 ? " " : "",
                           string_of(profile, number_of(function, 2)),
                           (unsigned)number_of(line, 2));
        }
        if (field_of(location.bytes, location.length, 4, 0).number == 0) {
            (void)strncat(names, " ?", sizeof names - strlen(names) - 1);
        }
    }
    return names;
}

static void check_head(const struct rm_buffer *profile)
{
    static const char *const types[][2] = {
        {"samples", "count"}, {"cpu", "nanoseconds"}, {"memory", "bytes"}, {"file", "bytes"}};
    for (size_t i = 0; i < RM_ARRAY_LEN(types); i++) {
        struct field type = field_of(profile->text, profile->length, 1, i);
        assert_string_equal(string_of(profile, number_of(type, 1)), types[i][0]);
        assert_string_equal(string_of(profile, number_of(type, 2)), types[i][1]);
    }
    assert_int_equal(count_fields(profile, 1), 4);
    assert_int_equal(field_of(profile->text, profile->length, 6, 0).length, 0);
    assert_int_equal(field_of(profile->text, profile->length, 9, 0).value, MADE_PROFILE_START);
    assert_int_equal(field_of(profile->text, profile->length, 10, 0).value, 3000000001);
    assert_int_equal(field_of(profile->text, profile->length, 12, 0).value, 10101010);
    struct field type = field_of(profile->text, profile->length, 11, 0);
    assert_string_equal(string_of(profile, number_of(type, 1)), "cpu");
    uint64_t by_default = field_of(profile->text, profile->length, 14, 0).value;
    assert_string_equal(string_of(profile, by_default), "cpu");
}

static void check_samples(const struct rm_buffer *profile)
{
    double sums[4] = {0};
    for (size_t i = 0; i < count_fields(profile, 2); i++) {
        struct field sample = field_of(profile->text, profile->length, 2, i);
        struct field values = field_of(sample.bytes, sample.length, 2, 0);
        struct message message = {values.bytes, values.bytes + values.length};
        for (size_t k = 0; k < 4; k++) {
            sums[k] += (double)varint(&message);
        }
        assert_ptr_equal(message.at, message.end);
    }
    assert_near(sums[0], 101, 0);
    assert_near(sums[1], MADE_CPU_NS, 0);
    assert_near(sums[2], MADE_MEMORY_BYTES, 0);
    assert_near(sums[3], MADE_FILE_BYTES, 0);
    struct field first = field_of(profile->text, profile->length, 2, 0);
    assert_string_equal(functions_of(profile, first), "square:3 work:20 main:40");
    struct field label = field_of(first.bytes, first.length, 3, 0);
    assert_string_equal(string_of(profile, number_of(label, 1)), "scope");
    assert_string_equal(string_of(profile, number_of(label, 2)), "training/epoch");
    /* square is a part of the location of work. */
    assert_int_equal(field_of(first.bytes, first.length, 1, 0).length, 2);
    struct field unnamed = field_of(profile->text, profile->length, 2, 3);
    assert_string_equal(functions_of(profile, unnamed), " ?");
}

static void check_mappings(const struct rm_buffer *profile)
{
    struct field program = field_of(profile->text, profile->length, 3, 0);
    struct field libc = field_of(profile->text, profile->length, 3, 1);
    assert_int_equal(count_fields(profile, 3), 2);
    assert_int_equal(number_of(program, 2), 0x400000);
    assert_int_equal(number_of(program, 3), 0x420000);
    assert_string_equal(string_of(profile, number_of(program, 5)), "/opt/bin/train");
    assert_string_equal(string_of(profile, number_of(program, 6)), "00ff17");
    for (uint32_t flag = 7; flag <= 10; flag++) {
        assert_int_equal(number_of(program, flag), 1);
        assert_int_equal(number_of(libc, flag), flag != 10);
    }
}

TEST(pprof)
{
    struct rm_buffer profile;
    resmon_run *run = made_profile("/src/train.c");
    rm_buffer_init(&profile, 1 << 20);
    assert_ok(rm_pprof_print(run, &profile));
    check_head(&profile);
    check_samples(&profile);
    check_mappings(&profile);
    rm_buffer_free(&profile);
    resmon_run_free(run);
}

/* Without CPU time, samples are those of memory, and the period is in faults. */
TEST(pprof_of_memory)
{
    struct rm_buffer profile;
    resmon_run *run = made_profile("/src/train.c");
    run->profile.kinds[RESMON_STACK_CPU].status = RESMON_EACCES;
    run->profile.kinds[RESMON_STACK_CPU].reason = "not today";
    rm_buffer_init(&profile, 1 << 20);
    assert_ok(rm_pprof_print(run, &profile));
    struct field type = field_of(profile.text, profile.length, 11, 0);
    assert_string_equal(string_of(&profile, number_of(type, 1)), "faults");
    assert_int_equal(field_of(profile.text, profile.length, 12, 0).value, 64);
    struct field third = field_of(profile.text, profile.length, 2, 2);
    struct field values = field_of(third.bytes, third.length, 2, 0);
    struct message message = {values.bytes, values.bytes + values.length};
    assert_int_equal(varint(&message), 12);
    rm_buffer_free(&profile);
    resmon_run_free(run);
}

/* ---- gzip ----------------------------------------------------------------------------------- */

static void gunzip(const char *name)
{
    char command[300];
    (void)snprintf(command, sizeof command, "gzip -dc %s >%s.out", path_of(name), path_of(name));
    assert_int_equal(system(command), 0);
}

TEST(gzip)
{
    static const size_t lengths[] = {0, 1, 65535, 65536, 200000};
    static char bytes[200000];
    if (system("gzip --version >/dev/null 2>&1") != 0) {
        printf("skipped: there is no gzip\n");
        skip();
    }
    if (!rm_gzip_can_unpack()) {
        printf("skipped: there is no zlib\n");
        skip();
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * i % 251);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(lengths); i++) {
        size_t length = lengths[i];
        struct rm_buffer file;
        rm_buffer_init(&file, 1 << 20);
        const struct rm_output output = rm_buffer_output(&file);
        assert_ok(rm_gzip(&output, bytes, length));
        FILE *out = fopen(path_of("g"), "w");
        assert_non_null(out);
        assert_int_equal(fwrite(file.text, 1, file.length, out), file.length);
        (void)fclose(out);
        rm_buffer_free(&file);
        gunzip("g");
        assert_int_equal(read_text("g.out"), length);
        assert_memory_equal(text, bytes, length);
    }
}

TEST(unpacking)
{
    /* RFC 1950, with one block that is stored, and the sum of what it holds. */
    static const unsigned char packed[] = {0x78, 1,   1,   5,   0, 0xfa, 0xff, 'h',
                                           'e',  'l', 'l', 'o', 6, 0x2c, 2,    0x15};
    unsigned char damaged[sizeof packed];
    char unpacked[8];
    if (!rm_gzip_can_unpack()) {
        printf("skipped: there is no zlib\n");
        skip();
    }
    assert_ok(rm_gzip_unpack(packed, sizeof packed, unpacked, 5));
    assert_memory_equal(unpacked, "hello", 5);
    assert_status(RESMON_EFORMAT, rm_gzip_unpack(packed, sizeof packed, unpacked, 4));
    assert_status(RESMON_EFORMAT, rm_gzip_unpack(packed, sizeof packed, unpacked, 6));
    for (size_t i = 0; i < sizeof packed; i++) {
        assert_status(RESMON_EFORMAT, rm_gzip_unpack(packed, i, unpacked, 5));
        memcpy(damaged, packed, sizeof damaged);
        damaged[i] ^= 0x55;
        assert_status(RESMON_EFORMAT, rm_gzip_unpack(damaged, sizeof damaged, unpacked, 5));
    }
}

TEST(pprof_file)
{
    struct rm_buffer profile;
    resmon_run *run = made_profile("/src/train.c");
    rm_buffer_init(&profile, 1 << 20);
    assert_ok(rm_pprof_print(run, &profile));
    assert_ok(resmon_run_save_pprof(run, path_of("p.pb.gz")));
    if (system("gzip --version >/dev/null 2>&1") == 0) {
        gunzip("p.pb.gz");
        assert_int_equal(read_text("p.pb.gz.out"), profile.length);
        assert_memory_equal(text, profile.text, profile.length);
    }
    rm_buffer_free(&profile);
    resmon_run_free(run);
}

/* ---- what is not there, and what cannot be written --------------------------------------------
 */

TEST(without_stacks)
{
    resmon_run *run = rm_run_new();
    assert_status(RESMON_ENOENT, resmon_run_save_folded(run, RESMON_STACK_CPU, path_of("none")));
    assert_non_null(strstr(resmon_last_error(), "not requested"));
    assert_status(RESMON_ENOENT, resmon_run_save_pprof(run, path_of("none")));
    run->profile.kinds[RESMON_STACK_CPU] =
        (struct rm_run_stack_kind){.status = RESMON_ENOTSUP, .reason = "no libunwind"};
    assert_status(RESMON_ENOENT, resmon_run_save_pprof(run, path_of("none")));
    assert_non_null(strstr(resmon_last_error(), "no libunwind"));
    assert_int_equal(access(path_of("none"), F_OK), -1);
    /* Taken, and none came: a file without stacks. */
    run->profile.kinds[RESMON_STACK_CPU].status = RESMON_OK;
    assert_ok(resmon_run_save_folded(run, RESMON_STACK_CPU, path_of("none")));
    assert_int_equal(read_text("none"), 0);
    assert_ok(resmon_run_save_pprof(run, path_of("none")));
    resmon_run_free(run);
}

TEST(bad_places)
{
    resmon_run *run = made_profile("/src/train.c");
    assert_status(RESMON_ENOENT, resmon_run_save_pprof(run, "/nowhere/p"));
    assert_status(RESMON_ENOENT, resmon_run_save_folded(run, 0, "/nowhere/p"));
    assert_status(RESMON_EINVAL, resmon_run_save_folded(run, 0, NULL));
    assert_status(RESMON_EINVAL, resmon_run_save_pprof(NULL, "p"));
    resmon_run_free(run);
}

TEST(sink)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor *other = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .domains = RESMON_DOMAIN_PROCESS,
                                      .stacks = RESMON_STACKS_CPU | RESMON_STACKS_MEMORY};
    assert_ok(resmon_monitor_new(&options, &other));
    options.stacks = 0;
    resmon_stacks_options stacks = {.struct_size = sizeof stacks, .path = path_of("sink")};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, &stacks));
    stacks.format = RESMON_STACKS_PPROF + 1;
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, &stacks));
    stacks.format = RESMON_STACKS_PPROF;
    stacks.kind = RESMON_STACK_MEMORY;
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, &stacks));
    stacks.format = RESMON_STACKS_FOLDED;
    stacks.kind = 3;
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, &stacks));
    stacks.kind = RESMON_STACK_FILE;
    stacks.path = NULL;
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, &stacks));
    stacks.path = "/nowhere/sink";
    assert_status(RESMON_ENOENT, resmon_monitor_add_stacks(monitor, &stacks));
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, NULL));
    static const struct {
        int32_t format, kind;
        const char *name;
    } rows[] = {{RESMON_STACKS_FOLDED, RESMON_STACK_CPU, "folded"},
                {RESMON_STACKS_FOLDED, RESMON_STACK_MEMORY, "folded_memory"},
                {RESMON_STACKS_FOLDED, RESMON_STACK_FILE, "folded_file"},
                {RESMON_STACKS_PPROF, 0, "pprof"}};
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        resmon_sink_info info = {.struct_size = sizeof info};
        stacks.path = path_of(rows[i].name);
        stacks.format = rows[i].format;
        stacks.kind = rows[i].kind;
        assert_ok(resmon_monitor_add_stacks(monitor, &stacks));
        assert_ok(resmon_monitor_get_sink(monitor, i, &info));
        assert_string_equal(info.name, rows[i].name);
    }
    /* Each says at the end what it has not: another monitor has them. */
    assert_ok(resmon_monitor_start(other));
    assert_ok(resmon_monitor_start(monitor));
    assert_status(RESMON_ENOENT, resmon_monitor_stop(monitor));
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        resmon_sink_info info = {.struct_size = sizeof info};
        assert_ok(resmon_monitor_get_sink(monitor, i, &info));
        assert_int_equal(info.end_status, RESMON_ENOENT);
        assert_non_null(strstr(info.reason, "no stacks"));
    }
    resmon_monitor_free(monitor);
    resmon_monitor_free(other);
}

/* ---- accessors ------------------------------------------------------------------------------ */

static void check_losses(const resmon_run *run)
{
    static const uint64_t losses[] = {[RESMON_STACK_LOSS_RING_FULL] = 3,
                                      [RESMON_STACK_LOSS_BLOCKED] = 1,
                                      [RESMON_STACK_LOSS_MODULES] = 0};
    uint64_t count;
    for (int32_t i = 0; i <= RESMON_STACK_LOSS_MODULES; i++) {
        count = 77;
        assert_ok(resmon_run_stack_loss(run, i, &count));
        assert_int_equal(count, losses[i]);
    }
    count = 77;
    assert_status(RESMON_EINVAL, resmon_run_stack_loss(run, -1, &count));
    assert_status(RESMON_EINVAL, resmon_run_stack_loss(run, RESMON_STACK_LOSS_MODULES + 1, &count));
    assert_status(RESMON_EINVAL, resmon_run_stack_loss(NULL, 0, &count));
    assert_status(RESMON_EINVAL, resmon_run_stack_loss(run, 0, NULL));
    assert_int_equal(count, 77);
}

TEST(accessors)
{
    resmon_run *run = made_profile("/src/train.c");
    resmon_run_stack stack = {.struct_size = sizeof stack};
    resmon_run_frame frame = {.struct_size = sizeof frame};
    resmon_run_stack_info info = {.struct_size = sizeof info};
    resmon_run_peak_stack peak = {.struct_size = sizeof peak};
    assert_int_equal(resmon_run_stack_count(run), MADE_STACKS);
    assert_int_equal(resmon_run_stack_count(NULL), 0);
    assert_ok(resmon_run_get_stack(run, 0, &stack));
    assert_int_equal(stack.scope, 1);
    assert_int_equal(stack.frames, 3);
    assert_int_equal(stack.samples[RESMON_STACK_CPU], 60);
    assert_near(stack.weight[RESMON_STACK_CPU], 600e6, 0);
    assert_status(RESMON_ENOENT, resmon_run_get_stack(run, MADE_STACKS, &stack));
    assert_status(RESMON_EINVAL, resmon_run_get_stack(NULL, 0, &stack));
    assert_ok(resmon_run_get_frame(run, 0, 0, &frame));
    assert_string_equal(frame.function, "square");
    assert_int_equal(frame.is_inlined, 1);
    assert_string_equal(frame.module, "/opt/bin/train");
    assert_int_equal(frame.line, 3);
    assert_status(RESMON_ENOENT, resmon_run_get_frame(run, 0, 3, &frame));
    assert_status(RESMON_ENOENT, resmon_run_get_frame(run, MADE_STACKS, 0, &frame));
    assert_ok(resmon_run_get_frame(run, 4, 0, &frame));
    assert_string_equal(frame.module, "");
    assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_MEMORY, &info));
    assert_int_equal(info.samples, 14);
    assert_near(info.weight, MADE_MEMORY_BYTES, 0);
    assert_true(isnan(info.total));
    assert_int_equal(info.lost, 3);
    assert_status(RESMON_EINVAL, resmon_run_get_stack_info(run, 3, &info));
    check_losses(run);
    assert_int_equal(resmon_run_peak_stack_count(run), 2);
    assert_ok(resmon_run_get_peak_stack(run, 0, &peak));
    assert_string_equal(peak.thread_name, "train");
    assert_int_equal(peak.frames, 3);
    assert_int_equal(peak.is_cut, 0);
    assert_int_equal(peak.t_ns, 1500000000);
    assert_ok(resmon_run_get_peak_frame(run, 0, 1, &frame));
    assert_string_equal(frame.function, "load");
    assert_status(RESMON_ENOENT, resmon_run_get_peak_frame(run, 2, 0, &frame));
    assert_status(RESMON_ENOENT, resmon_run_get_peak_stack(run, 2, &peak));
    resmon_run_free(run);
}
