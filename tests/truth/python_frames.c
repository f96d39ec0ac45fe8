/* SPDX-License-Identifier: MIT */
/*
 * Reads the Python stack of a thread of another process, as stack/python does, and writes it:
 * "LINE NAME<tab>FILE" for each frame, the innermost first, with "*" before those that C code
 * called.
 *
 * python_frames PID MINOR RUNTIME THREAD STACK TASKS            see lib/python_image.h
 * python_frames PID MINOR RUNTIME THREAD STACK TASKS image      writes an image of the memory that
 *                                                               was read, cut down to what changes
 *                                                               the result; its "frame" lines come
 *                                                               from standard input
 */
#define _GNU_SOURCE /* process_vm_readv */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "python_image.h"

#define ROW_BYTES 16U
#define MOST_TEXT ((size_t)1 << 20)

static struct python_image image;
static pid_t pid;
static bool is_recording;

static bool read_there(uint64_t address, void *target, size_t bytes)
{
    struct iovec to = {target, bytes};
    struct iovec from = {(void *)(uintptr_t)address, bytes};
    return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

/* Parts are cut at the read's own bounds; what overlaps a known part is not recorded again. */
static void record(const struct rm_python_piece *piece)
{
    if (image_read_piece(&image, piece)) {
        return;
    }
    image_begin_part(&image, piece->address, piece->bytes);
    memcpy(image.parts[image.part_count - 1].content, piece->target, piece->bytes);
}

static bool read_pieces(void *context, const struct rm_python_piece *pieces, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        if (!read_there(pieces[i].address, pieces[i].target, pieces[i].bytes)) {
            return false;
        }
        if (is_recording) {
            record(&pieces[i]);
        }
    }
    return true;
}

/* The stack as text; empty: it was not read. */
static void take(const struct rm_python_memory *memory, char text[MOST_TEXT])
{
    static struct rm_python python;
    static struct rm_python_codes codes;
    static struct rm_python_window window;
    static struct rm_python_walk walk;
    static struct rm_python_stack stack;
    struct rm_python_thread thread = {.number = image.thread};
    size_t length = 0;
    text[0] = '\0';
    if (image_open(&image, memory, &python) == RESMON_OK &&
        rm_python_walk(&python, &thread, image.stack, &window, &walk) == RM_PYTHON_READ &&
        rm_python_symbolize(&python, &codes, &walk, 0, &stack)) {
        for (uint32_t i = 0; i < stack.depth; i++) {
            length += (size_t)snprintf(text + length, MOST_TEXT - length, "%s%u %s\n",
                                       walk.frames[i].entry != 0 ? "*" : "", stack.frames[i].line,
                                       stack.frames[i].code->text);
        }
    }
    rm_python_codes_free(&codes);
}

/* Clears each row of the image that the result does not depend on. */
static void cut_down(const char *wanted)
{
    static char text[MOST_TEXT];
    const struct rm_python_memory memory = {image_read, &image};
    for (size_t i = 0; i < image.part_count; i++) {
        struct image_part *part = &image.parts[i];
        for (uint64_t at = 0; at < part->bytes; at += ROW_BYTES) {
            unsigned char kept[ROW_BYTES];
            size_t bytes = part->bytes - at < ROW_BYTES ? (size_t)(part->bytes - at) : ROW_BYTES;
            memcpy(kept, part->content + at, bytes);
            memset(part->content + at, 0, bytes);
            take(&memory, text);
            if (strcmp(text, wanted) != 0) {
                memcpy(part->content + at, kept, bytes);
            }
        }
    }
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static void write_image(void)
{
    char line[1024];
    (void)printf("python %u %llx %u %llx\n", image.minor, (unsigned long long)image.runtime,
                 image.thread, (unsigned long long)image.stack);
    for (size_t i = 0; i < RM_PYTHON_TASK_WORDS && image.tasks[0] != 0; i++) {
        (void)printf("%s%llu", i == 0 ? "tasks " : ",", (unsigned long long)image.tasks[i]);
    }
    (void)printf("%s", image.tasks[0] != 0 ? "\n" : "");
    while (fgets(line, sizeof line, stdin) != NULL) {
        (void)printf("frame %s", line);
    }
    for (size_t i = 0; i < image.part_count; i++) {
        const struct image_part *part = &image.parts[i];
        (void)printf("at %llx %llu\n", (unsigned long long)part->address,
                     (unsigned long long)part->bytes);
        for (uint64_t at = 0; at < part->bytes; at += ROW_BYTES) {
            size_t bytes = part->bytes - at < ROW_BYTES ? (size_t)(part->bytes - at) : ROW_BYTES;
            if (!is_zero(part->content + at, bytes)) {
                (void)printf("%llx ", (unsigned long long)at);
                for (size_t k = 0; k < bytes; k++) {
                    (void)printf("%02x", part->content[at + k]);
                }
                (void)printf("\n");
            }
        }
    }
}

int main(int count, char **words)
{
    static char text[MOST_TEXT];
    const struct rm_python_memory memory = {read_pieces, NULL};
    if (count < 7) {
        (void)fprintf(stderr, "python_frames PID MINOR RUNTIME THREAD STACK TASKS [image]\n");
        return 2;
    }
    pid = atoi(words[1]);
    image.minor = (uint32_t)strtoul(words[2], NULL, 10);
    image.runtime = strtoull(words[3], NULL, 16);
    image.thread = (uint32_t)strtoul(words[4], NULL, 10);
    image.stack = strtoull(words[5], NULL, 16);
    image_take_tasks(&image, words[6]);
    uint64_t word;
    if (!read_there(image.runtime, &word, sizeof word) && (errno == EPERM || errno == ENOSYS)) {
        return 77;
    }
    is_recording = count > 7;
    take(&memory, text);
    if (text[0] == '\0') {
        (void)fprintf(stderr, "python_frames: the stack cannot be read\n");
        return 1;
    }
    if (!is_recording) {
        (void)fputs(text, stdout);
        return 0;
    }
    cut_down(text);
    write_image();
    image_free(&image);
    return 0;
}
