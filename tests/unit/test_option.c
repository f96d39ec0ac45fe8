/* SPDX-License-Identifier: MIT */
/*
 * base/option: a table of options that has one of each kind, read from texts and from structs; and
 * base/nearest.
 */
#include "test.h"

#include "base/option.h"

struct sample {
    size_t struct_size;
    uint64_t flags;
    uint64_t time_ms;
    int64_t number;
    double share, amount;
    uint64_t colours;
    const char *word;
    const char *password;
    const resmon_label *labels;
    size_t label_count;
};

#define FLAG_LOUD  UINT64_C(1)
#define FLAG_SLOW  UINT64_C(2)
#define FLAG_QUICK UINT64_C(4)
#define FLAG_ZERO  UINT64_C(8)
#define FLAG_BARE  UINT64_C(16)

static const struct rm_option_name colours[] = {{"red", 1, RM_NAME_JOINED},
                                                {"green", 2, RM_NAME_JOINED},
                                                {"both", 3, RM_NAME_JOINED},
                                                {"none", FLAG_BARE, RM_NAME_FLAG}};
static const struct rm_option_name paces[] = {{"usual", 0, RM_NAME_ALONE},
                                              {"slow", FLAG_SLOW, RM_NAME_ALONE},
                                              {"quick", FLAG_QUICK, RM_NAME_ALONE}};

/* clang-format off */
static const struct rm_option options[] = {
    RM_OPTION_ROW(struct sample, "time", DURATION, time_ms, RM_RANGE(10, 7200000, 1500) .help = "h"),
    RM_OPTION_ROW(struct sample, "number", COUNT, number, RM_RANGE(1, 5, 0) RM_SIGNED .help = "h"),
    RM_OPTION_ROW(struct sample, "share", SHARE, share, RM_RANGE(0, 1, 0.25) .help = "h"),
    RM_OPTION_ROW(struct sample, "amount", NUMBER, amount, RM_RANGE(0, 9, 0) RM_ZERO(FLAG_ZERO)
                  RM_UNIT("l") .help = "h"),
    RM_OPTION_ROW(struct sample, "colours", NAMES, colours, RM_NAMES(colours) RM_FILLED(2)
                  .help = "h"),
    RM_OPTION_ROW(struct sample, "pace", CHOICE, flags, RM_NAMES(paces) .help = "h"),
    RM_OPTION_ROW(struct sample, "loud", FLAG, flags, RM_BIT(FLAG_LOUD) .help = "h"),
    RM_OPTION_ROW(struct sample, "word", TEXT, word, RM_NEEDED .help = "what it is about"),
    RM_OPTION_ROW(struct sample, "password", SECRET, password, .help = "h"),
    RM_OPTION_ROW(struct sample, "label", LABELS, labels, RM_LABELS(struct sample) .help = "h"),
};
/* clang-format on */

static const struct rm_option_set set = {.name = "thing",
                                         .main = "word",
                                         .help = "a thing",
                                         .options = options,
                                         .count = RM_ARRAY_LEN(options),
                                         .flags_offset = offsetof(struct sample, flags)};

static char room[4096];
static resmon_label labels[RM_OPTION_LABELS_MOST];
static struct sample sample;

static resmon_status read_text(const char *text)
{
    const struct rm_option_target target = {&sample, labels};
    assert_true(strlen(text) < sizeof room);
    sample = (struct sample){.struct_size = sizeof sample};
    memset(room, 'x', sizeof room);
    resmon_status status = rm_options_parse(&set, text, room, &target);
    for (size_t i = strlen(text) + 1; i < sizeof room; i++) {
        assert_int_equal(room[i], 'x'); /* no more room than was promised */
    }
    return status;
}

static void assert_told(resmon_status expected, resmon_status status, const char *const words[])
{
    assert_status(expected, status);
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strstr(resmon_last_error(), words[i]) == NULL) {
            fail_msg("no '%s' in '%s'", words[i], resmon_last_error());
        }
    }
}

#define TOLD(expected, status, ...) \
    assert_told(expected, status, (const char *const[]){__VA_ARGS__, NULL})

