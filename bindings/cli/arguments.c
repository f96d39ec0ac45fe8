/* SPDX-License-Identifier: MIT */
#include "arguments.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

/* ---- options in the syntax of RESMON ------------------------------------------------------ */

void cli_text_put(struct cli_text *text, const char *bytes, size_t length)
{
    if (text->length + length + 1 > text->capacity) {
        text->capacity = 2 * (text->length + length + 1);
        text->text = cli_grow(text->text, text->capacity);
    }
    memcpy(text->text + text->length, bytes, length);
    text->length += length;
    text->text[text->length] = '\0';
}

void cli_text_add(struct cli_text *text, const char *key, const char *value)
{
    cli_text_put(text, ",", text->length > 0 ? 1 : 0);
    cli_text_put(text, key, strlen(key));
    if (value == NULL) {
        return;
    }
    cli_text_put(text, key[0] != '\0' ? "=\"" : "\"", key[0] != '\0' ? 2 : 1);
    for (const char *at = value; *at != '\0'; at++) {
        cli_text_put(text, "\\", *at == '"' || *at == '\\' ? 1 : 0);
        cli_text_put(text, at, 1);
    }
    cli_text_put(text, "\"", 1);
}

void cli_text_free(struct cli_text *text)
{
    free(text->text);
    *text = (struct cli_text){.text = NULL};
}

/* ---- words of a command ------------------------------------------------------------------- */

__attribute__((format(printf, 1, 0))) static char *format_text(const char *format, va_list values)
{
    va_list again;
    va_copy(again, values);
    size_t bytes = (size_t)vsnprintf(NULL, 0, format, values) + 1;
    char *text = cli_grow(NULL, bytes);
    (void)vsnprintf(text, bytes, format, again);
    va_end(again);
    return text;
}

char *cli_format(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *text = format_text(format, values);
    va_end(values);
    return text;
}

void cli_words_add(struct cli_words *words, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *word = format_text(format, values);
    va_end(values);
    words->at = cli_grow(words->at, (words->count + 2) * sizeof *words->at);
    words->at[words->count++] = word;
    words->at[words->count] = NULL;
}

void cli_words_add_given(struct cli_words *words, const struct cli_arguments *arguments)
{
    for (size_t i = 0; i < arguments->of_library_count; i++) {
        const struct cli_given *given = &arguments->of_library[i];
        cli_words_add(words, "--%s%s%s", given->key, given->value != NULL ? "=" : "",
                      given->value != NULL ? given->value : "");
    }
}

void cli_words_add_all(struct cli_words *words, char *const *more)
{
    for (; *more != NULL; more++) {
        cli_words_add(words, "%s", *more);
    }
}

char *cli_line_of(char *const *words, size_t count)
{
    struct cli_text line = {.text = NULL};
    cli_text_put(&line, "", 0);
    for (size_t i = 0; i < count; i++) {
        cli_text_put(&line, " ", i > 0 ? 1 : 0);
        cli_text_put(&line, words[i], strlen(words[i]));
    }
    return line.text;
}

void cli_words_free(struct cli_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->at[i]);
    }
    free(words->at);
    *words = (struct cli_words){.at = NULL};
}

/* ---- tables for getopt_long() ------------------------------------------------------------- */

#define FIRST 1000 /* + index of the flag: above all letters */

struct known {
    struct option *longs;
    size_t count;
    struct flag {
        struct cli_flag is; /* of its `library`, only NULL or not NULL is valid */
        bool is_secret, is_label;
    } * flags;
    size_t flag_count;
    char letters[80];
};

static void add_long(struct known *known, const char *name, int has_value)
{
    known->longs = cli_grow(known->longs, (known->count + 2) * sizeof *known->longs);
    known->longs[known->count++] =
        (struct option){name, has_value, NULL, FIRST + (int)known->flag_count};
    known->longs[known->count] = (struct option){NULL, 0, NULL, 0};
}

/* Accepts "--stack-hz" for the option "stack_hz". */
static void add_dashed(struct known *known, const char *name, int has_value)
{
    if (strchr(name, '_') == NULL) {
        return;
    }
    char *dashed = cli_format("%s", name);
    for (char *at = dashed; (at = strchr(at, '_')) != NULL;) {
        *at = '-';
    }
    add_long(known, dashed, has_value);
}

static void know_flag(const struct cli_flag *flag, void *context)
{
    struct known *known = context;
    struct flag *own = &known->flags[known->flag_count];
    size_t length = strlen(known->letters);
    own->is = *flag;
    own->is_label = flag->library != NULL && strcmp(flag->library->type, "labels") == 0;
    own->is_secret = flag->library != NULL && strcmp(flag->library->type, "secret") == 0;
    add_long(known, own->is.key, flag->has_value);
    if (flag->library != NULL) {
        add_dashed(known, own->is.key, flag->has_value);
    }
    if (flag->letter != '\0') {
        (void)snprintf(known->letters + length, sizeof known->letters - length, "%c%.*s",
                       flag->letter, flag->has_value, "::");
    }
    known->flag_count++;
}

