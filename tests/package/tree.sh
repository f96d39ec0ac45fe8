# SPDX-License-Identifier: MIT
# For the tests of packages: what they say, and directory trees that they use packages in.

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

skip() {
    printf 'skipped: %s\n' "$*"
}

# in_tree DIRECTORY COMMAND...: in that directory tree, with its own /proc, /dev/null and environment.
in_tree() {
    tree=$1
    shift
    mkdir -p "$tree/proc" "$tree/tmp" "$tree/dev"
    [ -e "$tree/dev/null" ] || mknod -m 666 "$tree/dev/null" c 1 3 || return
    unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec env -i PATH="$PATH" chroot "$0" "$@"' "$tree" "$@"
}

expect() {
    grep -q -e "$1" "$2" || {
        cat "$2"
        fail "$2 has no '$1'"
    }
}
