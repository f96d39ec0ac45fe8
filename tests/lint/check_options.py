# SPDX-License-Identifier: MIT
"""Texts that are made of the tables of options, sinks and metrics are as they would be made now: tables of
docs/reference, and Python's keywords in the types and the docstring of Monitor; so is the table of the options of CMake.
--update writes them.

    check_options.py SOURCES BUILD [--update]
"""
import collections
import difflib
import pathlib
import re
import subprocess
import sys
import textwrap

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
program = build / "tests/lint/option_rows"
if not program.exists():
    print(f"skipped: {program} was not built")
    sys.exit(77)

Sink = collections.namedtuple("Sink", "name main help")
Metric = collections.namedtuple("Metric", "name unit kind help")
Option = collections.namedtuple("Option", "owner key type is_needed has_bare low high default_text values help")
rows = [line.split("\t") for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()]
sinks = [Sink(*row[1:]) for row in rows if row[0] == "sink"]
options = [Option(*row[1:]) for row in rows if row[0] == "option"]
metrics = [Metric(*row[1:]) for row in rows if row[0] == "metric"]


def of(owner):
    return [option for option in options if option.owner == owner]


def bounds(option):
    return f"{option.low} to {option.high}" if option.low else option.values


# ---- docs/reference -------------------------------------------------------------------------------------


def usage(option, prefix=""):
    """"interval=DURATION", "smaps", "signals[=NAMES]"."""
    if option.type == "flag":
        return prefix + option.key
    key = "label.NAME" if option.type == "labels" else option.key
    value = "TEXT" if option.type == "labels" else option.type.upper()
    return f"{prefix}{key}[={value}]" if option.has_bare == "1" else f"{prefix}{key}={value}"


def option_row(option, prefix=""):
    return f"| `{usage(option, prefix)}` | {option.help} | {bounds(option)} | {option.default_text} |"


def table_of_keys():
    yield "| key | meaning | values | default |"
    yield "|---|---|---|---|"
    for owner, prefix in (("environment", ""), ("monitor", ""), ("carbon", "carbon.")):
        for option in of(owner):
            yield option_row(option, prefix)


def table_of_sinks():
    yield "| sink | what it is | its options |"
    yield "|---|---|---|"
    for sink in sinks:
        main, = (option for option in of(sink.name) if option.key == sink.main)
        value = main.type.upper() if main.is_needed == "1" else f"[={main.type.upper()}]"
        shown = f"{sink.name}={value}" if main.is_needed == "1" else f"{sink.name}{value}"
        others = ", ".join(f"`{usage(option, sink.name + '.')}`" for option in of(sink.name) if option.key != sink.main)
        yield f"| `{shown}` | {sink.help} | {others} |"


def table_of_sink_options():
    yield "| option | meaning | values | default |"
    yield "|---|---|---|---|"
    for sink in sinks:
        yield from (option_row(option, sink.name + ".") for option in of(sink.name) if option.key != "path")


def table_of_metrics():
    yield "| metric | unit | kind | what it is |"
    yield "|---|---|---|---|"
    for metric in metrics:
        unit = "" if metric.unit == "1" else metric.unit
        yield f"| `{metric.name}` | {unit} | {metric.kind} | {metric.help.replace('|', chr(92) + '|')} |"


# ---- the options of CMake ---------------------------------------------------------------------------

CMAKE = (root / "cmake/ResmonOptions.cmake").read_text(encoding="utf-8")
BY_TOP_LEVEL = "${PROJECT_IS_TOP_LEVEL}"
# What it is built with, with its package.
LIBRARIES = re.findall(r'^resmon_(?:third_party|loaded_library)\((\w+) "([^"]*)" (\S+) ', CMAKE, re.MULTILINE)


def table_of_cmake():
    yield "| option of CMake | what it is for | default |"
    yield "|---|---|---|"
    for name, what, package in LIBRARIES:
        yield f"| `RESMON_WITH_{name}` | {what}: `{package}` | AUTO |"
    for name, what, default in re.findall(r'^option\((\w+) "([^"]*)" (\S+)\)$', CMAKE, re.MULTILINE):
        what = what[0].lower() + what[1:]
        yield f"| `{name}` | {what} | {'ON; OFF in a larger project' if default == BY_TOP_LEVEL else default} |"


