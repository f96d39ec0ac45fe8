/* SPDX-License-Identifier: MIT */
#include "os/file_system.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

#include "base/compiler.h"

/* Numbers of the kernel's include/uapi/linux/magic.h, and of those that stand elsewhere. */
static const struct {
    uint32_t number;
    const char *name;
} known[] = {
    {0x01021994, "tmpfs"},    {0x858458f6, "ramfs"},    {0x0000ef53, "ext4"},
    {0x58465342, "xfs"},      {0x9123683e, "btrfs"},    {0x2fc12fc1, "zfs"},
    {0x794c7630, "overlay"},  {0x00006969, "nfs"},      {0xff534d42, "cifs"},
    {0xfe534d42, "smb2"},     {0x0000517b, "smb"},      {0x0bd00bd0, "lustre"},
    {0x47504653, "gpfs"},     {0x19830326, "beegfs"},   {0x65735546, "fuse"},
    {0x00c36400, "ceph"},     {0x01021997, "9p"},       {0xf2f52010, "f2fs"},
    {0x5346414f, "afs"},      {0x6a656a63, "virtiofs"}, {0xaad7aaea, "panfs"},
    {0x20030528, "orangefs"},
};

#define MEMORY_KINDS 2 /* the first ones */

const char *rm_file_system_of(const char *path, bool *ret_is_memory)
{
    struct statfs info;
    *ret_is_memory = false;
    if (statfs(path, &info) != 0) {
        return "an unknown file system";
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(known); i++) {
        if (known[i].number == (uint32_t)info.f_type) {
            *ret_is_memory = i < MEMORY_KINDS;
            return known[i].name;
        }
    }
    return "an unknown file system";
}
