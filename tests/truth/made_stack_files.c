/* SPDX-License-Identifier: MIT */
/*
 * Makes files of stacks for truth_stack_files.py, in a directory: those of unit/made_profile.h, and
 * a larger profile ("many", 20000 places and as many stacks).
 */
#include <stdio.h>
#include <stdlib.h>

#include <resmon/resmon.h>

#include "unit/made_profile.h"

#define MANY 20000

#define MUST(call)                                                         \
    do {                                                                   \
        if ((call) != RESMON_OK) {                                         \
            (void)fprintf(stderr, "%s: %s\n", #call, resmon_last_error()); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

/* Each function under a chain of eight others, ten of them hot. */
static void make_many(struct resmon_run *run)
{
    struct rm_run_profile *profile = &run->profile;
    profile->places = rm_arena_alloc(&run->strings, MANY, sizeof *profile->places);
    profile->stacks = rm_arena_alloc(&run->strings, MANY, sizeof *profile->stacks);
    profile->frames = rm_arena_alloc(&run->strings, MANY * (size_t)9, sizeof *profile->frames);
    profile->frame_count = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "function_%u", i);
        profile->places[i] = (struct rm_run_place){
            .function = rm_arena_text(&run->strings, name, sizeof name),
            .file = "/src/many.c",
            .line = i + 1,
            .address = 0x400000 + 4 * (uint64_t)i,
        };
        struct rm_run_stack *stack = &profile->stacks[i];
        *stack = (struct rm_run_stack){.scope = i % 2, .first = profile->frame_count, .depth = 9};
        stack->samples[RESMON_STACK_CPU] = i < 10 ? 1000 : 1;
        stack->weight[RESMON_STACK_CPU] = i < 10 ? 1e10 : 1e7;
        for (uint32_t k = 0; k < 9; k++) {
            profile->frames[profile->frame_count++] = (i >> k) % MANY;
        }
    }
    profile->place_count = MANY;
    profile->stack_count = MANY;
    profile->peak = rm_profile_none().peak;
}

static void save(const resmon_run *run, const char *directory, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s.folded", directory, name);
    MUST(resmon_run_save_folded(run, RESMON_STACK_CPU, path));
    (void)snprintf(path, sizeof path, "%s/%s.pb.gz", directory, name);
    MUST(resmon_run_save_pprof(run, path));
}

int main(int argc, char **argv)
{
    struct resmon_run *run = made_profile("/src/train.c");
    if (argc != 2 || run == NULL) {
        return 2;
    }
    save(run, argv[1], "few");
    make_many(run);
    save(run, argv[1], "many");
    run->profile.stack_count = 0;
    save(run, argv[1], "none");
    rm_run_free(run);
    return 0;
}
