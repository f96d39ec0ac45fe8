/* SPDX-License-Identifier: MIT */
/*
 * Owns sentences on their way to one who takes them, one after the other: lines of a text, items of
 * a list.
 */
#ifndef RM_REPORT_SENTENCES_H
#define RM_REPORT_SENTENCES_H

#include "base/compiler.h"

#define RM_SENTENCE_BYTES 1024

struct rm_sentences {
    void (*put)(const struct rm_sentences *sentences, const char *text);
    void *context;
};

/** Hands on a sentence, which is cut where it is longer than RM_SENTENCE_BYTES. */
void RM_PRINTF(2, 3)
    rm_sentences_say(const struct rm_sentences *sentences, const char *format, ...);

#endif
