/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_note.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "os/reader.h"
#include "run/run.h"

#define LONGEST      4900 /* bytes: MLflow 2 takes 5000 in a tag */
#define LARGEST_PAGE ((size_t)64 << 20)
#define COLUMNS      90     /* the page shows without a scroll bar */
#define AS_IS        "    " /* Markdown shows a line behind it with all its spaces */
#define LAST         AS_IS "..\n"

/* Line by line, as long as there is room. */
static void put_lines(struct rm_buffer *note, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (note->length + strlen(AS_IS) + length + strlen("\n" LAST) > LONGEST) {
            rm_buffer_puts(note, LAST);
            return;
        }
        rm_buffer_puts(note, AS_IS);
        rm_buffer_add(note, text, length);
        rm_buffer_puts(note, "\n");
        text += length + (text[length] == '\n');
    }
}

char *rm_mlflow_note_of(const struct resmon_run *run)
{
    const struct rm_reader *reader = rm_reader();
    struct rm_buffer report, note;
    rm_buffer_init(&report, (size_t)1 << 20);
    rm_buffer_init(&note, LONGEST + 1);
    if (reader != NULL && reader->write(&report, run, RM_READER_BRIEF, COLUMNS) == RESMON_OK &&
        report.text != NULL) {
        put_lines(&note, report.text);
    }
    rm_buffer_free(&report);
    char *text = note.status == RESMON_OK && note.length > 0 ? rm_strdup(note.text) : NULL;
    rm_buffer_free(&note);
    return text;
}

bool rm_mlflow_page_of(const struct resmon_run *run, struct rm_buffer *page)
{
    const struct rm_reader *reader = rm_reader();
    rm_buffer_init(page, LARGEST_PAGE);
    return run->node_count > 0 && reader != NULL &&
           reader->write(page, run, RM_READER_HTML, 0) == RESMON_OK;
}
