/* SPDX-License-Identifier: MIT */
/*
 * Runs a program under a filter of system calls, as old kernels and containers have it:
 *
 *     with_profile no-close-range|no-waitid|rhel8|container PROGRAM [ARGUMENT]...
 *
 *   no-close-range  a kernel before 5.9, or a filter that does not know close_range(2)
 *   no-waitid       a filter that lists wait4(2) alone
 *   rhel8           Linux 4.18: no call that came later (all have numbers from 424 on, on every
 *                   architecture: the table of the kernel was made one then)
 *   container       Docker's default profile, without capabilities: of moby's
 *                   profiles/seccomp/default.json what it does not list, or for capabilities only.
 *                   ptrace(2) and process_vm_readv(2) are allowed there since Linux 4.8.
 *
 * RESMON_TEST_PROFILE has the profile's name in the program.  77: there are no filters here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0U
#endif

#define FIRST_SHARED 424 /* pidfd_send_signal, Linux 5.1: the first that came after 4.18 */
#define MOST_LINES   256

/* Refused with `error`; with a mask: only where the first argument has one of these bits. */
struct rule {
    int number, error;
    uint32_t mask;
};

/* CLONE_NEW* but for CLONE_NEWTIME, as Docker has it. */
#define NEW_NAMESPACES 0x7E020000U

#define CLONE3      435
#define CLOSE_RANGE 436

static const struct rule no_close_range[] = {{CLOSE_RANGE, ENOSYS, 0}};
static const struct rule no_waitid[] = {{SYS_waitid, EPERM, 0}};

static const struct rule container[] = {
    {CLONE3, ENOSYS, 0},
    {SYS_clone, EPERM, NEW_NAMESPACES},
    {SYS_acct, EPERM, 0},
    {SYS_add_key, EPERM, 0},
    {SYS_bpf, EPERM, 0},
    {SYS_clock_settime, EPERM, 0},
    {SYS_delete_module, EPERM, 0},
    {SYS_fanotify_init, EPERM, 0},
    {SYS_finit_module, EPERM, 0},
    {SYS_get_mempolicy, EPERM, 0},
    {SYS_init_module, EPERM, 0},
    {SYS_kcmp, EPERM, 0},
    {SYS_kexec_load, EPERM, 0},
    {SYS_keyctl, EPERM, 0},
    {SYS_lookup_dcookie, EPERM, 0},
    {SYS_mbind, EPERM, 0},
    {SYS_migrate_pages, EPERM, 0},
    {SYS_mount, EPERM, 0},
    {SYS_move_pages, EPERM, 0},
    {SYS_open_by_handle_at, EPERM, 0},
    {SYS_perf_event_open, EPERM, 0},
    {SYS_pivot_root, EPERM, 0},
    {SYS_quotactl, EPERM, 0},
    {SYS_reboot, EPERM, 0},
    {SYS_request_key, EPERM, 0},
    {SYS_set_mempolicy, EPERM, 0},
    {SYS_setdomainname, EPERM, 0},
    {SYS_sethostname, EPERM, 0},
    {SYS_setns, EPERM, 0},
    {SYS_settimeofday, EPERM, 0},
    {SYS_swapoff, EPERM, 0},
    {SYS_swapon, EPERM, 0},
    {SYS_syslog, EPERM, 0},
    {SYS_umount2, EPERM, 0},
    {SYS_unshare, EPERM, 0},
    {SYS_userfaultfd, EPERM, 0},
    {SYS_vhangup, EPERM, 0},
    {425, EPERM, 0}, /* io_uring_setup, _enter, _register */
    {426, EPERM, 0},
    {427, EPERM, 0},
    {428, EPERM, 0}, /* open_tree, move_mount, fsopen, fsconfig, fsmount, fspick */
    {429, EPERM, 0},
    {430, EPERM, 0},
    {431, EPERM, 0},
    {432, EPERM, 0},
    {433, EPERM, 0},
    {438, EPERM, 0}, /* pidfd_getfd */
    {440, EPERM, 0}, /* process_madvise */
    {442, EPERM, 0}, /* mount_setattr, quotactl_fd */
    {443, EPERM, 0},
    {450, EPERM, 0}, /* set_mempolicy_home_node */
};

struct filter {
    struct sock_filter lines[MOST_LINES];
    size_t count;
};

static void add(struct filter *filter, struct sock_filter line)
{
    if (filter->count == MOST_LINES) {
        abort();
    }
    filter->lines[filter->count++] = line;
}

static void refuse(struct filter *filter, int error)
{
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error));
}

static void load(struct filter *filter, size_t offset)
{
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void add_rules(struct filter *filter, const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t past = rules[i].mask != 0 ? 4 : 1;
        add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (uint32_t)rules[i].number, 0, past));
        if (rules[i].mask != 0) {
            load(filter, offsetof(struct seccomp_data, args[0])); /* the low half */
            add(filter,
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, rules[i].mask, 0, 1));
        }
        refuse(filter, rules[i].error);
        if (rules[i].mask != 0) {
            load(filter, offsetof(struct seccomp_data, nr));
        }
    }
}

/* Other architectures' calls (32-bit programs) pass. */
static int build(struct filter *filter, const char *profile)
{
    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    load(filter, offsetof(struct seccomp_data, nr));
    if (strcmp(profile, "no-close-range") == 0) {
        add_rules(filter, no_close_range, sizeof no_close_range / sizeof *no_close_range);
    } else if (strcmp(profile, "no-waitid") == 0) {
        add_rules(filter, no_waitid, sizeof no_waitid / sizeof *no_waitid);
    } else if (strcmp(profile, "rhel8") == 0) {
        add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_SHARED, 0, 1));
        refuse(filter, ENOSYS);
    } else if (strcmp(profile, "container") == 0) {
        add_rules(filter, container, sizeof container / sizeof *container);
    } else {
        return -1;
    }
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return 0;
}

static int install(struct filter *filter)
{
    const struct sock_fprog program = {(unsigned short)filter->count, filter->lines};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    static struct filter filter;
    if (argc < 3 || build(&filter, argv[1]) != 0) {
        (void)fprintf(
            stderr,
            "usage: with_profile no-close-range|no-waitid|rhel8|container PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    if (ARCH == 0U || install(&filter) != 0) {
        (void)printf("skipped: no filter of system calls can be installed here (%s)\n",
                     ARCH == 0U ? "an architecture that this test does not know" : strerror(errno));
        return 77;
    }
    (void)setenv("RESMON_TEST_PROFILE", argv[1], 1);
    (void)execvp(argv[2], argv + 2);
    (void)fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
    return 2;
}
