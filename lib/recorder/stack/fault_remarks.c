/* SPDX-License-Identifier: MIT */
#include "stack/fault_remarks.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"

enum rm_huge_pages rm_huge_pages_parse(struct rm_text text)
{
    struct rm_text before;
    if (!rm_parse_until(&text, '[', &before)) {
        return RM_HUGE_PAGES_NONE;
    }
    return rm_parse_literal(&text, "always]")    ? RM_HUGE_PAGES_ALL
           : rm_parse_literal(&text, "madvise]") ? RM_HUGE_PAGES_ASKED
                                                 : RM_HUGE_PAGES_NONE;
}

static void add(char text[RM_FAULT_REMARKS_BYTES], const char *remark)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, RM_FAULT_REMARKS_BYTES - length, "%s%s", length > 0 ? "; " : "",
                   remark);
}

void rm_fault_remarks_text(const struct rm_fault_remarks *remarks,
                           char text[RM_FAULT_REMARKS_BYTES])
{
    static const char *const without_pages[] = {
        [RM_HUGE_PAGES_ASKED] =
            "this kernel does not report huge pages (Linux 5.11 does), which are on for memory "
            "that requests them: 2 MiB that come with one fault count as one small page",
        [RM_HUGE_PAGES_ALL] =
            "this kernel does not report huge pages (Linux 5.11 does), which are on for all "
            "memory: 2 MiB that come with one fault count as one small page",
    };
    text[0] = '\0';
    if (remarks->missing[0] != '\0') {
        add(text, remarks->missing);
    }
    if (remarks->lacks_kernel) {
        add(text, "page faults in system calls (read() into fresh memory) are not sampled: this "
                  "process may not observe the kernel (kernel.perf_event_paranoid 2)");
    }
    if (remarks->lacks_pages && remarks->huge_pages != RM_HUGE_PAGES_NONE) {
        add(text, without_pages[remarks->huge_pages]);
    }
    if (remarks->huge_bytes > 0) {
        char remark[96], bytes[RM_HUMAN_BYTES];
        rm_human_bytes(bytes, (double)remarks->huge_bytes);
        (void)snprintf(remark, sizeof remark, "about %s of it came in huge pages", bytes);
        add(text, remark);
    }
}
