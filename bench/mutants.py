"""Copies of a module with one small change each; `mutation.py` tries them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Change = Callable[[Any], ast.AST]  # of a node
Place = tuple[int, int]

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And, ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}  # fmt: skip


def changes_of(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """All changes of one node, each with its name."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "another comparison", lambda n: _with(n, ops=[SWAPS[type(n.ops[0])](), *n.ops[1:]])
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        yield "another operator", lambda n: _with(n, op=SWAPS[type(n.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "without not", lambda n: n.operand
    elif isinstance(node, ast.Break | ast.Continue):
        yield "break and continue", lambda n: SWAPS[type(n)]()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "negated condition", lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "returns None", lambda n: _with(n, value=ast.Constant(None))
    elif isinstance(node, ast.Expr | ast.Raise):
        yield "removed", lambda _: ast.Pass()
    elif isinstance(node, ast.Constant):
        yield from _changes_of_constant(node)
    if isinstance(node, ast.AugAssign):
        yield "removed", lambda _: ast.Pass()


def _changes_of_constant(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    value = node.value
    if isinstance(value, bool):
        yield "another truth value", lambda n: ast.Constant(not n.value)
    elif isinstance(value, int | float):
        yield "number plus 1", lambda n: ast.Constant(n.value + 1)
    elif isinstance(value, str):
        yield "another text", lambda n: ast.Constant(f"XX{n.value}")
    elif isinstance(value, bytes):
        yield "another text", lambda n: ast.Constant(b"XX" + n.value)


def _with(node: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def nodes_to_change(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run: no annotations, docstrings, texts in f-strings and imports."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            skipped.update(map(id, ast.iter_child_nodes(node)))
            continue
        if isinstance(node, ast.FunctionDef):
            skipped.add(id(node.returns))
            skipped.update(id(decorator) for decorator in node.decorator_list)
        if isinstance(node, ast.arg | ast.AnnAssign):
            skipped.add(id(node.annotation))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values if isinstance(part, ast.Constant))
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            skipped.add(id(node.format_spec))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
            continue  # a docstring
        yield node


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    line: int
    at: int  # the line after `ast.unparse`, which gives each statement one line
    function: range  # the lines of the function, after `ast.unparse`
    change: str
    before: str
    source: str


def places_of(source: str) -> list[Place]:
    """All places for a change in a module: the position of a node, and which of its changes."""
    nodes = enumerate(nodes_to_change(_plain_tree(source)))
    return [(number, which) for number, node in nodes for which, _ in enumerate(changes_of(node))]


def mutant(source: str, place: Place) -> Mutant:
    """Make one change."""
    number, which = place
    original = list(nodes_to_change(ast.parse(source)))[number]
    tree = _plain_tree(source)
    node = list(nodes_to_change(tree))[number]
    at, before = getattr(node, "lineno", 0), ast.unparse(node).split("\n")[0]
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    spans = [range(one.lineno, (one.end_lineno or 0) + 1) for one in functions]
    span = next((span for span in spans if at in span), range(0))
    name, change = list(changes_of(node))[which]
    _replace(tree, node, change)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return Mutant(getattr(original, "lineno", 0), at, span, name, before, text)


def _plain_tree(source: str) -> ast.AST:
    """The tree of a source after `ast.unparse`."""
    return ast.parse(ast.unparse(ast.parse(source)))


def _replace(tree: ast.AST, node: ast.AST, change: Change) -> None:
    """Apply a change; a node that becomes another one takes its place in its parent."""
    new = change(node)
    if new is node:
        return
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, new)
            elif isinstance(value, list):
                value[:] = [new if item is node else item for item in value]