static void count_flag(const struct cli_flag *flag, void *count)
{
    (void)flag;
    (*(size_t *)count)++;
}

/* Keys of given options point into the array of flags, which is not reallocated. */
static void know(struct known *known, const struct cli_command *command)
{
    size_t count = 0;
    cli_each_option(command, count_flag, &count);
    *known = (struct known){.flags = cli_grow(NULL, count * sizeof *known->flags)};
    (void)snprintf(known->letters, sizeof known->letters,
                   "%s:", (command->traits & CLI_RUNS) != 0 ? "+" : "");
    cli_each_option(command, know_flag, known);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void note(struct cli_given **list, size_t *count, const char *key, const char *value)
{
    *list = cli_grow(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = (struct cli_given){key, value};
}

/* A text that lives as long as the arguments. */
static void keep(struct cli_arguments *arguments, char *text)
{
    arguments->kept = cli_grow(arguments->kept, (arguments->kept_count + 1) * sizeof(char *));
    arguments->kept[arguments->kept_count++] = text;
}

/* All users of the machine can read a command line.  A secret in it is overwritten after parsing,
 * as mysql(1) does; it was visible until then, so a variable or a file is safer. */
static const char *hide(struct cli_arguments *arguments, char *value)
{
    char *copy = cli_format("%s", value);
    keep(arguments, copy);
    for (size_t i = 0; value[i] != '\0'; i++) {
        value[i] = i == 0 ? 'x' : '\0';
    }
    return copy;
}

/* A token, or a URL with a password. */
static bool is_secret(const struct flag *flag, const char *value)
{
    const char *host = strstr(value, "://");
    return flag->is_secret || (host != NULL && strchr(host, '@') != NULL);
}

/* NULL: no such option. */
static const struct flag *flag_of(const struct known *known, int found)
{
    if (found >= FIRST) {
        return &known->flags[found - FIRST];
    }
    for (size_t i = 0; i < known->flag_count; i++) {
        if (known->flags[i].is.letter == found) {
            return &known->flags[i];
        }
    }
    return NULL;
}

/* "--pushgateway.label.team=a", "--label.team=a": users choose the names of labels, so no table has
 * them. */
static bool take_dotted_label(struct cli_arguments *arguments, char *word)
{
    char *value = strchr(word, '=');
    const char *label = strstr(word, ".label.");
    bool is_of_run =
        (arguments->command->traits & CLI_OBSERVES) != 0 && strncmp(word, "--label.", 8) == 0;
    if (strncmp(word, "--", 2) != 0 || value == NULL ||
        (!is_of_run && (label == NULL || label > value)) ||
        (arguments->command->traits & (CLI_OBSERVES | CLI_PUSHES)) == 0) {
        return false;
    }
    *value = '\0';
    note(&arguments->of_library, &arguments->of_library_count, word + 2, value + 1);
    return true;
}

/* NULL: no option has a similar name. */
static const char *nearest_of(const struct known *known, const char *word)
{
    char name[CLI_KEY_BYTES];
    const char *nearest = NULL;
    size_t least = 3; /* at most two typing errors */
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; i < known->count; i++) {
        size_t distance = cli_distance(name, known->longs[i].name);
        if (distance < least && distance < strlen(name)) {
            least = distance;
            nearest = known->longs[i].name;
        }
    }
    return nearest;
}

static bool refuse(const struct cli_arguments *arguments, const struct known *known, int found,
                   const char *word)
{
    const char *verb = arguments->command->name;
    const char *nearest = strncmp(word, "--", 2) == 0 ? nearest_of(known, word + 2) : NULL;
    const int length = (int)strcspn(word, "=");
    if (found == ':') {
        cli_say(verb, "%s needs a value", word);
    } else if (optopt != 0 && isprint(optopt)) {
        cli_say(verb, "there is no option -%c", optopt);
    } else if (optopt != 0) {
        cli_say(verb, "%.*s takes no value", length, word);
    } else if (nearest != NULL) {
        cli_say(verb, "there is no option '%.*s': did you mean '--%s'?", length, word, nearest);
    } else {
        cli_say(verb, "there is no option '%.*s'", length > 200 ? 200 : length, word);
    }
    return false;
}

#define LABEL_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."

/* "--label team=a" */
static bool take_label(struct cli_arguments *arguments, const char *key, const char *pair)
{
    const char *value = strchr(pair, '=');
    size_t length = strspn(pair, LABEL_LETTERS);
    if (value == NULL || value == pair || value != pair + length) {
        cli_say(arguments->command->name,
                "--%s=%.64s: NAME=VALUE is wanted, with letters, digits, '_' and '.' in the name",
                key, pair);
        return false;
    }
    char *name = cli_format("%s.%.*s", key, (int)(value - pair), pair);
    keep(arguments, name);
    note(&arguments->of_library, &arguments->of_library_count, name, value + 1);
    return true;
}

static bool take(struct cli_arguments *arguments, const struct known *known, int found, char *word)
{
    const struct flag *flag = flag_of(known, found);
    if (flag == NULL) {
        return take_dotted_label(arguments, word) || refuse(arguments, known, found, word);
    }
    if (flag->is_label) {
        return take_label(arguments, flag->is.key, optarg);
    }
    if (flag->is.library != NULL) {
        const char *value =
            optarg != NULL && is_secret(flag, optarg) ? hide(arguments, optarg) : optarg;
        note(&arguments->of_library, &arguments->of_library_count, flag->is.key, value);
        return true;
    }
    bool is_stdout = strcmp(flag->is.key, "output") == 0 && strcmp(optarg, "-") == 0;
    note(&arguments->given, &arguments->given_count, flag->is.key, is_stdout ? CLI_STDOUT : optarg);
    return true;
}

/* The number of words after "--"; called before getopt_long() changes their order. */
static int count_behind(int argc, char **argv)
{
    int at = 1;
    while (at < argc && strcmp(argv[at], "--") != 0) {
        at++;
    }
    return at < argc ? argc - at - 1 : 0;
}

bool cli_arguments_read(const struct cli_command *command, int argc, char **argv,
                        struct cli_arguments *ret_arguments)
{
    static struct known known;
    bool is_right = true;
    const int behind = count_behind(argc, argv);
    *ret_arguments = (struct cli_arguments){.command = command};
    know(&known, command);
    opterr = 0;
    optind = 1;
    while (is_right) {
        int at = optind;
        int found = getopt_long(argc, argv, known.letters, known.longs, NULL);
        if (found == -1) {
            break;
        }
        is_right = take(ret_arguments, &known, found, argv[at < argc ? at : argc - 1]);
    }
    ret_arguments->words = argv + optind;
    ret_arguments->word_count = (size_t)(argc - optind);
    ret_arguments->words_before = (size_t)(argc - optind > behind ? argc - optind - behind : 0);
    return is_right;
}

void cli_arguments_free(struct cli_arguments *arguments)
{
    for (size_t i = 0; i < arguments->kept_count; i++) {
        free(arguments->kept[i]);
    }
    free(arguments->kept);
    free(arguments->given);
    free(arguments->of_library);
}

/* ---- values ------------------------------------------------------------------------------- */

const char *cli_value_at(const struct cli_arguments *arguments, const char *key, size_t index)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].key, key) == 0 && index-- == 0) {
            return arguments->given[i].value;
        }
    }
    return NULL;
}

