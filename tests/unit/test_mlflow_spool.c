/* SPDX-License-Identifier: MIT */
/*
 * net/mlflow_spool: what was put away comes back as it was, marks stay, and no file, however it
 * was cut or garbled, is taken for more than it is.
 */
#include "test.h"

#ifndef RM_HAVE_CJSON

TEST_FILE(.skipped = "this build has no JSON (cJSON), and so nothing for MLflow");

#else

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "net/mlflow_spool.h"
#include "strict_json.h"

static const struct rm_mlflow_item items[] = {
    {RM_MLFLOW_LOG_BATCH, "", "\"metrics\":[]}", 13},
    {RM_MLFLOW_ARTIFACT, "resmon/run.json", "{\"a\":\"b\\n\\\"\"}\n", 14},
    {RM_MLFLOW_UPDATE, "", "\"status\":\"FINISHED\"}", 20},
};
#define ITEMS (sizeof items / sizeof *items)

static void set_address(struct rm_mlflow_address *address)
{
    static char create[] = "\"run_name\":\"r \\\" \xc3\xa9\"}";
    *address = (struct rm_mlflow_address){
        .uri = "http://h:5000/p",
        .experiment = "my \"x\"\n",
        .experiment_id = "12",
        .run_id = "abc",
        .wanted = {.uuid = "0123456789abcdef0123456789abcdef", .job = "slurm/7", .is_first = true},
        .create = create};
}

/* Where it was put. */
static const char *write_spool(const char *path)
{
    static struct rm_mlflow_spool spool;
    static struct rm_mlflow_address address;
    set_address(&address);
    assert_ok(rm_mlflow_spool_begin(&spool, path, &address));
    for (size_t i = 0; i < ITEMS; i++) {
        assert_ok(rm_mlflow_spool_add(&spool, &items[i]));
    }
    assert_int_equal(spool.requests, ITEMS);
    assert_true(access(path, F_OK) != 0 || strcmp(spool.file.path, path) != 0); /* not before */
    assert_ok(rm_mlflow_spool_end(&spool));
    return spool.file.path;
}

static size_t read_file(const char *path, char *bytes, size_t room)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(bytes, 1, room, file);
    (void)fclose(file);
    return length;
}

/* ---- whole files ---------------------------------------------------------------------------- */

TEST(what_is_written_is_read)
{
    struct rm_mlflow_replay replay;
    struct rm_mlflow_entry entry;
    struct stat info;
    int64_t live = rm_fault_live(0);
    struct rm_mlflow_address address, expected;
    const char *path = path_of("whole");
    mode_t mask = umask(0);
    assert_string_equal(write_spool(path), path);
    (void)umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600); /* names of users and runs are in it */
    set_address(&expected);
    assert_ok(rm_mlflow_replay_open(&replay, path, &address));
    assert_string_equal(address.uri, expected.uri);
    assert_string_equal(address.experiment, expected.experiment);
    assert_string_equal(address.experiment_id, expected.experiment_id);
    assert_string_equal(address.run_id, expected.run_id);
    assert_string_equal(address.wanted.uuid, expected.wanted.uuid);
    assert_string_equal(address.wanted.job, expected.wanted.job);
    assert_true(address.wanted.is_first);
    assert_string_equal(address.create, expected.create);
    assert_ptr_equal(address.wanted.body, address.create);
    assert_int_equal(rm_mlflow_replay_count(&replay), ITEMS);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_ok(rm_mlflow_replay_next(&replay, &entry));
        assert_int_equal(entry.mark, RM_MLFLOW_MARK_WAITS);
        assert_int_equal(entry.item.call, items[i].call);
        assert_string_equal(entry.item.path, items[i].path);
        assert_int_equal(entry.item.length, items[i].length);
        assert_string_equal(entry.item.body, items[i].body);
        rm_mlflow_entry_free(&entry);
    }
    assert_int_equal(rm_mlflow_replay_next(&replay, &entry), RESMON_ENOENT);
    assert_int_equal(rm_mlflow_replay_next(&replay, &entry), RESMON_ENOENT);
    rm_mlflow_replay_close(&replay);
    rm_mlflow_address_free(&address);
    rm_mlflow_address_free(&address);
    assert_int_equal(rm_fault_live(0), live);
}

