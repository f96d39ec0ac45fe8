/* SPDX-License-Identifier: MIT */
#include "counter/formula.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"

#define DEEPEST 32

struct reader {
    struct rm_text rest;
    rm_formula_value_fn value;
    void *context;
    int depth;
    bool is_wrong;
};

static double read_sum(struct reader *reader);

static void skip_spaces(struct rm_text *text)
{
    while (text->at < text->end && *text->at == ' ') {
        text->at++;
    }
}

static bool take(struct reader *reader, char wanted)
{
    skip_spaces(&reader->rest);
    bool is_there = reader->rest.at < reader->rest.end && *reader->rest.at == wanted;
    reader->rest.at += is_there ? 1 : 0;
    return is_there;
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

static double refuse(struct reader *reader)
{
    reader->is_wrong = true;
    return RM_NAN;
}

static double read_name(struct reader *reader)
{
    struct rm_text name = {reader->rest.at, reader->rest.at};
    while (name.end < reader->rest.end && is_of_name(*name.end)) {
        name.end++;
    }
    double value = RM_NAN;
    reader->rest.at = name.end;
    bool is_known = rm_text_left(&name) > 0 && reader->value(reader->context, name, &value);
    return is_known ? value : refuse(reader);
}

/* A number, a name, a sum in parentheses, or one of them with a sign. */
static double read_factor(struct reader *reader)
{
    double value;
    if (reader->is_wrong || reader->depth >= DEEPEST) {
        return refuse(reader);
    }
    reader->depth++;
    if (take(reader, '-')) {
        value = -read_factor(reader);
    } else if (take(reader, '(')) {
        value = read_sum(reader);
        value = take(reader, ')') ? value : refuse(reader);
    } else if (!rm_parse_decimal(&reader->rest, &value)) {
        skip_spaces(&reader->rest);
        value = read_name(reader);
    }
    reader->depth--;
    return value;
}

static double read_product(struct reader *reader)
{
    double value = read_factor(reader);
    for (;;) {
        if (take(reader, '*')) {
            value *= read_factor(reader);
        } else if (take(reader, '/')) {
            double divisor = read_factor(reader);
            value = divisor > 0.0 || divisor < 0.0 ? value / divisor : RM_NAN;
        } else {
            return value;
        }
    }
}

static double read_sum(struct reader *reader)
{
    double value = read_product(reader);
    for (;;) {
        if (take(reader, '+')) {
            value += read_product(reader);
        } else if (take(reader, '-')) {
            value -= read_product(reader);
        } else {
            return value;
        }
    }
}

resmon_status rm_formula_evaluate(const char *text, rm_formula_value_fn value, void *context,
                                  double *ret_value)
{
    struct reader reader = {
        .rest = rm_text_of(text, strlen(text)), .value = value, .context = context};
    double result = read_sum(&reader);
    skip_spaces(&reader.rest);
    if (reader.is_wrong || rm_text_left(&reader.rest) > 0) {
        return rm_error(RESMON_EINVAL, "'%.100s' is not a formula over the events that there are",
                        text);
    }
    *ret_value = result;
    return RESMON_OK;
}
