/* SPDX-License-Identifier: MIT */
#include "carbon/power.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

/* ---- processors ----------------------------------------------------------------------------- */

/* ---- thermal design power --------------------------------------------------------------- */

#define LONGEST_NAME 128 /* in the table */

/* Thousands of names, delta-coded: for each, the number of characters shared with the previous
 * name, and the rest. */
static const struct {
#define RM_PASTE(a, b)        a##b
#define RM_MEMBER(what, line) RM_PASTE(what, line)
#define RM_ROW(shared, rest, watts)    \
    char RM_MEMBER(shared_, __LINE__); \
    char RM_MEMBER(rest_, __LINE__)[sizeof(rest)];
#include "carbon/cpu_tdp.inc"
#undef RM_ROW
} names = {
#define RM_ROW(shared, rest, watts) shared, rest,
#include "carbon/cpu_tdp.inc"
#undef RM_ROW
};

#define RM_ROW(shared, rest, watts)                              \
    _Static_assert((int)(watts) < 655, "16 bits of centiwatts"); \
    _Static_assert((shared) + sizeof(rest) <= LONGEST_NAME, "room for the name");
#include "carbon/cpu_tdp.inc"
#undef RM_ROW

/* In the order of the names. */
static const uint16_t centiwatts[] = {
#define RM_ROW(shared, rest, watts) (uint16_t)((watts)*100.0 + 0.5),
#include "carbon/cpu_tdp.inc"
#undef RM_ROW
};

struct processor {
    unsigned count; /* number of matching names: the match is valid if it is 1 */
    char name[LONGEST_NAME];
    double watts;
};

/* The words of a name: letters and digits, in lower case. */
#define MOST_WORDS 24

