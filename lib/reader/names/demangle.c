/* SPDX-License-Identifier: MIT */
#include "names/names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"
#include "os/library.h"

/* ---- names of Rust --------------------------------------------------------------------------- */

#define MOST_DEPTH 96
#define MOST_STEPS 10000U /* back references may be nested without end */

/* A symbol while it is parsed, and its name. */
struct reader {
    const char *start; /* behind "_R": back references are offsets from here */
    const char *at;
    char *text;
    size_t used, room;
    unsigned depth, steps;
    unsigned quiet; /* not 0: nothing is written */
    bool is_broken;
};

static void read_path(struct reader *reader, bool is_value);
static void read_type(struct reader *reader);

/* ---- pieces ------------------------------------------------------------------------------ */

static void put(struct reader *reader, const char *bytes, size_t length)
{
    if (reader->quiet > 0 || reader->is_broken) {
        return;
    }
    if (length >= reader->room - reader->used) {
        reader->is_broken = true;
        return;
    }
    memcpy(reader->text + reader->used, bytes, length);
    reader->used += length;
    reader->text[reader->used] = '\0';
}

static void put_text(struct reader *reader, const char *text)
{
    put(reader, text, strlen(text));
}

static void put_number(struct reader *reader, uint64_t number)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    put_text(reader, digits);
}

static bool take(struct reader *reader, char letter)
{
    bool is_there = *reader->at == letter;
    reader->at += is_there ? 1 : 0;
    return is_there;
}

static char next(struct reader *reader)
{
    if (*reader->at == '\0') {
        reader->is_broken = true;
        return '\0';
    }
    return *reader->at++;
}

/* "_" is 0, "0_" is 1, "Z_" is 62. */
static uint64_t read_number(struct reader *reader)
{
    uint64_t number = 0;
    if (take(reader, '_')) {
        return 0;
    }
    while (!reader->is_broken && !take(reader, '_')) {
        char digit = next(reader);
        uint64_t value = digit >= '0' && digit <= '9'   ? (uint64_t)(digit - '0')
                         : digit >= 'a' && digit <= 'z' ? (uint64_t)(digit - 'a') + 10
                         : digit >= 'A' && digit <= 'Z' ? (uint64_t)(digit - 'A') + 36
                                                        : 62;
        reader->is_broken |= value == 62 || number > UINT64_MAX / 64;
        number = number * 62 + value;
    }
    return number + 1;
}

static uint64_t read_disambiguator(struct reader *reader)
{
    return take(reader, 's') ? read_number(reader) + 1 : 0;
}

struct name {
    const char *bytes;
    size_t length;
};

static struct name read_name(struct reader *reader)
{
    size_t length = 0;
    (void)take(reader, 'u'); /* letters beyond ASCII stay in Punycode */
    reader->is_broken |= *reader->at < '0' || *reader->at > '9';
    if (take(reader, '0')) { /* the number ends here; a digit behind it belongs to the name */
        return (struct name){reader->at, 0};
    }
    while (*reader->at >= '0' && *reader->at <= '9' && length < 4096) {
        length = length * 10 + (size_t)(*reader->at++ - '0');
    }
    (void)take(reader, '_');
    const struct name name = {reader->at, strnlen(reader->at, length)};
    reader->is_broken |= name.length < length;
    reader->at += name.length;
    return name;
}

/* A back reference: parses the earlier offset by `read`. */
static void read_again(struct reader *reader, void (*read)(struct reader *reader))
{
    const char *here = reader->at - 1;
    uint64_t place = read_number(reader);
    const char *after = reader->at;
    if (reader->is_broken || place >= (uint64_t)(here - reader->start)) {
        reader->is_broken = true;
        return;
    }
    reader->at = reader->start + place;
    read(reader);
    reader->at = after;
}

static bool enter(struct reader *reader)
{
    reader->is_broken |= ++reader->depth > MOST_DEPTH || ++reader->steps > MOST_STEPS;
    return !reader->is_broken;
}

/* ---- types ------------------------------------------------------------------------------- */

static const char *basic_type(char letter)
{
    static const char *const names[26] = {"i8",   "bool",  "char",  "f64", "str", "f32", NULL,
                                          "u8",   "isize", "usize", NULL,  "i32", "u32", "i128",
                                          "u128", "_",     NULL,    NULL,  "i16", "u16", "()",
                                          "...",  NULL,    "i64",   "u64", "!"};
    return letter >= 'a' && letter <= 'z' ? names[letter - 'a'] : NULL;
}

