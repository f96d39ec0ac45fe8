/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses: functions, lines and inlined frames of modules that were built for it, from
 * their own files and from separate debug information; files that are others by now, are gone, or
 * are damaged.
 */
#define _GNU_SOURCE /* dl_iterate_phdr, dlinfo */
#include "test.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fixtures/named.h"
#include "base/alloc.h"
#include "base/fault.h"
#include "made_unnamed.h"
#include "os/gzip.h"
#include "os/vdso.h"
#include "random.h"
#include "stack/answers.h"
#include "stack/demangle.h"
#include "stack/dwarf.h"
#include "stack/elf_file.h"
#include "stack/named_modules.h"
#include "stack/naming.h"
#include "stack/ranges.h"
#include "stack/shortage.h"
#include "stack/symbol_table.h"
#include "stack/symbols.h"

static bool has_libdw, has_binutils;

/* What of a module is compared: addresses of its file. */
struct known {
    const char *path;
    char build_id[RM_ELF_BUILD_ID_BYTES];
    uint64_t addresses[NAMED_CALLS];
    char functions[NAMED_CALLS][64];
    unsigned lines[NAMED_CALLS];
};

static void read_build_id(const char *path, char build_id[RM_ELF_BUILD_ID_BYTES])
{
    struct rm_elf elf;
    assert_ok(rm_elf_open(&elf, path));
    assert_ok(rm_elf_build_id(&elf, build_id));
    rm_elf_close(&elf);
}

static void load(const char *path, struct known *known)
{
    const struct named_call *(*calls)(void);
    struct link_map *map = NULL;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL || dlinfo(module, RTLD_DI_LINKMAP, &map) != 0) {
        fail_msg("cannot load %s: %s", path, dlerror());
    }
    void *function = dlsym(module, "named_calls");
    assert_non_null(function);
    memcpy(&calls, &function, sizeof calls);
    const struct named_call *call = calls();
    known->path = path;
    read_build_id(path, known->build_id);
    for (size_t i = 0; i < NAMED_CALLS; i++) {
        known->addresses[i] = call[i].address - map->l_addr;
        known->lines[i] = call[i].line;
        (void)snprintf(known->functions[i], sizeof known->functions[i], "%s", call[i].function);
    }
    assert_int_equal(dlclose(module), 0);
}

static struct resmon_run *run_of(const struct known *known, const char *path)
{
    return made_unnamed(path, known->build_id, known->addresses, NAMED_CALLS);
}

static const struct rm_run_place *frame_at(const struct resmon_run *run, size_t frame)
{
    assert_true(frame < run->profile.frame_count);
    assert_true(run->profile.frames[frame] < run->profile.place_count);
    return &run->profile.places[run->profile.frames[frame]];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void assert_frame(const struct resmon_run *run, size_t index, const char *function,
                         unsigned line)
{
    const struct rm_run_place *place = frame_at(run, index);
    assert_string_equal(place->function, function);
    if (has_libdw) {
        assert_string_equal(base_name(place->file), "named.c");
        assert_int_equal(place->line, line);
    } else {
        assert_string_equal(place->file, "");
        assert_int_equal(place->line, 0);
    }
}

/* The number of the line of the fixture that has the mark. */
static unsigned line_of(const char *mark)
{
    char path[1024], line[512];
    unsigned number = 0;
    const char *fixtures = getenv("RESMON_FIXTURES");
    (void)snprintf(path, sizeof path, "%s/named.c", fixtures != NULL ? fixtures : ".");
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("cannot read %s: RESMON_FIXTURES is set by CTest", path);
    }
    for (number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        if (strstr(line, mark) != NULL) {
            (void)fclose(file);
            return number;
        }
    }
    fail_msg("%s has no %s", path, mark);
    return 0;
}

/* All that is known of the module, in its first stack; and the second one beside it. */
static void assert_named(const struct resmon_run *run, const struct known *known)
{
    const struct rm_run_profile *profile = &run->profile;
    size_t inlined = has_libdw ? 2 : 0, at = 0;
    assert_int_equal(profile->stacks[0].first, 0);
    assert_int_equal(profile->stacks[0].depth, NAMED_CALLS + inlined);
    assert_int_equal(profile->stacks[1].first, 1 + inlined);
    assert_int_equal(profile->stacks[1].depth, NAMED_CALLS - 1);
    if (has_libdw) {
        assert_frame(run, 0, "innermost", known->lines[0]);
        assert_frame(run, 1, "between", line_of("BETWEEN_LINE"));
        assert_int_equal(frame_at(run, 0)->is_inlined, 1);
        assert_int_equal(frame_at(run, 1)->is_inlined, 1);
        at = 2;
    }
    assert_frame(run, at, "with_inlined", line_of("WITH_INLINED_LINE"));
    for (size_t i = 1; i < NAMED_CALLS; i++) {
        assert_frame(run, at + i, known->functions[i], known->lines[i]);
        assert_int_equal(frame_at(run, at + i)->is_inlined, 0);
        assert_int_equal(frame_at(run, at + i)->address, known->addresses[i]);
    }
}

/* Functions only, each in one frame. */
static void assert_named_by_symbols(const struct resmon_run *run, const struct known *known)
{
    assert_int_equal(run->profile.frame_count, NAMED_CALLS);
    assert_string_equal(frame_at(run, 0)->function, "with_inlined");
    for (size_t i = 1; i + 1 < NAMED_CALLS; i++) {
        assert_string_equal(frame_at(run, i)->function, known->functions[i]);
    }
    /* Of its names, the one that is neither weak nor has underscores. */
    assert_string_equal(frame_at(run, NAMED_CALLS - 1)->function, "a_function");
}

static void assert_unnamed(const struct resmon_run *run, const char *why)
{
    for (size_t i = 0; i < run->profile.place_count; i++) {
        assert_string_equal(run->profile.places[i].function, "");
        assert_string_equal(run->profile.places[i].file, "");
        assert_int_equal(run->profile.places[i].line, 0);
    }
    if (strstr(run->profile.kinds[RESMON_STACK_CPU].reason, why) == NULL) {
        fail_msg("\"%s\" says nothing of \"%s\"", run->profile.kinds[RESMON_STACK_CPU].reason, why);
    }
    assert_string_equal(run->profile.kinds[RESMON_STACK_MEMORY].reason, "");
}

/* ---- files of tests ----------------------------------------------------------------------- */

static const char *made_path(const char *name)
{
    static char paths[8][256];
    static size_t next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", test_directory, name);
    return path;
}

