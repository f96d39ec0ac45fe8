/* SPDX-License-Identifier: MIT */
/*
 * Files of stacks: lines that merge, names that would break a format, gzip, what cannot be written,
 * the sink.  The golden run made-stacks has these files whole, and truth/truth_stack_files.py the
 * real readers.
 */
#define _GNU_SOURCE /* memmem */
#include "test.h"

#include <dirent.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "export/stacks.h"
#include "made_profile.h"
#include "os/gzip.h"
#include "run/record.h"

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
    assert_status(RESMON_EINVAL, resmon_run_save_pprof(NULL, "p"));
    assert_status(RESMON_EINVAL, resmon_run_save_folded(NULL, RESMON_STACK_CPU, "f"));
}

TEST(other_kinds_and_places)
{
    resmon_run *run = made_profile("/src/train.c");
    assert_ok(resmon_run_save_folded(run, RESMON_STACK_MEMORY, path_of("f")));
    (void)read_text("f");
    assert_string_equal(text, "(cut) 142\n[training];main;load;memset 2930\n");
    assert_ok(resmon_run_save_folded(run, RESMON_STACK_FILE, path_of("f")));
    (void)read_text("f");
    assert_string_equal(text, "(cut);libc.so.6 4\n");
    assert_status(RESMON_EINVAL, resmon_run_save_folded(run, 4, path_of("f")));
    assert_status(RESMON_EINVAL, resmon_run_save_folded(run, 0, NULL));
    assert_status(RESMON_ENOENT, resmon_run_save_folded(run, 0, "/nowhere/p"));
    assert_status(RESMON_ENOENT, resmon_run_save_pprof(run, "/nowhere/p"));
    resmon_run_free(run);
}

/* Without CPU time, samples are those of memory, and the period is in faults. */
TEST(pprof_of_memory)
{
    struct rm_buffer profile;
    resmon_run *run = made_profile("/src/train.c");
    run->profile.kinds[RESMON_STACK_CPU].status = RESMON_EACCES;
    rm_buffer_init(&profile, 1 << 20);
    assert_ok(rm_pprof_print(run, &profile));
    assert_non_null(memmem(profile.text, profile.length, "faults", 6));
    assert_non_null(memmem(profile.text, profile.length, "\x60\x40", 2)); /* field 12: 64 */
    rm_buffer_free(&profile);
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
    stacks.kind = 4;
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
                {RESMON_STACKS_FOLDED, RESMON_STACK_RESIDENT, "folded_resident"},
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

TEST(accessors)
{
    resmon_run *run = made_profile("/src/train.c");
    resmon_run_stack stack = {.struct_size = sizeof stack};
    resmon_run_frame frame = {.struct_size = sizeof frame};
    resmon_run_stack_info info = {.struct_size = sizeof info};
    resmon_run_peak_stack peak = {.struct_size = sizeof peak};
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
    assert_int_equal(resmon_run_stack_count(NULL), 0);
    assert_ok(resmon_run_get_stack(run, 0, &stack));
    assert_true(stack.scope == 1 && stack.frames == 3 && stack.samples[RESMON_STACK_CPU] == 60);
    assert_near(stack.weight[RESMON_STACK_CPU], 600e6, 0);
    assert_status(RESMON_ENOENT, resmon_run_get_stack(run, MADE_STACKS, &stack));
    assert_status(RESMON_EINVAL, resmon_run_get_stack(NULL, 0, &stack));
    assert_ok(resmon_run_get_frame(run, 0, 0, &frame));
    assert_string_equal(frame.function, "square");
    assert_int_equal(frame.is_inlined, 1);
    assert_status(RESMON_ENOENT, resmon_run_get_frame(run, 0, 3, &frame));
    assert_status(RESMON_ENOENT, resmon_run_get_frame(run, MADE_STACKS, 0, &frame));
    assert_ok(resmon_run_get_frame(run, 4, 0, &frame));
    assert_string_equal(frame.module, "");
    assert_status(RESMON_EINVAL, resmon_run_get_stack_info(run, 4, &info));
    assert_int_equal(resmon_run_peak_stack_count(run), 2);
    assert_ok(resmon_run_get_peak_stack(run, 0, &peak));
    assert_string_equal(peak.thread_name, "train");
    assert_true(peak.frames == 3 && peak.t_ns == 1500000000);
    assert_ok(resmon_run_get_peak_frame(run, 0, 1, &frame));
    assert_string_equal(frame.function, "load");
    assert_status(RESMON_ENOENT, resmon_run_get_peak_frame(run, 2, 0, &frame));
    assert_status(RESMON_ENOENT, resmon_run_get_peak_stack(run, 2, &peak));
    resmon_run_free(run);
}
