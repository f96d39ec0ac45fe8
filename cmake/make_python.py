# SPDX-License-Identifier: MIT
"""Makes what Python knows of the C interface, from include/resmon and lib/common/run/records.def.

    make_python.py DIRECTORY

writes into the directory of the package resmon
  _generated.py          prototypes, structures, constants, words of codes and statuses, as tables that _abi.py reads
  _generated_records.py  a class for each structure with results
  __init__.pyi           the names of the package, which are loaded when they are first used, for type checkers
What a header declares and this program does not understand ends it.
"""
import ast
import os
import pathlib
import re
import sys
import textwrap
from typing import NamedTuple

sys.dont_write_bytecode = True  # nothing is left among the sources
from make_records import MEMBERS, WORDS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
MADE = "Made by cmake/make_python.py from include/resmon: do not edit."

# Types of C by the names of ctypes; and of Python, where a result has them.
PLAIN = {"double": "double", "int32_t": "int32", "resmon_status": "status", "int": "int", "uint32_t": "uint32",
         "int64_t": "int64", "uint64_t": "uint64", "size_t": "size_t", "bool": "c_bool", "char": "char", "void": "void"}
IN_PYTHON = {"double": "float", "char_p": "str", "bool": "bool", "bool64": "bool", "Estimate": "Estimate", "Compared": "Compared"}

# Codes have words: those of records.def, and of constants with a prefix.
PREFIXES = {"CARBON_BASIS": "CARBON_BASIS_", "VERDICT": "VERDICT_", "DOCTOR": "DOCTOR_(?!FILE_)", "SERIES": "SERIES_",
            "STACK": "STACK_(?!LOSS_)", "STACK_LOSS": "STACK_LOSS_"}
# Members that have such a code, by their name; each "..._provenance" has one, too.
CODES = {"kind": "KIND", "level": "LEVEL", "basis": "CARBON_BASIS", "verdict": "VERDICT", "reason": "END", "provenance": "PROVENANCE"}

# Structures without a class: what the caller fills in, sites, and what records.py puts together otherwise.
NO_RESULTS = r".*(Options|Ops|Rows|Site|Timed|Estimate|Label)|RunEnd|RunStack"
# Members that are in a class of their own: of the structure of a column.
APART = {member.name for member in MEMBERS if member.record == "statistics"}


class Field(NamedTuple):
    name: str
    type: str
    help: str


class Struct(NamedTuple):
    name: str
    help: str
    fields: list


# ---- reading the headers ---------------------------------------------------------------------------


def python_name(c_type):
    """resmon_run_info -> RunInfo."""
    return "".join(part.capitalize() for part in c_type.split("_")[1:])