struct words {
    size_t count;
    struct {
        const char *at;
        size_t length;
    } word[MOST_WORDS];
    char text[RM_CPU_NAME_BYTES * 2];
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void split(struct words *words, const char *name)
{
    size_t length = 0;
    for (; name[length] != '\0' && length + 1 < sizeof words->text; length++) {
        words->text[length] = lower(name[length]);
    }
    words->text[length] = '\0';
    words->count = 0;
    for (const char *at = words->text; *at != '\0' && words->count < MOST_WORDS;) {
        size_t run = 0;
        while (is_word(at[run])) {
            run++;
        }
        if (run > 0) {
            words->word[words->count].at = at;
            words->word[words->count++].length = run;
        }
        at += run + (at[run] != '\0' ? 1 : 0);
    }
}

static bool has_word(const struct words *words, const char *at, size_t length)
{
    for (size_t i = 0; i < words->count; i++) {
        if (words->word[i].length == length && memcmp(words->word[i].at, at, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_all(const struct words *words, const struct words *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        if (!has_word(words, wanted->word[i].at, wanted->word[i].length)) {
            return false;
        }
    }
    return true;
}

/* Whether all words of one are in the other. */
static bool is_alike(const char *name, const struct words *wanted)
{
    struct words words;
    split(&words, name);
    return words.count > 0 && (has_all(wanted, &words) || has_all(&words, wanted));
}

/* A bloom filter of words: if its bits are not all in the other's, its words are not, either.  Kept
 * for each prefix of a name, since the next name may continue there. */
struct word_bits {
    uint64_t words;
    uint32_t run; /* hash of the current word; 0: between words */
};

static uint64_t bit_of(uint32_t run)
{
    return run != 0 ? UINT64_C(1) << (run * UINT32_C(2654435761) >> 26) : 0;
}

static inline struct word_bits go_on(struct word_bits bits, char c)
{
    c = lower(c);
    if (is_word(c)) {
        bits.run = bits.run * 31 + (unsigned char)c;
    } else {
        bits.words |= bit_of(bits.run);
        bits.run = 0;
    }
    return bits;
}

static uint64_t words_of(const struct word_bits *bits)
{
    return bits->words | bit_of(bits->run);
}

static uint64_t bits_of(const char *name)
{
    struct word_bits bits = {.run = 0};
    for (; *name != '\0'; name++) {
        bits = go_on(bits, *name);
    }
    return words_of(&bits);
}

static void remove_all(char *text, const char *part)
{
    size_t length = strlen(part);
    for (char *at = text; (at = strstr(at, part)) != NULL;) {
        memmove(at, at + length, strlen(at + length) + 1);
    }
}

/* "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz" is "Intel Xeon Gold 6248". */
static void clean(char *name)
{
    remove_all(name, "(R)");
    char *clock = strstr(name, " CPU @ ");
    if (clock != NULL) {
        *clock = '\0';
    }
    remove_all(name, " CPU");
    clock = strstr(name, " @ ");
    if (clock != NULL) {
        *clock = '\0';
    }
}

enum { EQUAL, EQUAL_CLEANED, ALIKE, WAYS };

static void note(struct processor *found, const char *name, double watts)
{
    if (found->count++ == 0) {
        (void)rm_text_set(found->name, sizeof found->name, name);
        found->watts = watts;
    }
}

/* Tries all kinds of matches in one pass, since even a run of a millisecond waits for it. */
static void find(const char *name, const char *cleaned, struct processor found[WAYS])
{
    struct words words;
    struct word_bits bits[LONGEST_NAME] = {{.run = 0}};
    char row[LONGEST_NAME] = "";
    const char *at = (const char *)&names;
    const uint64_t wanted = bits_of(cleaned);
    const size_t lengths[] = {[EQUAL] = strlen(name), [EQUAL_CLEANED] = strlen(cleaned)};
    split(&words, cleaned);
    for (size_t i = 0; i < RM_ARRAY_LEN(centiwatts); i++) {
        size_t length = (size_t)*at++;
        struct word_bits its = bits[length];
        for (; *at != '\0'; at++) {
            row[length++] = *at;
            bits[length] = its = go_on(its, *at);
        }
        row[length] = '\0';
        at++;
        const uint64_t has = words_of(&its);
        const bool is_it[WAYS] = {
            [EQUAL] = length == lengths[EQUAL] && rm_text_is_like(row, name),
            [EQUAL_CLEANED] = length == lengths[EQUAL_CLEANED] && rm_text_is_like(row, cleaned),
            [ALIKE] = ((has & ~wanted) == 0 || (wanted & ~has) == 0) && words.count > 0 &&
                      found[ALIKE].count < 2 && is_alike(row, &words),
        };
        for (int way = 0; way < WAYS; way++) {
            if (is_it[way]) {
                note(&found[way], row, centiwatts[i] / 100.0);
            }
        }
    }
}

double rm_cpu_tdp(const char *model_name, char ret_name[RM_CPU_NAME_BYTES])
{
    char name[RM_CPU_NAME_BYTES * 2], cleaned[RM_CPU_NAME_BYTES * 2];
    struct processor found[WAYS] = {{.count = 0}};
    (void)rm_text_set(name, sizeof name, model_name);
    (void)rm_text_set(cleaned, sizeof cleaned, name);
    clean(cleaned);
    if (strpbrk(name, "0123456789") != NULL) { /* else not a model: "Intel Xeon Processor" */
        find(name, cleaned, found);
    }
    for (int way = 0; way < WAYS; way++) {
        if (found[way].count == 1) {
            (void)rm_text_set(ret_name, RM_CPU_NAME_BYTES, found[way].name);
            return found[way].watts;
        }
    }
    ret_name[0] = '\0';
    return RM_NAN;
}

/* ---- load ------------------------------------------------------------------------------- */

struct rm_cpu_power rm_cpu_power_of_tdp(double tdp)
{
    return (struct rm_cpu_power){.idle = 0.1 * tdp, .full = tdp};
}

/* ---- virtual CPUs ----------------------------------------------------------------------- */

static const struct vcpu {
    char provider[8];
    char microarchitecture[16];
    double idle, full;
} vcpus[] = {
#define RM_ROW(provider, microarchitecture, idle, full) {provider, microarchitecture, idle, full},
#include "carbon/cpu_vcpu.inc"
#undef RM_ROW
};

bool rm_vcpu_power_find(const char *microarchitecture, const char *provider,
                        struct rm_cpu_power *ret_power)
{
    const struct vcpu *found = NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(vcpus); i++) {
        if (strcmp(vcpus[i].microarchitecture, microarchitecture) != 0) {
            continue;
        }
        if (provider != NULL && strcmp(vcpus[i].provider, provider) == 0) {
            found = &vcpus[i];
            break;
        }
        if (found == NULL || vcpus[i].full > found->full) {
            found = &vcpus[i];
        }
    }
    if (found == NULL) {
        return false;
    }
    *ret_power = (struct rm_cpu_power){found->idle, found->full};
    return true;
}

/* Families and models as numbered by the kernel (arch/x86/include/asm/intel-family.h, AMD's
 * revision guides; for ARM, the part number of arch/arm64/include/asm/cputype.h as the family). */
static const struct kind {
    const char *vendor;
    int family;
    int model_first, model_last;
    int stepping_first, stepping_last;
    const char *microarchitecture;
} kinds[] = {
    {"GenuineIntel", 6, 0x2a, 0x2a, 0, 255, "Sandy Bridge"},
    {"GenuineIntel", 6, 0x2d, 0x2d, 0, 255, "Sandy Bridge"},
    {"GenuineIntel", 6, 0x3a, 0x3a, 0, 255, "Ivy Bridge"},
    {"GenuineIntel", 6, 0x3e, 0x3e, 0, 255, "Ivy Bridge"},
    {"GenuineIntel", 6, 0x3c, 0x3c, 0, 255, "Haswell"},
    {"GenuineIntel", 6, 0x3f, 0x3f, 0, 255, "Haswell"},
    {"GenuineIntel", 6, 0x45, 0x46, 0, 255, "Haswell"},
    {"GenuineIntel", 6, 0x3d, 0x3d, 0, 255, "Broadwell"},
    {"GenuineIntel", 6, 0x47, 0x47, 0, 255, "Broadwell"},
    {"GenuineIntel", 6, 0x4f, 0x4f, 0, 255, "Broadwell"},
    {"GenuineIntel", 6, 0x56, 0x56, 0, 255, "Broadwell"},
    {"GenuineIntel", 6, 0x55, 0x55, 0, 4, "Skylake"},
    {"GenuineIntel", 6, 0x55, 0x55, 5, 255, "Cascade Lake"},
    {"GenuineIntel", 6, 0x4e, 0x4e, 0, 255, "Skylake"},
    {"GenuineIntel", 6, 0x5e, 0x5e, 0, 255, "Skylake"},
    {"GenuineIntel", 6, 0x8e, 0x8e, 0, 255, "Coffee Lake"},
    {"GenuineIntel", 6, 0x9e, 0x9e, 0, 255, "Coffee Lake"},
    {"GenuineIntel", 6, 0x6a, 0x6a, 0, 255, "Ice Lake"},
    {"GenuineIntel", 6, 0x6c, 0x6c, 0, 255, "Ice Lake"},
    {"GenuineIntel", 6, 0x8f, 0x8f, 0, 255, "Sapphire Rapids"},
    {"GenuineIntel", 6, 0xcf, 0xcf, 0, 255, "Emerald Rapids"},
    {"GenuineIntel", 6, 0xad, 0xae, 0, 255, "Granite Rapids"},
    {"AuthenticAMD", 0x17, 0x00, 0x0f, 0, 255, "EPYC 1st Gen"},
    {"AuthenticAMD", 0x17, 0x30, 0x3f, 0, 255, "EPYC 2nd Gen"},
    {"AuthenticAMD", 0x19, 0x00, 0x0f, 0, 255, "EPYC 3rd Gen"},
    {"AuthenticAMD", 0x19, 0x10, 0x1f, 0, 255, "EPYC 4th Gen"},
    {"AuthenticAMD", 0x19, 0xa0, 0xaf, 0, 255, "EPYC 4th Gen"},
    {"AuthenticAMD", 0x1a, 0x00, 0x1f, 0, 255, "EPYC 5th Gen"},
    {"ARM", 0xd0c, 0, 255, 0, 255, "Graviton2"}, /* Neoverse N1 */
    {"ARM", 0xd40, 0, 255, 0, 255, "Graviton3"}, /* Neoverse V1 */
    {"ARM", 0xd4f, 0, 255, 0, 255, "Graviton4"}, /* Neoverse V2 */
};

const char *rm_cpu_microarchitecture(const struct rm_cpu_kind *kind)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].vendor, kind->vendor) == 0 && kinds[i].family == kind->family &&
            kind->model >= kinds[i].model_first && kind->model <= kinds[i].model_last &&
            kind->stepping >= kinds[i].stepping_first && kind->stepping <= kinds[i].stepping_last) {
            return kinds[i].microarchitecture;
        }
    }
    return NULL;
}