def kept_in_bare_build():
    """What the build without others' libraries does not leave out."""
    bootstrap = (root / "cmake/bootstrap.sh").read_text(encoding="utf-8")
    for name, *_ in LIBRARIES:
        if f"-DRESMON_WITH_{name}=OFF" not in bootstrap:
            yield f"cmake/bootstrap.sh: no -DRESMON_WITH_{name}=OFF"


# ---- the command ------------------------------------------------------------------------------------

Verb = collections.namedtuple("Verb", "name is_table observes arguments summary text")
Own = collections.namedtuple("Own", "verb key letter argument help")
verbs = [Verb(*row[1:]) for row in rows if row[0] == "verb"]
own_options = [Own(*row[1:]) for row in rows if row[0] == "own"]
KEYS = "[Keys of the variable RESMON](environment.md#keys) and [sinks](sinks.md#options) are options of this verb, too: "


def cell(text):
    return text.replace("|", chr(92) + "|")


def own_usage(option):
    """"`-o`, `--output=FILE`"."""
    is_optional = option.argument.startswith("[")
    value = f"[={option.argument[1:]}" if is_optional else f"={option.argument}" if option.argument else ""
    letter = f"`-{option.letter}`, " if option.letter else ""
    return f"{letter}`--{option.key}{cell(value)}`"


def verb_section(verb):
    yield from ["", f"## resmon {verb.name}", "", verb.summary[0].upper() + verb.summary[1:] + ".", ""]
    yield from ["```text", f"resmon {verb.name} [OPTION]... {verb.arguments}".rstrip(), "```"]
    for paragraph in verb.text.split("\\n\\n"):
        yield from ["", paragraph.replace("  ", " ").replace("|", chr(92) + "|").replace("*", chr(92) + "*")]
    own = [option for option in own_options if option.verb == verb.name]
    if own or verb.is_table == "1":
        yield from ["", "| option | meaning |", "|---|---|"]
        yield from (f"| {own_usage(option)} | {cell(option.help)} |" for option in own)
    if verb.is_table == "1":
        yield "| `--json` | print JSON: a list of objects, values in SI units |"
    if verb.observes == "1":
        yield from ["", KEYS + "`--interval=50ms`, `--stacks=cpu`, `--json=run.json`, `--json.interval=10s`."]
    elif verb.name == "push":
        yield from ["", KEYS + "those of the sinks `mlflow`, `pushgateway` and `otlp`."]
    yield from ["", "```sh"]
    for _, name, line, what in (row for row in rows if row[0] == "example"):
        if name == verb.name:
            yield from [f"# {what}", line]
    yield "```"


def wrong_on_screen():
    """Of help, which shows options of the library by their names."""
    mains = {(sink.name, sink.main) for sink in sinks} | {("carbon", "country")}
    names = {option.owner if (option.owner, option.key) in mains else option.key for option in options}
    for _, _, key in (row for row in rows if row[0] == "common"):
        if key not in names:
            yield f"bindings/cli/commands.def: CLI_COMMON has '{key}', which is no option"


def table_of_verbs():
    yield from ["| verb | purpose |", "|---|---|"]
    yield from (f"| [`{verb.name}`](#resmon-{verb.name}) | {verb.summary} |" for verb in verbs)
    for verb in verbs:
        yield from verb_section(verb)


