/* SPDX-License-Identifier: MIT */
/*
 * A run with stacks that nobody sampled, for tests of what is made of them: known sums, scopes,
 * inlined functions, places without names, names that would break a format, a peak.
 *
 *     main (train.c:40)  [training]
 *       load (train.c:12)  memset, of libc, without a source: memory
 *       work (train.c:20) > square, inlined (square.h:3): CPU
 */
#ifndef RESMON_TESTS_MADE_PROFILE_H
#define RESMON_TESTS_MADE_PROFILE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "run/record.h"
#include "run/run.h"

#define MADE_PROFILE_START INT64_C(1795248000123456789)
#define MADE_HOSTILE       "a;b\nc\t\x01\xff\"\\ \xc3\xa9 12"

enum made_place {
    MADE_MAIN,
    MADE_LOAD,
    MADE_MEMSET,
    MADE_SQUARE, /* inlined into work */
    MADE_WORK,
    MADE_WORK_LATER, /* another line of it */
    MADE_UNNAMED,    /* in a module */
    MADE_NOWHERE,    /* in none */
    MADE_HOSTILE_PLACE,
    MADE_PLACES
};

/* What a test may count on. */
#define MADE_CPU_NS       1000000000.0
#define MADE_MEMORY_BYTES 3145728.0
#define MADE_FILE_BYTES   4096.0
#define MADE_MEMORY_FIRST 1048576.0
#define MADE_MEMORY_LAST  3145728.0
#define MADE_STACKS       8

static inline struct rm_run_place made_place(const char *function, const char *file, uint32_t line,
                                             int64_t module, uint64_t address)
{
    return (struct rm_run_place){
        .function = function, .file = file, .line = line, .module = module, .address = address};
}

static inline void made_places(struct rm_run_profile *profile, struct rm_arena *arena,
                               const char *source)
{
    profile->modules = rm_arena_alloc(arena, 2, sizeof *profile->modules);
    profile->modules[0] = (struct rm_run_module){"/opt/bin/train", "00ff17", 0x400000, 0x420000, 0};
    profile->modules[1] =
        (struct rm_run_module){"/lib/libc.so.6", "", UINT64_C(0x7f0000000000),
                               UINT64_C(0x7f0000200000), UINT64_C(0x7f0000000000)};
    profile->module_count = 2;
    struct rm_run_place *places = rm_arena_alloc(arena, MADE_PLACES, sizeof *places);
    places[MADE_MAIN] = made_place("main", source, 40, 0, 0x401000);
    places[MADE_LOAD] = made_place("load", source, 12, 0, 0x402000);
    places[MADE_MEMSET] =
        made_place("memset", "/build/glibc/memset.S", 151, 1, UINT64_C(0x7f0000001234));
    places[MADE_SQUARE] = made_place("square", "/usr/include/square.h", 3, 0, 0x403000);
    places[MADE_SQUARE].is_inlined = 1;
    places[MADE_WORK] = made_place("work", source, 20, 0, 0x403000);
    places[MADE_WORK_LATER] = made_place("work", source, 22, 0, 0x403100);
    places[MADE_UNNAMED] = made_place("", "", 0, 1, UINT64_C(0x7f0000005678));
    places[MADE_NOWHERE] = made_place("", "", 0, -1, UINT64_C(0xffffffffff600123));
    places[MADE_HOSTILE_PLACE] = made_place(MADE_HOSTILE, MADE_HOSTILE, 7, 0, 0x404000);
    profile->places = places;
    profile->place_count = MADE_PLACES;
}

/* A row of what was seen; places end with -1. */
struct made_stack {
    int64_t scope;
    uint32_t is_cut;
    int places[6]; /* innermost first */
    uint64_t samples[RM_STACK_KINDS];
    double weight[RM_STACK_KINDS];
};

static const struct made_stack made_stacks[MADE_STACKS] = {
    {1, 0, {MADE_SQUARE, MADE_WORK, MADE_MAIN, -1}, {60, 0, 0}, {600e6, 0, 0}},
    {1, 0, {MADE_WORK_LATER, MADE_MAIN, -1}, {10, 0, 0}, {100e6, 0, 0}},
    {0, 0, {MADE_MEMSET, MADE_LOAD, MADE_MAIN, -1}, {20, 12, 0}, {200e6, 3e6, 0}},
    {-1, 1, {MADE_UNNAMED, -1}, {4, 0, 1}, {40e6, 0, 4096}},
    {-1, 0, {MADE_NOWHERE, -1}, {1, 0, 0}, {10e6, 0, 0}},
    {2, 0, {MADE_HOSTILE_PLACE, MADE_MAIN, -1}, {1, 0, 0}, {10e6, 0, 0}},
    /* Recursion: counts once; and another place of a line that was there already. */
    {1, 0, {MADE_WORK, MADE_WORK, MADE_MAIN, -1}, {4, 0, 0}, {39999700, 0, 0}},
    {-1, 0, {-1}, {1, 2, 0}, {300, 145728, 0}},
};

