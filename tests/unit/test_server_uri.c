/* SPDX-License-Identifier: MIT */
/*
 * net/address: what is an address, where the credentials go, and that no message shows one.
 */
#include "test.h"

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
