/* SPDX-License-Identifier: MIT */
/*
 * Stacks in a document: a run without any has no such part, and what is wrong in one is refused by
 * its place.  That stacks come back as they were is compared by tests/golden (stacks, peak).
 */
#include "runs.h"

#include <unistd.h>

#include "base/compiler.h"
#include "format/json.h"
#include "made_profile.h"

static char *document_of(const resmon_run *run)
{
    char *text = NULL;
    resmon_status status = resmon_run_document(run, &text);
    if (rm_json_check() != RESMON_OK) {
        printf("skipped: %s\n", resmon_last_error());
        (void)fflush(stdout);
        _exit(77);
    }
    assert_ok(status);
    return text;
}

TEST(a_document_that_is_read_is_written_again)
{
    resmon_run *run = made_profile("/src/train.c");
    run->scopes[2].name = "odd"; /* those that are recorded are clean */
    char *text = document_of(run);
    resmon_run *again = parsed(text);
    char *text_again = document_of(again);
    assert_string_equal(text, text_again);
    assert_int_equal(again->profile.stack_count, MADE_STACKS);
    assert_string_equal(again->profile.places[MADE_HOSTILE_PLACE].function,
                        "a;b?c???\"\\ \xc3\xa9 12");
    resmon_text_free(text);
    resmon_text_free(text_again);
    resmon_run_free(again);
    resmon_run_free(run);
}

TEST(without_stacks)
{
    resmon_run *run = made_profile("/src/train.c");
    run->profile = rm_profile_none();
    char *text = document_of(run);
    assert_null(strstr(text, "\"profile\""));
    resmon_run *again = parsed(text);
    assert_int_equal(resmon_run_stack_count(again), 0);
    assert_int_equal(again->profile.peak.t_ns, -1);
    resmon_run_free(again);
    resmon_text_free(text);
    /* Asked for, and not to be had: the reason is kept. */
    run->profile.kinds[RESMON_STACK_CPU].status = RESMON_EACCES;
    run->profile.kinds[RESMON_STACK_CPU].reason = "perf_event_paranoid is 4";
    text = document_of(run);
    again = parsed(text);
    assert_int_equal(again->profile.kinds[RESMON_STACK_CPU].status, RESMON_EACCES);
    assert_string_equal(again->profile.kinds[RESMON_STACK_CPU].reason, "perf_event_paranoid is 4");
    assert_int_equal(again->profile.kinds[RESMON_STACK_MEMORY].status, RESMON_ESTATE);
    assert_null(again->profile.peak.stacks);
    resmon_run_free(again);
    resmon_text_free(text);
    resmon_run_free(run);
}

