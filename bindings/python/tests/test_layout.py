# SPDX-License-Identifier: MIT
"""The interface as ctypes sees it against the headers: what resmon/_abi.py, errors.py and the tables of _library.py
say of structures, constants and functions is compared with what a C compiler makes of include/resmon."""
import ctypes
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from resmon import _abi, _library, arrow, errors, options

ROOT = Path(os.environ.get("RESMON_SOURCES") or Path(__file__).resolve().parents[3])

# Public structures without a mirror, and why.
NOT_BOUND = {
    "ArrowArray": "consumers read it, never this package",
    "ArrowSchema": "consumers read it, never this package",
    "resmon_line_site": "RESMON_LINE is a macro; functions of Python have tables by line of their own",
    **{f"resmon_{name}_options": "said as text" for name in (
        "monitor", "json", "page_file", "csv", "trace", "stacks", "prometheus", "pushgateway", "mlflow")},
    "resmon_prometheus_label": "said as text",
}
OTHER_MIRRORS = {"ArrowArrayStream": arrow._Stream}

# Tables of _abi.py: whether the number is the key, the constants, and those of them that are not wanted there.
TABLES = {
    "LEVELS": (True, "LEVEL_", ()), "BASES": (True, "CARBON_BASIS_", ()), "PROVENANCES": (True, "PROVENANCE_", ()),
    "DOCTOR_STATES": (True, "DOCTOR_(?!FILE_)", ()), "SERIES": (False, "SERIES_", ()),
    "STACK_KINDS": (False, "STACK_(?!LOSS_)", ()),
    "STACK_LOSSES": (False, "STACK_LOSS_", ()),
    "ENDS": (True, "END_", ()), "VERDICTS": (True, "VERDICT_", ()),
}


# ---- the headers -----------------------------------------------------------------------------------------


class Headers:
    """What the public headers declare."""

    def __init__(self, directory):
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.h")))
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
        self.constants = sorted(set(re.findall(
            r"^#define\s+RESMON_(\w+)\s+(?:\(-?\d+\)|-?\d+|UINT64_C\(\s*\d+\s*\))\s*$", text, flags=re.M)))
        self.code = code = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        self.structs = {name: Fields(body) for name, body in re.findall(r"\bstruct\s+(\w+)\s*\{([^{}]*)\}", code)}
        self.functions = {name: Signature(result, arguments) for result, name, arguments in re.findall(
            r"(?<!extern )\bRESMON_API\s+([\w\s*]+?)\bresmon_(\w+)\s*\(([^;{]*)\)\s*;", code)}
        self.callbacks = {name: Signature(result, arguments) for result, name, arguments in re.findall(
            r"\btypedef\s+([\w\s*]+?)\(\*(\w+)\)\s*\(([^;{]*)\)\s*;", code)}


class Signature:
    """What a function returns, and takes, as words of C."""

    def __init__(self, result, arguments):
        self.result = spaced(result)
        self.arguments = [without_name(part) for part in arguments.split(",") if spaced(part) != "void"]


class Fields(dict):
    """The fields of a structure: their type as words of C, a Signature for a pointer to a function."""

    def __init__(self, body):
        super().__init__()
        for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
            called = re.fullmatch(r"(.+?)\(\*(\w+)\) ?\((.*)\)", declaration)
            if called:
                self[called[2]] = Signature(called[1], called[3])
                continue
            kind, rest = re.fullmatch(r"((?:const |struct )*\w+)\b(.+)", declaration).groups()
            for declarator in rest.split(","):
                stars, name, array = re.fullmatch(r"([* ]*)(\w+)(\[\d+\])?", declarator).groups()
                self[name] = spaced(f"{kind} {stars}") + (array or "")


def spaced(words):
    return re.sub(r"\s*(\*+)\s*", r" \1", " ".join(words.split())).strip()


def without_name(parameter):
    """"const char *" of "const char *path"."""
    return spaced(re.sub(r"\b(\w+)\s*$", "", parameter) if re.search(r"[\w*]\s*[\s*]\w+\s*$", parameter) else parameter)


PROGRAM = """\
#include <stddef.h>
#include <stdio.h>
%s
#define KIND(x) _Generic(&(x), double *: 'd', int32_t *: 'i', uint32_t *: 'u', int64_t *: 'I', uint64_t *: 'U', \\
    const char **: 's', default: 'o')
#define FIELD(s, f) printf("%%s %%s %%zu %%zu %%c\\n", #s, #f, offsetof(s, f), sizeof((s *)NULL)->f, KIND(((s *)NULL)->f))
#define CONSTANT(c) printf("- %%s %%lld\\n", #c, (long long)(RESMON_##c))
int main(void)
{
%s
    return 0;
}
"""


