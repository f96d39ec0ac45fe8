/* SPDX-License-Identifier: MIT */
#include "net/mlflow_spool.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/status.h"
#include "format/json.h"

#define HEAD         "resmon-mlflow-spool 1 "
#define LARGEST_LINE ((size_t)2 << 30)
#define LARGEST_FILE ((uint64_t)4 << 30)
#define MOST_BESIDE  99
#define SPOOL_MODE   0600

void rm_mlflow_address_free(struct rm_mlflow_address *address)
{
    rm_free(address->create);
    address->create = NULL;
}

/* ---- writing ---------------------------------------------------------------------------- */

static void put_member(struct rm_buffer *line, const char *key, const char *value)
{
    rm_buffer_puts(line, line->text[line->length - 1] == '{' ? "\"" : ",\"");
    rm_buffer_puts(line, key);
    rm_buffer_puts(line, "\":");
    rm_buffer_json(line, value);
}

static resmon_status write_head(struct rm_mlflow_spool *spool,
                                const struct rm_mlflow_address *address)
{
    struct rm_buffer line;
    rm_buffer_init(&line, LARGEST_LINE);
    rm_buffer_puts(&line, HEAD "{");
    if (line.status == RESMON_OK) {
        put_member(&line, "uri", address->uri);
        put_member(&line, "experiment", address->experiment);
        put_member(&line, "experiment_id", address->experiment_id);
        put_member(&line, "run_id", address->run_id);
        put_member(&line, "uuid", address->wanted.uuid);
        put_member(&line, "job", address->wanted.job);
        put_member(&line, "first", address->wanted.is_first ? "yes" : "no");
        put_member(&line, "create", address->create != NULL ? address->create : "");
        rm_buffer_puts(&line, "}\n");
    }
    resmon_status status = line.status;
    if (status == RESMON_OK) {
        status = rm_outfile_write(&spool->file, line.text, line.length);
    }
    rm_buffer_free(&line);
    return status;
}

/* `path`, or the first of `path`.1, .2, ... that is not there, not even as a link to nothing. */
static resmon_status choose_path(const char *path, char chosen[RM_PATH_BYTES])
{
    int wanted = snprintf(chosen, RM_PATH_BYTES, "%s", path);
    for (int i = 1; wanted < RM_PATH_BYTES && i <= MOST_BESIDE + 1; i++) {
        struct stat info;
        if (lstat(chosen, &info) != 0) {
            return RESMON_OK;
        }
        wanted = snprintf(chosen, RM_PATH_BYTES, "%s.%d", path, i);
    }
    return rm_error(RESMON_EBUSY, "%s and %d files beside it already wait to be sent (resmon push)",
                    path, MOST_BESIDE);
}

resmon_status rm_mlflow_spool_begin(struct rm_mlflow_spool *spool, const char *path,
                                    const struct rm_mlflow_address *address)
{
    char chosen[RM_PATH_BYTES];
    *spool = (struct rm_mlflow_spool){.wanted = path};
    resmon_status status = choose_path(path, chosen);
    if (status == RESMON_OK) {
        status = rm_outfile_open(&spool->file, chosen, SPOOL_MODE);
    }
    if (status != RESMON_OK) {
        return status;
    }
    status = write_head(spool, address);
    if (status != RESMON_OK) {
        rm_outfile_abandon(&spool->file);
    }
    return status;
}

resmon_status rm_mlflow_spool_add(struct rm_mlflow_spool *spool, const struct rm_mlflow_item *item)
{
    struct rm_buffer line;
    rm_buffer_init(&line, LARGEST_LINE);
    rm_buffer_puts(&line, "- {");
    if (line.status == RESMON_OK) {
        put_member(&line, "call", rm_mlflow_call_name((size_t)item->call));
        put_member(&line, "path", item->call == RM_MLFLOW_ARTIFACT ? item->path : "");
        put_member(&line, "body", item->body);
        rm_buffer_puts(&line, "}\n");
    }
    resmon_status status = line.status;
    if (status == RESMON_OK) {
        status = rm_outfile_write(&spool->file, line.text, line.length);
    }
    rm_buffer_free(&line);
    spool->requests += status == RESMON_OK ? 1 : 0;
    return status;
}

