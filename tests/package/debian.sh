#!/bin/sh
# SPDX-License-Identifier: MIT
# The packages that packaging/build makes for Debian 12: built and checked by lintian in a new Debian; installed in another one,
# used, upgraded, and purged.
#
#   debian.sh SOURCES OUT
set -eu
sources=$1
out=$2
packages=$sources/build/packages/debian
rm -rf "$out"
mkdir -p "$out"
# shellcheck source=tests/package/tree.sh
. "$sources/tests/package/tree.sh"

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null || ! command -v npm >/dev/null; then
    skip "it needs root, mmdebstrap and npm"
    exit 77
fi
if ! mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,pkg-config,python3,python3-pytest bookworm "$out/tree" \
    >"$out/mmdebstrap" 2>&1; then
    skip "Debian 12 cannot be installed: $(tail -1 "$out/mmdebstrap")"
    exit 77
fi
sh "$sources/packaging/build" debian
version=$(sed -n 's/^project(resmon VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")
names='libresmon0 libresmon-dev resmon python3-resmon'

# ---- installed and used ----------------------------------------------------------------------------

mkdir "$out/tree/packages"
for name in $names; do
    cp "$packages/${name}_$version-1"_*.deb "$out/tree/packages/"
done
cp /etc/resolv.conf "$out/tree/etc/"
in_tree "$out/tree" sh -ec 'cd /packages && apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install ./*.deb' \
    >"$out/install" 2>&1 || {
    cat "$out/install"
    fail "apt-get install"
}
# use: what the packages say about their use.
use() {
    for test in command library python; do
        rm -rf "$out/tree/tmp/use"
        mkdir "$out/tree/tmp/use"
        cp "$sources/packaging/debian/tests/$test" "$out/tree/tmp/$test"
        in_tree "$out/tree" env AUTOPKGTEST_TMP=/tmp/use "/tmp/$test" >"$out/$test" 2>&1 || {
            cat "$out/$test"
            fail "$test"
        }
        printf 'used: %s\n' "$test"
    done
}
use

# ---- upgraded and purged ---------------------------------------------------------------------------

for file in "$out"/tree/packages/*.deb; do
    dpkg-deb -R "$file" "$out/next"
    sed -i "s/$version-1/$version-2/" "$out/next/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$out/next" "$(printf '%s' "$file" | sed "s/$version-1/$version-2/")" >/dev/null
    rm -rf "$file" "$out/next"
done
in_tree "$out/tree" sh -ec 'dpkg -i /packages/*.deb' >"$out/upgrade" 2>&1 || {
    cat "$out/upgrade"
    fail "dpkg -i"
}
use
# shellcheck disable=SC2086 # a list of words
in_tree "$out/tree" dpkg --purge $names >"$out/purge" 2>&1 || {
    cat "$out/purge"
    fail "dpkg --purge"
}
left=$(cd "$out/tree" && find . -path ./proc -prune -o -path ./tmp -prune -o -path ./packages -prune -o -name '*resmon*' -print)
[ -z "$left" ] || fail "left behind: $left"
printf 'upgraded and purged\n'
