/* SPDX-License-Identifier: MIT */
#include "view/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/text.h"
#include "os/file.h"

/* ---- lines of source files ------------------------------------------------------------------- */

#define LARGEST_FILE ((uint64_t)8 << 20)

static bool is_source(const char *name)
{
    static const char *const endings[] = {
        "c",   "h",   "cc",  "cpp", "cxx", "c++", "C",   "hh",  "hpp", "hxx", "H",   "inl", "inc",
        "ipp", "tcc", "tpp", "cu",  "cuh", "cl",  "hip", "f",   "F",   "for", "f77", "f90", "F90",
        "f95", "F95", "f03", "F03", "f08", "F08", "rs",  "go",  "d",   "zig", "nim", "ml",  "hs",
        "s",   "S",   "asm", "m",   "mm",  "y",   "l",   "adb", "ads", "jl",  "py",  "pyx", "swift",
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < RM_ARRAY_LEN(endings); i++) {
        if (strcmp(dot + 1, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool open_source(struct rm_infile *file, const char *name)
{
    return is_source(name) && rm_infile_open(file, name, LARGEST_FILE) == RESMON_OK;
}

/* The source that a run has kept; NULL: it is in a file. */
static const struct rm_run_named_source *kept_source(const struct rm_source_files *files,
                                                     const char *name)
{
    for (size_t i = 0; i < files->run_count; i++) {
        const struct rm_run_profile *profile = &files->runs[i]->profile;
        for (size_t k = 0; k < profile->source_count; k++) {
            if (strcmp(profile->sources[k].file, name) == 0) {
                return &profile->sources[k];
            }
        }
    }
    return NULL;
}

static bool is_there(void *context, const char *name)
{
    struct rm_infile file;
    if (kept_source(context, name) != NULL) {
        return true;
    }
    if (!open_source(&file, name)) {
        return false;
    }
    rm_infile_close(&file);
    return true;
}

static bool load(struct rm_source_files *files, const char *name)
{
    struct rm_infile file;
    if (files->name != NULL && strcmp(files->name, name) == 0) {
        return files->text != NULL;
    }
    rm_source_files_free(files);
    files->name = rm_strdup(name);
    if (files->name == NULL || !open_source(&file, name)) {
        return false;
    }
    if (rm_infile_read_all(&file, &files->text) == RESMON_OK) {
        files->bytes = file.bytes;
        files->line = 1;
    }
    rm_infile_close(&file);
    return files->text != NULL;
}

static const char *get(void *context, const char *name, uint32_t line, size_t *ret_length)
{
    struct rm_source_files *files = context;
    const struct rm_run_named_source *kept = kept_source(files, name);
    if (kept != NULL) {
        bool has_line = line > 0 && line <= kept->line_count;
        *ret_length = has_line ? strlen(kept->lines[line - 1]) : 0;
        return has_line ? kept->lines[line - 1] : NULL;
    }
    if (!load(files, name)) {
        return NULL;
    }
    if (line < files->line) {
        files->line = 1;
        files->offset = 0;
    }
    while (files->line < line) {
        const char *end =
            memchr(files->text + files->offset, '\n', (size_t)(files->bytes - files->offset));
        if (end == NULL) {
            return NULL; /* the file has changed */
        }
        files->offset = (uint64_t)(end + 1 - files->text);
        files->line++;
    }
    const char *begin = files->text + files->offset;
    const char *end = memchr(begin, '\n', (size_t)(files->bytes - files->offset));
    *ret_length = (size_t)((end != NULL ? end : files->text + files->bytes) - begin);
    return begin;
}

static bool is_kept(void *context, const char *name)
{
    return kept_source(context, name) != NULL;
}

struct rm_source_lines rm_source_lines_of(struct rm_source_files *files)
{
    return (struct rm_source_lines){
        .is_there = is_there, .get = get, .is_kept = is_kept, .context = files};
}

void rm_source_files_free(struct rm_source_files *files)
{
    rm_free(files->name);
    rm_free(files->text);
    *files = (struct rm_source_files){.runs = files->runs, .run_count = files->run_count};
}

/* ---- lines of a run -------------------------------------------------------------------------- */

#define CONTENT_BYTES 120 /* of a line of the source */
#define TAB_SPACES    4

/* The lines of one function, which are adjacent in the sorted rows. */
struct group {
    const struct rm_line *lines;
    size_t count;
    double own;
    double sum; /* time or bytes of the whole function */
};

static double amount_of(const struct rm_line *line, enum rm_line_table table)
{
    double amount = table == RM_LINES_TIME ? line->time_ns : line->bytes;
    return isfinite(amount) ? amount : 0.0;
}

static int compare_functions(const struct rm_line *a, const struct rm_line *b)
{
    int order = strcmp(a->function, b->function);
    return order != 0 ? order : strcmp(a->file, b->file);
}

static int compare_lines(const void *left, const void *right)
{
    const struct rm_line *a = left, *b = right;
    int order = compare_functions(a, b);
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_groups(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = (a->own < b->own) - (a->own > b->own);
    return order != 0 ? order : compare_functions(a->lines, b->lines);
}

/* Lines of a notebook count with what they call: a cell that only calls functions is what its user
 * looks for. */
static bool counts_calls(const struct rm_line_terms *terms, const struct group *group)
{
    const struct rm_source_lines *sources = terms->sources;
    return sources != NULL && sources->is_kept(sources->context, group->lines->file);
}

static size_t make_groups(const struct rm_line *lines, size_t count,
                          const struct rm_line_terms *terms, struct group *groups)
{
    enum rm_line_table table = terms->table;
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_functions(&lines[i - 1], &lines[i]) != 0) {
            groups[made++] = (struct group){.lines = &lines[i]};
        }
        struct group *group = &groups[made - 1];
        group->count++;
        group->own += isfinite(lines[i].own) ? lines[i].own : 0.0;
        group->sum = lines[i].function_sum > 0.0 ? lines[i].function_sum
                                                 : group->sum + amount_of(&lines[i], table);
    }
    for (size_t i = 0; i < made; i++) {
        groups[i].own = counts_calls(terms, &groups[i]) ? groups[i].sum : groups[i].own;
    }
    qsort(groups, made, sizeof *groups, compare_groups);
    return made;
}

static int compare_amounts(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

/* The smallest amount (or loss) of the `most_lines` lines that are shown. */
static double smallest_shown(const struct group *group, const struct rm_line_terms *terms)
{
    if (group->count <= terms->most_lines || terms->most_lines == 0) {
        return -HUGE_VAL;
    }
    double *amounts = rm_alloc(group->count, sizeof *amounts);
    if (amounts == NULL) {
        return -HUGE_VAL;
    }
    for (size_t i = 0; i < group->count; i++) {
        amounts[i] = fabs(amount_of(&group->lines[i], terms->table));
    }
    qsort(amounts, group->count, sizeof *amounts, compare_amounts);
    double bound = amounts[terms->most_lines - 1];
    rm_free(amounts);
    return bound;
}

/* ---- tables ----------------------------------------------------------------------------- */

/* A table of one function while it is built. */
struct lines {
    struct rm_page *page;
    struct rm_page_table *table;
    const struct rm_line_terms *terms;
    const struct group *group;
};

/* A line of the source, with spaces for tabs. */
static const char *content_of(const struct lines *lines, uint32_t line)
{
    const struct rm_source_lines *sources = lines->terms->sources;
    char text[CONTENT_BYTES];
    size_t length = 0, out = 0;
    const char *source =
        sources != NULL ? sources->get(sources->context, lines->group->lines->file, line, &length)
                        : NULL;
    for (size_t i = 0; source != NULL && i < length && out + TAB_SPACES < sizeof text; i++) {
        for (int k = 0; source[i] == '\t' && k < TAB_SPACES; k++) {
            text[out++] = ' ';
        }
        if (source[i] != '\t' && source[i] != '\r') {
            text[out++] = source[i];
        }
    }
    while (out > 0 && text[out - 1] == ' ') {
        out--;
    }
    char clean[CONTENT_BYTES];
    (void)rm_text_copy(clean, sizeof clean, text, out);
    return rm_page_shown(lines->page, clean);
}

static void set_time_cells(const struct lines *lines, struct rm_page_cell *cells,
                           const struct rm_line *line)
{
    struct rm_page *page = lines->page;
    double seconds = line->time_ns * 1e-9, sum = lines->group->sum;
    rm_page_set(&cells[0], rm_page_value(page, (double)line->hits, ""));
    rm_page_set(&cells[1], rm_page_value(page, seconds, "s"));
    rm_page_set(&cells[2],
                rm_page_value(page, line->hits > 0 ? seconds / (double)line->hits : RM_NAN, "s"));
    rm_page_set(&cells[3],
                rm_page_value(page, sum > 0.0 ? 100.0 * line->time_ns / sum : RM_NAN, "%"));
}

static void set_memory_cells(const struct lines *lines, struct rm_page_cell *cells,
                             const struct rm_line *line)
{
    struct rm_page *page = lines->page;
    const struct rm_sampled grown = {line->bytes, line->error * line->error, line->most};
    rm_page_set(&cells[0], rm_page_value(page, line->memory_bytes, "B"));
    rm_page_set(&cells[1], rm_sampled_text(page, RESMON_STACK_MEMORY, grown));
    rm_page_set(&cells[2], rm_page_value(page, (double)line->occurrences, ""));
}

/* `line` NULL: a line without data. */
static void add_row(const struct lines *lines, uint32_t number, const struct rm_line *line)
{
    struct rm_page_cell *cells = rm_page_row(lines->page, lines->table);
    rm_page_set(&cells[0], rm_page_print(lines->page, "%u", number));
    if (line != NULL && lines->terms->table == RM_LINES_TIME) {
        set_time_cells(lines, &cells[1], line);
    } else if (line != NULL) {
        set_memory_cells(lines, &cells[1], line);
    }
    rm_page_set(&cells[lines->table->column_count - 1], content_of(lines, number));
}

static void add_rows(const struct lines *all, size_t range)
{
    const struct rm_line_terms *terms = all->terms;
    const struct group *group = all->group;
    double bound = smallest_shown(group, terms);
    const struct rm_line *lines = group->lines;
    bool is_filled = terms->is_filled && range <= terms->most_lines;
    size_t shown = 0;
    for (size_t i = 0; i < group->count && shown < terms->most_lines; i++) {
        uint32_t last = i > 0 ? lines[i - 1].line : lines[i].line;
        for (uint32_t between = last + 1; is_filled && between < lines[i].line; between++) {
            add_row(all, between, NULL);
        }
        if (fabs(amount_of(&lines[i], terms->table)) >= bound) {
            shown++;
            add_row(all, lines[i].line, &lines[i]);
        }
    }
}

static void add_group(struct rm_page *page, const struct rm_line_terms *terms,
                      const struct group *group)
{
    static const char *const time_headers[] = {"Line #",  "Hits",   "Time",
                                               "Per Hit", "% Time", "Line Contents"};
    static const char *const memory_headers[] = {"Line #", "Mem usage", "Increment", "Occurrences",
                                                 "Line Contents"};
    bool is_time = terms->table == RM_LINES_TIME;
    size_t columns = is_time ? RM_ARRAY_LEN(time_headers) : RM_ARRAY_LEN(memory_headers);
    size_t range = (size_t)(group->lines[group->count - 1].line - group->lines[0].line) + 1;
    size_t rows = terms->is_filled && range <= terms->most_lines ? range + 1 : group->count;
    struct lines lines = {page, NULL, terms, group};
    lines.table =
        rm_page_table_new(page, "lines",
                          rm_page_print(page, "Function: %s, %s",
                                        rm_page_shown_at_most(page, group->lines->function, 120),
                                        is_time ? rm_page_value(page, group->sum * 1e-9, "s")
                                                : rm_page_value(page, group->sum, "B")),
                          RM_HEADERS(is_time ? time_headers : memory_headers, columns, 0), rows);
    if (lines.table == NULL) {
        return;
    }
    lines.table->lead =
        rm_page_print(page, "File: %s", rm_page_shown_at_most(page, group->lines->file, 200));
    lines.table->columns[columns - 1].is_left = true;
    lines.table->columns[columns - 1].is_code = true;
    add_rows(&lines, range);
    (void)rm_page_add_table(page, lines.table);
}

size_t rm_lines_add(struct rm_page *page, struct rm_line *lines, size_t count,
                    const struct rm_line_terms *terms)
{
    size_t written = 0;
    struct group *groups = rm_page_alloc(page, count, sizeof *groups);
    if (groups == NULL || count == 0) {
        return 0;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    size_t made = make_groups(lines, count, terms, groups);
    double least = 0.0;
    for (size_t i = 0; i < made; i++) {
        least += terms->least_share * groups[i].own;
    }
    while (written < made && written < terms->most_functions && groups[written].own > 0.0 &&
           groups[written].own >= least) {
        add_group(page, terms, &groups[written++]);
    }
    return written;
}