/* The document with `from` replaced by `to` where it comes first after `after`. */
static char *changed(const char *text, const char *after, const char *from, const char *to)
{
    const char *start = strstr(text, after);
    const char *at = start != NULL ? strstr(start, from) : NULL;
    if (at == NULL) {
        fail_msg("no %s after %s in %s", from, after, text);
    }
    char *copy = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(copy);
    (void)sprintf(copy, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return copy;
}

TEST(damage)
{
    static const struct {
        const char *after, *from, *to, *where;
    } rows[] = {
        {"\"profile\":", "{", "[{", "near"},
        {"\"places\":", "\"module\":[0", "\"module\":[2", "profile.places.module[0]"},
        {"\"places\":", "\"module\":[0", "\"module\":[-2", "profile.places.module[0]"},
        {"\"places\":", "\"function\":[0", "\"function\":[99999", "profile.places.function[0]"},
        {"\"places\":", "\"file\":[", "\"file\":[0.5,", "profile.places.file"},
        {"\"places\":", "\"inlined\":[0", "\"inlined\":[2", "profile.places.inlined[0]"},
        {"\"places\":", "\"line\":[40", "\"line\":[4294967296", "profile.places.line[0]"},
        {"\"places\":", "\"line\":[40", "\"line\":[40,40", "profile.places.line has"},
        {"\"places\":", "\"0x401000\"", "401000", "profile.places.address[0]"},
        {"\"places\":", "\"0x401000\"", "\"0x401000 \"", "profile.places.address[0]"},
        {"\"places\":", "\"address\":[", "\"address\":[\"0x1\",", "profile.places.address has"},
        {"\"modules\":", "\"0x400000\"", "\"0x11112222333344445\"", "profile.modules[0]"},
        {"\"stacks\":", "\"scope\":[1", "\"scope\":[3", "profile.stacks.scope[0]"},
        {"\"stacks\":", "\"scope\":[1", "\"scope\":[-2", "profile.stacks.scope[0]"},
        {"\"stacks\":", "\"cut\":[0", "\"cut\":[null", "profile.stacks.cut[0]"},
        {"\"stacks\":", "\"frames\":[[3", "\"frames\":[[9", "profile.stacks.frames[0], frame 0"},
        {"\"stacks\":", "\"frames\":[[3", "\"frames\":[[3,-1", "profile.stacks.frames[0], frame 1"},
        {"\"stacks\":", "\"frames\":[[3", "\"frames\":[[3,\"x\"", "profile.stacks.frames[0] has"},
        {"\"stacks\":", "\"frames\":[", "\"frames\":[[],", "profile.stacks.scope has 8"},
        {"\"samples\":{", "\"cpu\":[60", "\"cpu\":[-60", "profile.stacks.samples.cpu[0]"},
        {"\"samples\":{", "\"memory\":", "\"memorie\":", "profile.stacks.samples.memory has 0"},
        {"\"weight\":{", "\"cpu\":[600000000", "\"cpu\":[1e300", "profile.stacks.weight.cpu[0]"},
        {"\"weight\":{", "\"cpu\":[600000000", "\"cpu\":[null", "profile.stacks.weight.cpu[0]"},
        {"\"peak\":", "\"t_ns\":1500000000", "\"t_ns\":-1", "profile.peak.t_ns"},
        {"\"peak\":", "\"scope\":0", "\"scope\":3", "profile.peak.threads[0].scope"},
        {"\"peak\":", "\"scope\":0", "\"scope\":0,\"scope\":1e15", "profile.peak.threads[0].scope"},
        {"\"peak\":", "\"t_ns\":15", "\"t_ns\":1,\"t_ns\":-15", "profile.peak.t_ns"},
        {"\"peak\":", "\"frames\":[2", "\"frames\":[9", "profile.peak.threads[0], frame 0"},
    };
    resmon_run *run = made_profile("/src/train.c");
    char *text = document_of(run);
    char *profile = strstr(text, "\"profile\"");
    assert_non_null(profile);
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        resmon_run *broken = NULL;
        char *part = changed(profile, rows[i].after, rows[i].from, rows[i].to);
        char *whole = malloc(strlen(text) + strlen(part) + 1);
        assert_non_null(whole);
        (void)sprintf(whole, "%.*s%s", (int)(profile - text), text, part);
        resmon_status status = resmon_run_parse(whole, strlen(whole), &broken);
        if (status != RESMON_EFORMAT || strstr(resmon_last_error(), rows[i].where) == NULL) {
            fail_msg("row %zu: %s: %s", i, resmon_status_name(status), resmon_last_error());
        }
        assert_null(broken);
        free(whole);
        free(part);
    }
    resmon_text_free(text);
    resmon_run_free(run);
}

/* What no document may say is not said in one. */
TEST(written_bounds)
{
    resmon_run *run = made_profile("/src/train.c");
    struct rm_run_stack *stack = &run->profile.stacks[0];
    stack->scope = 3;
    stack->samples[0] = UINT64_MAX;
    stack->weight[0] = (double)NAN;
    stack->weight[1] = -1.0;
    stack->weight[2] = (double)INFINITY;
    run->profile.peak.stacks[0].scope = INT64_MAX;
    run->profile.peak.rss_bytes = (double)NAN;
    char *text = document_of(run);
    resmon_run *again = parsed(text);
    stack = &again->profile.stacks[0];
    assert_int_equal(stack->scope, -1);
    assert_int_equal(stack->samples[0], 0);
    assert_true(stack->weight[0] == 0.0 && stack->weight[1] == 0.0 && stack->weight[2] == 0.0);
    assert_int_equal(again->profile.peak.stacks[0].scope, -1);
    assert_true(isnan(again->profile.peak.rss_bytes));
    resmon_run_free(again);
    resmon_text_free(text);
    resmon_run_free(run);
}

TEST(depth)
{
    resmon_run *run = made_profile("/src/train.c");
    uint32_t *frames = calloc(4097, sizeof *frames);
    run->profile.frames = frames;
    run->profile.frame_count = 4097;
    run->profile.peak = rm_profile_none().peak;
    for (size_t i = 0; i < MADE_STACKS; i++) {
        run->profile.stacks[i].first = 0;
        run->profile.stacks[i].depth = 4096;
    }
    char *text = document_of(run);
    resmon_run *again = parsed(text);
    assert_int_equal(again->profile.stacks[7].depth, 4096);
    resmon_run_free(again);
    resmon_text_free(text);
    run->profile.stacks[3].depth =
        4097; /* is cut when it is written, and refused when it is read */
    text = document_of(run);
    again = parsed(text);
    assert_int_equal(again->profile.stacks[3].depth, 4096);
    resmon_run_free(again);
    again = NULL;
    char *deeper = changed(text, "\"frames\":[[", "[[", "[[0,");
    assert_status(RESMON_EFORMAT, resmon_run_parse(deeper, strlen(deeper), &again));
    assert_non_null(strstr(resmon_last_error(), "profile.stacks.frames[0] is deeper than 4096"));
    free(deeper);
    resmon_text_free(text);
    free(frames);
    resmon_run_free(run);
}
