/* SPDX-License-Identifier: MIT */
/*
 * What real launchers put into the environments of their tasks: each line of
 * servers/environments/index says what is true of a task, and detection must find it in the task's
 * variables.
 */
#include "test.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "job/detect.h"
#include "os/file.h"

#define LONGEST_FILE   ((size_t)1 << 16)
#define MOST_VARIABLES 256
#define MOST_COLUMNS   16
#define WORD_BYTES     256

/* ---- files ------------------------------------------------------------------------------ */

static struct rm_text read_file(const char *name, char bytes[LONGEST_FILE])
{
    char path[1024];
    struct rm_infile file;
    const char *fixtures = getenv("RESMON_FIXTURES");
    if (fixtures == NULL) {
        fail_msg("RESMON_FIXTURES is not set: it names tests/fixtures (CTest sets it)");
    }
    (void)snprintf(path, sizeof path, "%s/../servers/environments/%s", fixtures, name);
    assert_ok(rm_infile_open(&file, path, LONGEST_FILE));
    assert_ok(rm_infile_read(&file, 0, bytes, file.bytes));
    size_t length = (size_t)file.bytes;
    rm_infile_close(&file);
    return rm_text_of(bytes, length);
}

static void copy(struct rm_text text, char target[WORD_BYTES])
{
    size_t length = rm_text_left(&text);
    assert_true(length < WORD_BYTES);
    memcpy(target, text.at, length);
    target[length] = '\0';
}

/* The index: words, the first line has their names. */
struct table {
    char words[MOST_COLUMNS][WORD_BYTES];
    size_t count;
};

static void read_words(struct rm_text line, struct table *table)
{
    struct rm_text word;
    for (table->count = 0; rm_parse_word(&line, &word); table->count++) {
        assert_true(table->count < MOST_COLUMNS);
        copy(word, table->words[table->count]);
    }
}

/* ---- an environment --------------------------------------------------------------------- */

struct recorded {
    char bytes[LONGEST_FILE]; /* lines; '\n' became '\0' */
    const char *lines[MOST_VARIABLES];
    size_t count;
};

static void read_environment(struct recorded *recorded, const char *name)
{
    struct rm_text line;
    struct rm_text rest = read_file(name, recorded->bytes);
    for (recorded->count = 0; rm_parse_line(&rest, &line); recorded->count++) {
        assert_true(recorded->count < MOST_VARIABLES);
        recorded->lines[recorded->count] = line.at;
        recorded->bytes[line.end - recorded->bytes] = '\0';
    }
}

static const char *variable(void *context, const char *name)
{
    const struct recorded *recorded = context;
    size_t length = strlen(name);
    for (size_t i = 0; i < recorded->count; i++) {
        if (strncmp(recorded->lines[i], name, length) == 0 && recorded->lines[i][length] == '=') {
            return recorded->lines[i] + length + 1;
        }
    }
    return NULL;
}

/* ---- comparing -------------------------------------------------------------------------- */

static const char *shown(int64_t number, char text[WORD_BYTES])
{
    (void)snprintf(text, WORD_BYTES, "%" PRId64, number);
    return number >= 0 ? text : "";
}

/* What detection says, by the name of the column. */
static const char *detected(const resmon_job_info *info, const char *column, char text[WORD_BYTES])
{
    const struct {
        const char *column, *value;
    } texts[] = {
        {"system", info->system}, {"launcher", info->launcher},   {"job_id", info->id},
        {"step", info->step},     {"node_name", info->node_name},
    };
    const struct {
        const char *column;
        int64_t value;
    } numbers[] = {
        {"array_index", info->array_index}, {"node_index", info->node_index},
        {"node_count", info->node_count},   {"rank", info->rank},
        {"rank_count", info->rank_count},   {"local_rank", info->local_rank},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        if (strcmp(texts[i].column, column) == 0) {
            return texts[i].value;
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        if (strcmp(numbers[i].column, column) == 0) {
            return shown(numbers[i].value, text);
        }
    }
    fail_msg("the index has a column %s that the test does not know", column);
    return NULL;
}

/* "-" in the index: it does not apply, or the variables cannot tell; then nothing must be said,
 * but for what follows from being on the only node. */
static bool is_right(const char *column, const char *expected, const char *found)
{
    if (strcmp(expected, "-") != 0) {
        return strcmp(expected, found) == 0;
    }
    bool is_deducible = strcmp(column, "node_index") == 0 || strcmp(column, "node_count") == 0;
    return found[0] == '\0' ||
           (is_deducible && strcmp(found, strcmp(column, "node_index") == 0 ? "0" : "1") == 0);
}

static size_t compare(const struct table *names, const struct table *row,
                      const resmon_job_info *info)
{
    size_t wrong = 0;
    char text[WORD_BYTES];
    for (size_t i = 1; i < names->count; i++) {
        const char *found = detected(info, names->words[i], text);
        if (!is_right(names->words[i], row->words[i], found)) {
            print_error("%s: %s is '%s', right is %s\n", row->words[0], names->words[i], found,
                        row->words[i]);
            wrong++;
        }
    }
    return wrong;
}

static const char *cell(const struct table *names, const struct table *row, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->words[i], name) == 0) {
            return row->words[i];
        }
    }
    fail_msg("the index has no column %s", name);
    return NULL;
}