static void command(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void command(const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (system(text) != 0) {
        fail_msg("it failed: %s", text);
    }
}

static bool lacks_binutils(void)
{
    if (!has_binutils) {
        print_message("skipped: objcopy and strip are not installed (Debian: binutils)\n");
    }
    return !has_binutils;
}

/* ---- ranges ------------------------------------------------------------------------------- */

TEST(ranges)
{
    static const struct rm_range given[] = {
        {10, 100, 1, 0}, {20, 50, 2, 0}, {20, 50, 3, 1},  {30, 40, 4, 0},
        {45, 60, 5, 0},  {80, 80, 6, 0}, {90, 120, 7, 0}, {200, UINT64_MAX, 8, 0},
    };
    static const struct {
        uint64_t address;
        uint32_t value; /* 0: none */
    } wanted[] = {{9, 0},  {10, 1},  {19, 1},  {20, 3},  {29, 3},  {30, 4},        {39, 4},
                  {40, 3}, {44, 3},  {45, 5},  {59, 5},  {60, 1},  {80, 1},        {89, 1},
                  {90, 7}, {119, 7}, {120, 0}, {199, 0}, {200, 8}, {UINT64_MAX, 0}};
    struct rm_ranges ranges = {0};
    uint32_t value = 0;
    assert_true(rm_ranges_flatten(&ranges));
    assert_false(rm_ranges_find(&ranges, 10, &value));
    for (size_t i = sizeof given / sizeof given[0]; i-- > 0;) {
        assert_true(rm_ranges_add(&ranges, given[i]));
    }
    assert_true(rm_ranges_flatten(&ranges));
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        value = 0;
        assert_int_equal(rm_ranges_find(&ranges, wanted[i].address, &value), wanted[i].value != 0);
        assert_int_equal(value, wanted[i].value);
    }
    rm_ranges_free(&ranges);
}

/* Against a look at all of them, for ranges that are in one another or apart. */
TEST(nested_ranges)
{
    struct random random = {7};
    for (int round = 0; round < 200; round++) {
        struct rm_ranges ranges = {0};
        struct rm_range all[40];
        size_t count = 0;
        while (count < 40) {
            uint64_t low = random_below(&random, 500), high = low + random_below(&random, 200);
            bool crosses = false;
            for (size_t i = 0; i < count; i++) {
                bool is_apart = high <= all[i].low || low >= all[i].high;
                bool is_inner = low >= all[i].low && high <= all[i].high;
                bool is_outer = low <= all[i].low && high >= all[i].high;
                crosses = crosses || !(is_apart || is_inner || is_outer);
            }
            if (!crosses || random_below(&random, 50) == 0) {
                low = crosses ? 1000 + count : low;
                high = crosses ? low + 1 : high;
                all[count] = (struct rm_range){low, high, (uint32_t)count, (uint32_t)count};
                assert_true(rm_ranges_add(&ranges, all[count++]));
            }
        }
        assert_true(rm_ranges_flatten(&ranges));
        for (uint64_t address = 0; address < 1100; address++) {
            uint64_t best = UINT64_MAX;
            uint32_t expected = 0, value = 0;
            for (size_t i = 0; i < count; i++) {
                if (address >= all[i].low && address < all[i].high &&
                    all[i].high - all[i].low <= best) {
                    best = all[i].high - all[i].low;
                    expected = (uint32_t)i;
                }
            }
            assert_int_equal(rm_ranges_find(&ranges, address, &value), best != UINT64_MAX);
            assert_int_equal(value, expected);
        }
        rm_ranges_free(&ranges);
    }
}

/* ---- names -------------------------------------------------------------------------------- */

TEST(names_lines_and_inlined_frames)
{
    static const char *const paths[] = {NAMED_default, NAMED_dwarf4};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct known known;
        load(paths[i], &known);
        struct resmon_run *run = run_of(&known, known.path);
        assert_ok(rm_naming_fill(NULL, run));
        assert_named(run, &known);
        if (has_libdw) {
            assert_string_equal(run->profile.kinds[0].reason, "");
        }
        size_t places = run->profile.place_count;
        assert_ok(rm_naming_fill(NULL, run)); /* it has names */
        assert_int_equal(run->profile.place_count, places);
        rm_run_free(run);
    }
}

TEST(symbols_alone)
{
    struct known known;
    load(NAMED_bare, &known);
    struct resmon_run *run = run_of(&known, known.path);
    assert_ok(rm_naming_fill(NULL, run));
    assert_named_by_symbols(run, &known);
    assert_string_equal(run->profile.kinds[0].reason, "");
    rm_run_free(run);
}

/* Lines are in the file, functions in another that is not looked for. */
TEST(split_debug_information)
{
    struct known known;
    load(NAMED_split, &known);
    struct resmon_run *run = run_of(&known, known.path);
    assert_ok(rm_naming_fill(NULL, run));
    assert_named_by_symbols(run, &known);
    for (size_t i = 0; has_libdw && i < NAMED_CALLS; i++) {
        assert_string_equal(base_name(frame_at(run, i)->file), "named.c");
        assert_int_equal(frame_at(run, i)->line, known.lines[i]);
    }
    rm_run_free(run);
}

TEST(same_addresses_share_places)
{
    struct known known;
    load(NAMED_default, &known);
    const uint64_t addresses[] = {known.addresses[0], known.addresses[1], known.addresses[0],
                                  known.addresses[0]};
    struct resmon_run *run = made_unnamed(known.path, known.build_id, addresses, 4);
    assert_ok(rm_naming_fill(NULL, run));
    size_t inlined = has_libdw ? 3 : 1;
    assert_int_equal(run->profile.place_count, inlined + 1);
    assert_int_equal(run->profile.frame_count, 3 * inlined + 1);
    assert_int_equal(run->profile.frames[0], run->profile.frames[inlined + 1]);
    rm_run_free(run);
}

TEST(a_naming_is_used_again)
{
    struct known known, other;
    struct rm_naming *naming = NULL;
    load(NAMED_default, &known);
    load(NAMED_dwarf4, &other);
    assert_ok(rm_naming_new(NULL, &naming));
    for (int i = 0; i < 5; i++) {
        const struct known *which = i % 2 == 0 ? &known : &other;
        struct resmon_run *run = run_of(which, which->path);
        assert_ok(rm_naming_fill(naming, run));
        assert_named(run, which);
        rm_run_free(run);
    }
    rm_naming_free(naming);
    rm_naming_free(NULL);
}

