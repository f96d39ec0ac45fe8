/* SPDX-License-Identifier: MIT */
#include "page/set.h"

#include "base/status.h"
#include "page/names.h"

static resmon_status look(struct rm_page_set *set, size_t most_points)
{
    const struct rm_page_terms *terms = set->terms;
    resmon_status status = RESMON_OK;
    set->subjects = rm_page_alloc(set->page, set->count, sizeof *set->subjects);
    for (size_t i = 0; i < set->count && status == RESMON_OK && !set->page->is_broken; i++) {
        status = rm_subject_open(&set->subjects[i], set->page, terms->runs[i], terms->sources,
                                 most_points);
    }
    if (status == RESMON_OK && !set->page->is_broken) {
        rm_names_label(set->subjects, set->count);
        set->title = rm_page_shown(
            set->page, terms->title != NULL ? terms->title
                                            : rm_names_title(set->page, set->subjects, set->count));
    }
    return status;
}

resmon_status rm_page_set_write(struct rm_buffer *out, const struct rm_page_terms *terms,
                                size_t most_points,
                                void (*put)(struct rm_buffer *out, struct rm_page_set *set))
{
    struct rm_page page = {.is_broken = false};
    struct rm_page_set set = {.page = &page, .terms = terms, .count = terms->count, .title = ""};
    resmon_status status = look(&set, most_points);
    if (status == RESMON_OK && !page.is_broken) {
        put(out, &set);
    }
    if (status == RESMON_OK && out->status == RESMON_ERANGE) {
        status = rm_error(RESMON_ERANGE, "the report is larger than %zu MiB", out->bound >> 20);
    } else if (status == RESMON_OK && (page.is_broken || out->status != RESMON_OK)) {
        status = rm_error(RESMON_ENOMEM, "out of memory for a page");
    }
    rm_arena_free(&page.arena);
    return status;
}
