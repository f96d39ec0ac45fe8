/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses, by the program resmon-names: functions, lines and inlined frames of modules
 * that were built for it, from their own files and from separate debug information; files that are
 * others by now, are gone, or are damaged.  torture/test_names_helper.c has what becomes of the
 * program and of its replies.
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
#include "os/elf_file.h"
#include "os/library.h"
#include "random.h"
#include "stack_tests.h"
#include "symbols/naming.h"
#include "symbols/symbolizer.h"

static bool has_binutils;

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
    assert_string_equal(base_name(place->file), "named.c");
    assert_int_equal(place->line, line);
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
    const size_t at = 2;
    assert_int_equal(profile->stacks[0].first, 0);
    assert_int_equal(profile->stacks[0].depth, NAMED_CALLS + 2);
    assert_int_equal(profile->stacks[1].first, 3);
    assert_int_equal(profile->stacks[1].depth, NAMED_CALLS - 1);
    assert_frame(run, 0, "innermost", known->lines[0]);
    assert_frame(run, 1, "between", line_of("BETWEEN_LINE"));
    assert_int_equal(frame_at(run, 0)->is_inlined, 1);
    assert_int_equal(frame_at(run, 1)->is_inlined, 1);
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

/* ---- names -------------------------------------------------------------------------------- */

TEST(names_lines_and_inlined_frames)
{
    static const char *const paths[] = {NAMED_default, NAMED_dwarf4, NAMED_split};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct known known;
        load(paths[i], &known);
        struct resmon_run *run = run_of(&known, known.path);
        assert_ok(rm_naming_fill(NULL, run));
        assert_named(run, &known);
        assert_string_equal(run->profile.kinds[0].reason, "");
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

/* The program finds a libdw that is none. */
static void fill_without_libdw(struct resmon_run *run)
{
    const char *before = getenv("LD_LIBRARY_PATH");
    command("mkdir -p %s && : > %s", made_path("no"), made_path("no/libdw.so.1"));
    assert_int_equal(setenv("LD_LIBRARY_PATH", made_path("no"), 1), 0);
    assert_ok(rm_naming_fill(NULL, run));
    assert_int_equal(
        before != NULL ? setenv("LD_LIBRARY_PATH", before, 1) : unsetenv("LD_LIBRARY_PATH"), 0);
}

static void name_without_libdw(struct resmon_run *run)
{
    fill_without_libdw(run);
    assert_non_null(strstr(run->profile.kinds[0].reason, "lines are missing: libdw"));
}

TEST(symbol_tables_without_libdw)
{
    static const char *const paths[] = {NAMED_default, NAMED_bare};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct known known;
        load(paths[i], &known);
        struct resmon_run *run = run_of(&known, known.path);
        name_without_libdw(run);
        assert_named_by_symbols(run, &known);
        assert_int_equal(frame_at(run, 1)->line, 0);
        rm_run_free(run);
    }
}

TEST(the_same_address_more_than_once)
{
    struct known known;
    load(NAMED_default, &known);
    const uint64_t addresses[] = {known.addresses[0], known.addresses[1], known.addresses[0],
                                  known.addresses[0]};
    struct resmon_run *run = made_unnamed(known.path, known.build_id, addresses, 4);
    assert_ok(rm_naming_fill(NULL, run));
    assert_int_equal(run->profile.frame_count, 3 * 3 + 1);
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(frame_at(run, i)->function, frame_at(run, 4 + i)->function);
        assert_ptr_equal(frame_at(run, i)->file, frame_at(run, 7 + i)->file);
    }
    rm_run_free(run);
}

static resmon_status (*ask_program)(const struct rm_buffer *, struct rm_buffer *);
static int asked;

static resmon_status count_and_ask(const struct rm_buffer *request, struct rm_buffer *reply)
{
    asked++;
    return ask_program(request, reply);
}

/* Nobody is asked what was answered just now. */
TEST(the_latest_reply_is_kept)
{
    struct known known;
    struct rm_naming *naming = NULL;
    load(NAMED_default, &known);
    assert_ok(rm_naming_new(NULL, &naming));
    ask_program = rm_symbolizer.ask;
    rm_symbolizer.ask = count_and_ask;
    asked = 0;
    for (int i = 0; i < 3; i++) {
        struct resmon_run *run = run_of(&known, known.path);
        assert_ok(rm_naming_fill(naming, run));
        assert_named(run, &known);
        rm_run_free(run);
    }
    assert_int_equal(asked, 1);
    struct resmon_run *run = made_unnamed(known.path, known.build_id, &known.addresses[1], 2);
    assert_ok(rm_naming_fill(naming, run));
    assert_int_equal(asked, 2);
    rm_symbolizer.ask = ask_program;
    rm_run_free(run);
    rm_naming_free(naming);
    rm_naming_free(NULL);
}

