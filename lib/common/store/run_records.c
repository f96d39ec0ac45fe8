/* SPDX-License-Identifier: MIT */
#include "store/run_records.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/text.h"

/* ---- tags ------------------------------------------------------------------------------- */

static struct rm_tag *slot_of(const struct rm_block *block, uint64_t number)
{
    return rm_block_record(block, RM_SECTION_TAGS, number % block->header->sizes.tags);
}

void rm_tags_add(struct rm_block *block, int64_t t_ns, const char *label)
{
    uint64_t number = RM_FETCH_ADD(&block->header->tag_count, 1);
    struct rm_tag *tag = slot_of(block, number);
    RM_STORE(&tag->sequence, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    RM_STORE(&tag->t_ns, t_ns);
    /* The label is built in a local buffer and stored word by word: a reader may read it at the
     * same time. */
    uint64_t words[RM_TAG_LABEL_BYTES / 8] = {0};
    (void)rm_text_set((char *)words, sizeof words, label);
    uint64_t *target = (uint64_t *)(void *)tag->label;
    for (size_t i = 0; i < RM_ARRAY_LEN(words); i++) {
        RM_STORE(&target[i], words[i]);
    }
    RM_STORE_RELEASE(&tag->sequence, number + 1);
}

uint64_t rm_tags_count(const struct rm_block *block)
{
    return RM_LOAD_ACQUIRE(&block->header->tag_count);
}

uint64_t rm_tags_oldest(const struct rm_block *block)
{
    uint64_t count = rm_tags_count(block);
    uint64_t room = block->header->sizes.tags;
    return count > room ? count - room : 0;
}

bool rm_tags_get(const struct rm_block *block, uint64_t number, struct rm_tag *ret_tag)
{
    struct rm_tag *tag = slot_of(block, number);
    if (number % block->header->sizes.tags >= block->header->sections[RM_SECTION_TAGS].count) {
        return false; /* the end of the recording is missing */
    }
    if (RM_LOAD_ACQUIRE(&tag->sequence) != number + 1) {
        return false;
    }
    struct rm_tag copy = {.sequence = number + 1, .t_ns = RM_LOAD(&tag->t_ns)};
    uint64_t words[RM_TAG_LABEL_BYTES / 8];
    const uint64_t *source = (const uint64_t *)(const void *)tag->label;
    for (size_t i = 0; i < RM_ARRAY_LEN(words); i++) {
        words[i] = RM_LOAD(&source[i]);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (RM_LOAD(&tag->sequence) != number + 1) {
        return false;
    }
    /* The file may be of hostile origin, so the label is cleaned again. */
    (void)rm_text_copy(copy.label, sizeof copy.label, (const char *)words, sizeof words);
    *ret_tag = copy;
    return true;
}

/* ---- facts of the run ------------------------------------------------------------------- */

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
    /* Nine decimal places, without printf: printf would use the decimal comma of the host program's
     * locale. */
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

/* ---- processes -------------------------------------------------------------------------- */

struct rm_process_row *rm_process_row_add(const struct rm_block *block,
                                          const struct rm_process_row *row)
{
    struct rm_block_header *header = block->header;
    uint64_t count = header->process_count;
    if (count >= header->sections[RM_SECTION_PROCESSES].count) {
        RM_STORE(&header->dropped_processes, header->dropped_processes + 1);
        return NULL;
    }
    struct rm_process_row *fresh = rm_block_record(block, RM_SECTION_PROCESSES, count);
    *fresh = *row;
    RM_STORE_RELEASE(&header->process_count, count + 1);
    return fresh;
}

void rm_process_row_know(struct rm_process_row *row, uint32_t what)
{
    RM_STORE_RELEASE(&row->known, row->known | what);
}

void rm_process_row_forget(struct rm_process_row *row, uint32_t what)
{
    RM_STORE_RELEASE(&row->known, row->known & ~what);
}
