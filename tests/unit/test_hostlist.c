/* SPDX-License-Identifier: MIT */
/*
 * job/hosts: Slurm's grammar with the answers of `scontrol show hostnames` 22.05, the other
 * forms, and hostile texts.
 */
#include "test.h"

#include <stdbool.h>

#include "base/fault.h"
#include "job/hosts.h"

/* The names with a space between. */
static char *expand(const char *text)
{
    static char joined[4096];
    resmon_hostlist *list = NULL;
    size_t length = 0;
    assert_ok(resmon_hostlist_expand(text, &list));
    joined[0] = '\0';
    for (size_t i = 0; i < resmon_hostlist_count(list); i++) {
        length += (size_t)snprintf(joined + length, sizeof joined - length, "%s%s",
                                   i > 0 ? " " : "", resmon_hostlist_name(list, i));
        assert_true(length < sizeof joined);
    }
    assert_null(resmon_hostlist_name(list, resmon_hostlist_count(list)));
    resmon_hostlist_free(list);
    return joined;
}

TEST(what_scontrol_says)
{
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"n[1-3]", "n1 n2 n3"},
        {"n[001-003,7]", "n001 n002 n003 n7"},
        {"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
        {"rack[0-1]node[08-11]", "rack0node08 rack0node09 rack0node10 rack0node11 "
                                 "rack1node08 rack1node09 rack1node10 rack1node11"},
        {"n[9-11]", "n9 n10 n11"},
        {"n[1-2],n[2-3]", "n1 n2 n2 n3"},
        {"n1", "n1"},
        {"", ""},
        {",", ""},
        {"n1,,n2,", "n1 n2"},
        {"n1 n2\tn3\nn4", "n1 n2 n3 n4"},
        {"[1-3]", "1 2 3"},
        {"n[1][2]", "n12"},
        {"n[5,3,5]", "n5 n3 n5"},
        {"n[1-003]", "n1 n2 n3"},
        {"n[001-3]", "n001 n002 n003"},
        {"n[99-101]", "n99 n100 n101"},
        {"n[00000000000000000001-00000000000000000002]",
         "n00000000000000000001 n00000000000000000002"},
        {"n1-n3", "n1-n3"},
        {"a[1-2]b[3-4]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(expand(cases[i].text), cases[i].names);
    }
}

static void assert_refused(const char *text, resmon_status status, const char *told)
{
    resmon_hostlist *list = NULL;
    assert_status(status, resmon_hostlist_expand(text, &list));
    assert_null(list);
    if (strstr(resmon_last_error(), told) == NULL) {
        fail_msg("'%s': '%s' does not say '%s'", text, resmon_last_error(), told);
    }
}

TEST(what_is_no_host_list)
{
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"gpu[01-02]-ib,login1", "text after the last bracket"},
        {"a[1-2]b[3-4]c", "text after the last bracket"},
        {"n[1-2]]", "text after the last bracket"},
        {"n[1-[2-3]]", "text after the last bracket"},
        {"n[1-[2-3]", "brackets hold"},
        {"n[3-1]", "ends before it starts"},
        {"n[1-2", "not closed"},
        {"n[", "not closed"},
        {"n]", "closing bracket"},
        {"n]1[2]", "closing bracket"},
        {"n[]", "brackets hold"},
        {"n[a-b]", "brackets hold"},
        {"n[1,]", "brackets hold"},
        {"n[,1]", "brackets hold"},
        {"n[1,,2]", "brackets hold"},
        {"n[-3]", "brackets hold"},
        {"n[1-]", "brackets hold"},
        {"n[ 1]", "brackets hold"},
        {"n[1-2-3]", "brackets hold"},
        {"n[1+2]", "brackets hold"},
        {"n[99999999999999999999]", "brackets hold"},
        {"n[1][1][1][1][1][1][1][1][1]", "more than 8 brackets"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused(cases[i].text, RESMON_EFORMAT, "Invalid hostlist");
        assert_refused(cases[i].text, RESMON_EFORMAT, cases[i].told);
    }
    assert_refused("n1,\x01", RESMON_EFORMAT, "control character");
}

