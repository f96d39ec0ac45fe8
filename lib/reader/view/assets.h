/* SPDX-License-Identifier: MIT */
/*
 * Owns the scripts and styles of the HTML page.  cmake/ResmonAssets.cmake makes them of page.js,
 * page.css and vendor/uplot.
 */
#ifndef RM_VIEW_ASSETS_H
#define RM_VIEW_ASSETS_H

#include <stddef.h>

struct rm_asset {
    const char *text;
    size_t length;
    const char *sha256; /* in hexadecimal */
};

extern const struct rm_asset rm_asset_uplot_script, rm_asset_uplot_style, rm_asset_script,
    rm_asset_style;

#endif