/* Nothing is opened for addresses that were asked for before. */
TEST(what_was_found_is_kept)
{
    struct known known;
    struct rm_naming *naming = NULL;
    load(NAMED_default, &known);
    assert_ok(rm_naming_new(NULL, &naming));
    for (int i = 0; i < 3; i++) {
        struct resmon_run *run = run_of(&known, known.path);
        rm_fault_arm(RM_FAULT_OPEN, i > 0 ? 0 : -1);
        assert_ok(rm_naming_fill(naming, run));
        assert_false(rm_fault_fired(RM_FAULT_OPEN));
        rm_fault_arm(RM_FAULT_OPEN, -1);
        assert_named(run, &known);
        rm_run_free(run);
    }
    struct resmon_run *run = made_unnamed(known.path, known.build_id, &known.addresses[1], 2);
    run->profile.places[1].address++; /* a new one */
    rm_fault_arm(RM_FAULT_OPEN, 0);
    assert_ok(rm_naming_fill(naming, run));
    assert_true(rm_fault_fired(RM_FAULT_OPEN));
    rm_fault_arm(RM_FAULT_OPEN, -1);
    rm_run_free(run);
    rm_naming_free(naming);
}

TEST(answers)
{
    struct rm_answers answers = {.answers = NULL};
    struct rm_symbol frames[RM_MOST_INLINED];
    char name[32];
    size_t count = 9;
    assert_false(rm_answers_find(&answers, 0, frames, &count));
    for (uint64_t i = 0; i < RM_MOST_ANSWERS + 10; i++) {
        (void)snprintf(name, sizeof name, "f%d", (int)i % 100);
        for (size_t k = 0; k < i % 4; k++) {
            frames[k] = (struct rm_symbol){.function = name, .line = (uint32_t)(i + k)};
        }
        assert_ok(rm_answers_add(&answers, 3 * i, frames, i % 4));
    }
    for (uint64_t i = 0; i < RM_MOST_ANSWERS + 10; i++) {
        bool is_kept = i < RM_MOST_ANSWERS;
        assert_int_equal(rm_answers_find(&answers, 3 * i, frames, &count), is_kept);
        assert_false(rm_answers_find(&answers, 3 * i + 1, frames, &count));
        assert_int_equal(count, is_kept ? i % 4 : (RM_MOST_ANSWERS - 1) % 4);
        for (size_t k = 0; is_kept && k < count; k++) {
            (void)snprintf(name, sizeof name, "f%d", (int)i % 100);
            assert_string_equal(frames[k].function, name);
            assert_null(frames[k].file);
            assert_int_equal(frames[k].line, i + k);
        }
    }
    rm_answers_free(&answers);
}

TEST(more_modules_than_are_kept)
{
    struct known known;
    struct rm_naming *naming = NULL;
    size_t count = RM_MOST_NAMED_MODULES + 20;
    load(NAMED_bare, &known);
    assert_ok(rm_naming_new(NULL, &naming));
    struct resmon_run *run = run_of(&known, known.path);
    struct rm_run_profile *profile = &run->profile;
    profile->modules = made_array(run, count, sizeof *profile->modules);
    profile->module_count = profile->place_count = profile->frame_count = count;
    profile->places = made_array(run, count, sizeof *profile->places);
    profile->frames = made_array(run, count, sizeof *profile->frames);
    for (size_t i = 0; i < count; i++) {
        char *path = made_array(run, 512, 1);
        (void)snprintf(path, 512, "/%*s%s", (int)(i % 100), "", known.path + 1);
        for (char *at = path + 1; *at == ' '; at++) {
            *at = '/';
        }
        profile->modules[i] = (struct rm_run_module){.path = path, .build_id = known.build_id};
        profile->places[i] = (struct rm_run_place){
            .function = "", .file = "", .module = (int64_t)i, .address = known.addresses[1]};
        profile->frames[i] = (uint32_t)i;
    }
    assert_ok(rm_naming_fill(naming, run));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(frame_at(run, i)->function, "of_this_file");
    }
    rm_run_free(run);
    rm_naming_free(naming);
}

TEST(what_is_no_file)
{
    static const char *const paths[] = {"", "[vdso]", "[heap]", "//anon"};
    const uint64_t addresses[] = {0x1000, 0x2000, 0x1000};
    for (size_t i = 0; i < 3; i++) {
        struct resmon_run *run = made_unnamed(paths[i], "", addresses, 3);
        run->profile.places[1].module = -1;
        assert_ok(rm_naming_fill(NULL, run));
        assert_unnamed(run, "");
        assert_string_equal(run->profile.kinds[0].reason, "");
        assert_int_equal(run->profile.frame_count, 3);
        rm_run_free(run);
    }
    struct resmon_run *run = made_unnamed(paths[3], "", addresses, 3);
    assert_ok(rm_naming_fill(NULL, run));
    assert_unnamed(run, "cannot open //anon");
    rm_run_free(run);
}

/* An address of a function of the vDSO, and the function. */
static const char *function_of_vdso(char build_id[RM_ELF_BUILD_ID_BYTES], uint64_t *ret_address)
{
    static char function[64];
    struct rm_elf elf;
    struct rm_symbol_table table = {.names = NULL};
    char *image = NULL;
    size_t length = 0;
    if (rm_vdso_read(&image, &length) != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        return NULL;
    }
    assert_ok(rm_elf_of_memory(&elf, RM_VDSO_NAME, image, length));
    assert_ok(rm_elf_build_id(&elf, build_id));
    assert_ok(rm_symbol_table_read(&elf, &table));
    assert_true(table.functions.count > 0);
    *ret_address = table.functions.items[0].low + 1;
    (void)snprintf(function, sizeof function, "%s", rm_symbol_table_find(&table, *ret_address));
    rm_symbol_table_free(&table);
    rm_elf_close(&elf);
    rm_free(image);
    return function;
}

TEST(the_vdso_has_names)
{
    char build_id[RM_ELF_BUILD_ID_BYTES];
    uint64_t address = 0;
    const char *function = function_of_vdso(build_id, &address);
    if (function == NULL) {
        skip();
    }
    struct resmon_run *run = made_unnamed(RM_VDSO_NAME, build_id, &address, 1);
    assert_ok(rm_naming_fill(NULL, run));
    if (build_id[0] == '\0') {
        print_message("the vDSO has no build-id here, and hence no names\n");
        function = "";
    }
    assert_string_equal(frame_at(run, 0)->function, function);
    assert_string_equal(run->profile.kinds[RESMON_STACK_CPU].reason, "");
    rm_run_free(run);
    /* A recording of another machine. */
    run = made_unnamed(RM_VDSO_NAME, "0123", &address, 1);
    assert_ok(rm_naming_fill(NULL, run));
    assert_unnamed(run, "[vdso] is not the file that was mapped: its build-id differs");
    rm_run_free(run);
}