/* A run with `count` modules, which are `paths`, and the second address of `known` in each. */
static struct resmon_run *run_of_modules(const struct known *known, const char *const *paths,
                                         size_t count)
{
    struct resmon_run *run = run_of(known, known->path);
    struct rm_run_profile *profile = &run->profile;
    profile->modules = made_array(run, count, sizeof *profile->modules);
    profile->module_count = profile->place_count = profile->frame_count = count;
    profile->places = made_array(run, count, sizeof *profile->places);
    profile->frames = made_array(run, count, sizeof *profile->frames);
    profile->stack_count = 0;
    for (size_t i = 0; i < count; i++) {
        profile->modules[i] = (struct rm_run_module){.path = paths[i], .build_id = known->build_id};
        profile->places[i] = (struct rm_run_place){
            .function = "", .file = "", .module = (int64_t)i, .address = known->addresses[1]};
        profile->frames[i] = (uint32_t)i;
    }
    return run;
}

#define MANY_MODULES 1000

TEST(a_thousand_modules)
{
    static char paths[MANY_MODULES][1024];
    static const char *listed[MANY_MODULES];
    struct known known;
    load(NAMED_bare, &known);
    for (size_t i = 0; i < MANY_MODULES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "/%*s%s", (int)(i % 100), "", known.path + 1);
        for (char *at = paths[i] + 1; *at == ' '; at++) {
            *at = '/';
        }
        listed[i] = paths[i];
    }
    struct resmon_run *run = run_of_modules(&known, listed, MANY_MODULES);
    assert_ok(rm_naming_fill(NULL, run));
    for (size_t i = 0; i < MANY_MODULES; i++) {
        assert_string_equal(frame_at(run, i)->function, "of_this_file");
    }
    rm_run_free(run);
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

/* An address of a function of the vDSO, by its symbols; false: there is no vDSO here. */
static bool function_of_vdso(char build_id[RM_ELF_BUILD_ID_BYTES], char function[64],
                             uint64_t *ret_address)
{
    struct rm_elf elf;
    char *image = NULL, *bytes = NULL, *names = NULL;
    size_t length = 0;
    if (rm_vdso_read(&image, &length) != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        return false;
    }
    assert_ok(rm_elf_of_memory(&elf, RM_VDSO_NAME, image, length));
    assert_ok(rm_elf_build_id(&elf, build_id));
    const struct rm_elf_section *section = rm_elf_find(&elf, NULL, SHT_DYNSYM);
    assert_non_null(section);
    assert_ok(rm_elf_read(&elf, section, 1 << 20, &bytes));
    assert_ok(rm_elf_read(&elf, &elf.sections[section->link], 1 << 20, &names));
    for (size_t i = 0; i < section->bytes / sizeof(ElfW(Sym)); i++) {
        ElfW(Sym) symbol;
        memcpy(&symbol, bytes + i * sizeof symbol, sizeof symbol);
        if ((symbol.st_info & 15U) == STT_FUNC && strncmp(names + symbol.st_name, "__", 2) == 0) {
            *ret_address = symbol.st_value + 1;
            (void)snprintf(function, 64, "%s", names + symbol.st_name + strlen("__vdso_"));
        }
    }
    rm_free(bytes);
    rm_free(names);
    rm_elf_close(&elf);
    rm_free(image);
    return true;
}

