/* SPDX-License-Identifier: MIT */
/*
 * Built in place of json.c, document_write.c and document_read.c where there is no cJSON.
 */
#include "base/status.h"
#include "sink/document.h"

resmon_status rm_document_check(void)
{
    return rm_error(RESMON_ENOTSUP, "this libresmon was built without JSON (cJSON); recordings "
                                    "(record=FILE) work without it");
}

resmon_status rm_document_save(const struct resmon_run *run, const char *path)
{
    (void)run, (void)path;
    return rm_document_check();
}

resmon_status rm_document_parse(const char *text, size_t length, struct resmon_run **ret_run)
{
    (void)text, (void)length, (void)ret_run;
    return rm_document_check();
}

resmon_status rm_document_print(const struct resmon_run *run, struct rm_buffer *buffer)
{
    (void)run, (void)buffer;
    return rm_document_check();
}