TEST(profiles_that_make_no_sense)
{
    const uint64_t addresses[] = {0x1000, 0x2000, 0x1000};
    struct resmon_run *run = made_unnamed("/bin/true", "", addresses, 3);
    run->profile.frames[1] = 3;
    assert_status(RESMON_EINVAL, rm_naming_fill(NULL, run));
    run->profile.frames[1] = 1;
    run->profile.stacks[1].depth = 3;
    assert_status(RESMON_EINVAL, rm_naming_fill(NULL, run));
    run->profile.stacks[1].depth = 2;
    run->profile.places[1].module = 1;
    assert_status(RESMON_EINVAL, rm_naming_fill(NULL, run));
    run->profile.place_count = 0;
    assert_ok(rm_naming_fill(NULL, run));
    rm_run_free(run);
}

TEST(names_of_cxx)
{
    static char long_name[2 * RM_MOST_NAME_BYTES];
    struct rm_arena arena = {NULL};
    assert_string_equal(rm_demangle(&arena, "plain"), "plain");
    assert_string_equal(rm_demangle(&arena, "_Zwrong"), "_Zwrong");
    const char *shown = rm_demangle(&arena, "_ZNSt6vectorIiSaIiEE9push_backERKi");
    if (shown[0] == '_') {
        print_message("skipped: there is no library with a demangler here\n");
    } else {
        assert_string_equal(shown, "std::vector<int, std::allocator<int> >::push_back(int const&)");
    }
    memset(long_name, 'x', sizeof long_name - 1);
    assert_int_equal(strlen(rm_demangle(&arena, long_name)), RM_MOST_NAME_BYTES);
    long_name[3000] = '\0';
    assert_string_equal(rm_demangle(&arena, long_name), long_name);
    rm_arena_free(&arena);
}

/* ---- separate debug information ----------------------------------------------------------- */

static struct known stripped_known;

/* "stripped", and "named.debug" with what it lacks. */
static const struct known *strip(void)
{
    load(NAMED_default, &stripped_known);
    command("cd %s && rm -rf stripped named.debug debug .debug && mkdir debug && "
            "objcopy --only-keep-debug '%s' named.debug && "
            "strip --strip-all -o stripped '%s'",
            test_directory, NAMED_default, NAMED_default);
    return &stripped_known;
}

static struct resmon_run *fill_with(const struct known *known, const char *path)
{
    struct rm_naming *naming = NULL;
    struct resmon_run *run = run_of(known, path);
    assert_ok(rm_naming_new(made_path("debug"), &naming));
    assert_ok(rm_naming_fill(naming, run));
    rm_naming_free(naming);
    return run;
}

TEST(stripped_files_name_what_they_export)
{
    if (lacks_binutils()) {
        skip();
    }
    const struct known *known = strip();
    struct resmon_run *run = fill_with(known, made_path("stripped"));
    assert_int_equal(run->profile.frame_count, NAMED_CALLS);
    assert_string_equal(frame_at(run, 0)->function, "with_inlined");
    assert_string_equal(frame_at(run, 1)->function, ""); /* static */
    assert_string_equal(frame_at(run, 2)->function, known->functions[2]);
    assert_string_equal(frame_at(run, 2)->file, "");
    char wanted[512];
    (void)snprintf(wanted, sizeof wanted,
                   "names are missing: %s (build-id %s) is stripped, with no .symtab",
                   made_path("stripped"), known->build_id);
    assert_non_null(strstr(run->profile.kinds[RESMON_STACK_CPU].reason, wanted));
    rm_run_free(run);
    /* Behind what is said already, and once. */
    run = run_of(known, made_path("stripped"));
    run->profile.kinds[RESMON_STACK_CPU].reason = "it rained";
    run->profile.kinds[RESMON_STACK_FILE].status = RESMON_ENOTSUP;
    run->profile.kinds[RESMON_STACK_FILE].reason = "why not";
    (void)snprintf(wanted, sizeof wanted, "it rained; names are missing: %s",
                   made_path("stripped"));
    run->profile.places[0].address = run->profile.places[2].address =
        run->profile.places[1].address; /* static: nothing has a name */
    for (size_t i = 3; i < NAMED_CALLS; i++) {
        run->profile.places[i].address = run->profile.places[1].address;
    }
    assert_ok(rm_naming_fill(NULL, run));
    const char *reason = run->profile.kinds[RESMON_STACK_CPU].reason;
    assert_true(strncmp(reason, wanted, strlen(wanted)) == 0);
    assert_ok(rm_naming_fill(NULL, run));
    assert_string_equal(run->profile.kinds[RESMON_STACK_CPU].reason, reason);
    assert_string_equal(run->profile.kinds[RESMON_STACK_FILE].reason, "why not");
    rm_run_free(run);
    /* Nothing is said where everything that was seen is exported. */
    run = made_unnamed(made_path("stripped"), known->build_id, &known->addresses[2], 1);
    assert_ok(rm_naming_fill(NULL, run));
    assert_string_equal(frame_at(run, 0)->function, known->functions[2]);
    assert_string_equal(run->profile.kinds[RESMON_STACK_CPU].reason, "");
    rm_run_free(run);
}

TEST(what_is_missing_is_said)
{
    static const struct rm_run_module modules[] = {
        {"/a/b", "12ab", 0, 0, 0}, {"/c", "", 0, 0, 0}, {"/d", "34", 0, 0, 0}, {"/e", "", 0, 0, 0}};
    struct rm_arena arena = {NULL};
    struct rm_shortage shortage = {.count = 0};
    assert_string_equal(rm_shortage_text(&shortage, &arena), "");
    rm_shortage_add_stripped(&shortage, &modules[0]);
    assert_string_equal(
        rm_shortage_text(&shortage, &arena),
        "names are missing: /a/b (build-id 12ab) is stripped, with no .symtab and no separate "
        "debug file: install its -dbg or -dbgsym package, or build it with -g and do not strip it");
    rm_shortage_add(&shortage, "lines", "no libdw");
    rm_shortage_add(&shortage, "names", "no file");
    for (size_t i = 1; i < 4; i++) {
        rm_shortage_add_stripped(&shortage, &modules[i]);
    }
    static const char begin[] = "lines are missing: no libdw (and of 1 more files); names are "
                                "missing: /a/b (build-id 12ab), /c, /d (build-id 34) and 1 more "
                                "are stripped, with no .symtab";
    const char *text = rm_shortage_text(&shortage, &arena);
    assert_true(strncmp(text, begin, sizeof begin - 1) == 0);
    rm_fault_arm(RM_FAULT_ALLOC, 0);
    assert_null(rm_shortage_text(&shortage, &arena));
    rm_fault_arm(RM_FAULT_ALLOC, -1);
    rm_arena_free(&arena);
}

