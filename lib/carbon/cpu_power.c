/* SPDX-License-Identifier: MIT */
#include "carbon/cpu_power.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/text.h"

/* ---- thermal design power --------------------------------------------------------------- */

/* Sorted by name, in any case. */
static const struct processor {
    char name[RM_CPU_NAME_BYTES];
    uint32_t centiwatts;
} processors[] = {
#define RM_ROW(name, watts) {name, (uint32_t)((watts)*100.0 + 0.5)},
#include "carbon/cpu_tdp.inc"
#undef RM_ROW
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

static void split(struct words *words, const char *name)
{
    size_t length = 0;
    for (; name[length] != '\0' && length + 1 < sizeof words->text; length++) {
        char c = name[length];
        words->text[length] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
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

static int compare_name(const void *name, const void *row)
{
    return strcasecmp(name, ((const struct processor *)row)->name);
}

static const struct processor *find_equal(const char *name)
{
    return bsearch(name, processors, RM_ARRAY_LEN(processors), sizeof processors[0], compare_name);
}

/* The one row whose words are all in the name, or the other way round. */
static const struct processor *find_by_words(const char *name)
{
    struct words wanted, words;
    const struct processor *found = NULL;
    split(&wanted, name);
    for (size_t i = 0; i < RM_ARRAY_LEN(processors) && wanted.count > 0; i++) {
        split(&words, processors[i].name);
        if (words.count > 0 && (has_all(&wanted, &words) || has_all(&words, &wanted))) {
            if (found != NULL) {
                return NULL;
            }
            found = &processors[i];
        }
    }
    return found;
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

double rm_cpu_tdp(const char *model_name, char ret_name[RM_CPU_NAME_BYTES])
{
    char name[RM_CPU_NAME_BYTES * 2];
    (void)rm_text_set(name, sizeof name, model_name);
    const struct processor *found = find_equal(name);
    if (found == NULL) {
        clean(name);
        found = find_equal(name);
    }
    if (found == NULL) {
        found = find_by_words(name);
    }
    (void)rm_text_set(ret_name, RM_CPU_NAME_BYTES, found != NULL ? found->name : "");
    return found != NULL ? found->centiwatts / 100.0 : RM_NAN;
}

/* ---- load ------------------------------------------------------------------------------- */

double rm_cpu_load_watts(double tdp, double load)
{
    double share = load < 0.0 ? 0.0 : load > 1.0 ? 1.0 : load;
    return tdp * (0.1 + 0.9 * share * share * share);
}

double rm_cpu_process_watts(double tdp, double cpu_seconds, double wall_seconds, double cpu_count)
{
    return tdp * cpu_seconds / wall_seconds / cpu_count;
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
                        struct rm_vcpu_power *ret_power)
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
    *ret_power = (struct rm_vcpu_power){found->idle, found->full};
    return true;
}

/* Families and models as the kernel numbers them (arch/x86/include/asm/intel-family.h, AMD's
 * revision guides; for ARM, the part of arch/arm64/include/asm/cputype.h as the family). */
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
