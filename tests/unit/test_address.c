/* SPDX-License-Identifier: MIT */
/*
 * net/address: what is an address, where the credentials go, and that no message shows one; where a
 * push to a Pushgateway goes; and which proxy the environment asks for, as the mlflow package and
 * libcurl take it.
 */
#include "test.h"

#include "api/plan.h"
#include "format/exposition.h"
#include "net/address.h"
#include "random.h"

#define ROOM 64

static struct rm_secrets secrets;

static resmon_status take(const char *text, char uri[ROOM])
{
    memset(&secrets, 0, sizeof secrets);
    (void)snprintf(uri, ROOM, "untouched");
    return rm_server_uri_take(text, "the address", uri, ROOM, &secrets);
}

TEST(addresses)
{
    static const struct {
        const char *text, *uri, *user, *password;
    } rows[] = {
        {"http://h", "http://h", "", ""},
        {"https://h:5000/", "https://h:5000", "", ""},
        {"http://h/a/b/", "http://h/a/b", "", ""},
        {"http://u:p@h", "http://h", "u", "p"},
        {"https://u@h/x", "https://h/x", "u", ""},
        {"http://:p@h", "http://h", "", "p"},
        {"http://@h", "http://h", "", ""},
        {"http://u:@h", "http://h", "u", ""},
        {"http://u:p:q@h", "http://h", "u", "p:q"},
        {"http://u:p@q@h", "http://h", "u", "p@q"},
        {"http://a%40b:%70%3a%2F@h", "http://h", "a@b", "p:/"},
        {"http://u:%zz%4@h", "http://h", "u", "%zz%4"},
        {"http://u:p%41@h", "http://h", "u", "pA"},
        {"http://h/a@b", "http://h/a@b", "", ""},
        {"http://[::1]:5000/", "http://[::1]:5000", "", ""},
        {"http://u:p@[fe80::1]/x", "http://[fe80::1]/x", "u", "p"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char uri[ROOM];
        assert_ok(take(rows[i].text, uri));
        assert_string_equal(uri, rows[i].uri);
        assert_string_equal(secrets.user, rows[i].user);
        assert_string_equal(secrets.password, rows[i].password);
        assert_string_equal(secrets.token, "");
    }
}

TEST(secrets_stay_where_the_text_has_none)
{
    char uri[ROOM];
    struct rm_secrets given = {"user", "password", "token"};
    assert_ok(rm_server_uri_take("http://h", "it", uri, sizeof uri, &given));
    assert_string_equal(given.user, "user");
    assert_string_equal(given.password, "password");
    assert_string_equal(given.token, "token");
}

TEST(what_is_no_address)
{
    static const char *const texts[] = {
        "",
        "h",
        "http:/h",
        "http://",
        "https:///x",
        "HTTP://h",
        "file:/tmp",
        "databricks",
        "ftp://SECRET@h",
        "sqlite:///x.db",
        "SECRET@h",
        "postgresql://u:SECRET@h/x",
        "u:SECRET@h",
        "SECRET:x@h",
        "/SECRET",
        "word/SECRET",
        "http://u:SECRET@",
        "http://u:SECRET@/x",
        "http://u:SECRET@h?x=1",
        "http://u:SECRET@h#x",
        "http://u:SECRET@h/a b",
        "http://u:SECRET@h/\"",
        "http://u:SECRET@h/\r\nX: y",
        "http://u:SECRET@h/<>{}|\\^`",
        "http://u:SECRET/x@h\t",
        "http://u:SECRET@0123456789012345678901234567890123456789012345678901234567890123456789",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char uri[ROOM];
        assert_status(RESMON_EINVAL, take(texts[i], uri));
        assert_non_null(strstr(resmon_last_error(), "the address"));
        assert_null(strstr(resmon_last_error(), "SECRET"));
    }
}

TEST(credentials_that_are_too_long)
{
    char uri[ROOM];
    static char text[3 * RM_SECRET_BYTES];
    for (int is_password = 0; is_password < 2; is_password++) {
        size_t length = (size_t)snprintf(text, 16, is_password ? "http://u:" : "http://");
        memset(text + length, 's', RM_SECRET_BYTES);
        memcpy(text + length + RM_SECRET_BYTES, "@h", 3);
        assert_status(RESMON_EINVAL, take(text, uri));
        assert_null(strstr(resmon_last_error(), "ssss"));
        memcpy(text + length + RM_SECRET_BYTES - 1, "@h", 3);
        assert_ok(take(text, uri));
        assert_string_equal(uri, "http://h");
        assert_int_equal(strlen(is_password ? secrets.password : secrets.user),
                         RM_SECRET_BYTES - 1);
    }
}

/* Made of the bytes that mean something: never a crash, and an address never has credentials, white
 * space or control characters. */
TEST(random_texts)
{
    static const char bytes[] = "a@:/%?#[]41 \t\n\xff.";
    struct random random = {29};
    for (int i = 0; i < 100000; i++) {
        char text[64] = "http://";
        char uri[ROOM];
        size_t length = 7 + (size_t)random_below(&random, 40);
        for (size_t k = 7; k < length; k++) {
            text[k] = bytes[random_below(&random, sizeof bytes - 1)];
        }
        if (take(text, uri) == RESMON_OK) {
            assert_int_equal(strncmp(uri, "http://", 7), 0);
            size_t host = strcspn(uri + 7, "/");
            assert_true(host > 0);
            assert_null(memchr(uri + 7, '@', host));
            assert_null(strpbrk(uri, " \t\n?#"));
        }
    }
}

/* A password with a slash that nobody encoded looks like a port and a path. */
TEST(a_password_with_a_slash)
{
    static const char *const texts[] = {"http://user:SECRET/word@host:5000", "http://u:1/SECRET@h",
                                        "https://u:SECRET/@h/path"};
    char uri[ROOM];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_status(RESMON_EINVAL, take(texts[i], uri));
        assert_non_null(strstr(resmon_last_error(), "%2F"));
        assert_null(strstr(resmon_last_error(), "SECRET"));
    }
    assert_ok(take("http://[::1]:80/a@b", uri));
    assert_ok(take("http://u:p@h:80/a@b", uri));
    assert_string_equal(uri, "http://h:80/a@b");
}