/* ---- symbols without a size --------------------------------------------------------------- */

/* A file with functions at 0x1000 (of 16 bytes), 0x1020 (of no size) and 0x1100 (of 16). */
struct made_elf {
    Elf64_Ehdr header;
    Elf64_Shdr sections[4]; /* none, code, symbols, names */
    Elf64_Sym symbols[3];
    char names[24];
};

static void make_elf(struct made_elf *made, uint32_t type)
{
    static const struct {
        uint64_t address, bytes;
        uint32_t name;
    } functions[] = {{0x1000, 16, 1}, {0x1020, 0, 7}, {0x1100, 16, 12}};
    memset(made, 0, sizeof *made);
    memcpy(made->header.e_ident, ELFMAG, SELFMAG);
    made->header.e_ident[EI_CLASS] = ELFCLASS64;
    made->header.e_ident[EI_DATA] =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    made->header.e_shoff = offsetof(struct made_elf, sections);
    made->header.e_shentsize = sizeof(Elf64_Shdr);
    made->header.e_shnum = 4;
    made->header.e_shstrndx = 3;
    made->sections[1] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_addr = 0x1000, .sh_size = 0x1000};
    made->sections[2] = (Elf64_Shdr){.sh_type = type,
                                     .sh_offset = offsetof(struct made_elf, symbols),
                                     .sh_size = sizeof made->symbols,
                                     .sh_link = 3,
                                     .sh_entsize = sizeof(Elf64_Sym)};
    made->sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                     .sh_offset = offsetof(struct made_elf, names),
                                     .sh_size = sizeof made->names};
    memcpy(made->names, "\0sized\0bare\0far", 16);
    for (size_t i = 0; i < 3; i++) {
        made->symbols[i] = (Elf64_Sym){.st_name = functions[i].name,
                                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                       .st_shndx = 1,
                                       .st_value = functions[i].address,
                                       .st_size = functions[i].bytes};
    }
}

static void assert_function(const struct rm_symbol_table *table, uint64_t address,
                            const char *wanted)
{
    const char *name = rm_symbol_table_find(table, address);
    assert_string_equal(name != NULL ? name : "none", wanted);
}

/* Where only what is exported has names, what lies behind it is something else. */
TEST(names_end_with_their_functions)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t i = 0; i < 2; i++) {
        struct made_elf made;
        struct rm_elf elf;
        struct rm_symbol_table table = {.names = NULL};
        make_elf(&made, types[i]);
        assert_ok(rm_elf_of_memory(&elf, "made", &made, sizeof made));
        assert_ok(rm_symbol_table_read(&elf, &table));
        assert_function(&table, 0xfff, "none");
        assert_function(&table, 0x1000, "sized");
        assert_function(&table, 0x100f, "sized");
        assert_function(&table, 0x1010, "none");
        assert_function(&table, 0x1020, i == 0 ? "bare" : "none");
        assert_function(&table, 0x10ff, i == 0 ? "bare" : "none");
        assert_function(&table, 0x110f, "far");
        assert_function(&table, 0x1110, "none");
        rm_symbol_table_free(&table);
        rm_elf_close(&elf);
    }
}

/* Where distributions have it. */
static const struct known *strip_with_debug_file(void)
{
    const struct known *known = strip();
    command("cd %s/debug && mkdir -p .build-id/%.2s && mv ../named.debug .build-id/%.2s/%s.debug",
            test_directory, known->build_id, known->build_id, known->build_id + 2);
    return known;
}

TEST(debug_files_by_build_id)
{
    if (lacks_binutils()) {
        skip();
    }
    const struct known *known = strip_with_debug_file();
    struct resmon_run *run = fill_with(known, made_path("stripped"));
    assert_named(run, known);
    rm_run_free(run);
    /* That of another file. */
    command("cd %s/debug && objcopy --only-keep-debug '%s' .build-id/%.2s/%s.debug", test_directory,
            NAMED_dwarf4, known->build_id, known->build_id + 2);
    run = fill_with(known, made_path("stripped"));
    assert_string_equal(frame_at(run, 1)->function, "");
    rm_run_free(run);
}

/* All but `percent` of the samples were in code that was made at run time. */
static struct resmon_run *run_partly_in(const struct known *known, const char *path, double percent)
{
    struct resmon_run *run = run_of(known, path);
    struct rm_run_profile *profile = &run->profile;
    uint32_t *frames = made_array(run, NAMED_CALLS + 1, sizeof *frames);
    struct rm_run_place *places = made_array(run, NAMED_CALLS + 1, sizeof *places);
    memcpy(frames, profile->frames, NAMED_CALLS * sizeof *frames);
    memcpy(places, profile->places, NAMED_CALLS * sizeof *places);
    frames[NAMED_CALLS] = NAMED_CALLS;
    places[NAMED_CALLS] = (struct rm_run_place){.function = "", .file = "", .module = -1};
    profile->frames = frames;
    profile->places = places;
    profile->frame_count = profile->place_count = NAMED_CALLS + 1;
    profile->stacks[0].weight[RESMON_STACK_CPU] = percent;
    profile->stacks[1] = (struct rm_run_stack){.scope = -1, .first = NAMED_CALLS, .depth = 1};
    profile->stacks[1].weight[RESMON_STACK_CPU] = 100.0 - percent;
    return run;
}

/* Its functions have names all the same; and where the lines are in the file itself, they are read.
 */
TEST(a_debug_file_is_read_where_the_run_was)
{
    static const struct {
        double percent;
        bool is_stripped, has_lines;
    } cases[] = {{4.0, true, false}, {6.0, true, true}, {4.0, false, true}};
    if (lacks_binutils()) {
        skip();
    }
    const struct known *known = strip_with_debug_file();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rm_naming *naming = NULL;
        const char *path = cases[i].is_stripped ? made_path("stripped") : known->path;
        struct resmon_run *run = run_partly_in(known, path, cases[i].percent);
        assert_ok(rm_naming_new(made_path("debug"), &naming));
        assert_ok(rm_naming_fill(naming, run));
        assert_string_not_equal(frame_at(run, 0)->function, "");
        assert_int_equal(frame_at(run, 0)->line != 0, cases[i].has_lines);
        assert_string_equal(run->profile.kinds[RESMON_STACK_CPU].reason, "");
        rm_naming_free(naming);
        rm_run_free(run);
    }
}

