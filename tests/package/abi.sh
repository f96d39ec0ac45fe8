#!/bin/sh
# SPDX-License-Identifier: MIT
# packaging/abi, and with it the binary interface: compared with the latest release, if there is one; and a change that breaks
# programs is found.
#
#   abi.sh SOURCES OUT
set -eu
sources=$1
out=$2

command -v abidiff >/dev/null || {
    echo "skipped: abidiff is not installed (Debian: abigail-tools)"
    exit 77
}
rm -rf "$out"
mkdir -p "$out"
git clone --quiet "$sources" "$out/tree"
cd "$out/tree"
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
release=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || :)
if [ -n "$release" ]; then
    sh packaging/abi "$release"
else
    echo "not compared with a release: there is none yet"
fi

# A struct that has its size inside may grow at its end.
sed -i 's/^} resmon_otlp_options;/    uint64_t one_more;\n&/' include/resmon/otlp.h
git commit --quiet --all --message "a struct that grows"
sh packaging/abi HEAD~1

# One more parameter of a function; and a struct that grows without knowing its size.
for file in include/resmon/scope.h lib/recorder/scope/scope.c; do
    sed -i 's/resmon_scope_begin_named(const char \*name, uint64_t length)/resmon_scope_begin_named(const char *name, uint64_t length, int more)/
        s/^    if (RM_LOAD(&resmon_scope_session) == 0 || name == NULL) {/    (void)more;\n&/' $file
done
sed -i 's/^} resmon_site;/    uint64_t one_more;\n&/' include/resmon/scope.h
sed -i 's/__LINE__, 0}$/__LINE__, 0, 0}/' include/resmon/scope.h
git commit --quiet --all --message "changes that break programs"
status=0
sh packaging/abi HEAD~1 >"$out/changed" 2>&1 || status=$?
[ "$status" = 1 ] && grep -q 'libresmon: not compatible' "$out/changed" &&
    grep -q "parameter 3 of type 'int' was added" "$out/changed" && grep -q 'one_more' "$out/changed" || {
    cat "$out/changed"
    echo "something else is found than a changed parameter and a struct that grew"
    exit 1
}
echo "changes that break programs are found"