const char *cli_value(const struct cli_arguments *arguments, const char *key)
{
    const char *value = NULL;
    for (size_t i = 0; i < arguments->given_count; i++) {
        value = strcmp(arguments->given[i].key, key) == 0 ? arguments->given[i].value : value;
    }
    return value;
}

bool cli_has(const struct cli_arguments *arguments, const char *key)
{
    bool has = false;
    for (size_t i = 0; i < arguments->given_count; i++) {
        has |= strcmp(arguments->given[i].key, key) == 0;
    }
    return has;
}

bool cli_number(const struct cli_arguments *arguments, const char *key, double low, double high,
                double *ret)
{
    const char *text = cli_value(arguments, key);
    char *end = NULL;
    if (text == NULL) {
        return true;
    }
    double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(value >= low && value <= high)) {
        cli_say(arguments->command->name, "--%s=%.64s must be a number from %g to %g", key, text,
                low, high);
        return false;
    }
    *ret = value;
    return true;
}

bool cli_duration(const struct cli_arguments *arguments, const char *key, double *ret)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"min", 60.0}, {"s", 1.0}, {"h", 3600.0}};
    const char *text = cli_value(arguments, key);
    char *end = NULL;
    double value = text != NULL ? strtod(text, &end) : 0.0;
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++) {
        if (strcmp(end, units[i].name) == 0 && value > 0.0 && value * units[i].seconds < 1e9) {
            *ret = value * units[i].seconds;
            return true;
        }
    }
    if (text != NULL) {
        cli_say(arguments->command->name, "--%s=%.64s must be a duration, such as 30s, 1.5min, 1h",
                key, text);
    }
    return text == NULL;
}

bool cli_needs_words(const struct cli_arguments *arguments, size_t least, size_t most)
{
    const struct cli_command *command = arguments->command;
    if (arguments->word_count >= least && arguments->word_count <= most) {
        return true;
    }
    if (arguments->word_count > most) {
        cli_say(command->name, "unexpected argument '%.200s'", arguments->words[most]);
    } else {
        cli_say(command->name, "an argument is missing: resmon %s %s", command->name,
                command->arguments);
    }
    return false;
}

int cli_wrong(const struct cli_command *command)
{
    cli_say(NULL, "see 'resmon help %s'", command->name);
    return (command->traits & CLI_RUNS) != 0 ? CLI_RUN_FAILED : CLI_USAGE;
}
