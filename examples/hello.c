/* SPDX-License-Identifier: MIT */
/*
 * An annotated program.  It does not know whether it is observed:
 *
 *     ./hello                                       nothing is measured
 *     RESMON=summary ./hello                        a summary at exit
 *     RESMON=scopes=wall+pcpu+rss,json=run.json ./hello
 */
#include <resmon/scope.h>

#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a;
    const unsigned y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static unsigned *make_numbers(size_t count)
{
    RESMON_FUNCTION();
    unsigned *numbers = calloc(count, sizeof *numbers);
    unsigned seed = 1;
    for (size_t i = 0; numbers != NULL && i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        numbers[i] = seed;
    }
    return numbers;
}

int main(void)
{
    RESMON_FUNCTION();
    const size_t count = 1000000;
    for (int round = 0; round < 3; round++) {
        RESMON_SCOPE("round");
        unsigned *numbers = make_numbers(count);
        if (numbers == NULL) {
            fprintf(stderr, "hello: out of memory\n");
            return 1;
        }
        {
            RESMON_SCOPE("sort");
            qsort(numbers, count, sizeof *numbers, compare);
        }
        printf("round %d: median %u\n", round, numbers[count / 2]);
        free(numbers);
    }
    return 0;
}
