# SPDX-License-Identifier: MIT
"""Makes of lib/common/run/records.def what is not made by the compiler: the structs of the interface, the JSON Schema of the
run document and its reference. (Python's classes are made of the structs: make_python.py.)

Without arguments, writes them (the target "records"); with --check fails, and names them, where they are not what
would be written (the test lint.records).
"""
import json
import pathlib
import re
import sys
import textwrap
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = "lib/common/run/records.def"
MADE = "Made by cmake/make_records.py from lib/common/run/records.def: do not edit."

# Of each type of a member: in C, its size and alignment, in the JSON Schema.
UNKNOWN = {"type": ["number", "null"]}
COUNT = {"type": "integer", "minimum": 0}
TYPES = {
    "TEXT": ("const char *", 8, {"type": "string"}),
    "COUNT": ("uint64_t ", 8, COUNT),
    "CALLS": ("uint64_t ", 8, COUNT),
    "INTEGER": ("int64_t ", 8, {"type": "integer"}),
    "SMALL": ("int32_t ", 4, COUNT),
    "NUMBER": ("double ", 8, UNKNOWN),
    "NUMBERS4": ("double ", 8, {"type": "array", "items": UNKNOWN, "minItems": 4, "maxItems": 4}),
    "COUNTS4": ("uint64_t ", 8, None),
    "ESTIMATE": ("resmon_estimate ", 8, UNKNOWN),
    "ESTIMATES": ("const resmon_estimate *", 8, {"type": "array", "maxItems": 8, "items": UNKNOWN}),
    "TIME": ("int64_t ", 8, {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$"}),
    "FLAG": ("uint64_t ", 8, {"type": "integer", "minimum": 0, "maximum": 1}),
    "ADDRESS": ("uint64_t ", 8, {"type": "string", "pattern": "^0x[0-9a-f]{1,16}$"}),
    "STATUS": ("resmon_status ", 4, {"type": "string", "pattern": "^RESMON_[A-Z0-9]+$"}),
}
LENGTHS = {"NUMBERS4": "[4]", "COUNTS4": "[4]"}

# Units that the name of a member says already.
ENDINGS = {"ns": "_ns", "B": "_bytes", "J": "_j", "s": "_s", "kWh": "_kwh", "g": "_gco2eq", "l": "_l", "g/kWh": "_per_kwh",
           "kg": "_kg", "l/kWh": "wue"}

# Parts of other structs: they have no size of their own.
EMBEDDED = ("resmon_estimate",)


class Record(NamedTuple):
    name: str
    c_type: str
    place: str
    since: str
    help: str


class Member(NamedTuple):
    record: str
    type: str
    name: str
    key: str
    since: str
    unit: str
    when: str
    help: str


class Word(NamedTuple):
    words: str
    prefix: str
    token: str
    code: int
    word: str
    help: str


# ---- reading the table ------------------------------------------------------------------------


def arguments(text):
    """The arguments of a row, strings without their quotes."""
    found, at = [], 0
    while at < len(text):
        match = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_][\w ]*|\d+))\s*(?:,|$)').match(text, at)
        if match is None:
            sys.exit(f"{TABLE}: not understood: {text[at:at + 60]}")
        quoted, bare = match.groups()
        found.append(bare.strip() if quoted is None else quoted.replace('\\"', '"').replace("\\\\", "\\"))
        at = match.end()
    return found


def read_table():
    records, members, words = [], [], []
    for row in re.findall(r"^RM_(\w+)\((.*)\)$", (ROOT / TABLE).read_text(encoding="utf-8"), re.M):
        kind, values = row[0], arguments(row[1])
        if kind == "RECORD":
            records.append(Record(*values))
        elif kind == "MEMBER":
            members.append(Member(*values[:6], "", values[6]))
        elif kind == "MEMBER_WHEN":
            members.append(Member(*values))
        elif kind == "WORD":
            words.append(Word(*values[:3], int(values[3]), *values[4:]))
        else:
            sys.exit(f"{TABLE}: RM_{kind} is no row of it")
    return records, members, words


RECORDS, MEMBERS, WORDS = read_table()


def members_of(*names):
    return [member for member in MEMBERS if member.record in names]


def words_of(words):
    return [word for word in WORDS if word.words == words]


