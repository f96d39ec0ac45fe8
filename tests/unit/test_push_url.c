/* SPDX-License-Identifier: MIT */
/*
 * net/address: where a push to a Pushgateway goes, and addresses that are refused.
 */
#include "test.h"

#include "format/exposition.h"
#include "net/address.h"

TEST(addresses_of_a_push)
{
    static const struct {
        const char *base, *job;
        resmon_prometheus_label labels[2];
        size_t count;
        const char *url;
    } cases[] = {
        {"http://h:9091", "resmon", {{0}}, 0, "http://h:9091/metrics/job/resmon"},
        {"https://h/gate//", "resmon", {{0}}, 0, "https://h/gate/metrics/job/resmon"},
        {"http://h",
         "a b%c",
         {{"node", "n+1&?#"}, {"job_id", "47_1.x~"}},
         2,
         "http://h/metrics/job/a%20b%25c/node/n%2B1%26%3F%23/job_id/47_1.x~"},
        {"http://h",
         "a/b",
         {{"path", "/var/tmp"}, {"none", ""}},
         2,
         "http://h/metrics/job@base64/YS9i/path@base64/L3Zhci90bXA/none@base64/="},
        {"http://h",
         "..",
         {{"dot", "."}, {"evil", "x\r\nHost: y\n"}},
         2,
         "http://h/metrics/job@base64/Li4/dot@base64/Lg/evil/x%3F%0AHost%3A%20y%0A"},
        {"http://h",
         "\xc3\xa9\xff",
         {{"b", "\xfb\xff/\xbf"}, {"c", "~~~/???"}},
         2,
         "http://h/metrics/job/%C3%A9%3F/b@base64/Pz8vPw/c@base64/fn5-Lz8_Pw"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rm_labels labels;
        struct rm_buffer url;
        assert_ok(rm_labels_take(cases[i].labels, cases[i].count, &labels));
        assert_ok(rm_push_url(cases[i].base, cases[i].job, &labels, &url));
        assert_string_equal(url.text, cases[i].url);
        rm_buffer_free(&url);
        rm_labels_free(&labels);
    }
}

TEST(addresses_that_are_refused)
{
    static const char *const bases[] = {NULL,
                                        "",
                                        "h:9091",
                                        "ftp://h",
                                        "http://",
                                        "http:///x",
                                        "h ",
                                        "http://h x",
                                        "http://h\r\nX: y",
                                        "http://h?q",
                                        "http://h/#f",
                                        "http://h\\x",
                                        "file:///etc",
                                        "http://u:secret@h/\x01",
                                        "http://\xc3\xa9"};
    static const resmon_prometheus_label job[] = {{"job", "x"}};
    static const struct rm_labels none;
    struct rm_labels labels;
    struct rm_buffer url;
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        assert_status(RESMON_EINVAL, rm_push_url(bases[i], "resmon", &none, &url));
        assert_null(strstr(resmon_last_error(), "secret"));
    }
    assert_status(RESMON_EINVAL, rm_push_url("http://h", "", &none, &url));
    assert_status(RESMON_EINVAL, rm_push_url("http://h", NULL, &none, &url));
    assert_ok(rm_labels_take(job, 1, &labels));
    assert_status(RESMON_EINVAL, rm_push_url("http://h", "resmon", &labels, &url));
    rm_labels_free(&labels);
}