/* Each line is a mark and JSON: for people with a text editor. */
TEST(the_form_of_a_file)
{
    char bytes[4096];
    static const char head[] = "resmon-mlflow-spool 1 ";
    size_t length = read_file(write_spool(path_of("form")), bytes, sizeof bytes);
    char *at = bytes;
    for (size_t i = 0; i <= ITEMS; i++) {
        char *end = memchr(at, '\n', length - (size_t)(at - bytes));
        size_t skip = i == 0 ? sizeof head - 1 : 2;
        assert_non_null(end);
        assert_memory_equal(at, i == 0 ? head : "- ", skip);
        assert_true(is_strict_json(at + skip, (size_t)(end - at) - skip));
        at = end + 1;
    }
    assert_int_equal(at - bytes, length);
}

TEST(marks_stay)
{
    static const char marks[ITEMS] = {RM_MLFLOW_MARK_SENT, RM_MLFLOW_MARK_REFUSED,
                                      RM_MLFLOW_MARK_WAITS};
    char before[4096], after[4096];
    struct rm_mlflow_replay replay, second;
    struct rm_mlflow_entry entry;
    struct rm_mlflow_address address, other;
    const char *path = write_spool(path_of("marks"));
    size_t length = read_file(path, before, sizeof before);
    assert_ok(rm_mlflow_replay_open(&replay, path, &address));
    assert_status(RESMON_EBUSY, rm_mlflow_replay_open(&second, path, &other));
    for (size_t i = 0; i < ITEMS; i++) {
        assert_ok(rm_mlflow_replay_next(&replay, &entry));
        assert_ok(rm_mlflow_replay_mark(&replay, &entry, marks[i]));
        rm_mlflow_entry_free(&entry);
    }
    rm_mlflow_replay_close(&replay);
    rm_mlflow_address_free(&address);
    assert_int_equal(read_file(path, after, sizeof after), length);
    size_t changed = 0;
    for (size_t i = 0; i < length; i++) {
        changed += before[i] != after[i] ? 1 : 0;
    }
    assert_int_equal(changed, 2); /* one byte for each mark that is another */
    assert_ok(rm_mlflow_replay_open(&replay, path, &address));
    for (size_t i = 0; i < ITEMS; i++) {
        assert_ok(rm_mlflow_replay_next(&replay, &entry));
        assert_int_equal(entry.mark, marks[i]);
        assert_string_equal(entry.item.body, items[i].body);
        rm_fault_arm(RM_FAULT_WRITE, 0);
        assert_status(RESMON_EIO, rm_mlflow_replay_mark(&replay, &entry, 'x'));
        rm_fault_arm(RM_FAULT_WRITE, -1);
        rm_mlflow_entry_free(&entry);
    }
    rm_mlflow_replay_close(&replay);
    rm_mlflow_address_free(&address);
}

/* ---- places --------------------------------------------------------------------------------- */

TEST(what_waits_is_never_written_over)
{
    char path[128], expected[160], text[8] = "";
    (void)snprintf(path, sizeof path, "%s", path_of("taken"));
    put_content(path, "theirs", 6);
    for (int i = 1; i <= 99; i++) {
        (void)snprintf(expected, sizeof expected, "%s.%d", path, i);
        assert_string_equal(write_spool(path), expected);
    }
    struct rm_mlflow_spool *spool = malloc(sizeof *spool);
    struct rm_mlflow_address *address = malloc(sizeof *address);
    set_address(address);
    assert_status(RESMON_EBUSY, rm_mlflow_spool_begin(spool, path, address));
    assert_int_equal(read_file(path, text, sizeof text), 6);
    assert_string_equal(text, "theirs");
    free(spool);
    free(address);
}

TEST(links_are_not_followed)
{
    static struct rm_mlflow_spool spool;
    static struct rm_mlflow_address address;
    struct rm_mlflow_replay replay;
    set_address(&address);
    (void)write_spool(path_of("real"));
    assert_int_equal(symlink(path_of("real"), path_of("link")), 0);
    assert_int_equal(symlink(path_of("target"), path_of("dangling")), 0);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_status(RESMON_EFORMAT, rm_mlflow_replay_open(&replay, path_of("link"), &address));
    assert_status(RESMON_EFORMAT, rm_mlflow_replay_open(&replay, path_of("pipe"), &address));
    assert_true(rm_mlflow_replay_open(&replay, test_directory, &address) < RESMON_OK);
    assert_status(RESMON_ENOENT, rm_mlflow_replay_open(&replay, path_of("none"), &address));
    set_address(&address);
    /* A name that is taken, by a link too, is left alone. */
    assert_ok(rm_mlflow_spool_begin(&spool, path_of("dangling"), &address));
    assert_ok(rm_mlflow_spool_end(&spool));
    assert_int_equal(access(path_of("dangling.1"), F_OK), 0);
    assert_true(access(path_of("target"), F_OK) != 0);
    assert_status(RESMON_ENOENT, rm_mlflow_spool_begin(&spool, path_of("none/x"), &address));
}