/* ---- memory --------------------------------------------------------------------------------- */

#define MOST_MODULES   32
#define LARGEST_MODULE 128.0 /* GiB */

unsigned rm_ram_modules(double gib)
{
    static const struct {
        double gib;
        unsigned modules;
    } small[] = {{2, 1}, {16, 2}, {64, 4}, {128, 8}};
    for (size_t i = 0; i < RM_ARRAY_LEN(small); i++) {
        if (gib <= small[i].gib) {
            return small[i].modules;
        }
    }
    double size = 4.0;
    while (size < LARGEST_MODULE && size * 2.0 <= gib / 8.0) {
        size *= 2.0;
    }
    double modules = ceil(gib / size);
    return modules < MOST_MODULES ? (unsigned)modules : MOST_MODULES;
}

double rm_ram_watts(unsigned modules, bool is_arm)
{
    static const struct {
        unsigned first; /* index of the first module with this fraction of full power */
        double share;
    } steps[] = {{0, 1.0}, {4, 0.9}, {8, 0.8}, {16, 0.7}};
    double each = is_arm ? 1.5 : 5.0;
    double sum = 0.0;
    for (size_t i = 0; i < RM_ARRAY_LEN(steps) && modules > steps[i].first; i++) {
        unsigned end = i + 1 < RM_ARRAY_LEN(steps) && modules > steps[i + 1].first
                           ? steps[i + 1].first
                           : modules;
        sum += (end - steps[i].first) * steps[i].share;
    }
    return fmax(2.0 * each, each * sum);
}

double rm_ram_installed(double gib)
{
    static const double modules[] = {64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0};
    for (size_t i = 0; i < RM_ARRAY_LEN(modules); i++) {
        double next = ceil(gib / modules[i]) * modules[i];
        if (next <= gib * 1.04) {
            return next;
        }
    }
    return gib;
}