resmon_status rm_mlflow_spool_end(struct rm_mlflow_spool *spool)
{
    resmon_status status = rm_outfile_commit_new(&spool->file);
    while (status == RESMON_EBUSY) { /* another process was faster */
        status = choose_path(spool->wanted, spool->file.path);
        if (status != RESMON_OK) {
            rm_outfile_abandon(&spool->file);
            return status;
        }
        status = rm_outfile_commit_new(&spool->file);
    }
    return status;
}

/* ---- reading ---------------------------------------------------------------------------- */

static resmon_status garbled(const struct rm_mlflow_replay *replay, const char *what)
{
    return rm_error(RESMON_EFORMAT, "%s is not a spool file of MLflow requests: %s near byte %zu",
                    replay->file.path, what, replay->at);
}

/* The next line without its end; false at the end of the file, or of what is whole of it. */
static bool take_line(struct rm_mlflow_replay *replay, char **ret_line, size_t *ret_length)
{
    char *begin = replay->text + replay->at;
    char *end = memchr(begin, '\n', replay->length - replay->at);
    if (end == NULL) {
        return false;
    }
    *ret_line = begin;
    *ret_length = (size_t)(end - begin);
    return true;
}

static resmon_status parse_line(struct rm_mlflow_replay *replay, const char *line, size_t length,
                                size_t skip, struct rm_json **ret_json)
{
    struct rm_json *json = NULL;
    if (length <= skip || rm_json_parse(line + skip, length - skip, &json) != RESMON_OK ||
        !rm_json_is_object(json)) {
        rm_json_free(json);
        return garbled(replay, "not JSON");
    }
    *ret_json = json;
    return RESMON_OK;
}

static bool take_member(const struct rm_json *json, const char *key, char *target, size_t room)
{
    const char *text = rm_json_text(rm_json_get(json, key));
    if (text == NULL || strlen(text) >= room) {
        return false;
    }
    memcpy(target, text, strlen(text) + 1);
    return true;
}

static resmon_status read_address(struct rm_mlflow_replay *replay, const struct rm_json *json,
                                  struct rm_mlflow_address *address)
{
    char first[8];
    const char *create = rm_json_text(rm_json_get(json, "create"));
    bool is_whole =
        take_member(json, "uri", address->uri, sizeof address->uri) &&
        take_member(json, "experiment", address->experiment, sizeof address->experiment) &&
        take_member(json, "experiment_id", address->experiment_id, sizeof address->experiment_id) &&
        take_member(json, "run_id", address->run_id, sizeof address->run_id) &&
        take_member(json, "uuid", address->wanted.uuid, sizeof address->wanted.uuid) &&
        take_member(json, "job", address->wanted.job, sizeof address->wanted.job) &&
        take_member(json, "first", first, sizeof first) && create != NULL;
    if (!is_whole) {
        return garbled(replay, "the first line lacks a member");
    }
    address->wanted.is_first = strcmp(first, "yes") == 0;
    address->create = rm_strdup(create);
    address->wanted.body = address->create;
    return address->create != NULL ? RESMON_OK
                                   : rm_error(RESMON_ENOMEM, "out of memory for a spool file");
}

static resmon_status read_head(struct rm_mlflow_replay *replay, struct rm_mlflow_address *address)
{
    char *line;
    size_t length;
    struct rm_json *json = NULL;
    if (!take_line(replay, &line, &length) || length < sizeof HEAD ||
        strncmp(line, HEAD, sizeof HEAD - 1) != 0) {
        return garbled(replay, "another kind of file, or another version");
    }
    resmon_status status = parse_line(replay, line, length, sizeof HEAD - 1, &json);
    if (status == RESMON_OK) {
        status = read_address(replay, json, address);
    }
    rm_json_free(json);
    replay->at += length + 1;
    return status;
}