TEST(the_vdso_has_names)
{
    char build_id[RM_ELF_BUILD_ID_BYTES], function[64] = "";
    uint64_t address = 0;
    if (!function_of_vdso(build_id, function, &address)) {
        skip();
    }
    struct resmon_run *run = made_unnamed(RM_VDSO_NAME, build_id, &address, 1);
    assert_ok(rm_naming_fill(NULL, run));
    if (build_id[0] == '\0') {
        print_message("the vDSO has no build-id here, and hence no names\n");
    } else {
        assert_non_null(strstr(frame_at(run, 0)->function, function));
    }
    assert_string_equal(run->profile.kinds[RESMON_STACK_CPU].reason, "");
    rm_run_free(run);
    if (build_id[0] != '\0') {
        run = made_unnamed(RM_VDSO_NAME, build_id, &address, 1);
        name_without_libdw(run);
        assert_non_null(strstr(frame_at(run, 0)->function, function));
        rm_run_free(run);
    }
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
    static char paths[6][256];
    static const char *listed[6];
    char wanted[4096];
    if (lacks_binutils()) {
        skip();
    }
    const struct known *known = strip();
    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/%s%zu", test_directory,
                       i < 2 ? "gone" : "stripped", i);
        listed[i] = paths[i];
        if (i >= 2) {
            command("cp %s/stripped '%s'", test_directory, paths[i]);
        }
    }
    struct resmon_run *run = run_of_modules(known, listed, 6);
    assert_ok(rm_naming_fill(NULL, run));
    (void)snprintf(wanted, sizeof wanted,
                   "names are missing: cannot open %s: No such file or directory (and of 1 more "
                   "files); names are missing: %s (build-id %s), %s (build-id %s), %s (build-id "
                   "%s) and 1 more are stripped, with no .symtab and no separate debug files",
                   paths[0], paths[2], known->build_id, paths[3], known->build_id, paths[4],
                   known->build_id);
    assert_has(run->profile.kinds[RESMON_STACK_CPU].reason, wanted);
    rm_run_free(run);
}

/* ---- symbols without a size --------------------------------------------------------------- */

/* A file with functions at 0x1000 (of 16 bytes), 0x1020 (of no size) and 0x1100 (of 16). */
struct made_elf {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Shdr sections[4]; /* none, code, symbols, names */
    Elf64_Sym symbols[5];   /* none, the source (in a full table), functions */
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
    made->header.e_ident[EI_VERSION] = EV_CURRENT;
    made->header.e_version = EV_CURRENT;
    made->header.e_type = ET_DYN;
    made->header.e_machine = EM_X86_64;
    made->header.e_ehsize = sizeof made->header;
    made->header.e_phoff = offsetof(struct made_elf, segment);
    made->header.e_phentsize = sizeof made->segment;
    made->header.e_phnum = 1;
    made->segment = (Elf64_Phdr){.p_type = PT_LOAD, .p_memsz = 0x2000, .p_align = 0x1000};
    made->header.e_shoff = offsetof(struct made_elf, sections);
    made->header.e_shentsize = sizeof(Elf64_Shdr);
    made->header.e_shnum = 4;
    made->header.e_shstrndx = 3;
    made->sections[1] = (Elf64_Shdr){
        .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC, .sh_addr = 0x1000, .sh_size = 0x1000};
    made->sections[2] = (Elf64_Shdr){.sh_type = type,
                                     .sh_offset = offsetof(struct made_elf, symbols),
                                     .sh_size = sizeof made->symbols,
                                     .sh_link = 3,
                                     .sh_info = 2,
                                     .sh_entsize = sizeof(Elf64_Sym)};
    made->sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                     .sh_offset = offsetof(struct made_elf, names),
                                     .sh_size = sizeof made->names};
    memcpy(made->names, "\0sized\0bare\0far", 16);
    if (type == SHT_SYMTAB) {
        made->symbols[1] = (Elf64_Sym){
            .st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FILE), .st_shndx = SHN_ABS};
    }
    for (size_t i = 0; i < 3; i++) {
        made->symbols[2 + i] = (Elf64_Sym){.st_name = functions[i].name,
                                           .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                           .st_shndx = 1,
                                           .st_value = functions[i].address,
                                           .st_size = functions[i].bytes};
    }
}