TEST(debug_files_by_name)
{
    static const char *const places[] = {"/a b/n.debug", "/a b/.debug/n.debug", "/debug"};
    if (lacks_binutils()) {
        skip();
    }
    for (size_t i = 0; i < 2 * (sizeof places / sizeof places[0]); i++) {
        bool has_id = i % 2 == 0; /* else the checksum is what is compared */
        struct known known = *strip();
        char place[512];
        (void)snprintf(place, sizeof place, "%s%s", test_directory, places[i / 2]);
        if (i / 2 == 2) { /* and the path once more */
            (void)snprintf(place, sizeof place, "%s/debug%s/a b/n.debug", test_directory,
                           test_directory);
        }
        command("cd %s && rm -rf 'a b' && mkdir -p 'a b' \"$(dirname '%s')\" && "
                "cp named.debug n.debug && "
                "{ %s || objcopy --remove-section=.note.gnu.build-id n.debug; } && "
                "objcopy --add-gnu-debuglink=n.debug stripped 'a b/stripped' && "
                "{ %s || objcopy --remove-section=.note.gnu.build-id 'a b/stripped'; } && "
                "mv n.debug '%s'",
                test_directory, place, has_id ? "true" : "false", has_id ? "true" : "false", place);
        if (!has_id) {
            known.build_id[0] = '\0';
        }
        struct resmon_run *run = fill_with(&known, made_path("a b/stripped"));
        assert_named(run, &known);
        rm_run_free(run);
        command("echo >> '%s'", place); /* another checksum */
        run = fill_with(&known, made_path("a b/stripped"));
        assert_string_equal(frame_at(run, has_id && has_libdw ? 3 : 1)->function,
                            has_id ? "of_this_file" : "");
        rm_run_free(run);
    }
}

/* ---- files that are not what they were ---------------------------------------------------- */

TEST(replaced_files_name_nothing)
{
    struct known known;
    load(NAMED_default, &known);
    struct resmon_run *run = run_of(&known, NAMED_bare);
    assert_ok(rm_naming_fill(NULL, run));
    assert_unnamed(run, "not the file that was mapped: its build-id differs");
    rm_run_free(run);
    run = made_unnamed(known.path, "", known.addresses, NAMED_CALLS);
    assert_ok(rm_naming_fill(NULL, run));
    assert_unnamed(run, "its build-id differs");
    rm_run_free(run);
}

TEST(files_without_build_ids)
{
    if (lacks_binutils()) {
        skip();
    }
    struct known known;
    load(NAMED_default, &known);
    command("objcopy --remove-section=.note.gnu.build-id '%s' %s/no-id", known.path,
            test_directory);
    known.build_id[0] = '\0';
    struct resmon_run *run = run_of(&known, made_path("no-id"));
    assert_ok(rm_naming_fill(NULL, run));
    assert_named(run, &known);
    rm_run_free(run);
    run = run_of(&known, made_path("no-id"));
    run->info.start_realtime_ns = 1;
    assert_ok(rm_naming_fill(NULL, run));
    assert_unnamed(run, "was changed since the run began");
    rm_run_free(run);
}

TEST(missing_files_name_nothing)
{
    struct known known;
    struct rm_naming *naming = NULL;
    load(NAMED_default, &known);
    assert_ok(rm_naming_new(NULL, &naming));
    struct resmon_run *run = run_of(&known, made_path("gone (deleted)"));
    assert_ok(rm_naming_fill(naming, run));
    assert_unnamed(run, "cannot open");
    rm_run_free(run);
    run = run_of(&known, test_directory);
    assert_ok(rm_naming_fill(naming, run));
    assert_unnamed(run, "not a regular file");
    rm_run_free(run);
    /* It is there the next time. */
    command("cp '%s' '%s/gone (deleted)'", known.path, test_directory);
    run = run_of(&known, made_path("gone (deleted)"));
    assert_ok(rm_naming_fill(naming, run));
    assert_named(run, &known);
    rm_run_free(run);
    rm_naming_free(naming);
}

/* ---- addr2line ---------------------------------------------------------------------------- */

/* "work.constprop.0", "work.cold": of work. */
static void cut_clone(char *name)
{
    char *dot = name[0] != '\0' ? strchr(name + 1, '.') : NULL;
    char *bracket = strstr(name, " [clone");
    if (bracket != NULL) {
        *bracket = '\0';
    }
    if (dot != NULL && strchr(name, '(') == NULL) {
        *dot = '\0';
    }
}

static void cut_line(char *line)
{
    char *end = strchr(line, '\n');
    if (end != NULL) {
        *end = '\0';
    }
}

struct comparison {
    size_t addresses, frames, differences, unnamed;
};

/* The answer to one address: pairs of lines up to that of the next address. */
static void compare_answer(FILE *answer, struct rm_symbols *symbols, uint64_t address,
                           struct comparison *comparison, char next[2][4096])
{
    struct rm_symbol frames[RM_MOST_INLINED];
    struct rm_arena arena = {NULL};
    size_t count = 0, at = 0;
    assert_ok(rm_symbols_find(symbols, address, frames, &count));
    comparison->addresses++;
    while (fgets(next[0], sizeof next[0], answer) != NULL && strncmp(next[0], "0x", 2) != 0) {
        char name[4200], place[4300], *space;
        assert_non_null(fgets(next[1], sizeof next[1], answer));
        cut_line(next[0]);
        cut_line(next[1]);
        space = strstr(next[1], " (discriminator");
        if (space != NULL) {
            *space = '\0';
        }
        cut_clone(next[0]);
        bool is_known = strcmp(next[0], "??") != 0;
        /* Without a line, its file is that of the symbol table. */
        const char *colon = strrchr(next[1], ':');
        bool has_line = colon != NULL && colon[1] != '?' && colon[1] != '0';
        if (at >= count) {
            comparison->differences += is_known && has_line;
            comparison->unnamed++;
            if (is_known && has_line && comparison->differences < 20) {
                print_message("%#jx: nothing, addr2line %s %s\n", (uintmax_t)address, next[0],
                              next[1]);
            }
            continue;
        }
        const struct rm_symbol *frame = &frames[at++];
        comparison->frames++;
        (void)snprintf(name, sizeof name, "%s",
                       frame->function != NULL ? rm_demangle(&arena, frame->function) : "??");
        cut_clone(name);
        (void)snprintf(place, sizeof place, frame->line > 0 ? "%s:%u" : "%s:?",
                       frame->file != NULL ? frame->file : "??", frame->line);
        /* Between two functions there is padding; it is given to the one before it. */
        bool is_padding = frame->function == NULL;
        comparison->unnamed += is_padding;
        if ((is_known && !is_padding && strcmp(name, next[0]) != 0) ||
            (has_line && strcmp(place, next[1]) != 0)) {
            comparison->differences++;
            if (comparison->differences < 20) {
                print_message("%#jx: %s %s, addr2line %s %s\n", (uintmax_t)address, name, place,
                              next[0], next[1]);
            }
        }
    }
    rm_arena_free(&arena);
}