class Compiled:
    """The same as a compiler has it: sizes[struct], fields[struct][name] = (offset, size, kind), constants[name]."""

    def __init__(self, compiler, include, headers, directory):
        includes = "\n".join(f"#include <resmon/{path.name}>" for path in sorted((include / "resmon").glob("*.h")))
        typedefs = "\n".join(f"typedef struct {name} {name};" for name in headers.structs if name[0].isupper())
        lines = []
        for name, fields in headers.structs.items():
            lines.append(f'printf("%s %zu\\n", "{name}", sizeof({name}));')
            lines.extend(f"FIELD({name}, {field});" for field in fields)
        lines.extend(f"CONSTANT({name});" for name in headers.constants)
        source = directory / "layout.c"
        source.write_text(PROGRAM % (includes + "\n" + typedefs, "\n".join("    " + line for line in lines)))
        subprocess.run([*shlex.split(compiler), "-std=c11", "-I", include, source, "-o", directory / "layout"], check=True)
        self.sizes, self.fields, self.constants = {}, {}, {}
        for line in subprocess.run([directory / "layout"], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines():
            words = line.split()
            if words[0] == "-":
                self.constants[words[1]] = int(words[2])
            elif len(words) == 2:
                self.sizes[words[0]] = int(words[1])
                self.fields[words[0]] = {}
            else:
                self.fields[words[0]][words[1]] = (int(words[2]), int(words[3]), words[4])


@pytest.fixture(scope="module")
def headers():
    directory = ROOT / "include/resmon"
    if not directory.is_dir():
        pytest.skip("the headers of libresmon are not here: RESMON_SOURCES names its checkout")
    return Headers(directory)


@pytest.fixture(scope="module")
def compiled(headers, tmp_path_factory):
    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc, clang) is here")
    return Compiled(compiler, ROOT / "include", headers, tmp_path_factory.mktemp("layout"))


# ---- comparing -------------------------------------------------------------------------------------------

_KINDS = {ctypes.c_double: "d", ctypes.c_int32: "i", ctypes.c_uint32: "u", ctypes.c_int64: "I", ctypes.c_uint64: "U",
          ctypes.c_char_p: "s"}
_WORDS = {"double": ctypes.c_double, "int32_t": ctypes.c_int32, "resmon_status": ctypes.c_int32, "int": ctypes.c_int,
          "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t,
          "void": None}


def mirror_of(struct):
    """The class for "resmon_run_info": RunInfo."""
    camel = "".join(word.capitalize() for word in struct.split("_")[1:])
    return OTHER_MIRRORS.get(struct) or getattr(_abi, camel, None)


def is_class_of(kind, base):
    return isinstance(kind, type) and issubclass(kind, base)


def mismatch(words, kind, headers):
    """What is wrong with a ctypes type for words of C; None: nothing."""
    if isinstance(words, str):
        words = headers.callbacks.get(words, words)
    if isinstance(words, Signature):
        if kind is ctypes.c_void_p:
            return None
        if not is_class_of(kind, ctypes._CFuncPtr):
            return f"a pointer to a function is {kind}"
        return signature_mismatch(words, (kind._restype_, *kind._argtypes_), headers)
    array = re.fullmatch(r"char\[(\d+)\]", words)
    if array:
        return None if kind == ctypes.c_char * int(array[1]) else f"{words} is {kind}"
    array = re.fullmatch(r"(\w+)\[(\d+)\]", words)
    if array:
        return None if kind == _WORDS[array[1]] * int(array[2]) else f"{words} is {kind}"
    if "*" not in words:
        wanted = _WORDS[words] if words in _WORDS else mirror_of(words)
        return None if kind is wanted else f"{words} is {kind}"
    target = re.sub(r"\b(const|struct)\b", "", words.replace("*", "", 1)).strip()
    if kind is ctypes.c_void_p:
        return None
    if kind is ctypes.c_char_p:
        return None if target == "char" else f"{words} is a text"
    if not is_class_of(kind, ctypes._Pointer):
        return f"{words} is {kind}"
    if "*" in target:
        return None if kind._type_ is ctypes.c_void_p else f"{words} is {kind}"
    wanted = _WORDS.get(target) or mirror_of(target)
    return None if kind._type_ is wanted else f"{words} is a pointer to {kind._type_}"


