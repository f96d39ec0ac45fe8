/* SPDX-License-Identifier: MIT */
#include "store/tags.h"

#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

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
    /* Built aside and stored by words: a reader may look at the same time. */
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
    /* The file may be of hostile origin: clean again. */
    (void)rm_text_copy(copy.label, sizeof copy.label, (const char *)words, sizeof words);
    *ret_tag = copy;
    return true;
}