TEST(a_text_fills_a_struct)
{
    assert_ok(read_text("a word,time=2min,number=3,share=0.5,amount=0,colours=red+green,pace=quick,"
                        "loud,password=\"a,b\\\"c\\\\\",label.team=x y,label.empty="));
    assert_string_equal(sample.word, "a word");
    assert_int_equal(sample.time_ms, 120000);
    assert_int_equal(sample.number, 3);
    assert_true(sample.share == 0.5 && sample.amount == 0.0);
    assert_int_equal(sample.colours, 3);
    assert_int_equal(sample.flags, FLAG_QUICK | FLAG_LOUD | FLAG_ZERO);
    assert_string_equal(sample.password, "a,b\"c\\");
    assert_int_equal(sample.label_count, 2);
    assert_string_equal(sample.labels[0].name, "team");
    assert_string_equal(sample.labels[0].value, "x y");
    assert_string_equal(sample.labels[1].value, "");
    assert_ok(read_text(""));
    assert_ok(read_text(",,word=x,,"));
}

/* The first part is a value when it is no key: a path, an address, a word, a quoted text. */
TEST(the_main_option_needs_no_key)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"run.json", "run.json"}, {"/a=b/c,loud", "/a=b/c"}, {"http://h:1/?a=b", "http://h:1/?a=b"},
        {"\"a=b, c\"", "a=b, c"}, {"word=loud", "loud"},     {"\"loud\"", "loud"},
        {"x,word=y", "y"}};
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        assert_ok(read_text(rows[i].text));
        assert_string_equal(sample.word, rows[i].word);
    }
    assert_ok(read_text("loud"));
    assert_null(sample.word);
    TOLD(RESMON_EINVAL, read_text("loud,run.json"), "thing: 'run.json'", "time, number, share");
    TOLD(RESMON_EINVAL, read_text("wird=x"), "'wird'", "did you mean 'word'");
}

TEST(values_that_are_refused)
{
    TOLD(RESMON_ERANGE, read_text("time=9"), "thing.time=9:", "10 ms to 2 h; default 1500 ms");
    TOLD(RESMON_ERANGE, read_text("time=0"), "thing.time=0:");
    TOLD(RESMON_ERANGE, read_text("time=3h"), "thing.time=3h:");
    TOLD(RESMON_EINVAL, read_text("time=soon"), "thing.time=soon:", "100ms");
    TOLD(RESMON_EINVAL, read_text("time=1h30"), "thing.time=1h30:");
    TOLD(RESMON_ERANGE, read_text("number=6"), "1 to 5");
    TOLD(RESMON_EINVAL, read_text("number=1.0"), "a whole number");
    TOLD(RESMON_ERANGE, read_text("share=0"), "above 0 to 1; default 0.25");
    TOLD(RESMON_ERANGE, read_text("amount=9.5"), "0 to 9 l");
    TOLD(RESMON_EINVAL, read_text("colours=rod"), "'rod' is not one of red, green", "mean 'red'");
    TOLD(RESMON_EINVAL, read_text("colours=none+red"), "'none'");
    TOLD(RESMON_EINVAL, read_text("pace=slow+quick"), "'slow'");
    TOLD(RESMON_EINVAL, read_text("loud=yes"), "thing.loud", "no value");
    TOLD(RESMON_EINVAL, read_text("word="), "thing.word=", "a value");
    TOLD(RESMON_EINVAL, read_text("label=x"), "'label' is not known; it has");
    TOLD(RESMON_EINVAL, read_text("word=\"x"), "word=", "a quote");
    TOLD(RESMON_EINVAL, read_text("\"x"), "a quote");
    static char many[2048] = "x";
    for (size_t i = 0; i <= RM_OPTION_LABELS_MOST; i++) {
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), ",label.a%zu=b", i);
    }
    TOLD(RESMON_ERANGE, read_text(many), "32 labels");
}

/* A piece of a password with a comma looks like anything. */
TEST(what_may_be_a_password_is_not_shown)
{
    static const char *const texts[] = {
        "http://u:a,SECRET@h",         "http://u:a,SECRET=b@h",
        "http://u:a,time=SECRET@h",    "http://u:a,number=9SECRET@h",
        "http://u:a,colours=SECRET@h", "http://u:a,loud,SECRET,x@h",
        "password=\"SECRET",           "passwrd=SECRET",
        "password=a,SECRET",           "password=a,SECRET=b",
        "password=a,time=SECRET",      "password=a,colours=SECRET"};
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        assert_status(RESMON_EINVAL, read_text(texts[i]));
        assert_null(strstr(resmon_last_error(), "SECRET"));
    }
}

