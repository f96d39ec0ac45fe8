# SPDX-License-Identifier: MIT
"""Flame graphs as boxes: what stacks have in common is one box, as wide as its share of the samples.

Nothing of how they look: report_html.py draws them.  The outermost function is at depth 1, what it called below.
"""
import os

ALL, SCOPE, PROGRAM, LIBRARY, UNNAMED = "all", "scope", "program", "library", "unnamed"
LEAST_SHARE = 0.001


class Box:
    """A function at a place in the graph: what it and what it called took, and where it lies, both from 0 to 1."""

    __slots__ = ("name", "kind", "depth", "weight", "samples", "start", "share")

    def __init__(self, name, kind, depth, node, start, share):
        self.name, self.kind, self.depth = name, kind, depth
        self.weight, self.samples, self.start, self.share = node.weight, node.samples, start, share


class _Node:
    __slots__ = ("weight", "samples", "children")

    def __init__(self):
        self.weight, self.samples, self.children = 0.0, 0, {}


def _named(frame, program):
    """Its name, and what it is.  All that has no name in a module is one."""
    if frame.function:
        return frame.function, PROGRAM if frame.module == program else LIBRARY
    return (os.path.basename(frame.module) or "unknown") + " (no symbols)", UNNAMED


def _names_of(stack, scopes, known, program):
    """From the outermost inwards: scopes, then functions; neighbours without a name are one."""
    names = [(name, SCOPE) for name in scopes.get(stack.scope, ())]
    for frame in reversed(stack.frames):
        named = known.get(id(frame))
        if named is None:
            named = known[id(frame)] = _named(frame, program)
        if named[1] is not UNNAMED or not names or names[-1] != named:
            names.append(named)
    return names


def _tree(stacks, kind, scopes, program):
    root, known = _Node(), {}
    for stack in stacks:
        weight, samples = stack.weights[kind], stack.samples[kind]
        if not samples:
            continue
        node = root
        node.weight += weight
        node.samples += samples
        for name in _names_of(stack, scopes, known, program):
            child = node.children.get(name)
            if child is None:
                child = node.children[name] = _Node()
            child.weight += weight
            child.samples += samples
            node = child
    return root


def _scope_names(run):
    """The names on the way to each scope, by its path."""
    found, scopes = {}, run.scopes
    for scope in scopes:
        outer = found.get(scopes[scope.parent].path, ()) if scope.parent >= 0 else ()
        found[scope.path] = (*outer, scope.name)
    return found


def _order(item):
    (name, _), child = item
    return -child.weight, name


def boxes_of(run, kind, most=4000):
    """The boxes of a kind of stacks, by depth and from left to right; the first is all of it.  None without samples.

    Those narrower than LEAST_SHARE are left out, and where there are more than `most`, the narrowest and innermost: a
    box is never there without the one that it is in.
    """
    root = _tree(run.stacks, kind, _scope_names(run), run.facts.get("run", {}).get("executable", ""))
    if root.weight <= 0:
        return []
    found, level, depth = [Box("all", ALL, 0, root, 0.0, 1.0)], [(root, 0.0)], 0
    while level:
        level, above, depth = [], level, depth + 1
        for node, start in above:
            for (name, what), child in sorted(node.children.items(), key=_order):
                share = child.weight / root.weight
                if share >= LEAST_SHARE:
                    found.append(Box(name, what, depth, child, start, share))
                    level.append((child, start))
                start += share
    if len(found) > most:
        found = sorted(found, key=lambda box: (-box.share, box.depth))[:most]
        found.sort(key=lambda box: (box.depth, box.start))
    return found
