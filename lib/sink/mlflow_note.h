/* SPDX-License-Identifier: MIT */
/*
 * Owns what describes a run on its page of MLflow: the brief report, as it stands on a terminal.
 */
#ifndef RM_SINK_MLFLOW_NOTE_H
#define RM_SINK_MLFLOW_NOTE_H

struct resmon_run;

/** In Markdown, as long as MLflow takes a tag; free with rm_free().  NULL: no memory. */
char *rm_mlflow_note_of(const struct resmon_run *run);

#endif
