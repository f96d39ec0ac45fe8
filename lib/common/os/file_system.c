/* SPDX-License-Identifier: MIT */
#include "os/file_system.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

#include "base/compiler.h"

/* Numbers of the kernel's include/uapi/linux/magic.h, and of those that stand elsewhere. */
static const struct kind {
    uint32_t number;
    struct rm_file_system system;
} known[] = {
    {0x01021994, {"tmpfs", true, false, false}},     {0x858458f6, {"ramfs", true, false, false}},
    {0x0000ef53, {"ext4", false, false, false}},     {0x58465342, {"xfs", false, false, false}},
    {0x9123683e, {"btrfs", false, false, false}},    {0x2fc12fc1, {"zfs", false, false, false}},
    {0x794c7630, {"overlay", false, false, false}},  {0xf2f52010, {"f2fs", false, false, false}},
    {0x65735546, {"fuse", false, false, true}},      {0x01021997, {"9p", false, false, false}},
    {0x6a656a63, {"virtiofs", false, false, false}}, {0x00006969, {"nfs", false, true, false}},
    {0xff534d42, {"cifs", false, true, false}},      {0xfe534d42, {"smb2", false, true, false}},
    {0x0000517b, {"smb", false, true, false}},       {0x0bd00bd0, {"lustre", false, true, false}},
    {0x47504653, {"gpfs", false, true, false}},      {0x19830326, {"beegfs", false, true, false}},
    {0x00c36400, {"ceph", false, true, false}},      {0x5346414f, {"afs", false, true, false}},
    {0xaad7aaea, {"panfs", false, true, false}},     {0x20030528, {"orangefs", false, true, false}},
};

static struct rm_file_system kind_of(uint32_t number)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(known); i++) {
        if (known[i].number == number) {
            return known[i].system;
        }
    }
    return (struct rm_file_system){.name = "an unknown file system"};
}

#ifdef RM_FAULT_INJECTION
uint32_t rm_file_system_number;
bool rm_file_system_is_all;
#else
#define rm_file_system_number 0
#define rm_file_system_is_all false
#endif

struct rm_file_system rm_file_system_of(const char *path)
{
    struct statfs info;
    if (statfs(path, &info) != 0) {
        return kind_of(0);
    }
    const struct rm_file_system system = kind_of((uint32_t)info.f_type);
    bool is_made = rm_file_system_number != 0 && (rm_file_system_is_all || !system.is_memory);
    return is_made ? kind_of(rm_file_system_number) : system;
}