def size_of(member):
    return TYPES[member.type][1] if member.type in TYPES else 4


def public_types():
    """Types of the interface, each with its records, in their order."""
    types = {}
    for record in RECORDS:
        if record.c_type.startswith("resmon_"):
            types.setdefault(record.c_type, []).append(record)
    return types


def layout(records):
    """The members in the order of the struct: those of 4 bytes behind the others of the same version, so that nothing is
    lost to alignment; None is such a gap."""
    members = members_of(*(record.name for record in records))
    ordered, used = [], 0
    for since in sorted({member.since for member in members}, key=lambda version: [int(n) for n in version.split(".")]):
        ordered += sorted((m for m in members if m.since == since), key=size_of, reverse=True)
        used = sum(4 for m in ordered if m is None or size_of(m) == 4)
        ordered += [None] if used % 8 else []
    return ordered


def said(member):
    """The help, with the unit where the name does not say it."""
    has_unit = member.unit and not member.name.endswith(ENDINGS.get(member.unit, "\0"))
    return f"{member.help} ({member.unit})" if has_unit else member.help


# ---- the structs of the interface ---------------------------------------------------------------


def comment(text, indent, mark="/**"):
    """A comment that clang-format leaves alone: lines of at most 100 columns."""
    one = f"{indent}{mark} {text} */"
    if len(one) <= 100:
        return [one]
    lines = textwrap.wrap(f"{mark} {text} */", 100, initial_indent=indent, subsequent_indent=indent + " * ",
                          break_long_words=False, break_on_hyphens=False)
    if lines[-1].strip() == "* */":
        lines[-1] = indent + " */"
    return lines


def struct(c_type, records):
    text = "  ".join(record.help for record in records if record.help)
    lines = comment(f"{text}  Since {records[0].since}.", "") + [f"typedef struct {c_type} {{"]
    if c_type not in EMBEDDED:
        lines.append("    size_t struct_size;")
    gaps = 0
    for member in layout(records):
        if member is None:
            gaps += 1
            lines.append(f"    int32_t reserved{gaps if gaps > 1 else ''};")
            continue
        c_name = TYPES[member.type][0] if member.type in TYPES else "int32_t "
        lines += comment(said(member), "    ")
        lines.append(f"    {c_name}{member.name}{LENGTHS.get(member.type, '')};")
    return lines + [f"}} {c_type};"]


def header():
    lines = ["/* SPDX-License-Identifier: MIT */", "/*",
             " * resmon/records.h - structures that the accessors of a run fill in, and their codes.", " *",
             " *     resmon_run_info info = {.struct_size = sizeof info};",
             " *     if (resmon_run_get_info(run, &info) == RESMON_OK) {",
             ' *         printf("%s, %.1f s\\n", info.state, (double)info.duration_ns / 1e9);', " *     }", " *",
             " * The accessors are in <resmon/run.h>, <resmon/end.h>, <resmon/table.h>, <resmon/summary.h>,",
             " * <resmon/energy.h> and <resmon/stack.h>.", " *",
             " * Set struct_size to sizeof the structure before a call.  Texts live as long as the run and are",
             " * never NULL.  NaN: not known.", " *", f" * {MADE}", " */", "#ifndef RESMON_RECORDS_H",
             "#define RESMON_RECORDS_H", "", "#include <stddef.h>", "#include <stdint.h>", "", "#include <resmon/status.h>", "",
             "RESMON_BEGIN_DECLS", ""]
    titles = {"PROVENANCE": "Provenance: how a value is known.", "KIND": "Kinds of metrics.", "LEVEL": "Levels: the object that a value describes.",
              "END": "How a program ended."}
    for words, title in titles.items():
        lines.append(f"/* {title} */")
        width = max(len(word.prefix + word.token) for word in words_of(words))
        for word in words_of(words):
            lines.append(f"#define {word.prefix + word.token:{width}} {word.code} /**< {word.help} */")
        lines.append("")
    for c_type, records in public_types().items():
        lines += struct(c_type, records) + [""]
    return "\n".join(lines + ["RESMON_END_DECLS", "", "#endif", ""])


# ---- the JSON Schema ------------------------------------------------------------------------------


def member_schema(member):
    schema = dict(TYPES[member.type][2]) if member.type in TYPES else {"enum": [w.word for w in words_of(member.type)]}
    return {**schema, "description": said(member)}


