#!/bin/sh
# SPDX-License-Identifier: MIT
cd "$1" || exit 1
command -v codespell >/dev/null || { echo "skipped: codespell is not installed (Debian: codespell)"; exit 77; }
codespell --skip '*.csv,*/vendor/*' -L mis,inout,ser,fo,te,nd lib include examples cmake tests/*/*.h tests/lint tests/bench tests/package tests/truth tests/servers ./*.md