class Headers:
    """What the public headers declare."""

    def __init__(self, directory):
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.h"))).replace("\\\n", " ")
        self.comments = []
        text = re.sub(r"/\*.*?\*/", self.set_aside, text, flags=re.S)
        constants = re.findall(r"^#define\s+RESMON_(\w+)\s+(\(-?\d+\)|-?\d+|UINT64_C\(\s*\d+\s*\))\s*(\d*)$",
                               re.sub(r"/\*(\d+)\*/", r"\1", text), flags=re.M)
        self.constants = {name: int(re.search(r"(?<!\w)-?\d+", value).group()) for name, value, _ in constants}
        self.statuses = {self.constants[name]: (name, self.help(int(comment))) for name, _, comment in constants
                         if re.fullmatch("E[A-Z]+", name)}
        code = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        bare = re.sub(r"/\*\d+\*/", " ", code)
        self.handles = set(re.findall(r"\b(resmon_\w+) \*\*", bare))
        found = re.findall(r"(?:/\*(\d+)\*/\s*)?typedef struct (resmon_\w+)\s*\{([^{}]*)\}", code)
        pointers = re.findall(r"\btypedef\s+([\w\s*]+?)\(\*(resmon_\w+)\)\s*\(([^;{]*)\)\s*;", bare)
        self.known = {name for _, name, _ in found} | {name for _, name, _ in pointers}
        self.callbacks = {python_name(name): self.signature(result, arguments) for result, name, arguments in pointers}
        self.structs = {}
        for comment, name, body in found:
            name = python_name(name)
            self.structs[name] = Struct(name, self.help(int(comment)) if comment else "", list(self.fields(name, body)))
        self.functions = {name: self.signature(result, arguments) for result, name, arguments in re.findall(
            r"(?<!extern )\bRESMON_API\s+([\w\s*]+?)\bresmon_(\w+)\s*\(([^;{]*)\)\s*;", bare)}
        declared = len(re.findall(r"(?<!extern )\bRESMON_API\b", bare)), len(re.findall(r"typedef struct resmon_\w+\s*\{", bare))
        if declared != (len(self.functions), len(self.structs)) or min(declared) < 30:
            sys.exit(f"{directory}: of {declared} functions and structures {len(self.functions), len(self.structs)} were understood")

    def set_aside(self, comment):
        self.comments.append(comment.group())
        return f"/*{len(self.comments) - 1}*/"

    def help(self, number):
        """What the first paragraph of a comment says, in one line."""
        text = re.sub(r"^\s*/\*\*<?|\*/\s*$", "", self.comments[number])
        text = re.split(r"\n[ *]*\n", re.sub(r"^\s*\*(?: |$)", "", text, flags=re.M).strip())[0]
        return re.sub(r"\s*(Texts live as long as the run\.)?\s*Since 0\.1\.$", "", " ".join(text.split()))

    def fields(self, struct, body):
        """The fields of a structure, with what the comment in front of each, or behind it, says."""
        parts = [re.split(r"/\*(\d+)\*/", part) for part in body.split(";")]
        for part, following in zip(parts, parts[1:]):
            behind = [n for n in following[1::2] if self.comments[int(n)].startswith("/**<")]
            front = [n for n in part[1::2] if not self.comments[int(n)].startswith("/**<")]
            help = " ".join(self.help(int(n)) for n in (behind or front)[:1])
            words = " ".join(" ".join(part[0::2]).split())
            called = re.fullmatch(r"(.+?)\(\*(\w+)\) ?\((.*)\)", words)
            if called:
                self.callbacks[f"{struct}.{called[2]}"] = self.signature(called[1], called[3])
                yield Field(called[2], f"{struct}.{called[2]}", help)
                continue
            kind, rest = re.fullmatch(r"((?:const |struct )*\w+)\b(.+)", words).groups()
            for declarator in rest.split(","):
                stars, name, array = re.fullmatch(r"([* ]*)(\w+)(\[\d+\])?", declarator).groups()
                yield Field(name, self.coded(name, self.type(f"{kind} {stars}") + (array or "")), help)

    @staticmethod
    def coded(name, kind):
        """The type of a member that holds a code, by its name."""
        if kind in ("int32", "uint64") and re.match("(is|has)_", name):
            return "bool" if kind == "int32" else "bool64"
        return CODES.get(name.rpartition("_")[2], kind) if kind == "int32" else kind

    def signature(self, result, arguments):
        """"status void_p RunInfo*": the types of what a function returns and takes."""
        taken = [re.sub(r"\w+\s*$", "", part) for part in arguments.split(",") if part.strip() != "void"]  # without its name
        return " ".join(map(self.type, [result, *taken]))

    def type(self, words):
        """The type of words of C: "char_p" for "const char *", "RunInfo*", "void_p" for what the library owns."""
        kind, *stars = re.sub(r"\b(const|struct)\b", " ", words.replace("*", " * ")).split()
        base = PLAIN.get(kind) or (python_name(kind) if kind in self.known - self.handles else "void")
        if base == "void" and not stars and kind != "void":
            sys.exit(f"include/resmon: the type of '{words}' is not known")
        if base in ("char", "void") and stars:
            # A text that is not constant is a buffer, or the caller's to free.
            base, *stars = "char_p" if base == "char" and "const" in words else "void_p", *stars[1:]
        return base + "*" * len(stars)

    def words(self):
        """{name: {code: word}} of all codes."""
        words = {}
        for word in WORDS:
            words.setdefault(word.words, {})[word.code] = word.word
        for name, prefix in PREFIXES.items():
            words[name] = {number: re.sub(f"^{prefix}", "", constant).lower().replace("_", " ")
                           for constant, number in self.constants.items() if re.match(prefix, constant)}
        return words


# ---- the files -------------------------------------------------------------------------------------


def table(name, comment, rows, kind="str, str"):
    yield from ["", f"# {comment}", f"{name}: dict[{kind}] = {{"]
    for key, value in rows:
        line = f"    {key!r}: {value!r},"
        yield from [line] if len(line) <= 120 or not isinstance(value, str) else wrapped(key, value)
    yield "}"


def wrapped(key, value):
    """A long text in several lines."""
    parts = textwrap.wrap(value, 108, break_long_words=False, break_on_hyphens=False)
    yield f"    {key!r}: ("
    yield from (f"        {part + ' '!r}" for part in parts[:-1])
    yield f"        {parts[-1]!r}),"