TEST(a_mistake_in_the_variable)
{
    static const char *const texts[] = {"mlfow=http://u:SECRET@h",
                                        "mlflow=http://u:a,SECRET@h",
                                        "pushgateway=http://u:a,SECRET=b@h",
                                        "pushgateway=http://u:a,rows=SECRET@h",
                                        "pushgateway=http://u:a,scopes=SECRET@h",
                                        "pushgateway=http://u:a,interval=9SECRET@h"};
    static struct rm_plan plan;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_status(RESMON_EINVAL, rm_plan_read(texts[i], false, &plan));
        rm_plan_free(&plan);
        assert_null(strstr(resmon_last_error(), "SECRET"));
        assert_ok(rm_plan_read(texts[i], true, &plan));
        assert_true(plan.refused.length > 0);
        assert_null(strstr(plan.refused.text, "SECRET"));
        rm_plan_free(&plan);
    }
}

/* ---- pushes -----------------------------------------------------------------------------------
 */

TEST(addresses_of_a_push)
{
    static const struct {
        const char *base, *job;
        resmon_label labels[2];
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

/* Bases are refused as addresses are. */
TEST(pushes_that_are_refused)
{
    static const char *const bases[] = {NULL,
                                        "",
                                        "http:///x",
                                        "http://h?q",
                                        "http://h/#f",
                                        "http://h\\x",
                                        "http://u:SECRET@h/\x01"};
    static const resmon_label job[] = {{"job", "x"}};
    static const struct rm_labels none;
    struct rm_labels labels;
    struct rm_buffer url;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        assert_status(RESMON_EINVAL, rm_push_url(bases[i], "resmon", &none, &url));
        assert_null(strstr(resmon_last_error(), "SECRET"));
    }
    assert_status(RESMON_EINVAL, rm_push_url("http://h", "", &none, &url));
    assert_status(RESMON_EINVAL, rm_push_url("http://h", NULL, &none, &url));
    assert_ok(rm_labels_take(job, 1, &labels));
    assert_status(RESMON_EINVAL, rm_push_url("http://h", "resmon", &labels, &url));
    rm_labels_free(&labels);
}

/* ---- proxies ----------------------------------------------------------------------------------
 */

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
    /* A header "Proxy" of a CGI program's client. */
    {"http://h/", {{"HTTP_PROXY", "http://evil"}, {"REQUEST_METHOD", "GET"}}, "", ""},
    /* Without their passwords. */
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