static struct comparison compare_with_addr2line(const char *path, uint64_t low, uint64_t high,
                                                uint64_t step)
{
    static char next[2][4096];
    char build_id[RM_ELF_BUILD_ID_BYTES], text[1024];
    struct comparison comparison = {0};
    struct rm_symbols *symbols = NULL;
    FILE *questions = fopen(made_path("addresses"), "w");
    assert_non_null(questions);
    for (uint64_t address = low; address < high; address += step) {
        (void)fprintf(questions, "%#jx\n", (uintmax_t)address);
    }
    (void)fclose(questions);
    (void)snprintf(text, sizeof text, "addr2line -afiCe '%s' < %s/addresses", path, test_directory);
    FILE *answer = popen(text, "r");
    assert_non_null(answer);
    read_build_id(path, build_id);
    assert_ok(
        rm_symbols_new(&(struct rm_symbols_origin){.path = path, .build_id = build_id}, &symbols));
    assert_non_null(fgets(next[0], sizeof next[0], answer));
    for (uint64_t address = low; address < high; address += step) {
        compare_answer(answer, symbols, address, &comparison, next);
    }
    assert_int_equal(pclose(answer), 0);
    rm_symbols_free(symbols);
    print_message("%s: %zu addresses, %zu frames, %zu differences from addr2line\n",
                  base_name(path), comparison.addresses, comparison.frames, comparison.differences);
    return comparison;
}

static void text_of(const char *path, uint64_t *ret_low, uint64_t *ret_high)
{
    struct rm_elf elf;
    assert_ok(rm_elf_open(&elf, path));
    const struct rm_elf_section *text = rm_elf_find(&elf, ".text", 0);
    assert_non_null(text);
    *ret_low = text->address;
    *ret_high = text->address + text->bytes;
    rm_elf_close(&elf);
}

TEST(names_are_those_of_addr2line)
{
    uint64_t low = 0, high = 0;
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    if (!has_libdw || lacks_binutils() || system("addr2line --version > /dev/null 2>&1") != 0) {
        print_message("skipped: libdw and addr2line are both needed\n");
        skip();
    }
    text_of(NAMED_default, &low, &high);
    struct comparison small = compare_with_addr2line(NAMED_default, low, high, 1);
    assert_int_equal(small.differences, 0);
    text_of(self, &low, &high);
    struct comparison large = compare_with_addr2line(self, low, high, (high - low) / 20000 + 1);
    assert_true(large.frames > 1000 && large.unnamed * 5 < large.frames);
    /* Both choose among functions that were folded, or cut in two, as they like. */
    assert_true(large.differences * 500 <= large.frames);
}

/* ---- damage ------------------------------------------------------------------------------- */

static void look_up(struct rm_symbol_table *table, struct random *random)
{
    for (int i = 0; i < 50; i++) {
        const char *name = rm_symbol_table_find(table, random_below(random, 1U << 16));
        if (name != NULL) {
            assert_true(strlen(name) < ((size_t)1 << 20));
        }
    }
}

/* Our own reading of it, from memory that ends where the file does. */
static void read_damaged(const char *bytes, size_t length, struct random *random)
{
    struct rm_elf elf;
    struct rm_symbol_table table = {0};
    struct rm_debug_image image = {0};
    char build_id[RM_ELF_BUILD_ID_BYTES];
    char *exact = malloc(length > 0 ? length : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, length);
    resmon_status status = rm_elf_of_memory(&elf, "damaged", exact, length);
    assert_true(status == RESMON_OK || status == RESMON_EFORMAT);
    if (status == RESMON_OK) {
        assert_ok(rm_elf_build_id(&elf, build_id));
        status = rm_symbol_table_read(&elf, &table);
        assert_true(status == RESMON_OK || status == RESMON_EFORMAT || status == RESMON_ENOENT);
        look_up(&table, random);
        rm_symbol_table_free(&table);
        (void)rm_debug_image_read(&elf, (size_t)64 << 20, &image);
        rm_debug_image_free(&image);
        rm_elf_close(&elf);
    }
    free(exact);
}

/* Sections of debug information. */
struct targets {
    uint64_t offsets[32], bytes[32];
    size_t count;
};

static struct targets targets_of(const char *path)
{
    struct targets targets = {.count = 0};
    struct rm_elf elf;
    assert_ok(rm_elf_open(&elf, path));
    for (size_t i = 0; i < elf.section_count && targets.count < 32; i++) {
        if (strncmp(elf.sections[i].name, ".debug", 6) == 0 && elf.sections[i].bytes > 0) {
            targets.offsets[targets.count] = elf.sections[i].offset;
            targets.bytes[targets.count++] = elf.sections[i].bytes;
        }
    }
    rm_elf_close(&elf);
    return targets;
}

/* Most of what matters is at the beginning and at the end: headers. */
static size_t damaged_place(struct random *random, size_t length, const struct targets *targets)
{
    if (targets->count > 0 && random_below(random, 2) == 0) {
        size_t target = (size_t)random_below(random, targets->count);
        return (size_t)(targets->offsets[target] + random_below(random, targets->bytes[target]));
    }
    switch (random_below(random, 4)) {
    case 0:
        return (size_t)random_below(random, length < 128 ? length : 128);
    case 1:
        return length - 1 - (size_t)random_below(random, length < 4096 ? length : 4096);
    default:
        return (size_t)random_below(random, length);
    }
}

static size_t damage(char *bytes, const char *whole, size_t length, struct random *random,
                     const struct targets *targets)
{
    memcpy(bytes, whole, length);
    for (uint64_t n = 1 + random_below(random, 6); n > 0; n--) {
        size_t at = damaged_place(random, length, targets);
        bytes[at] = random_below(random, 3) == 0
                        ? (char)0xff
                        : (char)(bytes[at] ^ (1 << random_below(random, 8)));
    }
    return random_below(random, 4) == 0 ? (size_t)random_below(random, length) : length;
}

TEST(damaged_files)
{
    static const char *const paths[] = {NAMED_default, NAMED_dwarf4, NAMED_bare};
    struct random random = {2028};
    const struct targets none = {.count = 0};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        size_t length = 0;
        char *whole = content_of(paths[i], &length), *bytes = malloc(length);
        assert_non_null(bytes);
        for (int n = 0; n < 2000; n++) {
            read_damaged(bytes, damage(bytes, whole, length, &random, &none), &random);
        }
        for (size_t cut = 0; cut < length; cut += 1 + length / 500) {
            read_damaged(whole, cut, &random);
        }
        free(whole);
        free(bytes);
    }
}