def border(headers):
    yield from ["# SPDX-License-Identifier: MIT", f'"""The C interface as tables.  {MADE}"""', "from __future__ import annotations", ""]
    yield from (f"{name} = {value}" for name, value in headers.constants.items())
    yield from table("STATUSES", "Statuses: their names, and what they say.", headers.statuses.items(), "int, tuple[str, str]")
    yield from table("WORDS", "Words of codes.", headers.words().items(), "str, dict[int, str]")
    yield from table("STRUCTS", "Structures: the fields with their types, as _abi.py reads them.", (
        (name, " ".join(f"{field.name}:{field.type}" for field in struct.fields)) for name, struct in headers.structs.items()))
    yield from table("CALLBACKS", "Pointers to functions: what they return, and take.", headers.callbacks.items())
    yield from table("FUNCTIONS", "Functions, without resmon_: what they return, and take.", headers.functions.items())


def attribute(field):
    """The name and the type of a member as Python has it: times are in seconds."""
    kind = IN_PYTHON.get(field.type, "str" if field.type in {*CODES.values()} or field.type.startswith("char[") else "int")
    array = re.fullmatch(r"(\w+)\[\d+\]", field.type)
    if array and array[1] != "char":
        kind = f"tuple[{IN_PYTHON.get(array[1], 'int')}, ...]"
    if field.name.endswith("_ns") and not field.name.endswith("_realtime_ns"):
        return field.name[:-3] + "_s", "Estimate" if kind == "Estimate" else "float"
    return field.name, kind


def record_class(name, struct, fields, help):
    """A class with the members of a structure; those without a meaning in Python are left out."""
    wanted = [field for field in fields if not re.match(r"struct_size$|reserved\d?$", field.name) and not field.type.endswith("*")]
    lines = [f"class {name}(Record):"]
    if help:
        lines += textwrap.wrap(f'"""{help}"""', 120, initial_indent="    ", subsequent_indent="    ", break_long_words=False,
                               break_on_hyphens=False)
    lines += textwrap.wrap(f"__slots__ = ({''.join(repr(attribute(field)[0]) + ', ' for field in wanted)})".replace(", )", ",)"), 120,
                           initial_indent="    ", subsequent_indent="                 ")
    lines.append(f"    _struct = {struct!r}")
    for field in wanted:
        attribute_name, kind = attribute(field)
        if field.help:
            lines += textwrap.wrap(field.help, 116, initial_indent="    #: ", subsequent_indent="    #: ")
        lines.append(f"    {attribute_name}: {kind}")
    return ["", "", *lines]


def records(headers):
    yield from ["# SPDX-License-Identifier: MIT", f'"""Classes of results.  {MADE}"""', "from __future__ import annotations", "",
                "from ._record import Estimate, Record"]
    for name, struct in headers.structs.items():
        if re.fullmatch(NO_RESULTS, name):
            continue
        short = re.sub(r"^Run(?!$)", "", name)
        if name == "Column":
            yield from record_class("Statistics", name, [field for field in struct.fields if field.name in APART], "Statistics of a column.")
            struct = struct._replace(fields=[field for field in struct.fields if field.name not in APART])
        yield from record_class(short, name, struct.fields, struct.help)


def names(package):
    """The names of the package, by the table of where they are."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    tables = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    homes = ast.literal_eval(tables["_HOMES"])
    modules = [node.value for node in ast.walk(tables["_MODULES"]) if isinstance(node, ast.Constant)]
    yield from ["# SPDX-License-Identifier: MIT", f"# {MADE}"]
    for node in tree.body:  # what is imported at once
        if isinstance(node, ast.ImportFrom) and node.level:
            yield from (f"from .{node.module} import {alias.name} as {alias.asname or alias.name}" for alias in node.names)
    for module, members in homes.items():
        yield from (f"from .{module} import {name} as {name}" for name in members)
    yield from (f"from . import {module} as {module}" for module in (*homes, *modules))


def main(directory):
    headers = Headers(ROOT / "include/resmon")
    texts = {"_generated.py": border(headers), "_generated_records.py": records(headers),
             "__init__.pyi": names(ROOT / "bindings/python/resmon")}
    for name, lines in texts.items():
        path = pathlib.Path(directory) / name
        new = path.with_name(f"{name}.{os.getpid()}")  # several builds may make it at once
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")
        new.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
