/* SPDX-License-Identifier: MIT */
/*
 * Owns the numbering of a process's I/O counters: that of the lines of /proc/PID/io (proc(5)).
 */
#ifndef RM_BASE_IO_FIELD_H
#define RM_BASE_IO_FIELD_H

enum rm_io_field {
    RM_IO_READ_CHARS,  /* rchar: bytes of read calls, from wherever */
    RM_IO_WRITE_CHARS, /* wchar */
    RM_IO_READ_CALLS,  /* syscr */
    RM_IO_WRITE_CALLS, /* syscw */
    RM_IO_READ_BYTES,  /* read_bytes: from storage */
    RM_IO_WRITE_BYTES, /* write_bytes: to storage */
    RM_IO_FIELDS
};

#endif
