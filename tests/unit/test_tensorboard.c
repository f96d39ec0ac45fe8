/* SPDX-License-Identifier: MIT */
/*
 * sink/tensorboard: event files of a hostile run, and of one while anything fails.  The Python
 * tests read them with TensorBoard, which checks the sums.
 */
#define _GNU_SOURCE /* memmem */
#include "test.h"

#include "base/fault.h"
#include "files.h"
#include "format/protobuf.h"
#include "made_run.h"
#include "sink/sinks.h"

static char directory[512];

/* The only file there; freed by the caller. */
static char *read_only_file(size_t *length)
{
    char path[1024];
    FILE *list = NULL;
    (void)snprintf(path, sizeof path, "ls -1 '%s'/events.out.tfevents.* 2>/dev/null", directory);
    list = popen(path, "r");
    assert_non_null(list);
    bool is_there = fgets(path, sizeof path, list) != NULL;
    assert_int_equal(fgetc(list), EOF);
    (void)pclose(list);
    if (!is_there) {
        return NULL;
    }
    path[strcspn(path, "\n")] = '\0';
    return content_of(path, length);
}

/* Number of records, which the file is whole of; the last record's summary has `tag`. */
static size_t count_records(const char *bytes, size_t length, const char *tag, bool *ret_has_tag)
{
    size_t count = 0, at = 0;
    while (at < length) {
        uint64_t size;
        assert_true(length - at > 16);
        memcpy(&size, bytes + at, sizeof size);
        assert_true(size <= length - at - 16);
        const char *event = bytes + at + 12, *end = event + size;
        struct rm_protobuf_field field;
        *ret_has_tag = false;
        while (rm_protobuf_next(&event, end, &field)) {
            if (field.number == 5 && field.bytes != NULL) {
                *ret_has_tag = memmem(field.bytes, field.length, tag, strlen(tag)) != NULL;
            }
        }
        assert_ptr_equal(event, end);
        at += size + 16;
        count++;
    }
    return count;
}

static resmon_status write_run(const struct resmon_run *run)
{
    struct rm_sink sink = {0};
    const resmon_page_file_options options = {.struct_size = sizeof options, .path = directory};
    resmon_status status = rm_sink_make(rm_sink_kind_find("tensorboard"), &options, &sink);
    if (status == RESMON_OK) {
        status = sink.ops.start(sink.context, run);
        for (int i = 0; i < 2 && status == RESMON_OK; i++) {
            status = sink.ops.snapshot(sink.context, run);
        }
        status = status == RESMON_OK ? sink.ops.stop(sink.context, run) : status;
        sink.ops.close(sink.context);
    }
    return status;
}

static void use_directory(const char *name)
{
    (void)snprintf(directory, sizeof directory, "%s/%s/a b/c", test_directory, name);
}

TEST(a_hostile_run)
{
    bool has_tag = false;
    size_t length = 0;
    struct resmon_run *run = made_run("stopped", 12);
    use_directory("hostile");
    assert_ok(write_run(run));
    char *bytes = read_only_file(&length);
    assert_non_null(bytes);
    /* The version; samples at 0, 1.5 and 3 s, the second of which comes twice; scopes when there is
     * something new, and at the end. */
    assert_int_equal(count_records(bytes, length, "scope/wall top (s)", &has_tag), 1 + 3 + 2);
    assert_true(has_tag);
    assert_non_null(memmem(bytes, length, "proc/cpu.percent (parsec?)", 26));
    free(bytes);
    rm_run_free(run);
}

TEST(anything_may_fail)
{
    static const enum rm_fault_kind each[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_WRITE};
    struct resmon_run *run = made_run("stopped", 3);
    int64_t live = rm_fault_live(0);
    use_directory("faults");
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        bool has_fired = true;
        for (int64_t k = 0; has_fired && k < 500; k++) {
            bool has_tag = false;
            size_t length = 0;
            rm_fault_arm(each[i], k);
            resmon_status status = write_run(run);
            has_fired = rm_fault_fired(each[i]);
            rm_fault_arm(each[i], -1);
            assert_true((status == RESMON_OK) == !has_fired);
            char *bytes = read_only_file(&length);
            if (bytes != NULL) { /* whole records, and all of them without a failure */
                size_t count = count_records(bytes, length, "scope/wall top (s)", &has_tag);
                assert_true(has_fired ? count <= 6 : count == 6 && has_tag);
            }
            free(bytes);
            (void)remove_directory(directory);
            assert_int_equal(rm_fault_live(0), live);
        }
        assert_false(has_fired);
    }
    rm_run_free(run);
}
