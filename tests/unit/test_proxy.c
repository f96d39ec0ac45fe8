/* SPDX-License-Identifier: MIT */
/*
 * net/address: which proxy the environment asks for, as the mlflow package and libcurl take it, and
 * that it is told without its password.
 */
#include "test.h"

#include "net/address.h"

static const char *const variables[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                        "HTTPS_PROXY", "all_proxy",  "ALL_PROXY",
                                        "no_proxy",    "NO_PROXY",   "REQUEST_METHOD"};

struct case_of_proxy {
    const char *url;
    const char *environment[4][2]; /* names and values */
    const char *address;           /* "": none */
    const char *description;
};

static const struct case_of_proxy cases[] = {
    {"http://h/", {{NULL}}, "", ""},
    {"http://h/",
     {{"http_proxy", "http://p:3128"}},
     "http://p:3128",
     " by the proxy http://p:3128 (http_proxy)"},
    {"http://h/",
     {{"HTTP_PROXY", "http://p:3128"}},
     "http://p:3128",
     " by the proxy http://p:3128 (HTTP_PROXY)"},
    {"https://h/", {{"http_proxy", "http://p:3128"}}, "", ""},
    {"https://h/", {{"HTTPS_PROXY", "p:3128/"}}, "p:3128/", " by the proxy p:3128 (HTTPS_PROXY)"},
    {"http://h/",
     {{"ALL_PROXY", "socks5://p"}},
     "socks5://p",
     " by the proxy socks5://p (ALL_PROXY)"},
    /* Small letters hide large ones, also where they say nothing. */
    {"http://h/", {{"http_proxy", ""}, {"HTTP_PROXY", "http://p"}}, "", ""},
    {"http://h/",
     {{"http_proxy", ""}, {"all_proxy", "http://a"}},
     "http://a",
     " by the proxy http://a (all_proxy)"},
    /* Of a CGI program's asker. */
    {"http://h/", {{"HTTP_PROXY", "http://evil"}, {"REQUEST_METHOD", "GET"}}, "", ""},
    /* Secrets are nobody's. */
    {"http://h/",
     {{"http_proxy", "http://me:secret@p:3128/x"}},
     "http://me:secret@p:3128/x",
     " by the proxy http://p:3128 (http_proxy)"},
    {"http://h/",
     {{"http_proxy", "me:se@cret@p:3128"}},
     "me:se@cret@p:3128",
     " by the proxy p:3128 (http_proxy)"},
    {"http://h/",
     {{"http_proxy", "http://me:se/cret@p:3128"}},
     "http://me:se/cret@p:3128",
     " by the proxy http://p:3128 (http_proxy)"},
    {"http://h/",
     {{"http_proxy", "me:se/cret@p:3128"}},
     "me:se/cret@p:3128",
     " by the proxy p:3128 (http_proxy)"},
    /* A server of this machine goes there, too, unless it is left out. */
    {"http://127.0.0.1:5000",
     {{"http_proxy", "http://p"}},
     "http://p",
     " by the proxy http://p (http_proxy)"},
    {"http://127.0.0.1:5000",
     {{"http_proxy", "http://p"}, {"no_proxy", "localhost,127.0.0.1"}},
     "http://p",
     ""},
    {"http://[::1]:5000", {{"http_proxy", "http://p"}, {"no_proxy", "::1"}}, "http://p", ""},
    {"http://a.cluster.org",
     {{"http_proxy", "http://p"}, {"NO_PROXY", ".Cluster.org"}},
     "http://p",
     ""},
    {"http://cluster.org",
     {{"http_proxy", "http://p"}, {"no_proxy", "x, .cluster.org"}},
     "http://p",
     ""},
    {"http://mycluster.org",
     {{"http_proxy", "http://p"}, {"no_proxy", "cluster.org"}},
     "http://p",
     " by the proxy http://p (http_proxy)"},
    {"http://h", {{"http_proxy", "http://p"}, {"no_proxy", "*"}}, "http://p", ""},
    {"http://h",
     {{"http_proxy", "http://p"}, {"no_proxy", ", ,"}},
     "http://p",
     " by the proxy http://p (http_proxy)"},
    {"http://h",
     {{"http_proxy", "http://p"}, {"no_proxy", "."}},
     "http://p",
     " by the proxy http://p (http_proxy)"},
};

static void clear_environment(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        (void)unsetenv(variables[i]);
    }
}

TEST(which_proxy)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        clear_environment();
        for (size_t v = 0; v < 4 && cases[i].environment[v][0] != NULL; v++) {
            assert_int_equal(setenv(cases[i].environment[v][0], cases[i].environment[v][1], 1), 0);
        }
        const struct rm_proxy proxy = rm_proxy_of(cases[i].url);
        rm_proxy_describe(&proxy, text, sizeof text);
        if (strcmp(proxy.address, cases[i].address) != 0 ||
            strcmp(text, cases[i].description) != 0) {
            fail_msg("case %zu, %s: \"%s\",\"%s\"", i, cases[i].url, proxy.address, text);
        }
    }
    clear_environment();
}

TEST(a_long_one_is_cut)
{
    char address[1024] = "http://me:secret@", text[64];
    memset(address + strlen(address), 'p', 900);
    assert_int_equal(setenv("http_proxy", address, 1), 0);
    const struct rm_proxy proxy = rm_proxy_of("http://h");
    rm_proxy_describe(&proxy, text, sizeof text);
    assert_int_equal(strlen(text), sizeof text - 1);
    assert_null(strstr(text, "secret"));
    clear_environment();
}
