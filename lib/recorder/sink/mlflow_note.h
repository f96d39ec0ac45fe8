/* SPDX-License-Identifier: MIT */
/*
 * Owns what describes a run on its page of MLflow: the brief report, as it stands on a terminal,
 * and beside a merged run the whole one, as a file.
 */
#ifndef RM_SINK_MLFLOW_NOTE_H
#define RM_SINK_MLFLOW_NOTE_H

#include <stdbool.h>

#include "base/buffer.h"

struct resmon_run;

/** In Markdown, as long as MLflow takes a tag; free with rm_free().  NULL: no memory. */
char *rm_mlflow_note_of(const struct resmon_run *run);

/** Of a merged run, which has more to show than a tag takes: the page about it, in `page`, to be
 * freed.  False: of another run, or there is no memory, or this build makes no pages. */
bool rm_mlflow_page_of(const struct resmon_run *run, struct rm_buffer *page);

#endif
