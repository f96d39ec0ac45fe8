#!/bin/sh
# SPDX-License-Identifier: MIT
cd "$1" || exit 1
command -v codespell >/dev/null || { echo "skipped: codespell is not installed (Debian: codespell)"; exit 77; }
case $(codespell --version) in 2.2.*) ;; *) echo "skipped: its words are those of codespell 2.2, this is $(codespell --version)"; exit 77 ;; esac
codespell --skip '*.csv,*/vendor/*' -L mis,inout,ser,fo,te,nd lib include examples cmake tests/*/*.h tests/lint tests/bench tests/package tests/truth tests/servers ./*.md