static inline void made_stack_list(struct rm_run_profile *profile, struct rm_arena *arena)
{
    profile->frames = rm_arena_alloc(arena, 64, sizeof *profile->frames);
    profile->stacks = rm_arena_alloc(arena, MADE_STACKS, sizeof *profile->stacks);
    for (size_t i = 0; i < MADE_STACKS; i++) {
        const struct made_stack *made = &made_stacks[i];
        struct rm_run_stack *stack = &profile->stacks[i];
        stack->scope = made->scope;
        stack->is_cut = made->is_cut;
        stack->first = profile->frame_count;
        while (made->places[stack->depth] >= 0) {
            profile->frames[profile->frame_count++] = (uint32_t)made->places[stack->depth++];
        }
        memcpy(stack->samples, made->samples, sizeof stack->samples);
        memcpy(stack->weight, made->weight, sizeof stack->weight);
        for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) { /* of samples that are alike */
            stack->error[kind] = stack->samples[kind] > 0
                                     ? stack->weight[kind] / sqrt((double)stack->samples[kind])
                                     : 0.0;
        }
    }
    profile->stack_count = MADE_STACKS;
}

static inline void made_peak(struct rm_run_profile *profile, struct rm_arena *arena)
{
    struct rm_run_peak *peak = &profile->peak;
    *peak = (struct rm_run_peak){
        .t_ns = 1500000000,
        .rss_bytes = 268435456.0,
        .headroom_bytes = 1048576.0,
        .highest_rss_bytes = 281857229.0,
        .highest_t_ns = 1720000000,
    };
    peak->stacks = rm_arena_alloc(arena, 2, sizeof *peak->stacks);
    peak->stack_count = 2;
    peak->stacks[0] = (struct rm_run_peak_stack){.thread = 4711,
                                                 .thread_name = "train",
                                                 .scope = 0,
                                                 .first = profile->frame_count,
                                                 .depth = 3};
    profile->frames[profile->frame_count++] = MADE_MEMSET;
    profile->frames[profile->frame_count++] = MADE_LOAD;
    profile->frames[profile->frame_count++] = MADE_MAIN;
    peak->stacks[1] = (struct rm_run_peak_stack){.thread = 4712,
                                                 .thread_name = "",
                                                 .scope = -1,
                                                 .first = profile->frame_count,
                                                 .depth = 1,
                                                 .is_cut = 1};
    profile->frames[profile->frame_count++] = MADE_UNNAMED;
}

/* `source` is where train.c is said to be.  Free with rm_run_free(). */
static inline struct resmon_run *made_profile(const char *source)
{
    static const char *const names[] = {"training", "epoch", MADE_HOSTILE};
    struct resmon_run *run = rm_run_new();
    if (run == NULL) {
        return NULL;
    }
    struct rm_run_profile *profile = &run->profile;
    run->info.state = "stopped";
    run->info.label = "";
    run->info.start_realtime_ns = MADE_PROFILE_START;
    run->info.duration_ns = INT64_C(3000000001);
    run->scopes = rm_arena_alloc(&run->strings, 3, sizeof *run->scopes);
    for (size_t i = 0; i < 3; i++) {
        run->scopes[i] = (resmon_run_scope){.name = names[i],
                                            .file = "",
                                            .function = "",
                                            .parent = i == 1 ? 0 : -1,
                                            .depth = i == 1 ? 1 : 0,
                                            .calls = 1,
                                            .energy_j = (double)NAN,
                                            .energy_uncertainty_j = (double)NAN};
    }
    run->scope_count = 3;
    made_places(profile, &run->strings, source);
    made_stack_list(profile, &run->strings);
    made_peak(profile, &run->strings);
    profile->kinds[RESMON_STACK_CPU] =
        (struct rm_run_stack_kind){RESMON_OK, "", 10101010, 1100000000.0, (double)NAN, (double)NAN};
    profile->kinds[RESMON_STACK_MEMORY] =
        (struct rm_run_stack_kind){RESMON_OK,
                                   "huge pages are counted by their first page",
                                   64,
                                   (double)NAN,
                                   MADE_MEMORY_FIRST,
                                   MADE_MEMORY_LAST};
    profile->kinds[RESMON_STACK_FILE] =
        (struct rm_run_stack_kind){RESMON_OK, "", 64, MADE_FILE_BYTES, 0.0, MADE_FILE_BYTES};
    profile->lost[RM_LOSS_RING] = 3;
    profile->lost[RM_LOSS_BLOCKED] = 1;
    return run;
}

#endif