resmon_status rm_mlflow_replay_open(struct rm_mlflow_replay *replay, const char *path,
                                    struct rm_mlflow_address *ret_address)
{
    *replay = (struct rm_mlflow_replay){0};
    *ret_address = (struct rm_mlflow_address){0};
    resmon_status status = rm_lockedfile_open(&replay->file, path, LARGEST_FILE);
    if (status != RESMON_OK) {
        return status;
    }
    replay->length = (size_t)replay->file.bytes;
    replay->text = rm_alloc(replay->length, 1);
    if (replay->text == NULL) {
        status = rm_error(RESMON_ENOMEM, "out of memory for %s", path);
    } else {
        status = rm_lockedfile_read(&replay->file, replay->text);
        status = status == RESMON_OK ? read_head(replay, ret_address) : status;
    }
    if (status != RESMON_OK) {
        rm_mlflow_address_free(ret_address);
        rm_mlflow_replay_close(replay);
    }
    return status;
}

uint64_t rm_mlflow_replay_count(const struct rm_mlflow_replay *replay)
{
    uint64_t count = 0;
    for (size_t i = replay->at; i < replay->length; i++) {
        count += replay->text[i] == '\n' ? 1 : 0;
    }
    return count;
}

static bool is_call(const char *name, enum rm_mlflow_call *ret_call)
{
    for (size_t i = 0; name != NULL && rm_mlflow_call_name(i) != NULL; i++) {
        if (strcmp(name, rm_mlflow_call_name(i)) == 0) {
            *ret_call = (enum rm_mlflow_call)i;
            return true;
        }
    }
    return false;
}

/* Where an artifact goes becomes a part of a URL. */
static bool is_path(const char *path)
{
    return path != NULL && strstr(path, "..") == NULL &&
           strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") ==
               strlen(path);
}

resmon_status rm_mlflow_replay_next(struct rm_mlflow_replay *replay,
                                    struct rm_mlflow_entry *ret_entry)
{
    char *line;
    size_t length;
    static const char marks[] = {RM_MLFLOW_MARK_WAITS, RM_MLFLOW_MARK_SENT, RM_MLFLOW_MARK_REFUSED};
    struct rm_mlflow_entry entry = {.offset = replay->at};
    if (!take_line(replay, &line, &length)) {
        return replay->at == replay->length ? RESMON_ENOENT : garbled(replay, "an incomplete line");
    }
    if (length < 3 || line[1] != ' ' || memchr(marks, line[0], sizeof marks) == NULL) {
        return garbled(replay, "a line without its mark");
    }
    resmon_status status = parse_line(replay, line, length, 2, &entry.json);
    if (status != RESMON_OK) {
        return status;
    }
    entry.mark = line[0];
    entry.item.path = rm_json_text(rm_json_get(entry.json, "path"));
    entry.item.body = rm_json_text(rm_json_get(entry.json, "body"));
    if (!is_call(rm_json_text(rm_json_get(entry.json, "call")), &entry.item.call) ||
        !is_path(entry.item.path) || entry.item.body == NULL) {
        rm_mlflow_entry_free(&entry);
        return garbled(replay, "an unknown request");
    }
    entry.item.length = strlen(entry.item.body);
    replay->at += length + 1;
    *ret_entry = entry;
    return RESMON_OK;
}

void rm_mlflow_entry_free(struct rm_mlflow_entry *entry)
{
    rm_json_free(entry->json);
    entry->json = NULL;
}

resmon_status rm_mlflow_replay_mark(struct rm_mlflow_replay *replay,
                                    const struct rm_mlflow_entry *entry, char mark)
{
    return rm_lockedfile_put(&replay->file, entry->offset, mark);
}

void rm_mlflow_replay_close(struct rm_mlflow_replay *replay)
{
    rm_free(replay->text);
    replay->text = NULL;
    rm_lockedfile_close(&replay->file);
}
