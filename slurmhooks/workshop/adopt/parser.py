# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses Lua with tree-sitter and its grammar of Lua 5.1 to 5.4. Only this module knows their nodes."""

from __future__ import annotations

import sys
from math import inf
from typing import TYPE_CHECKING

from slurmhooks.errors import SlurmhooksError
from slurmhooks.workshop.adopt.tree import (
    Assign,
    Binary,
    Call,
    Constant,
    Do,
    Expr,
    Function,
    If,
    Index,
    Jump,
    Local,
    Loop,
    Name,
    Return,
    Stmt,
    Table,
    Tree,
    Unary,
    Vararg,
    Variable,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


class NoParserError(SlurmhooksError):
    """The packages of the parser are not installed."""


def parse(source: bytes) -> Tree:
    """Parse a script.

    Raises:
        NoParserError: the parser is not installed.
    """
    try:
        import tree_sitter
        import tree_sitter_lua
    except ImportError:
        raise NoParserError(
            f"this needs the packages tree-sitter and tree-sitter-lua: {sys.executable} -m pip install"
            " tree-sitter tree-sitter-lua"
        ) from None
    if source.startswith(b"#"):
        source = b"--" + source[2:] if source[1:2] not in (b"", b"\n") else b" " + source[1:]
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_lua.language()))
    root = parser.parse(source).root_node
    return Tree(_Reader().chunk(root), sorted(set(_damaged(root))) if root.has_error else [])


def _damaged(node: Node) -> Iterator[int]:
    if node.is_error or node.is_missing:
        yield node.start_point[0] + 1
    for child in node.children:
        if child.has_error or child.is_missing:
            yield from _damaged(child)


