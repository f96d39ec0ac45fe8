/* SPDX-License-Identifier: MIT */
/*
 * Owns which microarchitecture a processor is of, as far as its events differ.  Pure.
 */
#ifndef RM_COUNTER_ARCH_H
#define RM_COUNTER_ARCH_H

#include <stddef.h>
#include <stdint.h>

/* Bits, so that a row of events.def or groups.def may be of several. */
#define RM_ARCH_HSW   UINT32_C(1)    /* Haswell */
#define RM_ARCH_BDW   UINT32_C(2)    /* Broadwell */
#define RM_ARCH_SKL   UINT32_C(4)    /* Skylake to Comet Lake, of clients */
#define RM_ARCH_SKX   UINT32_C(8)    /* Skylake-SP, Cascade Lake, Cooper Lake */
#define RM_ARCH_ICL   UINT32_C(16)   /* Ice Lake, Tiger Lake, Rocket Lake, of clients */
#define RM_ARCH_ICX   UINT32_C(32)   /* Ice Lake of servers */
#define RM_ARCH_SPR   UINT32_C(64)   /* Sapphire Rapids */
#define RM_ARCH_EMR   UINT32_C(128)  /* Emerald Rapids */
#define RM_ARCH_ADL   UINT32_C(256)  /* Alder Lake, Raptor Lake: two kinds of cores */
#define RM_ARCH_INTEL UINT32_C(512)  /* any other of Intel */
#define RM_ARCH_ZEN   UINT32_C(1024) /* Zen, Zen+ */
#define RM_ARCH_ZEN2  UINT32_C(2048)
#define RM_ARCH_ZEN3  UINT32_C(4096)
#define RM_ARCH_ZEN4  UINT32_C(8192)
#define RM_ARCH_ZEN5  UINT32_C(16384)
#define RM_ARCH_AMD   UINT32_C(32768) /* any other of AMD */
#define RM_ARCH_ARM   UINT32_C(65536)
#define RM_ARCH_OTHER UINT32_C(131072) /* not known */
#define RM_ARCH_ANY   UINT32_C(262143)

/* Processors of which only the generic events are known. */
#define RM_ARCH_UNKNOWN (RM_ARCH_INTEL | RM_ARCH_AMD | RM_ARCH_OTHER)

/** The bit of a processor, by what /proc/cpuinfo says: vendor_id ("ARM" for its implementers),
 * family, model. */
uint32_t rm_arch_of(const char *vendor, int family, int model);

/** "Ice Lake, Tiger Lake or Rocket Lake", for messages. */
const char *rm_arch_name(uint32_t arch);

/** libpfm4's names of its core PMUs, each a table with the same events; NULL past the last. */
const char *rm_arch_pmu(uint32_t arch, size_t index);

#endif
