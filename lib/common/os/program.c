/* SPDX-License-Identifier: MIT */
#include "os/program.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

/* What runs scripts, by the beginning of its file's name; its options of one letter whose value is
 * the next argument, those after which the program's text follows, and that of a module. */
static const struct interpreter {
    char name[8];
    char valued[8], code[4], module;
} interpreters[] = {
    {"python", "WXQ", "c", 'm'},   {"pypy", "WXQ", "c", 'm'},  {"Rscript", "", "e", '\0'},
    {"perl", "IM", "eE", '\0'},    {"ruby", "rIC", "e", '\0'}, {"node", "r", "ep", '\0'},
    {"julia", "LJtp", "eE", '\0'}, {"bash", "oO", "c", '\0'},  {"dash", "o", "c", '\0'},
    {"zsh", "o", "c", '\0'},       {"sh", "o", "c", '\0'},
};

/* "python3.11" and "python3", but not "pythonic": what follows the name is a version. */
static const struct interpreter *interpreter_of(const char *file)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(interpreters); i++) {
        size_t length = strlen(interpreters[i].name);
        if (strncmp(file, interpreters[i].name, length) == 0 &&
            file[length + strspn(file + length, "0123456789.-d")] == '\0') {
            return &interpreters[i];
        }
    }
    return NULL;
}

/* The argument behind one; NULL: there is none. */
static const char *next_of(const char *argument, const char *end)
{
    const char *next = argument + strnlen(argument, (size_t)(end - argument)) + 1;
    return next < end ? next : NULL;
}

static bool has(const char *letters, char letter)
{
    return letter != '\0' && strchr(letters, letter) != NULL;
}

/* What the letters of an argument say: "-Bm", "-Xdev".  Of what follows a letter with a value, that
 * is the value. */
enum meaning { MEANS_NOTHING, MEANS_VALUE, MEANS_CODE, MEANS_MODULE };

static enum meaning read_letters(const struct interpreter *interpreter, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        bool is_valued = has(interpreter->valued, *letters);
        if (is_valued || has(interpreter->code, *letters)) {
            return !is_valued ? MEANS_CODE : letters[1] == '\0' ? MEANS_VALUE : MEANS_NOTHING;
        }
        if (*letters == interpreter->module) {
            return MEANS_MODULE;
        }
    }
    return MEANS_NOTHING;
}

/* The script or module; NULL: there is none, as of "python3 -c ...". */
static const char *script_of(const struct interpreter *interpreter, const char *argument,
                             const char *end)
{
    while (argument != NULL && argument[0] == '-' && argument[1] != '\0') {
        enum meaning meaning =
            argument[1] != '-' ? read_letters(interpreter, argument + 1) : MEANS_NOTHING;
        if (meaning == MEANS_CODE) {
            return NULL;
        }
        if (meaning == MEANS_MODULE) {
            const char *module = strchr(argument, interpreter->module) + 1;
            return module[0] != '\0' ? module : next_of(argument, end);
        }
        argument = next_of(argument, end);
        if (meaning == MEANS_VALUE && argument != NULL) {
            argument = next_of(argument, end);
        }
    }
    return argument != NULL && argument[0] != '-' ? argument : NULL;
}

void rm_program_name(const char *executable, const char *arguments, size_t length, char *name,
                     size_t capacity)
{
    const char *file = rm_text_base_name(executable);
    const struct interpreter *interpreter = interpreter_of(file);
    char bounded[4096];
    size_t kept = length < sizeof bounded - 1 ? length : sizeof bounded - 1;
    memcpy(bounded, arguments, kept);
    bounded[kept] = '\0';
    const char *script =
        interpreter != NULL && kept > 0
            ? script_of(interpreter, next_of(bounded, bounded + kept), bounded + kept)
            : NULL;
    (void)rm_text_set(name, capacity, rm_text_base_name(script != NULL ? script : file));
}
