/* SPDX-License-Identifier: MIT */
#include "collect/smaps.h"

#include <stdio.h>

#include "base/compiler.h"
#include "os/task_walk.h"

enum { PSS, PRIVATE_CLEAN, PRIVATE_DIRTY, PRIVATE_HUGETLB, SWAP, COUNT };

static const struct rm_key keys[COUNT] = {
    RM_KEY("Pss:", PSS),
    RM_KEY("Private_Clean:", PRIVATE_CLEAN),
    RM_KEY("Private_Dirty:", PRIVATE_DIRTY),
    RM_KEY("Private_Hugetlb:", PRIVATE_HUGETLB),
    RM_KEY("Swap:", SWAP),
};

/* By another thread, when the main one has ended. */
static resmon_status read_rollup(struct rm_collect *collect, const char *proc_dir,
                                 char path[RM_FILE_PATH_BYTES], struct rm_text *ret_text)
{
    (void)snprintf(path, RM_FILE_PATH_BYTES, "%s/smaps_rollup", proc_dir);
    resmon_status status = rm_file_read_once(&collect->root, path, &collect->scratch, ret_text);
    uint64_t thread = status == RESMON_ESRCH || status == RESMON_EFORMAT
                          ? rm_task_living(&collect->root, proc_dir)
                          : 0;
    if (thread == 0) {
        return status;
    }
    (void)snprintf(path, RM_FILE_PATH_BYTES, "%s/task/%llu/smaps_rollup", proc_dir,
                   (unsigned long long)thread);
    return rm_file_read_once(&collect->root, path, &collect->scratch, ret_text);
}

resmon_status rm_smaps_read(struct rm_collect *collect, const char *proc_dir,
                            struct rm_smaps *ret_smaps)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text;
    uint64_t kib[COUNT] = {0};
    resmon_status status = read_rollup(collect, proc_dir, path, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t found = rm_parse_keys(text, keys, COUNT, kib);
    if ((found & 1U << PSS) == 0) {
        return rm_error(RESMON_EFORMAT, "/%s has no line Pss", path);
    }
    double private_kib = rm_found(found, kib, PRIVATE_CLEAN) + rm_found(found, kib, PRIVATE_DIRTY);
    *ret_smaps = (struct rm_smaps){
        .pss = (double)kib[PSS] * 1024.0,
        .uss = (private_kib + (double)kib[PRIVATE_HUGETLB]) * 1024.0, /* hugetlb: Linux 4.4 */
        .swap = rm_found(found, kib, SWAP) * 1024.0,
    };
    return RESMON_OK;
}