/* ---- files that are not whole --------------------------------------------------------------- */

/* How many entries a file has, or the status of what does not open or come. */
static int read_entries(const char *path)
{
    struct rm_mlflow_replay replay;
    struct rm_mlflow_address address;
    struct rm_mlflow_entry entry;
    int count = 0;
    resmon_status status = rm_mlflow_replay_open(&replay, path, &address);
    if (status != RESMON_OK) {
        assert_null(address.create);
        return status;
    }
    while ((status = rm_mlflow_replay_next(&replay, &entry)) == RESMON_OK) {
        assert_non_null(entry.item.path);
        assert_int_equal(strlen(entry.item.body), entry.item.length);
        assert_true(entry.item.call < RM_MLFLOW_CALLS);
        rm_mlflow_entry_free(&entry);
        count++;
    }
    rm_mlflow_replay_close(&replay);
    rm_mlflow_address_free(&address);
    return status == RESMON_ENOENT ? count : status;
}

/* A line without its end was cut off while it was written: the lines before it come, and then it is
 * said. */
TEST(a_file_cut_at_every_byte)
{
    char bytes[4096];
    int64_t live = rm_fault_live(0);
    size_t length = read_file(write_spool(path_of("to-cut")), bytes, sizeof bytes);
    for (size_t cut = 0; cut <= length; cut++) {
        int lines = -1;
        for (size_t i = 0; i < cut; i++) {
            lines += bytes[i] == '\n' ? 1 : 0;
        }
        put_content(path_of("cut"), bytes, cut);
        bool is_whole = lines >= 0 && bytes[cut - 1] == '\n';
        assert_int_equal(read_entries(path_of("cut")), is_whole ? lines : (int)RESMON_EFORMAT);
        assert_int_equal(rm_fault_live(0), live);
    }
}

TEST(a_file_garbled_at_every_byte)
{
    static const char garbage[] = {'\0', '\n', '"', '\\', '{', '}', ' ', '\xff', 'x', '0'};
    char bytes[4096];
    int64_t live = rm_fault_live(0);
    size_t length = read_file(write_spool(path_of("to-garble")), bytes, sizeof bytes);
    for (size_t at = 0; at < length; at++) {
        char was = bytes[at];
        for (size_t i = 0; i < sizeof garbage; i++) {
            bytes[at] = garbage[i];
            put_content(path_of("garbled"), bytes, length);
            int count = read_entries(path_of("garbled"));
            assert_true(count == (int)RESMON_EFORMAT || (count >= 0 && count <= (int)ITEMS));
            assert_int_equal(rm_fault_live(0), live);
        }
        bytes[at] = was;
    }
}

#define HEAD(create)                                                                           \
    "resmon-mlflow-spool 1 {\"uri\":\"http://h\",\"experiment\":\"\",\"experiment_id\":\"0\"," \
    "\"run_id\":\"\",\"uuid\":\"\",\"job\":\"\",\"first\":\"yes\",\"create\":" create "}\n"

