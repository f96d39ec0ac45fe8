/* SPDX-License-Identifier: MIT */
/*
 * The main example: an inverted index of the words in a directory tree.
 *
 *     wordindex [DIRECTORY [INDEX [RUN [TRACE [RECORDING]]]]]
 *
 * (default: /usr/share words.gz run.json)
 *
 * It walks the tree, reads and counts with several threads, merges, sorts by frequency and writes a
 * compressed index; each phase is a scope.  At the end it writes the run document and prints the
 * summary of what the phases and the whole run cost.  TRACE is for ui.perfetto.dev, RECORDING for
 * "resmon live" while it runs, and "resmon recover" should it be killed.  With
 * MLFLOW_TRACKING_URI all of it goes to that server too, of all nodes of a job to one run there:
 *
 *     MLFLOW_TRACKING_URI=http://server:5000 srun -N4 ./wordindex
 */
#include <resmon/resmon.h>

#include <ctype.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_THREADS  16
#define MAX_FILES    200000
#define LARGEST_FILE ((size_t)8 << 20)
#define LONGEST_WORD 40

/* ---- words: one table per thread, merged at the end ------------------------------------- */

/* A word with the numbers of the files that it is in, ascending. */
struct word {
    char *text;
    uint64_t hash;
    uint64_t count;
    uint32_t *files;
    size_t file_count, file_room;
};

struct table {
    struct word *words;
    size_t count, room; /* room is a power of two */
};

static void die(const char *what)
{
    fprintf(stderr, "wordindex: %s\n", what);
    exit(1);
}

static void *allocate(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);
    if (memory == NULL) {
        die("out of memory");
    }
    return memory;
}

static struct word *slot_of(const struct table *table, const char *text, size_t length,
                            uint64_t hash)
{
    size_t slot = (size_t)hash & (table->room - 1);
    while (table->words[slot].text != NULL &&
           (table->words[slot].hash != hash ||
            strncmp(table->words[slot].text, text, length) != 0 ||
            table->words[slot].text[length] != '\0')) {
        slot = (slot + 1) & (table->room - 1);
    }
    return &table->words[slot];
}

static void grow(struct table *table)
{
    struct table larger = {.room = table->room == 0 ? 4096 : table->room * 2};
    larger.words = allocate(NULL, larger.room * sizeof *larger.words);
    memset(larger.words, 0, larger.room * sizeof *larger.words);
    for (size_t i = 0; i < table->room; i++) {
        const struct word *word = &table->words[i];
        if (word->text != NULL) {
            *slot_of(&larger, word->text, strlen(word->text), word->hash) = *word;
        }
    }
    larger.count = table->count;
    free(table->words);
    *table = larger;
}

static struct word *find_or_add(struct table *table, const char *text, size_t length, uint64_t hash)
{
    if (table->count * 4 >= table->room * 3) {
        grow(table);
    }
    struct word *word = slot_of(table, text, length, hash);
    if (word->text == NULL) {
        word->text = allocate(NULL, length + 1);
        memcpy(word->text, text, length);
        word->text[length] = '\0';
        word->hash = hash;
        table->count++;
    }
    return word;
}

static void add_file(struct word *word, uint32_t file)
{
    if (word->file_count > 0 && word->files[word->file_count - 1] == file) {
        return;
    }
    if (word->file_count == word->file_room) {
        word->file_room = word->file_room == 0 ? 2 : word->file_room * 2;
        word->files = allocate(word->files, word->file_room * sizeof *word->files);
    }
    word->files[word->file_count++] = file;
}

static void count_words(struct table *table, const char *text, size_t length, uint32_t file)
{
    char word[LONGEST_WORD];
    size_t used = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i <= length; i++) {
        int c = i < length ? tolower((unsigned char)text[i]) : ' ';
        if (isalpha(c)) {
            if (used < sizeof word) {
                word[used++] = (char)c;
                hash = (hash ^ (uint64_t)c) * UINT64_C(0x100000001b3);
            }
            continue;
        }
        if (used > 1) {
            struct word *entry = find_or_add(table, word, used, hash);
            entry->count++;
            add_file(entry, file);
        }
        used = 0;
        hash = UINT64_C(0xcbf29ce484222325);
    }
}

