/* SPDX-License-Identifier: MIT */
#include "report/sentences.h"

#include <stdarg.h>
#include <stdio.h>

void rm_sentences_say(const struct rm_sentences *sentences, const char *format, ...)
{
    char text[RM_SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sentences->put(sentences, text);
}