static void read_constant(struct reader *reader)
{
    uint64_t number = 0;
    bool is_bool = *reader->at == 'b';
    if (take(reader, 'B')) {
        read_again(reader, read_constant);
        return;
    }
    if (take(reader, 'p')) {
        put_text(reader, "_");
        return;
    }
    reader->quiet++;
    read_type(reader);
    reader->quiet--;
    put_text(reader, take(reader, 'n') ? "-" : "");
    for (unsigned digits = 0; !reader->is_broken && !take(reader, '_'); digits++) {
        char digit = next(reader);
        bool is_letter = digit >= 'a' && digit <= 'f';
        reader->is_broken |= digits > 16 || !(is_letter || (digit >= '0' && digit <= '9'));
        number = number * 16 + (uint64_t)(is_letter ? digit - 'a' + 10 : digit - '0');
    }
    if (is_bool) {
        put_text(reader, number != 0 ? "true" : "false");
    } else {
        put_number(reader, number);
    }
}

/* A list that ends with 'E'. */
static void read_list(struct reader *reader, void (*read)(struct reader *reader))
{
    for (unsigned i = 0; !reader->is_broken && !take(reader, 'E'); i++) {
        put_text(reader, i > 0 ? ", " : "");
        read(reader);
    }
}

static void skip_binder(struct reader *reader)
{
    if (take(reader, 'G')) {
        (void)read_number(reader);
    }
}

static void read_function(struct reader *reader)
{
    skip_binder(reader);
    put_text(reader, take(reader, 'U') ? "unsafe " : "");
    if (take(reader, 'K')) {
        put_text(reader, "extern ");
        if (!take(reader, 'C')) {
            (void)read_name(reader);
        }
    }
    put_text(reader, "fn(");
    read_list(reader, read_type);
    put_text(reader, ")");
    if (!take(reader, 'u')) {
        put_text(reader, " -> ");
        read_type(reader);
    }
}

static void read_dynamic(struct reader *reader)
{
    put_text(reader, "dyn ");
    skip_binder(reader);
    for (unsigned i = 0; !reader->is_broken && !take(reader, 'E'); i++) {
        put_text(reader, i > 0 ? " + " : "");
        read_path(reader, false);
        while (take(reader, 'p')) { /* associated types of the trait */
            (void)read_name(reader);
            reader->quiet++;
            read_type(reader);
            reader->quiet--;
        }
    }
    if (take(reader, 'L')) {
        (void)read_number(reader);
    }
}

static void read_reference(struct reader *reader, const char *sign)
{
    if (take(reader, 'L')) {
        (void)read_number(reader);
    }
    put_text(reader, sign);
    read_type(reader);
}

static void read_array(struct reader *reader, bool has_length)
{
    put_text(reader, "[");
    read_type(reader);
    if (has_length) {
        put_text(reader, "; ");
        read_constant(reader);
    }
    put_text(reader, "]");
}

static void read_other_type(struct reader *reader, char letter)
{
    switch (letter) {
    case 'A':
    case 'S':
        read_array(reader, letter == 'A');
        break;
    case 'T':
        put_text(reader, "(");
        read_list(reader, read_type);
        put_text(reader, ")");
        break;
    case 'R':
    case 'Q':
        read_reference(reader, letter == 'R' ? "&" : "&mut ");
        break;
    case 'P':
    case 'O':
        put_text(reader, letter == 'P' ? "*const " : "*mut ");
        read_type(reader);
        break;
    case 'F':
        read_function(reader);
        break;
    case 'D':
        read_dynamic(reader);
        break;
    case 'B':
        read_again(reader, read_type);
        break;
    default:
        reader->at--;
        read_path(reader, false);
    }
}

static void read_type(struct reader *reader)
{
    if (enter(reader)) {
        char letter = next(reader);
        const char *basic = basic_type(letter);
        if (basic != NULL) {
            put_text(reader, basic);
        } else if (!reader->is_broken) {
            read_other_type(reader, letter);
        }
    }
    reader->depth--;
}

/* ---- paths ------------------------------------------------------------------------------- */

static void read_argument(struct reader *reader)
{
    if (take(reader, 'L')) {
        (void)read_number(reader);
        put_text(reader, "'_");
    } else if (take(reader, 'K')) {
        read_constant(reader);
    } else {
        read_type(reader);
    }
}

/* Closures and other unnamed items have a number. */
static void put_special(struct reader *reader, char kind, struct name name, uint64_t number)
{
    put_text(reader, kind == 'C' ? "::{closure" : kind == 'S' ? "::{shim" : "::{");
    if (name.length > 0) {
        put_text(reader, ":");
        put(reader, name.bytes, name.length);
    }
    put_text(reader, "#");
    put_number(reader, number);
    put_text(reader, "}");
}

static void read_nested(struct reader *reader, bool is_value)
{
    char kind = next(reader);
    read_path(reader, is_value);
    uint64_t number = read_disambiguator(reader);
    struct name name = read_name(reader);
    if (kind >= 'A' && kind <= 'Z') {
        put_special(reader, kind, name, number);
    } else if (name.length > 0) {
        put_text(reader, "::");
        put(reader, name.bytes, name.length);
    }
}