TEST(lines_that_are_refused)
{
    static const struct {
        const char *text;
        int count;
    } rows[] = {
        {HEAD("\"\""), 0},
        {HEAD("\"x\"") "- {\"call\":\"update\",\"path\":\"\",\"body\":\"}\"}\n", 1},
        {HEAD("\"x\"") "! {\"call\":\"artifact\",\"path\":\"a/b-c_d.json\",\"body\":\"\"}\n", 1},
        {HEAD("7"), RESMON_EFORMAT},
        {HEAD("null"), RESMON_EFORMAT},
        {"resmon-mlflow-spool 2 {}\n", RESMON_EFORMAT},
        {"resmon-mlflow-spool 1 \n", RESMON_EFORMAT},
        {"resmon-mlflow-spool 1 []\n", RESMON_EFORMAT},
        {"resmon-mlflow-spool 1 {}\n", RESMON_EFORMAT},
        {"\n", RESMON_EFORMAT},
        {HEAD("\"\"") "\n", RESMON_EFORMAT},
        {HEAD("\"\"") "- \n", RESMON_EFORMAT},
        {HEAD("\"\"") "- 7\n", RESMON_EFORMAT},
        {HEAD("\"\"") "? {\"call\":\"update\",\"path\":\"\",\"body\":\"}\"}\n", RESMON_EFORMAT},
        {HEAD("\"\"") "-{\"call\":\"update\",\"path\":\"\",\"body\":\"}\"}\n", RESMON_EFORMAT},
        {HEAD("\"\"") "- {\"call\":\"delete\",\"path\":\"\",\"body\":\"}\"}\n", RESMON_EFORMAT},
        {HEAD("\"\"") "- {\"call\":1,\"path\":\"\",\"body\":\"}\"}\n", RESMON_EFORMAT},
        {HEAD("\"\"") "- {\"call\":\"update\",\"path\":\"\"}\n", RESMON_EFORMAT},
        {HEAD("\"\"") "- {\"call\":\"update\",\"body\":\"}\"}\n", RESMON_EFORMAT},
        {HEAD("\"\"") "- {\"call\":\"artifact\",\"path\":\"../a\",\"body\":\"}\"}\n",
         RESMON_EFORMAT},
        {HEAD("\"\"") "- {\"call\":\"artifact\",\"path\":\"a?b\",\"body\":\"}\"}\n",
         RESMON_EFORMAT},
        {HEAD("\"\"") "- {\"call\":\"artifact\",\"path\":\"a b\",\"body\":\"}\"}\n",
         RESMON_EFORMAT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_content(path_of("made"), rows[i].text, strlen(rows[i].text));
        int count = read_entries(path_of("made"));
        if (count != rows[i].count) {
            fail_msg("%d instead of %d: %s", count, rows[i].count, rows[i].text);
        }
    }
    /* A member that has no room. */
    static char text[8192];
    int length = snprintf(text, sizeof text, "resmon-mlflow-spool 1 {\"uri\":\"");
    memset(text + length, 'u', 4096);
    (void)snprintf(text + length + 4096, sizeof text - (size_t)length - 4096,
                   "\",\"experiment\":\"\",\"experiment_id\":\"\",\"run_id\":\"\",\"uuid\":\"\","
                   "\"job\":\"\",\"first\":\"\",\"create\":\"\"}\n");
    put_content(path_of("made"), text, strlen(text));
    assert_int_equal(read_entries(path_of("made")), RESMON_EFORMAT);
}

/* ---- faults --------------------------------------------------------------------------------- */

static resmon_status try_to_write(const char *path)
{
    static struct rm_mlflow_spool spool;
    static struct rm_mlflow_address address;
    set_address(&address);
    resmon_status status = rm_mlflow_spool_begin(&spool, path, &address);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < ITEMS && status == RESMON_OK; i++) {
        status = rm_mlflow_spool_add(&spool, &items[i]);
    }
    resmon_status ended = rm_mlflow_spool_end(&spool);
    return status == RESMON_OK ? ended : status;
}

/* What is there after a failure is a file that opens, or none. */
TEST(any_step_of_writing_may_fail)
{
    static const enum rm_fault_kind kinds[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_WRITE};
    const char *path = path_of("failing");
    int64_t live = rm_fault_live(0);
    for (size_t i = 0; i < 3; i++) {
        resmon_status status = RESMON_EIO;
        int64_t k = 0;
        for (; status != RESMON_OK && k < 100; k++) {
            rm_fault_arm(kinds[i], k);
            status = try_to_write(path);
            rm_fault_arm(kinds[i], -1);
            assert_int_equal(rm_fault_live(0), live);
            if (access(path, F_OK) == 0) {
                int count = read_entries(path);
                assert_true(status == RESMON_OK ? count == (int)ITEMS : count >= 0);
                assert_int_equal(unlink(path), 0);
            } else {
                assert_true(status < RESMON_OK);
            }
        }
        assert_true(k > 1 && status == RESMON_OK);
    }
}

TEST(any_step_of_reading_may_fail)
{
    static const enum rm_fault_kind kinds[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_READ};
    const char *path = write_spool(path_of("failing-2"));
    int64_t live = rm_fault_live(0);
    for (size_t i = 0; i < 3; i++) {
        int count = -1;
        int64_t k = 0;
        for (; count != (int)ITEMS && k < 100; k++) {
            rm_fault_arm(kinds[i], k);
            count = read_entries(path);
            bool has_fired = rm_fault_fired(kinds[i]);
            rm_fault_arm(kinds[i], -1);
            assert_int_equal(rm_fault_live(0), live);
            assert_true(has_fired ? count < 0 : count == (int)ITEMS);
        }
        assert_true(count == (int)ITEMS);
    }
}

#endif
