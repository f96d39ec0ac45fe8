/* SPDX-License-Identifier: MIT */
/* Benchmarks, ours and hyperfine's, and the rules of a gate; what can be read is compared with
 * itself, written in each form, and read again. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "compare/diff.h"
#include "export/comparison_document.h"
#include "fuzz.h"
#include "view/benchmarks.h"

static void compare(const struct rm_groups *groups, const struct rm_gate *gate)
{
    static const enum rm_form forms[] = {RM_FORM_FULL, RM_FORM_MARKDOWN, RM_FORM_HTML};
    struct rm_buffer buffer;
    struct rm_diff diff;
    const struct rm_group *last = &groups->at[groups->count - 1];
    rm_buffer_init(&buffer, (size_t)16 << 20);
    if (rm_diff_make(&diff, &groups->at[0], last, gate) == RESMON_OK) {
        const struct rm_output output = rm_buffer_output(&buffer);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            const struct rm_diff_view view = {
                .diff = &diff, .form = forms[i], .width = 80, .is_full = true};
            (void)rm_diff_write(&buffer, &view);
        }
        (void)rm_diff_write_junit(&buffer, &diff);
        (void)rm_diff_document_write(&diff, &output);
    }
    rm_diff_free(&diff);
    rm_buffer_free(&buffer);
}

static void write(const struct rm_groups *groups)
{
    struct rm_buffer buffer;
    struct rm_groups again = {.at = NULL};
    rm_buffer_init(&buffer, (size_t)16 << 20);
    const struct rm_output output = rm_buffer_output(&buffer);
    (void)rm_bench_write(&buffer, groups, RM_FORM_FULL, 80);
    (void)rm_bench_write_bmf(groups, &output);
    (void)rm_bench_write_github(groups, &output);
    (void)rm_bench_write_go(groups, &output);
    rm_buffer_clear(&buffer);
    if (rm_bench_document_write(groups, &output) == RESMON_OK && buffer.status == RESMON_OK) {
        PROMISE(rm_bench_document_read(buffer.text, buffer.length, &again) == RESMON_OK);
        PROMISE(again.count == groups->count);
        PROMISE(again.at[0].run_count == groups->at[0].run_count);
    }
    rm_groups_free(&again);
    rm_buffer_free(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rm_groups groups = {.at = NULL};
    struct rm_gate gate = {.count = 0}, usual = {.count = 0};
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    (void)rm_gate_read(&gate, text);
    rm_gate_free(&gate);
    if (rm_gate_read(&usual, "wall>5%+10ms,peak>1%,scope:* wall>3%") == RESMON_OK &&
        rm_bench_document_read(text, size, &groups) == RESMON_OK) {
        compare(&groups, &usual);
        write(&groups);
    }
    rm_gate_free(&usual);
    rm_groups_free(&groups);
    free(text);
    return 0;
}
