/* SPDX-License-Identifier: MIT */
/*
 * base/ini: what Python's configparser makes of the same texts (its answers stand here); where it
 * refuses a file, as for a '%' that stands alone or a name that comes twice, this reader takes what
 * it can.
 */
#include "test.h"

#include "base/compiler.h"
#include "base/ini.h"

#define NONE NULL

static void assert_value(const char *text, const char *name, const char *wanted)
{
    char value[64] = "as it was";
    bool is_there = rm_ini_get(rm_text_of(text, strlen(text)), "mlflow", name, value, sizeof value);
    if (is_there != (wanted != NULL) || strcmp(value, wanted != NULL ? wanted : "") != 0) {
        fail_msg("%s of \"%s\" is %s '%s'", name, text, is_there ? "there," : "not there,", value);
    }
}

TEST(values_are_those_of_configparser)
{
    static const struct {
        const char *text, *user, *password;
    } cases[] = {
        {"[mlflow]\nuser = a\npassword = b\n", "a", "b"},
        {"[mlflow]\nUSER: a\nPassWord=b=c:d\n", "a", "b=c:d"},
        {"# x\n; y\n[mlflow] ; z\n  # in\nuser=a # not a remark\npassword = p;q\n",
         "a # not a remark", "p;q"},
        {"[mlflow]\n  user=a\n  password=b\n", "a", "b"},
        {"[mlflow]\n  user=a\n password=b\n", "a", "b"},
        {"[DEFAULT]\nuser=d\npassword=e\n[mlflow]\nuser=a\n", "a", "e"},
        {"[mlflow]\nuser=a%%b\npassword=%%(user)s\n", "a%b", "%(user)s"},
        {"[other]\nuser=a\npassword=b\n", NONE, NONE},
        {"[MLFLOW]\nuser=a\npassword=b", NONE, NONE},
        {"[a]b]\nuser=a\npassword=b\n", NONE, NONE},
        {"[mlflow]\nuser=\npassword=b\n", "", "b"},
        {"[mlflow]\r\nuser = a\r\npassword = b\r\n", "a", "b"},
        {"[mlflow]\nuser='a'\npassword=\"b\"\n", "'a'", "\"b\""},
        {"[mlflow]x\nuser = a b\npassword = \t b \t\n", "a b", "b"},
        {"  [mlflow]\nuser=a\npassword=b", "a", "b"},
        {"", NONE, NONE},
        /* Values of several lines are none here. */
        {"[mlflow]\nuser=a\n  more\npassword=b\n", NONE, "b"},
        {"[mlflow]\nuser=a\n\n  after a blank\npassword=b\n", NONE, "b"},
        {"[mlflow]\nuser=a\n  # remark\n  after\npassword=b\n", NONE, "b"},
        {"[mlflow]\nuser=a\n [other]\npassword=b\n", NONE, "b"},
        {"[mlflow]\nuser = a\n\tb=c\npassword=d\n", NONE, "d"},
        /* Nor are values that refer to others. */
        {"[mlflow]\nuser=a%(password)s\npassword=b\n", NONE, "b"},
        /* It refuses these files, of which is taken what can be. */
        {"[mlflow]\nuser=a%(pass)word\npassword=50%\n", "a%(pass)word", "50%"},
        {"[mlflow]\nuser=a\nno setting\nuser=b\npassword=c\n", "b", "c"},
        {"user=a\n[mlflow]\npassword=c\n", NONE, "c"},
        {"[mlflow]\n= a\n: b\n[\n[]\nuser=u", "u", NONE},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(cases); i++) {
        assert_value(cases[i].text, "user", cases[i].user);
        assert_value(cases[i].text, "password", cases[i].password);
    }
}

TEST(a_value_has_room_or_is_none)
{
    static const char text[] = "[s]\nb=12341234\n";
    for (size_t room = 1; room <= 10; room++) {
        char value[10];
        memset(value, 'x', sizeof value);
        bool is_there = rm_ini_get(rm_text_of(text, strlen(text)), "s", "b", value, room);
        assert_int_equal(is_there, room > 8);
        assert_string_equal(value, is_there ? "12341234" : "");
    }
}

TEST(entries_in_their_order)
{
    static const char text[] =
        "one = 1\n# remark\n\n  two: 2\n   not of two\n[s]\nthree=\n plain \n";
    static const struct {
        const char *section, *name, *value;
        unsigned line;
    } wanted[] = {
        {"", "one", "1", 1},   {"", "two", "2", 4}, {"", "", "", 5},
        {"s", "three", "", 7}, {"s", "", "", 8},
    };
    struct rm_ini ini = {.rest = rm_text_of(text, strlen(text))};
    struct rm_ini_entry entry;
    for (size_t i = 0; i < RM_ARRAY_LEN(wanted); i++) {
        assert_true(rm_ini_next(&ini, &entry));
        assert_true(rm_text_equals(&entry.section, wanted[i].section));
        assert_true(rm_text_equals(&entry.name, wanted[i].name));
        assert_true(rm_text_equals(&entry.value, wanted[i].value));
        assert_int_equal(entry.line, wanted[i].line);
        assert_false(entry.has_more);
    }
    assert_true(rm_text_equals(&entry.whole, "plain"));
    assert_false(rm_ini_next(&ini, &entry));
}
