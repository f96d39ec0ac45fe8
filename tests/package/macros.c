/* SPDX-License-Identifier: MIT */
/* Every macro, in every place where people put it. */
#include <resmon/resmon.h>

int use_macros(int n);

static int twice(int a, int b)
{
    RESMON_FUNCTION();
    RESMON_LINE();
    return a + b;
}

int use_macros(int n)
{
    RESMON_FUNCTION();
    int sum = 0;
    /* clang-format off */
    RESMON_SCOPE("two on"); RESMON_SCOPE("one line");
    /* clang-format on */
    for (int i = 0; i < n; i++) {
        RESMON_SCOPE("loop");
        if (i == 3) {
            continue;
        }
        if (i == 5) {
            break;
        }
        RESMON_TIMED("commas are fine", sum += twice(i, i));
    }
    if (n > 2)
        RESMON_TIMED("under if", sum++);
    else
        RESMON_PEAK_RSS("under else", sum--);
    switch (n) {
    case 1: {
        RESMON_SCOPE("case");
        return sum;
    }
    default:
        break;
    }
    /* clang-format off */
    RESMON_SCOPE_UNDER(RESMON_HERE(), "two under"); RESMON_SCOPE_UNDER(0, "one handle");
    /* clang-format on */
    {
        const uint64_t here = RESMON_HERE();
        RESMON_SCOPE_UNDER(here, "under");
        sum++;
    }
    {
        RESMON_SCOPE("inner");
        {
            RESMON_SCOPE("inner");
            sum++;
        }
    }
    return sum;
}
