/* SPDX-License-Identifier: MIT */
/*
 * That no text of the library shows a credential: neither one that stands where it was not
 * expected, nor one that libcurl quotes.
 */
#include "test.h"

#include <unistd.h>

#include "api/plan.h"
#include "net/address.h"
#include "net/http.h"

#define SOON_NS INT64_C(2000000000)

static void assert_untold(void)
{
    if (strstr(resmon_last_error(), "SECRET") != NULL) {
        fail_msg("'%s' tells the secret", resmon_last_error());
    }
}

/* A password with a slash that nobody encoded looks like a port and a path. */
TEST(a_password_with_a_slash)
{
    static const char *const texts[] = {"http://user:SECRET/word@host:5000", "http://u:1/SECRET@h",
                                        "https://u:SECRET/@h/path"};
    struct rm_secrets secrets = {{0}, {0}, {0}};
    char uri[256];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_status(RESMON_EINVAL,
                      rm_server_uri_take(texts[i], "the address", uri, sizeof uri, &secrets));
        assert_non_null(strstr(resmon_last_error(), "%2F"));
        assert_untold();
    }
    assert_ok(rm_server_uri_take("http://[::1]:80/a@b", "it", uri, sizeof uri, &secrets));
    assert_ok(rm_server_uri_take("http://u:p@h:80/a@b", "it", uri, sizeof uri, &secrets));
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
        assert_untold();
        assert_ok(rm_plan_read(texts[i], true, &plan));
        assert_true(plan.refused.length > 0);
        assert_null(strstr(plan.refused.text, "SECRET"));
        rm_plan_free(&plan);
    }
}

/* libcurl quotes a proxy that it cannot read. */
TEST(a_proxy_that_cannot_be_read)
{
    static const char *const proxies[] = {"htp://u:SECRET@127.0.0.1:1", "http://u:SECRET@h:99999",
                                          "http://u:SECRET@[h"};
    const struct rm_http_config how = {.url = "http://127.0.0.1:1", .timeout_ns = SOON_NS};
    const struct rm_http_request request = {.method = "GET", .url = "http://127.0.0.1:1/x"};
    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++) {
        struct rm_http *http = NULL;
        struct rm_http_reply reply = {0};
        assert_int_equal(setenv("http_proxy", proxies[i], 1), 0);
        resmon_status status = rm_http_open(&how, &http);
        if (status == RESMON_ENOTSUP) {
            skip();
        }
        assert_ok(status);
        assert_status(RESMON_ENET, rm_http_exchange(http, &request, INT64_MAX, &reply));
        assert_non_null(strstr(resmon_last_error(), "GET http://127.0.0.1:1/x by the proxy "));
        assert_non_null(strstr(resmon_last_error(), " (http_proxy): "));
        assert_untold();
        rm_http_reply_free(&reply);
        rm_http_close(http);
    }
    assert_int_equal(unsetenv("http_proxy"), 0);
}
