# SPDX-License-Identifier: MIT
"""The C interface as it is made of the headers for Python, against what a C compiler makes of them."""
import ctypes
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from resmon import _abi, _generated, _library, errors, options

ROOT = Path(os.environ.get("RESMON_SOURCES") or Path(__file__).resolve().parents[3])
KINDS = {ctypes.c_double: "d", ctypes.c_int32: "i", ctypes.c_uint32: "u", ctypes.c_int64: "I", ctypes.c_uint64: "U",
         ctypes.c_char_p: "s"}
PROGRAM = """\
#include <stddef.h>
#include <stdio.h>
%s
#define KIND(x) _Generic(&(x), double *: 'd', int32_t *: 'i', uint32_t *: 'u', int64_t *: 'I', uint64_t *: 'U', \\
    const char **: 's', default: 'o')
#define FIELD(s, f) printf("%%zu %%zu %%c\\n", offsetof(s, f), sizeof((s *)NULL)->f, KIND(((s *)NULL)->f))
int main(void)
{
%s
    return 0;
}
"""
CONSTANTS = {name: value for name, value in vars(_generated).items() if name.isupper() and isinstance(value, int)}


def c_name(struct):
    return "resmon_" + "".join("_" * (c.isupper() and i > 0) + c.lower() for i, c in enumerate(struct))


def compiled(lines, directory):
    """What a program prints that has these lines, and all headers."""
    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or not (ROOT / "include/resmon").is_dir():
        pytest.skip("no C compiler (cc, gcc, clang) or no headers of libresmon are here: RESMON_SOURCES names its checkout")
    includes = "\n".join(f"#include <resmon/{path.name}>" for path in sorted((ROOT / "include/resmon").glob("*.h")))
    (directory / "layout.c").write_text(PROGRAM % (includes, "\n".join("    " + line for line in lines)))
    subprocess.run([*shlex.split(compiler), "-std=c11", "-I", ROOT / "include", directory / "layout.c", "-o", directory / "layout"],
                   check=True)
    return subprocess.run([directory / "layout"], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("struct", _generated.STRUCTS)
def test_structures(struct, tmp_path):
    mirror = getattr(_abi, struct)
    mine = [(getattr(mirror, name).offset, getattr(mirror, name).size, KINDS.get(kind, "o")) for name, kind in mirror._fields_]
    size, *fields = compiled([f'printf("%zu\\n", sizeof({c_name(struct)}));',
                              *(f"FIELD({c_name(struct)}, {name});" for name, _ in mirror._fields_)], tmp_path)
    assert [" ".join(map(str, field)) for field in mine] == fields
    assert int(size) == ctypes.sizeof(mirror)


def test_constants_and_statuses(tmp_path):
    found = compiled([f'printf("%lld\\n", (long long)RESMON_{name});' for name in CONSTANTS], tmp_path)
    assert len(CONSTANTS) > 140 and [*CONSTANTS.values()] == [*map(int, found)]
    assert {name for name in CONSTANTS if name[0] == "E" and "_" not in name} == {
        errors.name_of(status)[len("RESMON_"):] for status in errors._CLASSES}


@pytest.mark.parametrize("name", _generated.FUNCTIONS)
def test_functions(name):
    function = getattr(_library.lib, name)
    assert len(function.argtypes) == len(_generated.FUNCTIONS[name].split()) - 1


@pytest.mark.parametrize("key, prefix", [("domains", "DOMAIN_"), ("scopes", "METER_"), ("stacks", "STACKS_")])
def test_names_of_options(key, prefix):
    """The library's own table knows the bits by the names of the headers."""
    wanted = {name[len(prefix):].lower(): value for name, value in CONSTANTS.items() if name.startswith(prefix)}
    for format in ("folded", "pprof"):  # of the sink
        wanted.pop(format, None)
    assert options.names_of(key) == wanted
