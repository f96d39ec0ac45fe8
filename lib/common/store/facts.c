/* SPDX-License-Identifier: MIT */
#include "store/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/text.h"

#define NAME_BYTES 48

static char *arena_of(const struct rm_block *block)
{
    return rm_block_record(block, RM_SECTION_FACTS, 0);
}

/* Layout of one fact: kind, group '\0', key '\0', value '\0'. */
static void add(struct rm_block *block, char kind, const char *group, const char *key,
                const char *value)
{
    char record[1 + 2 * NAME_BYTES + RM_FACT_VALUE_BYTES];
    size_t length = 1;
    record[0] = kind;
    length += rm_text_set(record + length, NAME_BYTES, group) + 1;
    length += rm_text_set(record + length, NAME_BYTES, key) + 1;
    length += rm_text_set(record + length, RM_FACT_VALUE_BYTES, value) + 1;
    uint64_t used = block->header->fact_length;
    if (length > block->header->sizes.fact_bytes - used) {
        return;
    }
    memcpy(arena_of(block) + used, record, length);
    RM_STORE_RELEASE(&block->header->fact_length, used + length);
}

void rm_facts_add_text(struct rm_block *block, const char *group, const char *key,
                       const char *value)
{
    if (value != NULL) {
        add(block, RM_FACT_TEXT, group, key, value);
    }
}

void rm_facts_print_number(double value, char text[RM_FACT_NUMBER_BYTES])
{
    /* To the nanounit, and by hand: printf would write the host program's decimal comma. */
    bool is_negative = value < 0;
    double magnitude = fabs(value);
    uint64_t whole = (uint64_t)magnitude;
    unsigned nano = (unsigned)((magnitude - (double)whole) * 1e9 + 0.5);
    if (nano >= 1000000000) {
        whole++;
        nano = 0;
    }
    int length = snprintf(text, RM_FACT_NUMBER_BYTES, "%s%llu", is_negative ? "-" : "",
                          (unsigned long long)whole);
    if (nano != 0) {
        length += snprintf(text + length, RM_FACT_NUMBER_BYTES - (size_t)length, ".%09u", nano);
        while (text[length - 1] == '0') {
            text[--length] = '\0';
        }
    }
}

void rm_facts_add_number(struct rm_block *block, const char *group, const char *key, double value)
{
    char text[RM_FACT_NUMBER_BYTES];
    if (isfinite(value) && fabs(value) < RM_FACT_NUMBER_LIMIT) {
        rm_facts_print_number(value, text);
        add(block, RM_FACT_NUMBER, group, key, text);
    }
}

double rm_fact_number(const struct rm_fact *fact)
{
    struct rm_text text = rm_text_of(fact->value, strlen(fact->value));
    double magnitude;
    bool negative = rm_parse_literal(&text, "-");
    if (!rm_parse_decimal(&text, &magnitude)) {
        return RM_NAN;
    }
    return negative ? -magnitude : magnitude;
}

static const char *take_text(const char **at, const char *end)
{
    const char *text = *at;
    const char *stop = memchr(text, '\0', (size_t)(end - text));
    if (stop == NULL) {
        return NULL;
    }
    *at = stop + 1;
    return text;
}

bool rm_facts_next(const struct rm_block *block, uint64_t *position, struct rm_fact *ret_fact)
{
    uint64_t length = RM_LOAD_ACQUIRE(&block->header->fact_length);
    if (length > block->header->sizes.fact_bytes || *position >= length) {
        return false;
    }
    const char *start = arena_of(block);
    const char *end = start + length;
    const char *at = start + *position;
    struct rm_fact fact = {.kind = *at++};
    if (at < end) {
        fact.group = take_text(&at, end);
    }
    if (fact.group != NULL && at < end) {
        fact.key = take_text(&at, end);
    }
    if (fact.key != NULL && at < end) {
        fact.value = take_text(&at, end);
    }
    if (fact.value == NULL || (fact.kind != RM_FACT_TEXT && fact.kind != RM_FACT_NUMBER)) {
        return false;
    }
    *position = (uint64_t)(at - start);
    *ret_fact = fact;
    return true;
}
