/* SPDX-License-Identifier: MIT */
/*
 * The memory of a Python interpreter, as far as reading the stack of one of its threads needs it:
 * a text of lines.  Made by truth/python_frames.c from a running interpreter.
 *
 *     python MINOR RUNTIME THREAD STACK   version 3.MINOR, address of _PyRuntime, the thread's
 * number and stack pointer (0: the first thread); all but the version and the number in hexadecimal
 *     tasks NUMBER,NUMBER...              asyncio's section ".AsyncioDebug", if it is loaded
 *     frame LINE NAME<tab>FILE            what the interpreter itself says, the innermost first
 *     at ADDRESS BYTES                    readable memory, zeros but for what follows
 *     HEXADECIMAL DIGITS...               offset in it, and content
 */
#ifndef RM_TESTS_PYTHON_IMAGE_H
#define RM_TESTS_PYTHON_IMAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack/python.h"
#include "stack/python_tasks.h"

#define IMAGE_PARTS  512
#define IMAGE_FRAMES 160
#define IMAGE_BYTES  (1U << 20) /* of all parts */

struct python_image {
    uint32_t minor, thread;
    uint64_t runtime, stack;
    uint64_t tasks[RM_PYTHON_TASK_WORDS];
    char *frames[IMAGE_FRAMES]; /* "LINE NAME\tFILE" */
    size_t frame_count;
    struct image_part {
        uint64_t address, bytes;
        unsigned char *content;
    } parts[IMAGE_PARTS];
    size_t part_count;
    size_t bytes;
    uint64_t reads, refused_read; /* the read of this number fails; 0: none does */
};

static inline void image_begin_part(struct python_image *image, uint64_t address, uint64_t bytes)
{
    if (image->part_count == IMAGE_PARTS || bytes == 0 || bytes > IMAGE_BYTES - image->bytes) {
        return;
    }
    unsigned char *content = calloc(1, (size_t)bytes);
    if (content != NULL) {
        image->parts[image->part_count++] = (struct image_part){address, bytes, content};
        image->bytes += (size_t)bytes;
    }
}

static inline void image_put(struct image_part *part, const char *line)
{
    char *end;
    uint64_t at = strtoull(line, &end, 16);
    for (end += *end == ' ' ? 1 : 0; end[0] > ' ' && end[1] > ' ' && at < part->bytes; end += 2) {
        const char digits[3] = {end[0], end[1], '\0'};
        part->content[at++] = (unsigned char)strtoul(digits, NULL, 16);
    }
}

static inline void image_take_tasks(struct python_image *image, const char *text)
{
    char *end;
    for (size_t i = 0; i < RM_PYTHON_TASK_WORDS && *text >= '0' && *text <= '9'; i++) {
        image->tasks[i] = strtoull(text, &end, 10);
        text = end + (*end == ',' ? 1 : 0);
    }
}

/* Opens the interpreter of an image. */
static inline resmon_status image_open(const struct python_image *image,
                                       const struct rm_python_memory *memory,
                                       struct rm_python *ret_python)
{
    struct rm_python_tasks tasks;
    *ret_python = (struct rm_python){.runtime = 0};
    resmon_status status = rm_python_open(ret_python, memory, image->runtime, image->minor);
    if (status == RESMON_OK && rm_python_tasks_take(image->tasks, &tasks)) {
        rm_python_tasks_set(ret_python, &tasks);
    }
    return status;
}

static inline void image_take_line(struct python_image *image, char *line)
{
    char *end;
    if (strncmp(line, "python ", 7) == 0) {
        image->minor = (uint32_t)strtoul(line + 7, &end, 10);
        image->runtime = strtoull(end, &end, 16);
        image->thread = (uint32_t)strtoul(end, &end, 10);
        image->stack = strtoull(end, &end, 16);
    } else if (strncmp(line, "tasks ", 6) == 0) {
        image_take_tasks(image, line + 6);
    } else if (strncmp(line, "frame ", 6) == 0 && image->frame_count < IMAGE_FRAMES) {
        image->frames[image->frame_count++] = strdup(line + 6);
    } else if (strncmp(line, "at ", 3) == 0) {
        uint64_t address = strtoull(line + 3, &end, 16);
        image_begin_part(image, address, strtoull(end, NULL, 10));
    } else if (image->part_count > 0) {
        image_put(&image->parts[image->part_count - 1], line);
    }
}

static inline void image_parse(struct python_image *image, const char *bytes, size_t size)
{
    char *text = malloc(size + 1);
    *image = (struct python_image){.minor = 0};
    if (text == NULL) {
        return;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    for (char *line = text, *end; line != NULL; line = end != NULL ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        image_take_line(image, line);
    }
    free(text);
}

static inline void image_free(struct python_image *image)
{
    for (size_t i = 0; i < image->part_count; i++) {
        free(image->parts[i].content);
    }
    for (size_t i = 0; i < image->frame_count; i++) {
        free(image->frames[i]);
    }
}

/* The content at an address; NULL: not readable. */
static inline unsigned char *image_at(const struct python_image *image, uint64_t address,
                                      size_t bytes)
{
    for (size_t i = 0; i < image->part_count; i++) {
        const struct image_part *part = &image->parts[i];
        uint64_t at = address - part->address;
        if (address >= part->address && at < part->bytes && bytes <= part->bytes - at) {
            return part->content + at;
        }
    }
    return NULL;
}

static inline bool image_read_piece(const struct python_image *image,
                                    const struct rm_python_piece *piece)
{
    const unsigned char *content = image_at(image, piece->address, piece->bytes);
    if (content != NULL) {
        memcpy(piece->target, content, piece->bytes);
    }
    return content != NULL;
}

/* For struct rm_python_memory. */
static inline bool image_read(void *context, const struct rm_python_piece *pieces, size_t count)
{
    struct python_image *image = context;
    bool is_read = ++image->reads != image->refused_read;
    for (size_t i = 0; i < count && is_read; i++) {
        is_read = image_read_piece(image, &pieces[i]);
    }
    return is_read;
}

#endif
