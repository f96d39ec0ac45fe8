/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

#define FIRST_ROOM 16U

void *rm_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (count == 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes) ||
        RM_FAULT(RM_FAULT_ALLOC)) {
        return NULL;
    }
    void *memory = calloc(1, bytes);
    if (memory != NULL) {
        RM_FAULT_LIVE(1);
    }
    return memory;
}

void *rm_realloc(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (count == 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes) ||
        RM_FAULT(RM_FAULT_ALLOC)) {
        return NULL;
    }
    void *memory = realloc(old, bytes);
    if (memory != NULL && old == NULL) {
        RM_FAULT_LIVE(1);
    }
    return memory;
}

void *rm_grow(void *items, size_t count, size_t *room, size_t size)
{
    size_t wanted = *room > 0 ? *room : FIRST_ROOM / 2;
    if (count < *room) {
        return items;
    }
    if (__builtin_mul_overflow(wanted, 2, &wanted)) {
        return NULL;
    }
    void *larger = rm_realloc(items, wanted, size);
    if (larger != NULL) {
        *room = wanted;
    }
    return larger;
}

void *rm_append(void *list, size_t *count, size_t *room, size_t size)
{
    char *items;
    memcpy(&items, list, sizeof items);
    items = rm_grow(items, *count, room, size);
    if (items == NULL) {
        return NULL;
    }
    memcpy(list, &items, sizeof items);
    return memset(items + (*count)++ * size, 0, size);
}

char *rm_strdup(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = rm_alloc(length, 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

void rm_free(void *memory)
{
    if (memory != NULL) {
        RM_FAULT_LIVE(-1);
    }
    free(memory);
}