/* The whole of it, as a file with that name; libdw sees the debug information as it is. */
TEST(damaged_debug_information)
{
    static const char *const paths[] = {NAMED_default, NAMED_dwarf4, NAMED_split};
    struct random random = {2029};
    size_t named = 0, rounds = 700;
    const char *path = made_path("damaged");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct known known;
        size_t length = 0;
        load(paths[i], &known);
        char *whole = content_of(paths[i], &length), *bytes = malloc(length);
        const struct targets targets = targets_of(paths[i]);
        assert_non_null(bytes);
        for (size_t n = 0; n < rounds; n++) {
            put_content(path, bytes, damage(bytes, whole, length, &random, &targets));
            struct resmon_run *run = run_of(&known, path);
            assert_ok(rm_naming_fill(NULL, run));
            for (size_t p = 0; p < run->profile.place_count; p++) {
                named += run->profile.places[p].function[0] != '\0';
            }
            rm_run_free(run);
        }
        free(whole);
        free(bytes);
    }
    assert_true(named > 1000); /* most damage is elsewhere */
}

/* Linkers unpack what compilers packed; whoever wants it packed says so once more. */
TEST(compressed_debug_information)
{
    struct known known;
    struct rm_elf elf;
    size_t length = 0;
    const char *path = made_path("packed");
    if (lacks_binutils()) {
        skip();
    }
    load(NAMED_default, &known);
    command("objcopy --compress-debug-sections '%s' '%s'", known.path, path);
    struct resmon_run *run = run_of(&known, path);
    assert_ok(rm_naming_fill(NULL, run));
    assert_named(run, &known);
    rm_run_free(run);
    assert_ok(rm_elf_open(&elf, path));
    const struct rm_elf_section *section = rm_elf_find(&elf, ".debug_info", 0);
    assert_non_null(section);
    bool is_packed = (section->flags & SHF_COMPRESSED) != 0;
    uint64_t middle = section->offset + section->bytes / 2;
    rm_elf_close(&elf);
    if (!has_libdw || !is_packed || !rm_gzip_can_unpack()) {
        print_message("damage to it is not tested: that needs libdw, zlib, and ELF's own headers "
                      "of compressed sections\n");
        return;
    }
    /* Functions have names still, and why lines have none is said. */
    char *bytes = content_of(path, &length);
    for (uint64_t i = 0; i < 8; i++) {
        bytes[middle + i] = (char)~bytes[middle + i];
    }
    put_content(path, bytes, length);
    free(bytes);
    run = run_of(&known, path);
    const char *const *reason = &run->profile.kinds[RESMON_STACK_CPU].reason;
    assert_ok(rm_naming_fill(NULL, run));
    assert_named_by_symbols(run, &known);
    assert_non_null(strstr(*reason, "lines are missing: "));
    assert_non_null(strstr(*reason, ".debug_info is damaged"));
    rm_run_free(run);
}

/* ---- no memory ---------------------------------------------------------------------------- */

TEST(without_memory_the_profile_stays)
{
    struct known known;
    struct rm_naming *naming = NULL;
    load(NAMED_default, &known);
    int64_t k = 0, live = rm_fault_live(0);
    bool is_done = false;
    for (; !is_done && k < 5000; k++) {
        struct resmon_run *run = run_of(&known, known.path);
        const struct rm_run_place *places = run->profile.places;
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status = rm_naming_fill(naming, run);
        is_done = !rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        if (is_done) {
            assert_named(run, &known);
        } else {
            assert_int_equal(status, RESMON_ENOMEM);
            assert_ptr_equal(run->profile.places, places);
            assert_int_equal(run->profile.frame_count, NAMED_CALLS);
            assert_int_equal(run->profile.stacks[0].depth, NAMED_CALLS);
            assert_string_equal(run->profile.kinds[0].reason, "");
            assert_ok(rm_naming_fill(naming, run)); /* again */
            assert_named(run, &known);
        }
        rm_run_free(run);
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(is_done && k > 20);
}

/* The same with a naming that has seen the failure. */
TEST(a_naming_survives_want_of_memory)
{
    struct known known;
    load(NAMED_default, &known);
    int64_t live = rm_fault_live(0);
    bool is_done = false;
    for (int64_t k = 0; !is_done; k++) {
        struct rm_naming *naming = NULL;
        struct resmon_run *run = run_of(&known, known.path);
        assert_ok(rm_naming_new(test_directory, &naming));
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status = rm_naming_fill(naming, run);
        is_done = !rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_int_equal(status, is_done ? RESMON_OK : RESMON_ENOMEM);
        assert_ok(rm_naming_fill(naming, run));
        assert_named(run, &known);
        rm_run_free(run);
        rm_naming_free(naming);
        assert_int_equal(rm_fault_live(0), live);
    }
}

TEST(files_that_cannot_be_read)
{
    struct known known;
    bool is_done = false;
    load(NAMED_default, &known);
    for (int64_t k = 0; !is_done && k < 100; k++) {
        struct resmon_run *run = run_of(&known, known.path);
        rm_fault_arm(RM_FAULT_READ, k);
        assert_ok(rm_naming_fill(NULL, run));
        is_done = !rm_fault_fired(RM_FAULT_READ);
        rm_fault_arm(RM_FAULT_READ, -1);
        if (is_done) {
            assert_named(run, &known);
        } else {
            assert_string_not_equal(run->profile.kinds[0].reason, "");
        }
        rm_run_free(run);
    }
    assert_true(is_done);
    struct resmon_run *run = run_of(&known, known.path);
    rm_fault_arm(RM_FAULT_OPEN, 0);
    assert_ok(rm_naming_fill(NULL, run));
    rm_fault_arm(RM_FAULT_OPEN, -1);
    assert_unnamed(run, "cannot open");
    rm_run_free(run);
}

FIXTURE(set_up)
{
    struct rm_arena arena = {NULL};
    has_libdw = rm_dwarf_load() == RESMON_OK;
    if (!has_libdw) {
        print_message("lines and inlined functions are not tested: %s\n", resmon_last_error());
    }
    has_binutils =
        system("objcopy --version > /dev/null 2>&1 && strip --version > /dev/null 2>&1") == 0;
    /* Whatever is loaded once is, before allocations are counted. */
    (void)rm_demangle(&arena, "_Z1fv");
    rm_arena_free(&arena);
    return 0;
}

TEST_FILE(.set_up = set_up);