TEST(hostile_numbers_cost_nothing)
{
    static const char *const texts[] = {
        "n[1-999999999999]",
        "n[1-65537]",
        "n[0-18446744073709551615]",
        "n[1-65535]m[1-2]",
        "n[1-300]m[1-300]",
        "n[1-40000,1-40000]",
        "a[1-65536]b[1-65536]c[1-65536]d[1-65536]e[1-65536]f[1-65536]g[1-65536]h[1-65536]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        rm_fault_arm(RM_FAULT_ALLOC, 1000);
        assert_refused(texts[i], RESMON_ERANGE, "more than 65536 hosts");
        assert_int_equal(rm_fault_calls(RM_FAULT_ALLOC), 1); /* the list itself */
    }
    rm_fault_arm(RM_FAULT_ALLOC, -1);
}

TEST(bounds_are_inclusive)
{
    resmon_hostlist *list = NULL;
    assert_ok(resmon_hostlist_expand("n[1-65536]", &list));
    assert_int_equal(resmon_hostlist_count(list), 65536);
    assert_string_equal(resmon_hostlist_name(list, 65535), "n65536");
    resmon_hostlist_free(list);
    assert_refused("n[1-65536],m", RESMON_ERANGE, "more than 65536 hosts");
    char text[600];
    memset(text, 'x', sizeof text);
    (void)snprintf(text + 200, sizeof text - 200, "[1-60000]");
    assert_refused(text, RESMON_ERANGE, "bytes together");
    memset(text, 'x', sizeof text);
    text[255] = '\0';
    assert_string_equal(expand(text), text);
    text[255] = 'x';
    text[256] = '\0';
    assert_refused(text, RESMON_EFORMAT, "256 bytes");
    (void)snprintf(text + 255, sizeof text - 255, "[1]");
    assert_refused(text, RESMON_EFORMAT, "more than 255 bytes");
    memset(text, '0', sizeof text);
    (void)snprintf(text + 400, sizeof text - 400, "1]");
    text[0] = 'n';
    text[1] = '[';
    assert_refused(text, RESMON_EFORMAT, "more than 255 bytes");
}

/* ---- the other forms -------------------------------------------------------------------- */

typedef resmon_status (*add_fn)(struct rm_hosts *hosts, struct rm_text text);

static resmon_status add(add_fn form, const char *text, bool is_unique, char joined[256])
{
    struct rm_hosts hosts;
    rm_hosts_init(&hosts, is_unique);
    resmon_status status = form(&hosts, rm_text_of(text, strlen(text)));
    size_t length = 0;
    joined[0] = '\0';
    for (size_t i = 0; i < hosts.count; i++) {
        length += (size_t)snprintf(joined + length, 256 - length, "%s ", rm_hosts_name(&hosts, i));
    }
    rm_hosts_free(&hosts);
    return status;
}

TEST(forms_of_lsf_and_node_files)
{
    char names[256];
    assert_ok(add(rm_hostlist_add_pairs, "h1 4 h2 4", false, names));
    assert_string_equal(names, "h1 h2 ");
    assert_status(RESMON_EFORMAT, add(rm_hostlist_add_pairs, "h1 4 h2", false, names));
    assert_status(RESMON_EFORMAT, add(rm_hostlist_add_pairs, "h1 h2 4", false, names));
    assert_status(RESMON_EFORMAT, add(rm_hostlist_add_pairs, "h1 -4", false, names));
    assert_ok(add(rm_hostlist_add_words, " h1 h1  h2 h1", false, names));
    assert_string_equal(names, "h1 h1 h2 h1 ");
    assert_ok(add(rm_hostlist_add_words, " h1 h1  h2 h1", true, names));
    assert_string_equal(names, "h1 h2 ");
    assert_ok(add(rm_hostlist_add_lines, "h1\n\nh2 slots=3\r\n h3\r\n\r\nh1", false, names));
    assert_string_equal(names, "h1 h2 h3 h1 ");
    assert_ok(add(rm_hostlist_add_lines, "", false, names));
    assert_string_equal(names, "");
}