/* ---- walk ------------------------------------------------------------------------------- */

static char **paths; /* nftw() has no context argument */
static size_t path_count;

static int note_file(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)where;
    if (type == FTW_F && S_ISREG(info->st_mode) && info->st_size > 0 &&
        (size_t)info->st_size <= LARGEST_FILE && path_count < MAX_FILES) {
        size_t bytes = strlen(path) + 1;
        paths[path_count] = allocate(NULL, bytes);
        memcpy(paths[path_count++], path, bytes);
    }
    return 0;
}

static void walk(const char *directory)
{
    RESMON_FUNCTION();
    paths = allocate(NULL, MAX_FILES * sizeof *paths);
    if (nftw(directory, note_file, 32, FTW_PHYS) != 0 || path_count == 0) {
        die("no readable files there");
    }
}

/* ---- read and count, in threads --------------------------------------------------------- */

struct worker {
    pthread_t thread;
    struct table table;
    char *bytes;
    uint64_t started_in; /* the scope that it works for */
};

static size_t next_file; /* atomic */

static size_t read_file(const char *path, char *bytes)
{
    RESMON_SCOPE("read");
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t got;
    while (length < LARGEST_FILE && (got = read(fd, bytes + length, LARGEST_FILE - length)) > 0) {
        length += (size_t)got;
    }
    close(fd);
    /* A NUL in the first part means: no text. */
    return memchr(bytes, '\0', length < 1024 ? length : 1024) == NULL ? length : 0;
}

static void *work(void *context)
{
    struct worker *worker = context;
    RESMON_SCOPE_UNDER(worker->started_in, "worker");
    size_t file;
    while ((file = __atomic_fetch_add(&next_file, 1, __ATOMIC_RELAXED)) < path_count) {
        size_t length = read_file(paths[file], worker->bytes);
        if (length > 0) {
            RESMON_SCOPE("count");
            count_words(&worker->table, worker->bytes, length, (uint32_t)file);
        }
    }
    return NULL;
}

static size_t run_workers(struct worker *workers)
{
    RESMON_SCOPE("read and count");
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = cpus < 2 ? 2 : cpus > MAX_THREADS ? MAX_THREADS : (size_t)cpus;
    for (size_t i = 0; i < count; i++) {
        workers[i] =
            (struct worker){.bytes = allocate(NULL, LARGEST_FILE), .started_in = RESMON_HERE()};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            die("cannot create a thread");
        }
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        free(workers[i].bytes);
    }
    return count;
}

/* ---- merge, sort, write ----------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void merge(struct table *all, struct worker *workers, size_t count)
{
    RESMON_FUNCTION();
    for (size_t w = 0; w < count; w++) {
        struct table *table = &workers[w].table;
        for (size_t i = 0; i < table->room; i++) {
            struct word *from = &table->words[i];
            if (from->text == NULL) {
                continue;
            }
            struct word *to = find_or_add(all, from->text, strlen(from->text), from->hash);
            to->count += from->count;
            for (size_t f = 0; f < from->file_count; f++) {
                add_file(to, from->files[f]);
            }
            free(from->text);
            free(from->files);
        }
        free(table->words);
    }
}

static int by_frequency(const void *a, const void *b)
{
    const struct word *x = *(struct word *const *)a;
    const struct word *y = *(struct word *const *)b;
    if (x->count != y->count) {
        return x->count < y->count ? 1 : -1;
    }
    return strcmp(x->text, y->text);
}

static struct word **sort(const struct table *all)
{
    RESMON_FUNCTION();
    struct word **sorted = allocate(NULL, (all->count + 1) * sizeof(struct word *));
    size_t count = 0;
    for (size_t i = 0; i < all->room; i++) {
        if (all->words[i].text != NULL) {
            sorted[count++] = &all->words[i];
            qsort(all->words[i].files, all->words[i].file_count, sizeof(uint32_t), by_number);
        }
    }
    qsort(sorted, count, sizeof(struct word *), by_frequency);
    return sorted;
}

static void write_index(const char *path, struct word **sorted, size_t count)
{
    RESMON_FUNCTION();
    gzFile file = gzopen(path, "wb6");
    if (file == NULL) {
        die("cannot write the index");
    }
    {
        RESMON_SCOPE("compress");
        for (size_t i = 0; i < count; i++) {
            const struct word *word = sorted[i];
            gzprintf(file, "%s %llu", word->text, (unsigned long long)word->count);
            uint32_t last = 0;
            for (size_t f = 0; f < word->file_count; f++) {
                gzprintf(file, " %u", word->files[f] - last);
                last = word->files[f];
            }
            gzputc(file, '\n');
        }
    }
    if (gzclose(file) != Z_OK) {
        die("cannot finish the index");
    }
}

/* ---- the whole -------------------------------------------------------------------------- */