static void skip_place_of_impl(struct reader *reader)
{
    reader->quiet++;
    (void)read_disambiguator(reader);
    read_path(reader, false);
    reader->quiet--;
}

/* "<Type>", "<Type as Trait>" */
static void read_impl(struct reader *reader, char kind)
{
    if (kind != 'Y') {
        skip_place_of_impl(reader);
    }
    put_text(reader, "<");
    read_type(reader);
    if (kind != 'M') {
        put_text(reader, " as ");
        read_path(reader, false);
    }
    put_text(reader, ">");
}

static void read_value_path(struct reader *reader)
{
    read_path(reader, true);
}

static void read_type_path(struct reader *reader)
{
    read_path(reader, false);
}

static void read_path_of(struct reader *reader, char kind, bool is_value)
{
    switch (kind) {
    case 'C': {
        (void)read_disambiguator(reader);
        struct name name = read_name(reader);
        put(reader, name.bytes, name.length);
        break;
    }
    case 'N':
        read_nested(reader, is_value);
        break;
    case 'M':
    case 'X':
    case 'Y':
        read_impl(reader, kind);
        break;
    case 'I':
        read_path(reader, is_value);
        put_text(reader, is_value ? "::<" : "<");
        read_list(reader, read_argument);
        put_text(reader, ">");
        break;
    case 'B':
        read_again(reader, is_value ? read_value_path : read_type_path);
        break;
    default:
        reader->is_broken = true;
    }
}

static void read_path(struct reader *reader, bool is_value)
{
    if (enter(reader)) {
        read_path_of(reader, next(reader), is_value);
    }
    reader->depth--;
}

bool rm_rust_name(const char *symbol, char *text, size_t room)
{
    if (strncmp(symbol, "_R", 2) != 0 || room == 0) {
        return false;
    }
    struct reader reader = {.start = symbol + 2, .at = symbol + 2, .text = text, .room = room};
    text[0] = '\0';
    read_path(&reader, true);
    return !reader.is_broken && reader.used > 0;
}

/* ---- the scheme before ------------------------------------------------------------------- */

static const struct {
    const char *sign, *text;
} signs[] = {{"$SP$", "@"},  {"$BP$", "*"},  {"$RF$", "&"},   {"$LT$", "<"},  {"$GT$", ">"},
             {"$LP$", "("},  {"$RP$", ")"},  {"$C$", ","},    {"$u20$", " "}, {"$u27$", "'"},
             {"$u5b$", "["}, {"$u5d$", "]"}, {"$u7b$", "{"},  {"$u7d$", "}"}, {"$u7e$", "~"},
             {"$u3b$", ";"}, {"$u2b$", "+"}, {"$u22$", "\""}, {"..", "::"}};

static bool is_hash(const char *text)
{
    return strncmp(text, "::h", 3) == 0 && strlen(text) == 19 &&
           strspn(text + 3, "0123456789abcdef") == 16;
}

/* The replaced texts are never longer than the escapes. */
void rm_rust_name_mend(char *text)
{
    size_t length = strlen(text);
    if (length < 20 || !is_hash(text + length - 19)) {
        return;
    }
    text[length - 19] = '\0';
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        size_t i = 0;
        bool is_first = to == text || to[-1] == ':';
        from += is_first && *from == '_' && from[1] == '$'
                    ? 1
                    : 0; /* the underscore was added in front of an escape */
        while (i < RM_ARRAY_LEN(signs) &&
               strncmp(from, signs[i].sign, strlen(signs[i].sign)) != 0) {
            i++;
        }
        if (i < RM_ARRAY_LEN(signs)) {
            from += strlen(signs[i].sign);
            memmove(to, signs[i].text, strlen(signs[i].text));
            to += strlen(signs[i].text);
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* ---- names of any language ------------------------------------------------------------------- */

/* The demangler of the C++ ABI returns memory of malloc(), or NULL. */
static char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);

/* Looks for the demangler at the first mangled name. */
static void load(void)
{
    static bool is_tried;
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1", NULL};
    static const struct rm_library_function functions[] = {{"__cxa_demangle", &demangle}};
    static const struct rm_library library = {"libstdc++, for names of C++", names, functions, 1};
    if (!is_tried) {
        is_tried = true;
        (void)rm_library_load(&library);
    }
}

void rm_demangle(const char *name, char *text, size_t room)
{
    int status = -1;
    if (strnlen(name, room) < room && rm_rust_name(name, text, room)) {
        return;
    }
    char *demangled = NULL;
    if (strncmp(name, "_Z", 2) == 0 && strnlen(name, room) < room) {
        load();
        demangled = demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
    }
    if (demangled != NULL) {
        rm_rust_name_mend(demangled);
    }
    (void)rm_text_set(text, room, demangled != NULL ? demangled : name);
    free(demangled); /* memory of the C library */
}