TEST(a_struct_is_completed)
{
    struct sample given = {.word = "x"};
    assert_ok(rm_options_complete(&set, &given));
    assert_int_equal(given.time_ms, 1500);
    assert_int_equal(given.number, 0);
    assert_true(given.share == 0.25 && given.amount == 0.0);
    assert_int_equal(given.colours, 2);
    assert_int_equal(given.flags, 0);
    given.time_ms = 7200001;
    TOLD(RESMON_ERANGE, rm_options_complete(&set, &given), "thing.time is 7200001 ms",
         "10 ms to 2 h");
    given.time_ms = UINT64_MAX;
    TOLD(RESMON_ERANGE, rm_options_complete(&set, &given), "thing.time is ");
    given.time_ms = 0;
    given.number = -1;
    TOLD(RESMON_ERANGE, rm_options_complete(&set, &given), "thing.number is -1", "1 to 5");
    given.number = 0;
    given.share = RM_NAN;
    TOLD(RESMON_ERANGE, rm_options_complete(&set, &given), "thing.share is not a number");
    given.share = -0.0;
    given.amount = 1e300;
    TOLD(RESMON_ERANGE, rm_options_complete(&set, &given), "thing.amount is ");
    given.amount = 0.0;
    given.flags = 1 << 20;
    TOLD(RESMON_EINVAL, rm_options_complete(&set, &given), "thing.flags", "0x100000");
    given.flags = FLAG_LOUD | FLAG_SLOW | FLAG_ZERO | FLAG_BARE;
    assert_ok(rm_options_complete(&set, &given));
    given.flags = FLAG_SLOW | FLAG_QUICK;
    TOLD(RESMON_EINVAL, rm_options_complete(&set, &given), "thing.pace",
         "several of usual, slow, quick");
    given.flags = FLAG_SLOW;
    given.colours = 8;
    TOLD(RESMON_EINVAL, rm_options_complete(&set, &given), "thing.colours", "0x8");
    given.colours = 0;
    given.word = NULL;
    TOLD(RESMON_EINVAL, rm_options_complete(&set, &given), "thing.word is missing",
         "what it is about");
}

TEST(quoting_and_reading_back)
{
    static const char *const texts[] = {"", "a", "a,b", "\"", "\\", "\\\"", "a=\"b\",\\", "\\n"};
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        struct rm_buffer buffer;
        rm_buffer_init(&buffer, 1000);
        rm_buffer_puts(&buffer, "word=");
        rm_option_quote(&buffer, texts[i]);
        rm_buffer_puts(&buffer, ",loud");
        assert_ok(read_text(buffer.text));
        assert_string_equal(sample.word, texts[i]);
        assert_int_equal(sample.flags, FLAG_LOUD);
        rm_buffer_free(&buffer);
    }
}

static const char *nearest_to(const char *word)
{
    static const char *const names[] = {"interval", "pid", "prometheus", "rows", "scope_paths"};
    struct rm_nearest nearest = rm_nearest_new(word, strlen(word));
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        rm_nearest_try(&nearest, names[i]);
    }
    return nearest.name != NULL ? nearest.name : "";
}

TEST(names_that_are_near)
{
    static const char long_word[] = "intervalintervalintervalintervalintervalinterval";
    assert_string_equal(nearest_to("intervall"), "interval");
    assert_string_equal(nearest_to("inteval"), "interval");
    assert_string_equal(nearest_to("itnerval"), "interval");
    assert_string_equal(nearest_to("INTERVAL"), "interval");
    assert_string_equal(nearest_to("prom"), "prometheus");
    assert_string_equal(nearest_to("row"), "rows");
    assert_string_equal(nearest_to("scope-paths"), "scope_paths");
    assert_string_equal(nearest_to("io"), "");
    assert_string_equal(nearest_to("p"), "");
    assert_string_equal(nearest_to(""), "");
    assert_string_equal(nearest_to("weather"), "");
    assert_string_equal(nearest_to(long_word), "");
}
