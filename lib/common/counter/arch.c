/* SPDX-License-Identifier: MIT */
#include "counter/arch.h"

#include <string.h>

#include "base/compiler.h"

#define PMUS 2

static const struct {
    uint32_t arch;
    const char *name;
    const char *pmus[PMUS];
} archs[] = {
    {RM_ARCH_HSW, "Haswell", {"hsw", "hsw_ep"}},
    {RM_ARCH_BDW, "Broadwell", {"bdw", "bdw_ep"}},
    {RM_ARCH_SKL, "Skylake", {"skl"}},
    {RM_ARCH_SKX, "Skylake-SP or Cascade Lake", {"skx", "clx"}},
    {RM_ARCH_ICL, "Ice Lake, Tiger Lake or Rocket Lake", {"icl"}},
    {RM_ARCH_ICX, "Ice Lake-SP", {"icx"}},
    {RM_ARCH_SPR, "Sapphire Rapids", {"spr"}},
    {RM_ARCH_EMR, "Emerald Rapids", {"emr"}},
    {RM_ARCH_ADL, "Alder Lake or Raptor Lake", {"adl_glc"}},
    {RM_ARCH_INTEL, "an Intel processor that is not in the tables", {NULL}},
    {RM_ARCH_ZEN, "Zen", {"amd64_fam17h_zen1"}},
    {RM_ARCH_ZEN2, "Zen 2", {"amd64_fam17h_zen2"}},
    {RM_ARCH_ZEN3, "Zen 3", {"amd64_fam19h_zen3"}},
    {RM_ARCH_ZEN4, "Zen 4", {"amd64_fam19h_zen4"}},
    {RM_ARCH_ZEN5, "Zen 5", {"amd64_fam1ah_zen5"}},
    {RM_ARCH_AMD, "an AMD processor that is not in the tables", {NULL}},
    {RM_ARCH_ARM, "an ARM processor", {NULL}},
    {RM_ARCH_OTHER, "a processor that is not known", {NULL}},
};

/* Intel's family 6; the numbers are those of the kernel's asm/intel-family.h. */
static const struct {
    uint8_t model;
    uint32_t arch;
} intel_models[] = {
    {0x3c, RM_ARCH_HSW}, {0x3f, RM_ARCH_HSW}, {0x45, RM_ARCH_HSW}, {0x46, RM_ARCH_HSW},
    {0x3d, RM_ARCH_BDW}, {0x47, RM_ARCH_BDW}, {0x4f, RM_ARCH_BDW}, {0x56, RM_ARCH_BDW},
    {0x4e, RM_ARCH_SKL}, {0x5e, RM_ARCH_SKL}, {0x8e, RM_ARCH_SKL}, {0x9e, RM_ARCH_SKL},
    {0xa5, RM_ARCH_SKL}, {0xa6, RM_ARCH_SKL}, {0x55, RM_ARCH_SKX}, {0x7d, RM_ARCH_ICL},
    {0x7e, RM_ARCH_ICL}, {0x9d, RM_ARCH_ICL}, {0x8c, RM_ARCH_ICL}, {0x8d, RM_ARCH_ICL},
    {0xa7, RM_ARCH_ICL}, {0x6a, RM_ARCH_ICX}, {0x6c, RM_ARCH_ICX}, {0x8f, RM_ARCH_SPR},
    {0xcf, RM_ARCH_EMR}, {0x97, RM_ARCH_ADL}, {0x9a, RM_ARCH_ADL}, {0xb7, RM_ARCH_ADL},
    {0xba, RM_ARCH_ADL}, {0xbf, RM_ARCH_ADL},
};

/* AMD gives a microarchitecture ranges of models. */
static const struct {
    uint8_t family, first, last;
    uint32_t arch;
} amd_models[] = {
    {0x17, 0x00, 0x2f, RM_ARCH_ZEN},  {0x17, 0x30, 0xff, RM_ARCH_ZEN2},
    {0x19, 0x00, 0x0f, RM_ARCH_ZEN3}, {0x19, 0x10, 0x1f, RM_ARCH_ZEN4},
    {0x19, 0x20, 0x5f, RM_ARCH_ZEN3}, {0x19, 0x60, 0xaf, RM_ARCH_ZEN4},
    {0x1a, 0x00, 0x7f, RM_ARCH_ZEN5},
};

static uint32_t intel(int family, int model)
{
    for (size_t i = 0; family == 6 && i < RM_ARRAY_LEN(intel_models); i++) {
        if (intel_models[i].model == model) {
            return intel_models[i].arch;
        }
    }
    return RM_ARCH_INTEL;
}

static uint32_t amd(int family, int model)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(amd_models); i++) {
        if (amd_models[i].family == family && model >= amd_models[i].first &&
            model <= amd_models[i].last) {
            return amd_models[i].arch;
        }
    }
    return RM_ARCH_AMD;
}

uint32_t rm_arch_of(const char *vendor, int family, int model)
{
    if (strcmp(vendor, "GenuineIntel") == 0) {
        return intel(family, model);
    }
    if (strcmp(vendor, "AuthenticAMD") == 0) {
        return amd(family, model);
    }
    return strcmp(vendor, "ARM") == 0 ? RM_ARCH_ARM : RM_ARCH_OTHER;
}

static size_t index_of(uint32_t arch)
{
    size_t i = 0;
    while (i + 1 < RM_ARRAY_LEN(archs) && archs[i].arch != arch) {
        i++;
    }
    return i;
}

const char *rm_arch_name(uint32_t arch)
{
    return archs[index_of(arch)].name;
}

const char *rm_arch_pmu(uint32_t arch, size_t index)
{
    return index < PMUS ? archs[index_of(arch)].pmus[index] : NULL;
}
