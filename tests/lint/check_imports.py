# SPDX-License-Identifier: MIT
"""The imports of the Python binding against the table of its layers in docs/contributing/python-layers.md; and circles of modules."""
import ast
import pathlib
import sys

HEADING = "# Layers of the Python binding"
FEWEST = 100  # imports within the package: with fewer, they were not found


def table_rows(text, first):
    """Cells of the rows of the first table after HEADING that begins with the column `first`."""
    text = text[text.index(HEADING):]
    text = text[text.index(f"| {first} |"):]
    for line in text.splitlines()[2:]:
        if not line.startswith("|"):
            return
        yield [cell.replace("`", "").strip() for cell in line.strip("|").split("|")]


def module_name(path, package):
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "resmon"


def imported_names(node, path, package):
    """What an import statement may name within the package, as modules without its name."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[2] for alias in node.names if alias.name.split(".")[0] == "resmon"]
    if node.level == 0:
        if (node.module or "").split(".")[0] != "resmon":
            return []
        base = node.module.split(".")[1:]
    else:
        inside = path.relative_to(package).parts[:-1]
        base = [*inside[:len(inside) - node.level + 1], *(node.module or "").split(".")]
    base = [part for part in base if part]
    return [".".join([*base, alias.name]) for alias in node.names] + [".".join(base)]


def imports_of(path, package, modules):
    """[(module, line, whether in a function)] of the modules of the package that a file imports."""
    found = []

    def visit(node, is_in_function):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [name for name in imported_names(node, path, package) if name in modules]
            deepest = [name for name in names if not any(other.startswith(f"{name}.") for other in names)]
            found.extend((name, node.lineno, is_in_function) for name in deepest)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return  # a program that runs imports none of it
        for child in ast.iter_child_nodes(node):
            visit(child, is_in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))
    visit(ast.parse(path.read_text(encoding="utf-8")), False)
    return sorted(set(found) - {(module_name(path, package), line, lazy) for _, line, lazy in found})


def circles(edges):
    """Groups of modules that import each other, each sorted: strongly connected components."""
    reached = {}

    def reach(module):
        seen, waiting = set(), [module]
        while waiting:
            for other in edges.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen
    for module in edges:
        reached[module] = reach(module)
    return sorted({tuple(sorted(other for other in reached[module] if module in reached.get(other, ())))
                   for module in edges if module in reached[module]})


def read_layers(text, modules, problems):
    """({module: layer}, {layer: (may import, may import in functions)}) of the table."""
    layer_of, allowed = {}, {}
    for layer, names, _, always, in_functions in table_rows(text, "layer"):
        known = {*allowed, layer}
        allowed[layer] = (set(always.split()) | {layer}, set(in_functions.split()))
        problems += [f"layer {layer} may not import {other}: it comes later" for other in always.split()
                     if other not in known]
        for name in names.split():
            layer_of.update({module: layer for module in modules
                             if module == name or (name.endswith(".*") and f"{module}.".startswith(name[:-1]))})
    problems += [f"no layer has the module {module}" for module in sorted(modules - set(layer_of))]
    problems += [f"there is no layer {other}" for _, lazy in allowed.values() for other in sorted(lazy - set(allowed))]
    return layer_of, allowed


def check(root):
    package = root / "bindings/python/resmon"
    text = (root / "docs/contributing/python-layers.md").read_text(encoding="utf-8")
    paths = [path for path in sorted(package.rglob("*.py")) if "vendor" not in path.parts]
    modules = {module_name(path, package) for path in paths}
    problems, count, edges, at_import = [], 0, {}, {}
    layer_of, allowed = read_layers(text, modules, problems)
    stated = {(row[0], row[1]) for row in table_rows(text, "module")}
    needed = set(stated)
    for path in paths:
        module = module_name(path, package)
        for name, line, is_in_function in imports_of(path, package, modules):
            count += 1
            always, in_functions = allowed.get(layer_of.get(module), (set(), set()))
            if layer_of.get(name) not in (always | in_functions if is_in_function else always):
                problems.append(f"{path.relative_to(root)}:{line}: layer {layer_of.get(module)} may not import {name} of "
                                f"layer {layer_of.get(name)}{' in a function' if is_in_function else ''}")
            if (module, name) not in stated:
                edges.setdefault(module, set()).add(name)
            if not is_in_function:
                at_import.setdefault(module, set()).add(name)
            needed.discard((module, name))
    problems += [f"{module} does not import {name}, as the table has it" for module, name in sorted(needed)]
    problems += ["a circle of modules: " + " ".join(circle) for circle in circles(edges)]
    problems += ["a circle of modules that import each other when they are imported: " + " ".join(circle)
                 for circle in circles(at_import)]
    return problems, count


def main():
    problems, count = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or f"{count} imports agree with docs/contributing/python-layers.md")
    return 1 if problems or count < FEWEST else 0


if __name__ == "__main__":
    sys.exit(main())
