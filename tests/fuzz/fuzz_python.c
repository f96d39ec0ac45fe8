/* SPDX-License-Identifier: MIT */
/*
 * The memory of a Python interpreter, of each version: damaged pointers, sizes, texts and tables of
 * lines, and parts that cannot be read.
 */
#include "fuzz.h"

#include "python_image.h"

static void check(const struct rm_python_stack *stack)
{
    PROMISE(stack->depth > 0 && stack->depth <= RM_PYTHON_DEPTH);
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct rm_python_code *code = stack->frames[i].code;
        PROMISE(code != NULL && code->text != NULL && strchr(code->text, '\t') != NULL);
        for (const char *at = code->text; *at != '\0'; at++) {
            PROMISE((unsigned char)*at >= 0x20 || *at == '\t');
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rm_python python;
    static struct rm_python_codes codes;
    static struct rm_python_window window;
    static struct rm_python_walk walk;
    static struct rm_python_stack stack;
    static struct python_image image;
    const struct rm_python_memory memory = {image_read, &image};
    image_parse(&image, (const char *)data, size);
    struct rm_python_thread thread = {.number = image.thread};
    if (image_open(&image, &memory, &python) == RESMON_OK) {
        for (int64_t now_ns = 0; now_ns < 200000000; now_ns += 100000000) {
            if (rm_python_walk(&python, &thread, image.stack, &window, &walk) == RM_PYTHON_READ &&
                rm_python_symbolize(&python, &codes, &walk, now_ns, &stack)) {
                check(&stack);
            }
        }
    }
    rm_python_codes_free(&codes);
    image_free(&image);
    return 0;
}