def signature_mismatch(signature, kinds, headers):
    result, *arguments = kinds
    if len(arguments) != len(signature.arguments):
        return f"takes {len(signature.arguments)} arguments, not {len(arguments)}"
    pairs = zip([signature.result, *signature.arguments], kinds)
    wrong = [f"{i or 'result'}: {text}" for i, text in
             ((i, mismatch(words, kind, headers)) for i, (words, kind) in enumerate(pairs)) if text]
    return "; ".join(wrong) or None


def differences(struct, mirror, headers, compiled):
    """How a mirror differs from a public structure, in sentences."""
    declared, fields = headers.structs[struct], compiled.fields[struct]
    names = [name for name, *_ in mirror._fields_]
    if names != list(fields):
        return [f"{struct}: the fields are {list(fields)}, not {names}"]
    found = []
    if ctypes.sizeof(mirror) != compiled.sizes[struct]:
        found.append(f"{struct}: its size is {compiled.sizes[struct]}, not {ctypes.sizeof(mirror)}")
    for name, kind in mirror._fields_:
        descriptor = getattr(mirror, name)
        mine = (descriptor.offset, descriptor.size, _KINDS.get(kind, "o"))
        if mine != fields[name] and not (kind is ctypes.c_void_p and mine[:2] == fields[name][:2]):
            found.append(f"{struct}.{name}: offset, size and kind are {fields[name]}, not {mine}")
        wrong = mismatch(declared[name], kind, headers)
        if wrong:
            found.append(f"{struct}.{name}: {wrong}")
    return found


# ---- the tests -------------------------------------------------------------------------------------------


def test_everything_in_the_headers_was_understood(headers):
    """Otherwise the tests below would compare less than they say."""
    assert len(re.findall(r"\bstruct\s+\w+\s*\{", headers.code)) == len(headers.structs) > 30
    declared = len(re.findall(r"(?<!extern )\bRESMON_API\b", headers.code))
    assert declared == len(headers.functions) > 80
    assert all(headers.structs.values())


def test_structures(headers, compiled):
    found = []
    for struct in headers.structs:
        mirror = mirror_of(struct)
        if (mirror is None) != (struct in NOT_BOUND):
            found.append(f"{struct}: " + ("has no mirror in _abi.py" if mirror is None else "is bound after all"))
        elif mirror is not None:
            found += differences(struct, mirror, headers, compiled)
    assert not found, "\n".join(found)


def test_no_mirror_is_of_nothing(headers):
    mirrors = {mirror_of(struct) for struct in headers.structs}
    left = [name for name, value in vars(_abi).items() if not name.startswith("_")
            and is_class_of(value, ctypes.Structure) and value not in mirrors]
    assert not left
    assert set(NOT_BOUND) <= set(headers.structs)


def test_constants(compiled):
    mine = {name: value for name, value in vars(_abi).items() if name.isupper() and isinstance(value, int)}
    assert len(mine) > 10
    assert mine == {name: compiled.constants.get(name) for name in mine}
    assert _abi.VERSION == (compiled.constants["VERSION_MAJOR"], compiled.constants["VERSION_MINOR"])


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_constants(compiled, table):
    is_by_number, prefix, left_out = TABLES[table]
    wanted = {}
    for name, value in compiled.constants.items():
        if re.match(prefix, name):
            wanted[re.sub("^" + prefix, "", name).lower().replace("_", " ")] = value
    mine = getattr(_abi, table)
    mine = {name: value for value, name in mine.items()} if is_by_number else mine
    assert mine == {name: value for name, value in wanted.items() if name not in left_out}


@pytest.mark.parametrize("key, prefix", [("domains", "DOMAIN_"), ("scopes", "METER_"), ("stacks", "STACKS_(?!FOLDED|SPEED|PPROF)")])
def test_names_of_options(compiled, key, prefix):
    """The library's own table knows the bits by the names of the headers."""
    wanted = {re.sub("^" + prefix, "", name).lower(): value for name, value in compiled.constants.items()
              if re.match(prefix, name)}
    assert options.names_of(key) == wanted


