/* SPDX-License-Identifier: MIT */
/*
 * store/tags: the newest are kept and whole, whoever writes them.
 */
#include "test.h"

#include <pthread.h>

#include "made_block.h"
#include "store/run_records.h"

static struct rm_block block_for(uint64_t tags)
{
    struct rm_block_sizes sizes = small_sizes();
    sizes.tags = tags;
    return made_block(&sizes);
}

TEST(the_newest_are_kept)
{
    char label[32];
    struct rm_tag tag;
    struct rm_block block = block_for(4);
    assert_int_equal(rm_tags_count(&block), 0);
    assert_int_equal(rm_tags_oldest(&block), 0);
    assert_false(rm_tags_get(&block, 0, &tag));
    for (int64_t i = 0; i < 11; i++) {
        (void)snprintf(label, sizeof label, "tag %d", (int)i);
        rm_tags_add(&block, 100 + i, label);
        assert_int_equal(rm_tags_count(&block), i + 1);
        assert_int_equal(rm_tags_oldest(&block), i < 4 ? 0 : i - 3);
    }
    for (uint64_t number = 0; number < 12; number++) {
        tag.t_ns = -1;
        assert_int_equal(rm_tags_get(&block, number, &tag), number >= 7 && number <= 10);
        if (number >= 7 && number <= 10) {
            (void)snprintf(label, sizeof label, "tag %d", (int)number);
            assert_int_equal(tag.t_ns, 100 + (int64_t)number);
            assert_string_equal(tag.label, label);
        } else {
            assert_int_equal(tag.t_ns, -1); /* untouched */
        }
    }
    free_block(&block);
}

TEST(labels_are_cut_and_cleaned)
{
    char longest[200];
    struct rm_tag tag;
    struct rm_block block = block_for(8);
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    rm_tags_add(&block, 1, "\x1b[31m\xff\n\xc3\xa9");
    rm_tags_add(&block, 2, "");
    rm_tags_add(&block, 3, longest);
    longest[RM_TAG_LABEL_BYTES - 2] = '\xc3'; /* a character across the cut */
    longest[RM_TAG_LABEL_BYTES - 1] = '\xa9';
    rm_tags_add(&block, 4, longest);
    rm_tags_add(&block, 5, NULL);
    assert_true(rm_tags_get(&block, 0, &tag));
    assert_string_equal(tag.label, "?[31m??\xc3\xa9");
    assert_true(rm_tags_get(&block, 1, &tag));
    assert_string_equal(tag.label, "");
    assert_true(rm_tags_get(&block, 2, &tag));
    assert_int_equal(strlen(tag.label), RM_TAG_LABEL_BYTES - 1);
    assert_true(rm_tags_get(&block, 3, &tag));
    assert_int_equal(strlen(tag.label), RM_TAG_LABEL_BYTES - 2);
    assert_true(rm_tags_get(&block, 4, &tag));
    assert_string_equal(tag.label, "");
    free_block(&block);
}

TEST(what_a_kill_or_a_stranger_left_is_not_believed)
{
    struct rm_tag tag;
    struct rm_block block = block_for(4);
    rm_tags_add(&block, 1, "whole");
    struct rm_tag *slot = rm_block_record(&block, RM_SECTION_TAGS, 0);
    memset(slot->label, 0xff, sizeof slot->label); /* no end, no UTF-8 */
    assert_true(rm_tags_get(&block, 0, &tag));
    assert_int_equal(strlen(tag.label), RM_TAG_LABEL_BYTES - 1);
    assert_int_equal(tag.label[0], '?');
    slot->sequence = 0; /* killed while writing */
    assert_false(rm_tags_get(&block, 0, &tag));
    slot->sequence = 5; /* a later one is there already */
    assert_false(rm_tags_get(&block, 0, &tag));
    block.header->tag_count = UINT64_MAX;
    assert_int_equal(rm_tags_oldest(&block), UINT64_MAX - 4);
    assert_false(rm_tags_get(&block, UINT64_MAX - 1, &tag));
    free_block(&block);
}

/* ---- several writers ------------------------------------------------------------------------ */

enum { WRITERS = 4, EACH = 2000 };

struct writer {
    struct rm_block *block;
    int number;
};

static void *write_tags(void *context)
{
    struct writer *writer = context;
    char label[64];
    for (int i = 0; i < EACH; i++) {
        (void)snprintf(label, sizeof label, "%d:%d:%d", writer->number, i, writer->number * i);
        rm_tags_add(writer->block, i, label);
    }
    return NULL;
}

TEST(tags_of_several_threads_are_all_there_and_whole)
{
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    struct rm_block block = block_for(WRITERS * EACH); /* none is overwritten */
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){&block, i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_tags, &writers[i]), 0);
    }
    /* A reader meanwhile sees whole ones or none. */
    for (uint64_t number = 0; number < WRITERS * EACH; number++) {
        struct rm_tag tag;
        int writer, i, product;
        if (rm_tags_get(&block, number, &tag)) {
            assert_int_equal(sscanf(tag.label, "%d:%d:%d", &writer, &i, &product), 3);
            assert_int_equal(writer * i, product);
            assert_int_equal(tag.t_ns, i);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    int next[WRITERS] = {0};
    assert_int_equal(rm_tags_count(&block), WRITERS * EACH);
    for (uint64_t number = 0; number < WRITERS * EACH; number++) {
        struct rm_tag tag;
        int writer = -1, i = -1, product = -1;
        assert_true(rm_tags_get(&block, number, &tag));
        assert_int_equal(sscanf(tag.label, "%d:%d:%d", &writer, &i, &product), 3);
        assert_in_range(writer, 0, WRITERS - 1);
        assert_int_equal(i, next[writer]++); /* each writer's in its order */
        assert_int_equal(product, writer * i);
    }
    free_block(&block);
}