def record_schema(name, more):
    """The schema of a record's object; `more` has what is beside its members."""
    properties, required = {}, []
    record = next(record for record in RECORDS if record.name == name)
    for member in members_of(name):
        if not member.key:
            continue
        properties[member.key] = member_schema(member)
        if not member.when and member.since == record.since:  # older documents do not have what came later
            required.append(member.key)
        if member.type in ("ESTIMATE", "ESTIMATES"):
            ends = {"low": "low end of the 95 % interval of an estimate", "high": "high end of the interval; null: not known"}
            for end, text in ends.items():
                properties[f"{member.key}_{end}"] = {**TYPES[member.type][2], "description": text}
    schema = {"type": "object", "description": record.help, "properties": {**properties, **more.get("properties", {})},
              "required": required + more.get("required", []), "additionalProperties": False}
    schema.update({key: value for key, value in more.items() if key not in ("properties", "required", "$record")})
    return schema


def filled(value):
    """A part of the schema's frame, with {"$record": NAME} replaced by the record's schema."""
    if isinstance(value, list):
        return [filled(element) for element in value]
    if not isinstance(value, dict):
        return value
    rest = {key: filled(element) for key, element in value.items()}
    return record_schema(value["$record"], rest) if "$record" in value else rest


def schema():
    frame = json.loads((ROOT / "lib/common/format/resmon-run.schema.in.json").read_text(encoding="utf-8"))
    return json.dumps(filled({"$comment": MADE, **frame}), indent=1, ensure_ascii=False) + "\n"


# ---- the reference of the document ----------------------------------------------------------------


def type_for_people(member):
    names = {"TEXT": "text", "STATUS": "name of a status", "TIME": "date and time", "ESTIMATE": "number, `_low`, `_high`",
             "ESTIMATES": "list, `_low`, `_high`", "NUMBERS4": "4 numbers", "ADDRESS": "address", "FLAG": "0 or 1"}
    if member.type not in TYPES:
        return ", ".join(word.word for word in words_of(member.type))
    unit = f", {member.unit}" if member.unit else ""
    return names.get(member.type, "whole number" if TYPES[member.type][2] == COUNT or member.type == "INTEGER" else "number") + unit


def reference():
    lines = ["# The run document", "", f"<!-- {MADE} -->", "",
             "A run as JSON, `format` \"resmon-run\". [`resmon-run.schema.json`](../../lib/common/format/resmon-run.schema.json) is its JSON",
             "Schema. Units are in the keys or in the table of columns; `null` is an unknown number. Members marked * are present only",
             "if something was measured. `run`, `machine`, `job`, `settings` and `energy` also hold facts by name, `labels` those that users give a run.", "",
             "Another program may write less: `format`, `version`, `columns` and, in `series`, `t_last_ns` and `last` of each column are",
             "enough. When the document is loaded, missing series and statistics are computed: a reading stands for the time since the",
             "one before it, the first for that since the start; a counter that decreases was reset.", ""]
    for record in RECORDS:
        if not record.place:
            continue
        lines += [f"## `{record.place}`", "", record.help, "", "| key | type, unit | since | what it is |", "|---|---|---|---|"]
        for member in members_of(record.name):
            if member.key:
                star = "*" if member.when else ""
                text = member.help.replace("|", "\\|").replace("<", "&lt;")
                lines.append(f"| `{member.key}`{star} | {type_for_people(member)} | {member.since} | {text} |")
        lines.append("")
    return "\n".join(lines)


FILES = {
    "include/resmon/records.h": header,
    "lib/common/format/resmon-run.schema.json": schema,
    "docs/reference/run-document.md": reference,
}


def main():
    stale = []
    for name, make in FILES.items():
        path, text = ROOT / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if sys.argv[1:] != ["--check"]:
                path.write_text(text, encoding="utf-8")
    if stale and sys.argv[1:] == ["--check"]:
        sys.exit(f"not what {TABLE} says: {', '.join(stale)}; build the target records")
    print(f"{len(FILES)} files made of {len(MEMBERS)} members in {len(RECORDS)} records"
          + (f"; written: {', '.join(stale)}" if stale else ""))


if __name__ == "__main__":
    main()
