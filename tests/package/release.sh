#!/bin/sh
# SPDX-License-Identifier: MIT
# packaging/release: everything that is published, made twice with the same bytes; the sums and the changes beside it.
#
#   release.sh SOURCES OUT
set -eu
sources=$1
out=$2
# shellcheck source=tests/package/tree.sh
. "$sources/tests/package/tree.sh"

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null || ! command -v npm >/dev/null; then
    skip "it needs root, mmdebstrap and npm"
    exit 77
fi
rm -rf "$out"
mkdir -p "$out"
sh "$sources/packaging/release" >"$out/log" 2>&1 || {
    tail -20 "$out/log"
    fail "packaging/release"
}
version=$(sed -n 's/^project(resmon VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")
made=$sources/build/release/resmon-$version
(cd "$made" && sha256sum --quiet -c SHA256SUMS) || fail "sums"
expect "$version" "$made/CHANGES.md"
for kind in 'x86_64-linux.tar.gz' 'aarch64-linux.tar.gz' 'manylinux_2_17_x86_64.whl' 'manylinux_2_17_aarch64.whl' \
    'musllinux_1_2_x86_64.whl' 'musllinux_1_2_aarch64.whl' '.tar.gz' '.dsc' '.deb'; do
    ls "$made" | grep -q -- "$kind\$" || fail "no $kind among what is made: $(ls "$made" | tr '\n' ' ')"
done
tail -3 "$out/log"
