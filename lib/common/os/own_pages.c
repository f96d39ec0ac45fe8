/* SPDX-License-Identifier: MIT */
#include "os/own_pages.h"

#include "os/pid_stat.h"

/* Bits of an entry of /proc/PID/pagemap (proc(5)), which everybody may see of himself. */
#define IS_PRESENT        (UINT64_C(1) << 63)
#define IS_FILE_OR_SHARED (UINT64_C(1) << 61)

/* The process's own files have nothing any more when the main thread has ended. */
void rm_own_pages_open(struct rm_own_pages *pages, const struct rm_root *root, uint64_t page_bytes)
{
    *pages = (struct rm_own_pages){.page_bytes = page_bytes};
    (void)rm_file_open(&pages->statm, root, "proc/thread-self/statm");
    (void)rm_file_open(&pages->pagemap, root, "proc/thread-self/pagemap");
}

void rm_own_pages_close(struct rm_own_pages *pages)
{
    rm_file_close(&pages->statm);
    rm_file_close(&pages->pagemap);
}

bool rm_own_pages_rss(struct rm_own_pages *pages, struct rm_scratch *scratch, uint64_t *ret_anon,
                      uint64_t *ret_file)
{
    struct rm_text text;
    struct rm_pid_statm statm;
    if (!rm_file_is_open(&pages->statm) ||
        rm_file_read(&pages->statm, scratch, &text) != RESMON_OK ||
        !rm_pid_statm_parse(text, &statm)) {
        return false;
    }
    /* The three counters behind it are summed one after the other. */
    uint64_t shared = statm.shared;
    *ret_anon = statm.resident > shared ? (statm.resident - shared) * pages->page_bytes : 0;
    *ret_file = shared * pages->page_bytes;
    return true;
}

bool rm_own_pages_is_own(struct rm_own_pages *pages, uint64_t address)
{
    uint64_t entry;
    uint64_t offset = address / pages->page_bytes * sizeof entry;
    return rm_file_is_open(&pages->pagemap) &&
           rm_file_read_at(&pages->pagemap, offset, &entry, sizeof entry) == RESMON_OK &&
           (entry & IS_PRESENT) != 0 && (entry & IS_FILE_OR_SHARED) == 0;
}