/* Where only what is exported has names, what lies behind it is something else. */
TEST(names_end_with_their_functions)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    static const uint64_t addresses[] = {0xfff,  0x1000, 0x100f, 0x1010,
                                         0x1020, 0x10ff, 0x110f, 0x1110};
    static const char *const wanted[2][8] = {{"", "sized", "sized", "", "bare", "bare", "far", ""},
                                             {"", "sized", "sized", "", "", "", "far", ""}};
    for (size_t i = 0; i < 2; i++) {
        struct made_elf made;
        make_elf(&made, types[i]);
        put_content(path_of("made"), &made, sizeof made);
        struct resmon_run *run = made_unnamed(path_of("made"), "", addresses, 8);
        assert_ok(rm_naming_fill(NULL, run));
        for (size_t k = 0; k < 8; k++) {
            assert_string_equal(frame_at(run, k)->function, wanted[i][k]);
        }
        rm_run_free(run);
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
        assert_string_equal(frame_at(run, has_id ? 3 : 1)->function, has_id ? "of_this_file" : "");
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
    run = run_of(&known, made_path("no-id"));
    run->info.start_realtime_ns = 1;
    fill_without_libdw(run);
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

/* A frame beside two lines of addr2line. */
static void compare_frame(const struct rm_run_place *frame, char line[2][4096],
                          struct comparison *comparison)
{
    char name[4200], place[4300];
    char *space = strstr(line[1], " (discriminator");
    if (space != NULL) {
        *space = '\0';
    }
    cut_clone(line[0]);
    bool is_known = strcmp(line[0], "??") != 0;
    /* Without a line, its file is that of the symbol table. */
    const char *colon = strrchr(line[1], ':');
    bool has_line = colon != NULL && colon[1] != '?' && colon[1] != '0';
    comparison->frames++;
    (void)snprintf(name, sizeof name, "%s", frame->function);
    cut_clone(name);
    (void)snprintf(place, sizeof place, frame->line > 0 ? "%s:%u" : "%s:?", frame->file,
                   frame->line);
    /* Between two functions there is padding; addr2line gives it to the one before it. */
    bool is_padding = frame->function[0] == '\0';
    comparison->unnamed += is_padding;
    if ((is_known && !is_padding && strcmp(name, line[0]) != 0) ||
        (has_line && strcmp(place, line[1]) != 0)) {
        if (++comparison->differences < 20) {
            print_message("%#jx: %s %s, addr2line %s %s\n", (uintmax_t)frame->address, name, place,
                          line[0], line[1]);
        }
    }
}

/* addr2line's answer: the address, and two lines for each frame. */
static void compare_answer(FILE *answer, const struct resmon_run *run,
                           struct comparison *comparison)
{
    static char line[2][4096];
    size_t at = 0;
    uint64_t address = 0;
    while (fgets(line[0], sizeof line[0], answer) != NULL) {
        if (strncmp(line[0], "0x", 2) == 0) {
            address = strtoull(line[0], NULL, 16);
            comparison->addresses++;
            for (; at < run->profile.stacks[0].depth && frame_at(run, at)->address < address;
                 at++) {
            }
            continue;
        }
        assert_non_null(fgets(line[1], sizeof line[1], answer));
        cut_line(line[0]);
        cut_line(line[1]);
        if (at < run->profile.stacks[0].depth && frame_at(run, at)->address == address) {
            compare_frame(frame_at(run, at++), line, comparison);
        } else {
            comparison->differences++; /* a frame that we do not have */
        }
    }
}

static struct comparison compare_with_addr2line(const char *path, uint64_t low, uint64_t high,
                                                uint64_t step)
{
    char build_id[RM_ELF_BUILD_ID_BYTES], text[1024];
    struct comparison comparison = {0};
    const size_t count = (size_t)((high - low + step - 1) / step);
    uint64_t *addresses = calloc(count, sizeof *addresses);
    FILE *questions = fopen(made_path("addresses"), "w");
    assert_true(questions != NULL && addresses != NULL);
    for (size_t i = 0; i < count; i++) {
        addresses[i] = low + i * step;
        (void)fprintf(questions, "%#jx\n", (uintmax_t)addresses[i]);
    }
    (void)fclose(questions);
    (void)snprintf(text, sizeof text, "addr2line -afiCe '%s' < %s/addresses", path, test_directory);
    read_build_id(path, build_id);
    struct resmon_run *run = made_unnamed(path, build_id, addresses, count);
    assert_ok(rm_naming_fill(NULL, run));
    FILE *answer = popen(text, "r");
    assert_non_null(answer);
    compare_answer(answer, run, &comparison);
    assert_int_equal(pclose(answer), 0);
    rm_run_free(run);
    free(addresses);
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
    if (lacks_binutils() || system("addr2line --version > /dev/null 2>&1") != 0) {
        print_message("skipped: addr2line is not installed\n");
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

#define BATCH 100 /* damaged files that are one run's modules */

/* Every damaged file, or the beginning of one, is a module: its neighbors have names, whatever
 * libdw does about it. */
static size_t name_damaged(const struct known *known, const char *whole, size_t length,
                           struct random *random, const struct targets *targets)
{
    static char paths[BATCH + 1][256];
    static const char *listed[BATCH + 1];
    char *bytes = malloc(length);
    size_t named = 0;
    assert_non_null(bytes);
    for (size_t i = 0; i < BATCH; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/damaged%zu", test_directory, i);
        size_t kept = damage(bytes, whole, length, random, targets);
        put_content(paths[i], bytes, kept);
        listed[i] = paths[i];
    }
    listed[BATCH] = known->path;
    struct resmon_run *run = run_of_modules(known, listed, BATCH + 1);
    assert_ok(rm_naming_fill(NULL, run));
    for (size_t i = 0; i < run->profile.place_count; i++) {
        named += run->profile.places[i].function[0] != '\0';
    }
    assert_has(run->profile.kinds[RESMON_STACK_CPU].reason, "missing: ");
    assert_null(strstr(run->profile.kinds[RESMON_STACK_CPU].reason, "left out"));
    assert_string_equal(frame_at(run, run->profile.frame_count - 1)->function, "of_this_file");
    rm_run_free(run);
    free(bytes);
    return named;
}

TEST(damaged_files)
{
    static const char *const paths[] = {NAMED_default, NAMED_dwarf4, NAMED_split, NAMED_bare};
    struct random random = {2028};
    size_t named = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct known known;
        size_t length = 0;
        load(paths[i], &known);
        char *whole = content_of(paths[i], &length);
        const struct targets targets = targets_of(paths[i]);
        for (int n = 0; n < 19; n++) {
            named += name_damaged(&known, whole, length, &random, &targets);
        }
        free(whole);
    }
    print_message("%zu of %d have names\n", named, 4 * 19 * (BATCH + 1));
    assert_true(named > 2000); /* most damage is elsewhere */
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
    if (!is_packed) {
        print_message("damage to it is not tested: that needs ELF's own headers of compressed "
                      "sections\n");
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
    rm_run_free(run);
}

/* ---- no memory ---------------------------------------------------------------------------- */

TEST(without_memory_the_profile_stays)
{
    struct known known;
    load(NAMED_default, &known);
    int64_t k = 0, failures = 0, live = rm_fault_live(0);
    bool is_done = false;
    for (; !is_done && k < 5000; k++) {
        struct resmon_run *run = run_of(&known, known.path);
        const struct rm_run_place *places = run->profile.places;
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status = rm_naming_fill(NULL, run);
        is_done = !rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        if (status == RESMON_OK) { /* nothing failed, or what can be done without */
            assert_named(run, &known);
        } else {
            assert_int_equal(status, RESMON_ENOMEM);
            assert_ptr_equal(run->profile.places, places);
            assert_int_equal(run->profile.frame_count, NAMED_CALLS);
            assert_int_equal(run->profile.stacks[0].depth, NAMED_CALLS);
            assert_string_equal(run->profile.kinds[0].reason, "");
            failures++;
            assert_ok(rm_naming_fill(NULL, run)); /* again */
            assert_named(run, &known);
        }
        rm_run_free(run);
        assert_int_equal(rm_fault_live(0), live);
    }
    print_message("%lld of %lld failures\n", (long long)failures, (long long)k - 1);
    assert_true(is_done && failures > 10);
}

/* Whatever fails on the way to the program and back: the names are there, or the reason. */
TEST(without_names_there_is_a_reason)
{
    static const enum rm_fault_kind kinds[] = {RM_FAULT_OPEN, RM_FAULT_READ, RM_FAULT_WRITE,
                                               RM_FAULT_THREAD, RM_FAULT_MAP};
    struct known known;
    load(NAMED_default, &known);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bool is_done = false;
        for (int64_t k = 0; !is_done && k < 200; k++) {
            struct resmon_run *run = run_of(&known, known.path);
            rm_fault_arm(kinds[i], k);
            assert_ok(rm_naming_fill(NULL, run));
            is_done = !rm_fault_fired(kinds[i]);
            rm_fault_arm(kinds[i], -1);
            if (run->profile.kinds[0].reason[0] == '\0') {
                assert_named(run, &known);
            } else {
                assert_false(is_done);
                assert_unnamed(run, "names are left out: ");
                assert_ok(rm_naming_fill(NULL, run)); /* as when it is loaded */
                assert_named(run, &known);
                assert_string_equal(run->profile.kinds[0].reason, "");
            }
            rm_run_free(run);
        }
        assert_true(is_done);
    }
}

FIXTURE(set_up)
{
    has_binutils =
        system("objcopy --version > /dev/null 2>&1 && strip --version > /dev/null 2>&1") == 0;
    return 0;
}

TEST_FILE(.missing = missing_names, .set_up = set_up);