class _Reader:
    """Converts nodes of tree-sitter."""

    def __init__(self) -> None:
        self._scopes: list[dict[str, Variable]] = []
        self._functions: list[Function | None] = [None]
        self._count = 0

    def chunk(self, root: Node) -> Function:
        main = Function(line=1, name="", end=root.end_point[0] + 1)
        main.body = self._block(root)
        return main

    def _declare(self, name: str) -> Variable:
        self._count += 1
        variable = Variable(name, self._count, self._functions[-1])
        self._scopes[-1][name] = variable
        return variable

    def _find(self, name: str) -> Variable | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _block(self, node: Node | None) -> list[Stmt]:
        self._scopes.append({})
        body = [] if node is None else [each for child in node.named_children for each in self._statement(child)]
        self._scopes.pop()
        return body

    def _statement(self, node: Node) -> list[Stmt]:
        line = node.start_point[0] + 1
        match node.type:
            case "variable_declaration":
                return [self._local(node, line)]
            case "assignment_statement":
                left, right = node.named_children[0], node.named_children[-1]
                values = self._all(right)
                return [Assign(self._all(left), values, line=line)]
            case "function_declaration":
                return [self._function_statement(node, line)]
            case "function_call":
                return [Do(self._expression(node), [], line=line)]
            case "do_statement":
                return [Do(None, self._block(node.child_by_field_name("body")), line=line)]
            case "if_statement":
                return [self._if(node, line)]
            case "for_statement":
                return [self._for(node, line)]
            case "while_statement":
                condition = self._field(node, "condition")
                return [Loop("while", [], [condition], self._block(node.child_by_field_name("body")), line=line)]
            case "repeat_statement":
                return [self._repeat(node, line)]
            case "return_statement":
                listed = node.named_children
                return [Return(self._all(listed[0]) if listed else [], line=line)]
            case "break_statement" | "goto_statement":
                return [Jump(line=line)]
            case "ERROR":
                return [each for child in node.named_children for each in self._statement(child)]
        return []

    def _local(self, node: Node, line: int) -> Local:
        inner = node.named_children[0] if node.named_children else node
        listed = inner.named_children if inner.type == "assignment_statement" else [inner]
        values = self._all(listed[-1]) if len(listed) > 1 else []
        names = [
            child
            for index, child in enumerate(listed[0].children)
            if child.type == "identifier" and listed[0].field_name_for_child(index) == "name"
        ]
        if listed[0].type == "identifier":
            names = [listed[0]]
        return Local([self._declare(_text(name)) for name in names], values, line=line)

    def _function_statement(self, node: Node, line: int) -> Stmt:
        name = node.child_by_field_name("name")
        assert name is not None
        is_local = any(child.type == "local" for child in node.children)
        if is_local:
            variable = self._declare(_text(name))
            return Local([variable], [self._function(node, line, _text(name))], line=line)
        target = self._expression(name)
        is_method = name.type == "method_index_expression"
        return Assign([target], [self._function(node, line, name_of(target), is_method)], line=line)

    def _function(self, node: Node, line: int, name: str, is_method: bool = False) -> Function:
        function = Function(line=line, name=name, end=node.end_point[0] + 1)
        self._functions.append(function)
        self._scopes.append({})
        if is_method:
            function.parameters.append(self._declare("self"))
        parameters = node.child_by_field_name("parameters")
        for child in parameters.named_children if parameters is not None else ():
            if child.type == "identifier":
                function.parameters.append(self._declare(_text(child)))
        function.body = self._block(node.child_by_field_name("body"))
        self._scopes.pop()
        self._functions.pop()
        return function

    def _if(self, node: Node, line: int) -> If:
        branches = [(self._field(node, "condition"), self._block(node.child_by_field_name("consequence")))]
        otherwise: list[Stmt] = []
        for child in node.children_by_field_name("alternative"):
            if child.type == "elseif_statement":
                condition = self._field(child, "condition")
                branches.append((condition, self._block(child.child_by_field_name("consequence"))))
            else:
                otherwise = self._block(child.child_by_field_name("body"))
        return If(branches, otherwise, line=line)

    def _for(self, node: Node, line: int) -> Loop:
        clause = node.child_by_field_name("clause")
        assert clause is not None
        if clause.type == "for_numeric_clause":
            parts = [clause.child_by_field_name(name) for name in ("start", "end", "step")]
            values = [self._expression(part) for part in parts if part is not None]
            names = [_text(name) for name in clause.children_by_field_name("name")]
            kind = "numbers"
        else:
            values = self._all(clause.named_children[-1])
            names = [_text(child) for child in clause.named_children[0].named_children]
            kind = "each"
        self._scopes.append({})
        variables = [self._declare(name) for name in names]
        body = self._block(node.child_by_field_name("body"))
        self._scopes.pop()
        return Loop(kind, variables, values, body, line=line)

    def _repeat(self, node: Node, line: int) -> Loop:
        self._scopes.append({})
        body_node = node.child_by_field_name("body")
        body = [each for child in body_node.named_children for each in self._statement(child)] if body_node else []
        condition = self._field(node, "condition")
        self._scopes.pop()
        return Loop("repeat", [], [condition], body, line=line)

    def _field(self, node: Node, name: str) -> Expr:
        child = node.child_by_field_name(name)
        return Constant(None, line=node.start_point[0] + 1) if child is None else self._expression(child)

    def _all(self, node: Node) -> list[Expr]:
        return [self._expression(child) for child in node.named_children if child.type not in ("comment", "attribute")]

    def _expression(self, node: Node) -> Expr:
        line = node.start_point[0] + 1
        match node.type:
            case "identifier":
                name = _text(node)
                return Name(name, self._find(name), line=line)
            case "nil" | "true" | "false":
                return Constant({"nil": None, "true": True, "false": False}[node.type], line=line)
            case "number":
                return Constant(_number(_text(node)), line=line)
            case "string":
                return Constant(_string(node), line=line)
            case "vararg_expression":
                return Vararg(line=line)
            case "parenthesized_expression":
                return self._all(node)[0] if self._all(node) else Constant(None, line=line)
            case "dot_index_expression" | "bracket_index_expression":
                key = node.child_by_field_name("field")
                assert key is not None
                dotted = node.type == "dot_index_expression"
                index = Constant(_text(key), line=key.start_point[0] + 1) if dotted else self._expression(key)
                return Index(self._field(node, "table"), index, line=index.line)
            case "method_index_expression":
                method = node.child_by_field_name("method")
                assert method is not None
                return Index(self._field(node, "table"), Constant(_text(method), line=line), line=line)
            case "function_call":
                return self._call(node, line)
            case "function_definition":
                return self._function(node, line, "")
            case "binary_expression":
                sign = node.children[1].type
                return Binary(sign, self._field(node, "left"), self._field(node, "right"), line=line)
            case "unary_expression":
                return Unary(node.children[0].type, self._field(node, "operand"), line=line)
            case "table_constructor":
                return Table([self._item(child) for child in node.named_children if child.type == "field"], line=line)
        return Constant(None, line=line)

    def _call(self, node: Node, line: int) -> Call:
        name = node.child_by_field_name("name")
        listed = node.child_by_field_name("arguments")
        arguments = self._all(listed) if listed is not None else []
        if name is not None and name.type == "method_index_expression":
            method = name.child_by_field_name("method")
            assert method is not None
            return Call(self._field(name, "table"), arguments, _text(method), line=method.start_point[0] + 1)
        return Call(self._field(node, "name"), arguments, line=line)

    def _item(self, node: Node) -> tuple[Expr | None, Expr]:
        key = node.child_by_field_name("name")
        if key is None:
            return None, self._field(node, "value")
        brackets = node.children[0].type == "["
        name = self._expression(key) if brackets or key.type != "identifier" else None
        return name or Constant(_text(key), line=key.start_point[0] + 1), self._field(node, "value")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")


def _string(node: Node) -> str:
    content = node.child_by_field_name("content")
    return "" if content is None else _text(content)


def _number(text: str) -> float:
    text = text.lower().rstrip("uli")
    try:
        return float(int(text, 16)) if text.startswith("0x") else float(text)
    except OverflowError:
        return inf
    except ValueError:
        try:
            return float.fromhex(text)
        except ValueError:
            return 0.0
        except OverflowError:
            return inf