def table_of_headers():
    yield "| header | purpose |"
    yield "|---|---|"
    for path in sorted((root / "include/resmon").glob("*.h")):
        found = re.search(r"^ \* resmon/\w+\.h - (.*?\.)(?:\s|$)", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        what = " ".join(found[1].replace("\n *", "\n").split()).rstrip(".:")
        yield f"| [`<resmon/{path.name}>`](../../include/resmon/{path.name}) | {what} |"


# ---- Python -----------------------------------------------------------------------------------------

TYPES = {"duration": "float | str", "count": "int", "share": "float", "number": "float", "names": "Names",
         "choice": "str", "flag": "bool", "text": "str", "secret": "str", "path": "Path",
         "labels": "Mapping[str, object]"}
# What is wider in Python than the table says, and what stands in the signature by itself.
WIDER = {"scopes": "Names | bool", "mlflow": "bool | str | Mapping[str, Any]",
         "otlp": "bool | str | Mapping[str, Any]"}
BY_ITSELF = ("interval",)


def keywords():
    """(name, type, help) of all keywords of a monitor."""
    for option in of("monitor"):
        if option.key not in BY_ITSELF:
            yield option.key, WIDER.get(option.key, TYPES[option.type]), "; ".join(filter(None, (
                option.help, bounds(option), f"default {option.default_text}" if option.default_text else "")))
    yield "carbon", "Place", "where the machine stands, with " + ", ".join(option.key for option in of("carbon"))
    for sink in sinks:
        is_path = any(option.key == sink.main and option.type == "path" for option in of(sink.name))
        others = ", ".join(option.key for option in of(sink.name) if option.key != sink.main)
        yield (sink.name, WIDER.get(sink.name, "Sink" if is_path else "str | Mapping[str, Any]"),
               f"{sink.help}; its {sink.main}" + (f", or a dict, also with {others}" if others else ""))


def types():
    for name, kind, _ in keywords():
        yield f"    {name}: {kind} | None"


def docstring():
    yield ""
    for name, _, text in keywords():
        yield from textwrap.wrap(f":param {name}: {text}", 118, initial_indent="    ", subsequent_indent="        ",
                                 break_long_words=False, break_on_hyphens=False)
    yield ""


# ---- files ------------------------------------------------------------------------------------------

MADE = [
    ("docs/reference/build-options.md", "<!-- generated: cmake -->", "<!-- generated: end -->", table_of_cmake),
    ("docs/reference/command.md", "<!-- generated: verbs -->", "<!-- generated: end -->", table_of_verbs),
    ("docs/reference/environment.md", "<!-- generated: keys -->", "<!-- generated: end -->", table_of_keys),
    ("docs/reference/sinks.md", "<!-- generated: sinks -->", "<!-- generated: end -->", table_of_sinks),
    ("docs/reference/sinks.md", "<!-- generated: options of sinks -->", "<!-- generated: end -->", table_of_sink_options),
    ("docs/reference/metrics.md", "<!-- generated: metrics -->", "<!-- generated: end -->", table_of_metrics),
    ("docs/reference/c-api.md", "<!-- generated: headers -->", "<!-- generated: end -->", table_of_headers),
    ("bindings/python/resmon/_types.py", "# generated: keywords", "# generated: end", types),
    ("bindings/python/resmon/monitor.py", ".. generated: keywords", ".. generated: end", docstring),
]
problems = [*kept_in_bare_build(), *wrong_on_screen()]
for name, begin, end, make in MADE:
    path = root / name
    lines = path.read_text(encoding="utf-8").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip() == begin), None)
    last = next((i for i, line in enumerate(lines) if first is not None and i > first and line.strip() == end), None)
    if last is None:
        problems.append(f"{name}: no lines '{begin}' and '{end}'")
        continue
    made = list(make())
    if lines[first + 1:last] == made:
        continue
    if "--update" in sys.argv:
        path.write_text("\n".join(lines[:first + 1] + made + lines[last:]), encoding="utf-8")
        print(f"{name}: written anew")
        continue
    problems.append(f"{name}, after '{begin}', is not what the tables say; check_options.py --update writes it:")
    problems += list(difflib.unified_diff(lines[first + 1:last], made, lineterm="", n=0))[2:12]
print("\n".join(problems) or f"{len(options)} options of {len(sinks)} sinks and a monitor stand where they should")
sys.exit(1 if problems or len(options) < 40 or len(LIBRARIES) < 6 else 0)