def test_status_codes(compiled):
    wanted = {value: "RESMON_" + name for name, value in compiled.constants.items() if re.fullmatch(r"E[A-Z]+", name)}
    assert {status: errors.name_of(status) for status in errors._CLASSES} == wanted
    assert {status: kind.status for status, (kind, _) in errors._CLASSES.items()} == {status: status for status in wanted}
    assert errors.name_of(compiled.constants["OK"]) == "RESMON_OK"


def bound():
    """name: (result, *arguments) of the functions that the package calls."""
    yield from ((name, (ctypes.c_int32, *arguments)) for name, arguments in _library._STATUS_FUNCTIONS.items())
    yield from _library._PLAIN_FUNCTIONS.items()


def test_functions(headers):
    found, names = [], []
    for key, kinds in bound():
        name = key.rstrip("!")
        names.append(name)
        if name not in headers.functions:
            found.append(f"resmon_{name}: no header has it")
            continue
        wrong = signature_mismatch(headers.functions[name], kinds, headers)
        if key in _library._STATUS_FUNCTIONS and headers.functions[name].result != "resmon_status":
            wrong = "does not return a status"
        if wrong:
            found.append(f"resmon_{name}: {wrong}")
    assert not found, "\n".join(found)
    assert len(set(names)) == len(names), "a function is in both tables"


def test_every_function_is_in_the_library():
    for key, _ in bound():
        assert getattr(_library.lib, key.rstrip("!")).argtypes is not None


# ---- that it can fail ------------------------------------------------------------------------------------


def changed(mirror, change):
    fields = [list(field) for field in mirror._fields_]
    change(fields)
    return type("Changed", (ctypes.Structure,), {"_fields_": [tuple(field) for field in fields]})


def set_kind(index, kind):
    return lambda fields: fields[index].__setitem__(1, kind)


@pytest.mark.parametrize("change", [
    lambda fields: fields.pop(),                            # a field forgotten
    lambda fields: fields.append(["more", ctypes.c_int64]),
    lambda fields: fields.insert(1, fields.pop(2)),         # two exchanged
    lambda fields: fields[3].__setitem__(0, "start"),       # another name
    set_kind(3, ctypes.c_uint64),                           # another sign
    set_kind(3, ctypes.c_double),                           # another kind of the same size
    set_kind(5, ctypes.c_uint32),                           # another width: what follows it moves, or a hole appears
    set_kind(1, ctypes.c_uint64),                           # no pointer
    set_kind(1, ctypes.POINTER(ctypes.c_double)),           # to something else
])
def test_a_wrong_field_is_found(headers, compiled, change):
    assert differences("resmon_run_info", changed(_abi.RunInfo, lambda fields: None), headers, compiled) == []
    assert differences("resmon_run_info", changed(_abi.RunInfo, change), headers, compiled)


@pytest.mark.parametrize("struct, field, kind", [
    ("resmon_sink_info", "name", ctypes.c_char * 63), ("resmon_sink_info", "name", ctypes.c_char_p),
    ("resmon_rows", "values", ctypes.POINTER(ctypes.c_float)), ("resmon_rows", "t_ns", ctypes.POINTER(ctypes.c_uint64)),
    ("resmon_comparison", "power_w", ctypes.c_double * 5),
    ("resmon_sink_ops", "tag", _abi.OnRun),
    ("resmon_sink_ops", "tag", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_double, ctypes.c_char_p)),
    ("resmon_sink_ops", "close", _abi.OnFlush),
])
def test_a_wrong_type_is_found(headers, compiled, struct, field, kind):
    def change(fields):
        fields[[name for name, _ in fields].index(field)][1] = kind
    assert differences(struct, changed(mirror_of(struct), change), headers, compiled)


@pytest.mark.parametrize("name, kinds", [
    ("run_series", (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)),
    ("run_series", (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
    ("run_node_figure", (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
    ("doctor_examine", (ctypes.c_int32, ctypes.POINTER(_abi.CarbonOptions), ctypes.POINTER(ctypes.c_void_p))),
    ("doctor_examine", (ctypes.c_int32, ctypes.POINTER(_abi.DoctorOptions), ctypes.c_uint64)),
    ("run_get_tag", (ctypes.c_int32, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_abi.RunTag))),
    ("carbon_convert", (ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(_abi.CarbonOptions), ctypes.POINTER(_abi.CarbonCost))),
    ("scope_end", (ctypes.c_int32, ctypes.c_uint64)),
])
def test_a_wrong_signature_is_found(headers, name, kinds):
    assert signature_mismatch(headers.functions[name], kinds, headers)