/* ---- tests ------------------------------------------------------------------------------ */

/* Detects with this host name; the job is to be freed. */
static struct resmon_job *detect(struct recorded *recorded, const char *host_name)
{
    struct resmon_job *job = NULL;
    const struct rm_job_environment environment = {
        .get = variable, .context = recorded, .root = "/nonexistent", .host_name = host_name};
    assert_ok(rm_job_detect(&environment, &job));
    return job;
}

/* Every task of the index; `domain` is what the host's name has behind that of the node. */
static void check_index(const char *system, const char *domain)
{
    static char index[LONGEST_FILE];
    static struct recorded recorded;
    struct table names, row;
    struct rm_text line;
    struct rm_text rest = read_file("index", index);
    size_t rows = 0, wrong = 0;
    assert_true(rm_parse_line(&rest, &line));
    read_words(line, &names);
    while (rm_parse_line(&rest, &line)) {
        char host_name[2 * WORD_BYTES];
        read_words(line, &row);
        assert_int_equal(row.count, names.count);
        if (system != NULL && strcmp(cell(&names, &row, "system"), system) != 0) {
            continue;
        }
        read_environment(&recorded, row.words[0]);
        (void)snprintf(host_name, sizeof host_name, "%s%s", cell(&names, &row, "node_name"),
                       domain);
        struct resmon_job *job = detect(&recorded, host_name);
        wrong += compare(&names, &row, &job->info);
        rm_job_free(job);
        rows++;
    }
    assert_true(rows > 10);
    assert_int_equal(wrong, 0);
}

TEST(every_task_is_what_it_is)
{
    check_index(NULL, "");
}

/* Slurm names nodes by their short names; the kernel may have the long one. */
TEST(long_host_names_change_nothing_under_slurm)
{
    check_index("slurm", ".cluster.example.org");
}

/* The ranks of one program have one key, and no others have it. */
TEST(keys_part_the_programs)
{
    static const struct {
        const char *file;
        const char *host_name;
    } tasks[] = {
        {"srun.0.env", "n1"},          {"srun.7.env", "n4"},          {"srun.single.0.env", "n1"},
        {"srun.single.1.env", "n2"},   {"batch.step.0.env", "n1"},    {"batch.step.5.env", "n3"},
        {"array.3.env", "n1"},         {"array.3.env", "n1"},         {"array.5.env", "n1"},
        {"array.5.env", "n1"},         {"openmpi.0.env", "host1"},    {"openmpi.2.env", "host1"},
        {"batch.openmpi.0.env", "n1"}, {"batch.openmpi.5.env", "n3"}, {"batch.hydra.0.env", "n1"},
        {"batch.hydra.5.env", "n3"},   {"batch.script.env", "n1"},    {"batch.script.env", "n1"},
    };
    static char keys[RM_ARRAY_LEN(tasks)][WORD_BYTES];
    static struct recorded recorded;
    for (size_t i = 0; i < RM_ARRAY_LEN(tasks); i++) {
        read_environment(&recorded, tasks[i].file);
        struct resmon_job *job = detect(&recorded, tasks[i].host_name);
        (void)snprintf(keys[i], WORD_BYTES, "%s", job->info.key);
        assert_string_not_equal(keys[i], "");
        rm_job_free(job);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(tasks); i++) {
        for (size_t j = 0; j < i; j++) {
            bool is_same = strcmp(keys[i], keys[j]) == 0;
            if (is_same != (i / 2 == j / 2)) {
                fail_msg("%s has the key %s, %s has %s", tasks[i].file, keys[i], tasks[j].file,
                         keys[j]);
            }
        }
    }
}
