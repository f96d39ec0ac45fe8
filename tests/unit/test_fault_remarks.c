/* SPDX-License-Identifier: MIT */
/*
 * stack/faults: all that holds of page faults is said, and not only what was found first.
 */
#include "test.h"

#include "stack/faults.h"

#define KERNEL "page faults in system calls"
#define PAGES  "this kernel does not report huge pages"

static void check(const struct rm_fault_remarks *remarks, const char *const *parts, size_t count)
{
    char text[RM_FAULT_REMARKS_BYTES];
    size_t separators = 0;
    rm_fault_remarks_text(remarks, text);
    const char *at = text;
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(at, parts[i]);
        if (found == NULL) {
            fail_msg("\"%s\" is not in \"%s\", or in another place", parts[i], text);
        }
        at = found + 1;
    }
    for (at = text; (at = strstr(at, "; ")) != NULL; at++) {
        separators++;
    }
    assert_int_equal(separators, count > 0 ? count - 1 : 0);
}

TEST(nothing_is_said_of_what_is_whole)
{
    check(&(struct rm_fault_remarks){.huge_pages = RM_HUGE_PAGES_ALL}, NULL, 0);
    check(&(struct rm_fault_remarks){.lacks_pages = true}, NULL, 0); /* there are no huge ones */
}

/* Not as root, huge pages come all the same. */
TEST(huge_pages_are_told_beside_what_the_kernel_hides)
{
    static const char *const parts[] = {KERNEL, "about 6.00 MiB of it came in huge pages"};
    check(&(struct rm_fault_remarks){.lacks_kernel = true, .huge_bytes = 6 << 20}, parts, 2);
}

TEST(kernels_before_5_11_do_not_tell_those_that_are_asked_for)
{
    static const char *const asked[] = {PAGES, "for memory that requests them"};
    static const char *const all[] = {PAGES, "on for all memory"};
    struct rm_fault_remarks remarks = {.lacks_pages = true, .huge_pages = RM_HUGE_PAGES_ASKED};
    char text[RM_FAULT_REMARKS_BYTES];
    rm_fault_remarks_text(&remarks, text);
    assert_non_null(strstr(text, asked[0]));
    assert_non_null(strstr(text, asked[1]));
    remarks.huge_pages = RM_HUGE_PAGES_ALL;
    rm_fault_remarks_text(&remarks, text);
    assert_non_null(strstr(text, all[0]));
    assert_non_null(strstr(text, all[1]));
}

TEST(all_at_once)
{
    static const char *const parts[] = {"not of all threads: no memory may be locked", KERNEL,
                                        PAGES, "about 2.00 MiB of it"};
    check(&(struct rm_fault_remarks){.missing = "not of all threads: no memory may be locked",
                                     .lacks_kernel = true,
                                     .lacks_pages = true,
                                     .huge_pages = RM_HUGE_PAGES_ASKED,
                                     .huge_bytes = 2 << 20},
          parts, 4);
}

TEST(what_the_kernel_says_of_huge_pages)
{
    static const struct {
        const char *text;
        enum rm_huge_pages expected;
    } rows[] = {
        {"[always] madvise never\n", RM_HUGE_PAGES_ALL},
        {"always [madvise] never\n", RM_HUGE_PAGES_ASKED},
        {"always madvise [never]\n", RM_HUGE_PAGES_NONE},
        {"always madvise never\n", RM_HUGE_PAGES_NONE},
        {"[", RM_HUGE_PAGES_NONE},
        {"", RM_HUGE_PAGES_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rm_huge_pages_parse(rm_text_of(rows[i].text, strlen(rows[i].text))),
                         rows[i].expected);
    }
}
