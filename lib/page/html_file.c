/* SPDX-License-Identifier: MIT */
#include "page/html_file.h"

#include <string.h>

#include <resmon/version.h>

#include "page/assets.h"
#include "page/html_parts.h"

/* ---- the policy --------------------------------------------------------------------------- */

/* Base64 of a hash that is given in hexadecimal. */
static void put_hash(struct rm_buffer *out, const char *hexadecimal)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned count = 0;
    rm_buffer_puts(out, " 'sha256-");
    for (const char *at = hexadecimal; *at != '\0'; at++) {
        bits = bits << 4 | (uint32_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        count += 4;
        if (count >= 6) {
            count -= 6;
            rm_buffer_add(out, &letters[bits >> count & 63], 1);
        }
    }
    if (count > 0) {
        rm_buffer_add(out, &letters[bits << (6 - count) & 63], 1);
    }
    rm_buffer_puts(out, "='");
}

static void put_policy(const struct rm_html_file *file)
{
    rm_buffer_puts(file->out, "<meta http-equiv=Content-Security-Policy content=\"default-src "
                              "'none'; style-src 'unsafe-inline'; img-src data:; script-src");
    if (file->has_charts) {
        put_hash(file->out, rm_asset_uplot_script.sha256);
        put_hash(file->out, rm_asset_script.sha256);
    } else {
        rm_buffer_puts(file->out, " 'none'");
    }
    rm_buffer_puts(file->out, "\">\n");
}

/* ---- the file ----------------------------------------------------------------------------- */

static void put_asset(struct rm_buffer *out, const char *opening, const struct rm_asset *asset,
                      const char *closing)
{
    rm_buffer_puts(out, opening);
    rm_buffer_add(out, asset->text, asset->length);
    rm_buffer_puts(out, closing);
}

void rm_html_file_begin(const struct rm_html_file *file)
{
    struct rm_buffer *out = file->out;
    rm_buffer_puts(out, "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    put_policy(file);
    rm_buffer_puts(out, "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                        "<meta name=color-scheme content=\"light dark\">\n<meta name=generator "
                        "content=\"resmon ");
    rm_buffer_puts(out, resmon_version());
    rm_buffer_puts(out, "\">\n<title>");
    rm_html_text(out, file->title);
    rm_buffer_puts(out, "</title>\n<link rel=icon href=\"data:,\">\n");
    if (file->has_charts) {
        put_asset(out, "<style>", &rm_asset_uplot_style, "</style>");
    }
    put_asset(out, "<style>", &rm_asset_style, "</style>\n</head>\n<body>\n<header><h1><bdi>");
    rm_html_text(out, file->title);
    rm_buffer_puts(out, "</bdi></h1>");
}

void rm_html_file_main(const struct rm_html_file *file)
{
    rm_buffer_puts(file->out, "</header>\n<main>\n");
    if (file->has_charts) {
        rm_buffer_puts(file->out,
                       "<noscript><p class=empty>The charts are drawn by a script, and scripts "
                       "are switched off here.\nThe tables are complete.</p></noscript>\n");
    }
}

/* JSON that is safe within a script element: without "<". */
static void put_json(struct rm_buffer *out, const char *text)
{
    static const char unsafe[] = "<>&";
    while (text != NULL && *text != '\0') {
        size_t plain = strcspn(text, unsafe);
        rm_buffer_add(out, text, plain);
        text += plain;
        if (*text != '\0') {
            rm_buffer_printf(out, "\\u%04x", (unsigned)(unsigned char)*text++);
        }
    }
}

void rm_html_file_end(const struct rm_html_file *file, const char *numbers)
{
    struct rm_buffer *out = file->out;
    rm_buffer_puts(out, "\n</main>\n<footer>resmon ");
    rm_buffer_puts(out, resmon_version());
    if (file->has_charts) {
        rm_buffer_puts(out, ". In the charts: drag to zoom, double click to see all, click a name "
                            "to hide its line.\nCharts by uPlot, copyright Leon Sorokin, MIT "
                            "license.</footer>\n<script type=application/json id=resmon-data>");
        put_json(out, numbers);
        put_asset(out, "</script>\n<script>", &rm_asset_uplot_script, "</script>\n");
        put_asset(out, "<script>", &rm_asset_script, "</script>\n");
    } else {
        rm_buffer_puts(out, ".</footer>\n");
    }
    rm_buffer_puts(out, "</body>\n</html>\n");
}
