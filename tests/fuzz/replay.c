/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without a fuzzer: each file of its corpus, and mutations of it that are the
 * same every time (bit flips, bytes, truncations, splices with the other files).
 *
 * replay TARGET CORPUS [MUTATIONS]
 */
#define _GNU_SOURCE /* scandir */
#include "fuzz.h"

#include <dirent.h>

#define MOST_BYTES ((size_t)1 << 20)
#define MOST_FILES 256
#define MUTATIONS  400

struct input {
    char name[64];
    uint8_t *bytes;
    size_t size;
};

typedef int one_input(const uint8_t *data, size_t size);

/* All targets of this program: LLVMFuzzerTestOneInput of one file, or each file's by its name. */
#ifdef FUZZ_TARGETS
#define TARGET(name) one_input name;
#include FUZZ_TARGETS
#undef TARGET
#endif

static const struct {
    const char *name;
    one_input *test;
} targets[] = {
#ifdef FUZZ_TARGETS
#define TARGET(name) {#name, name},
#include FUZZ_TARGETS
#undef TARGET
#else
    {NULL, LLVMFuzzerTestOneInput},
#endif
};

static one_input *test_one_input;
static struct input inputs[MOST_FILES];
static size_t input_count;
static uint64_t random_state;

static uint64_t random_below(uint64_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return bound > 0 ? random_state % bound : 0;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void read_input(const char *directory, const char *name)
{
    char path[512];
    struct input *input = &inputs[input_count];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return;
    }
    input->bytes = malloc(MOST_BYTES);
    PROMISE(input->bytes != NULL);
    input->size = fread(input->bytes, 1, MOST_BYTES, file);
    (void)snprintf(input->name, sizeof input->name, "%s", name);
    (void)fclose(file);
    input_count++;
}

static void read_corpus(const char *directory)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        if (input_count < MOST_FILES) {
            read_input(directory, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
}

static const uint8_t curious[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '0', '9', '-', ' ', '\n', '"', '%'};

static void change_bytes(uint8_t *bytes, size_t size)
{
    uint64_t changes = 1 + random_below(8);
    for (uint64_t i = 0; i < changes && size > 0; i++) {
        size_t at = (size_t)random_below(size);
        switch (random_below(4)) {
        case 0:
            bytes[at] = curious[random_below(sizeof curious)];
            break;
        case 1:
            memset(bytes + at, curious[random_below(sizeof curious)],
                   (size_t)random_below(size - at < 16 ? size - at : 16));
            break;
        default:
            bytes[at] ^= (uint8_t)(1U << random_below(8));
        }
    }
}

/* The new size. */
static size_t mutate(uint8_t *bytes, size_t size)
{
    uint64_t what = random_below(8);
    if (what == 0) {
        size = (size_t)random_below(size + 1);
    } else if (what == 1 && size > 0) { /* the tail of another file */
        const struct input *other = &inputs[random_below(input_count)];
        size_t at = (size_t)random_below(size);
        size_t from = (size_t)random_below(other->size + 1);
        size_t length = other->size - from < MOST_BYTES - at ? other->size - from : MOST_BYTES - at;
        memcpy(bytes + at, other->bytes + from, length);
        size = at + length;
    } else if (what == 2 && size > 1) { /* a stretch of itself, somewhere else */
        size_t from = (size_t)random_below(size);
        size_t to = (size_t)random_below(size);
        size_t room = size - (from > to ? from : to);
        memmove(bytes + to, bytes + from, (size_t)random_below(room + 1));
    }
    change_bytes(bytes, size);
    return size;
}

/* A copy of the exact size, so that AddressSanitizer sees a byte too many. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    PROMISE(exact != NULL);
    memcpy(exact, bytes, size);
    (void)test_one_input(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i].name == NULL || strcmp(targets[i].name, argv[1]) == 0) {
            test_one_input = targets[i].test;
        }
    }
    if (test_one_input == NULL) {
        (void)fprintf(stderr, "replay TARGET CORPUS [MUTATIONS]\n");
        return 2;
    }
    long mutations = argc > 3 ? strtol(argv[3], NULL, 10) : MUTATIONS;
    uint8_t *bytes = malloc(MOST_BYTES);
    PROMISE(bytes != NULL);
    read_corpus(argv[2]);
    if (input_count == 0) {
        (void)fprintf(stderr, "no corpus in %s\n", argv[2]);
        return 1;
    }
    for (size_t i = 0; i < input_count; i++) {
        random_state = 0x9e3779b97f4a7c15U + i;
        run(inputs[i].bytes, inputs[i].size);
        for (long m = 0; m < mutations; m++) {
            memcpy(bytes, inputs[i].bytes, inputs[i].size);
            run(bytes, mutate(bytes, inputs[i].size));
        }
    }
    (void)printf("%zu files, %ld mutations of each\n", input_count, mutations);
    for (size_t i = 0; i < input_count; i++) {
        free(inputs[i].bytes);
    }
    free(bytes);
    return 0;
}