static void make_index(resmon_monitor *monitor, const char *directory, const char *index)
{
    RESMON_SCOPE("index");
    static struct worker workers[MAX_THREADS];
    struct table all = {0};
    printf("wordindex: walking %s\n", directory);
    resmon_monitor_tag(monitor, "walk");
    walk(directory);
    printf("wordindex: reading %zu files\n", path_count);
    resmon_monitor_tag(monitor, "read and count");
    size_t count = run_workers(workers);
    printf("wordindex: merging and sorting\n");
    resmon_monitor_tag(monitor, "merge");
    merge(&all, workers, count);
    struct word **sorted = sort(&all);
    printf("wordindex: writing %s\n", index);
    resmon_monitor_tag(monitor, "write");
    write_index(index, sorted, all.count);
    printf("wordindex: %zu words; the most frequent: %s (%llu)\n\n", all.count,
           all.count > 0 ? sorted[0]->text : "none",
           all.count > 0 ? (unsigned long long)sorted[0]->count : 0ULL);
    free(sorted);
}

/* With RESMON the environment says what goes where: RESMON=mlflow sends by itself. */
static int sends_to_mlflow(void)
{
    return getenv("MLFLOW_TRACKING_URI") != NULL && getenv("RESMON") == NULL;
}

static int report(resmon_monitor *monitor, const char *path)
{
    resmon_run *run = NULL;
    char *text = NULL;
    if (resmon_monitor_snapshot(monitor, &run) != RESMON_OK ||
        resmon_report_text(run, NULL, &text) != RESMON_OK) {
        fprintf(stderr, "wordindex: no summary: %s\n", resmon_last_error());
        resmon_run_free(run);
        return 1;
    }
    fputs(text, stdout);
    resmon_text_free(text);
    resmon_status status = resmon_run_save(run, path);
    resmon_run_free(run);
    if (status != RESMON_OK) {
        fprintf(stderr, "wordindex: no run document: %s\n", resmon_last_error());
        return 1;
    }
    printf("\nThe whole run, with every sample: %s\n", path);
    return 0;
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : "/usr/share";
    const char *index = argc > 2 ? argv[2] : "words.gz";
    const char *document = argc > 3 ? argv[3] : "run.json";
    const resmon_trace_options trace = {
        .struct_size = sizeof trace,
        .path = argc > 4 && argv[4][0] != '\0' ? argv[4] : NULL,
    };
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 100,
        .scopes = RESMON_METER_ALL,
        .name = "wordindex",
        .record = argc > 5 ? argv[5] : NULL, /* for "resmon live", and should it be killed */
        .scope_threads = 2 * MAX_THREADS,
        .events = trace.path != NULL ? 10000 : 0, /* of each thread: 10 MiB in all */
    };
    resmon_monitor *monitor = NULL;
    if (argc > 6) {
        fprintf(stderr, "usage: wordindex [DIRECTORY [INDEX [RUN [TRACE [RECORDING]]]]]\n");
        return 2;
    }
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        (trace.path != NULL && resmon_monitor_add_trace(monitor, &trace) != RESMON_OK) ||
        (sends_to_mlflow() && resmon_monitor_add_mlflow(monitor, NULL) != RESMON_OK) ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        fprintf(stderr, "wordindex: %s\n", resmon_last_error());
        resmon_monitor_free(monitor);
        return 1;
    }
    make_index(monitor, directory, index);
    resmon_monitor_stop(monitor);
    int status = report(monitor, document);
    resmon_monitor_free(monitor);
    return status;
}