static int64_t tasks(const char *text, int64_t index)
{
    return rm_hostlist_tasks_of_node(rm_text_of(text, strlen(text)), index);
}

TEST(tasks_of_a_node)
{
    assert_int_equal(tasks("2(x3),1", 0), 2);
    assert_int_equal(tasks("2(x3),1", 2), 2);
    assert_int_equal(tasks("2(x3),1", 3), 1);
    assert_int_equal(tasks("2(x3),1", 4), -1);
    assert_int_equal(tasks("2(x3),1", -1), -1);
    static const char *const garbage[] = {"",      ",",   "x",    "2(x", "2(x3",
                                          "2(3)",  "2 3", "(x3)", "-2",  "2(x99999999999999999999)",
                                          "2(x-1)"};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        assert_int_equal(tasks(garbage[i], 0), -1);
    }
}

/* ---- the interface ---------------------------------------------------------------------- */

/* Names become a list, which stands for the same names. */
TEST(lists_of_names)
{
    static const struct {
        const char *names, *list;
    } cases[] = {
        {"n1", "n1"},
        {"n1,n2,n3", "n[1-3]"},
        {"n3,n1,n2", "n[3,1-2]"}, /* in their order */
        {"n08,n09,n10", "n[08-10]"},
        {"n8,n9,n10,n011", "n[8-10,011]"},
        {"n9,n010", "n[9,010]"},
        {"a1,b1,b2", "a1,b[1-2]"},
        {"n1.east,n2.east,n3.west", "n1.east,n2.east,n3.west"},
        {"login,n1,login", "login,n1,login"},
        {"n1,n1", "n[1,1]"},
        {"rack1node2,rack1node3,rack2node2", "rack1node[2-3],rack2node2"},
        {"n99999999999999999999,n100000000000000000000",
         "n99999999999999999999,n100000000000000000000"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(cases); i++) {
        struct rm_hosts hosts, again;
        struct rm_buffer buffer;
        rm_hosts_init(&hosts, false);
        rm_hosts_init(&again, false);
        rm_buffer_init(&buffer, 4096);
        assert_ok(
            rm_hostlist_add_slurm(&hosts, rm_text_of(cases[i].names, strlen(cases[i].names))));
        rm_hostlist_fold(&hosts, &buffer);
        assert_int_equal(buffer.status, RESMON_OK);
        assert_string_equal(buffer.text, cases[i].list);
        assert_ok(rm_hostlist_add_slurm(&again, rm_text_of(buffer.text, buffer.length)));
        assert_int_equal(again.count, hosts.count);
        for (size_t k = 0; k < hosts.count; k++) {
            assert_string_equal(rm_hosts_name(&again, k), rm_hosts_name(&hosts, k));
        }
        rm_buffer_free(&buffer);
        rm_hosts_free(&hosts);
        rm_hosts_free(&again);
    }
}

TEST(bad_arguments)
{
    resmon_hostlist *list = NULL;
    assert_status(RESMON_EINVAL, resmon_hostlist_expand(NULL, &list));
    assert_status(RESMON_EINVAL, resmon_hostlist_expand("n1", NULL));
    assert_int_equal(resmon_hostlist_count(NULL), 0);
    assert_null(resmon_hostlist_name(NULL, 0));
    resmon_hostlist_free(NULL);
}

TEST(no_memory)
{
    bool has_fired = true;
    for (int64_t k = 0; has_fired; k++) {
        resmon_hostlist *list = NULL;
        int64_t before = rm_fault_live(0);
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status = resmon_hostlist_expand("n[1-300],m[001-200]", &list);
        has_fired = rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_status(has_fired ? RESMON_ENOMEM : RESMON_OK, status);
        assert_true(has_fired == (list == NULL));
        resmon_hostlist_free(list);
        assert_int_equal(rm_fault_live(0), before);
    }
}
