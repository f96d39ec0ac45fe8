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
CONSTANTS = {name: value for name, value in vars(_generated).items() if name.isupper() and isinstance(value, int)}
PROGRAM = """\
#include <stddef.h>
#include <stdio.h>
%s
#define KIND(x) _Generic(&(x), double *: 'd', int32_t *: 'i', uint32_t *: 'u', int64_t *: 'I', uint64_t *: 'U', \\
    const char **: 's', default: 'o')
#define FIELD(s, f) printf("%%s %%zu %%zu %%c\\n", #s, offsetof(s, f), sizeof((s *)NULL)->f, KIND(((s *)NULL)->f))
int main(void)
{
%s
    return 0;
}
"""


def c_name(struct):
    return "resmon_" + "".join("_" * (c.isupper() and i > 0) + c.lower() for i, c in enumerate(struct))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """By the name of a structure or constant: what a program says of it that includes all headers."""
    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or not (ROOT / "include/resmon").is_dir():
        pytest.skip("no C compiler (cc, gcc, clang) or no headers of libresmon are here: RESMON_SOURCES names its checkout")
    lines = [f'printf("{name} %lld\\n", (long long)RESMON_{name});' for name in CONSTANTS]
    for struct, fields in _generated.STRUCTS.items():
        lines += [f"FIELD({c_name(struct)}, {field.partition(':')[0]});" for field in fields.split()]
        lines.append(f'printf("{c_name(struct)} %zu\\n", sizeof({c_name(struct)}));')
    includes = "\n".join(f"#include <resmon/{path.name}>" for path in sorted((ROOT / "include/resmon").glob("*.h")))
    path = tmp_path_factory.mktemp("layout") / "layout"
    path.with_suffix(".c").write_text(PROGRAM % (includes, "\n".join(lines)))
    subprocess.run([*shlex.split(compiler), "-std=c11", "-I", ROOT / "include", f"{path}.c", "-o", path], check=True)
    found = {}
    for line in subprocess.run([path], capture_output=True, text=True, check=True).stdout.splitlines():
        found.setdefault(line.split()[0], []).append(line.partition(" ")[2])
    return found


@pytest.mark.parametrize("struct", _generated.STRUCTS)
def test_structures(struct, compiled):
    mirror = getattr(_abi, struct)
    fields = [f"{getattr(mirror, name).offset} {getattr(mirror, name).size} {KINDS.get(kind, 'o')}" for name, kind in mirror._fields_]
    assert [*fields, str(ctypes.sizeof(mirror))] == compiled[c_name(struct)]


def test_constants_and_statuses(compiled):
    assert len(CONSTANTS) > 140 and {name: [str(value)] for name, value in CONSTANTS.items()} == {
        name: compiled[name] for name in CONSTANTS}
    assert {"RESMON_" + name for name in CONSTANTS if name[0] == "E" and "_" not in name} == {
        errors.name_of(status) for status in errors._CLASSES}


@pytest.mark.parametrize("name", _generated.FUNCTIONS)
def test_functions(name):
    assert len(getattr(_library.lib, name).argtypes) == len(_generated.FUNCTIONS[name].split()) - 1


@pytest.mark.parametrize("key, prefix", [("domains", "DOMAIN_"), ("scopes", "METER_"), ("stacks", "STACKS_(?!FOLDED|PPROF)")])
def test_names_of_options(key, prefix):
    """The library's own table knows the bits by the names of the headers."""
    import re
    assert options.names_of(key) == {re.sub(prefix, "", name).lower(): value for name, value in CONSTANTS.items() if re.match(prefix, name)}


def test_threads_that_use_a_structure_first(script):
    """They get the same class of each, or ctypes would refuse what one of them passes."""
    script("""
        import sys
        import threading
        sys.setswitchinterval(1e-6)
        from resmon import _abi, _generated
        found, begin = [{} for _ in range(16)], threading.Barrier(16)

        def use(mine):
            begin.wait()
            mine.update((name, getattr(_abi, name)) for name in _generated.STRUCTS)
        threads = [threading.Thread(target=use, args=(mine,)) for mine in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(mine == found[0] for mine in found)
    """)
