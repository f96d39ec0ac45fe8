/* SPDX-License-Identifier: MIT */
/*
 * Owns a trend as JSON: benchmarks in their order, series, and their changes.
 */
#ifndef RM_EXPORT_TREND_DOCUMENT_H
#define RM_EXPORT_TREND_DOCUMENT_H

#include "base/output.h"
#include "compare/trend.h"

resmon_status rm_trend_document_write(const struct rm_trend *trend, const struct rm_output *output);

#endif
