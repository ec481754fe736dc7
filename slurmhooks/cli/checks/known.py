# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells what an expression in a function of a hook file surely is, as far as all attributes of that are known."""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from slurmhooks import types
from slurmhooks.job_submit import constants
from slurmhooks.job_submit.bounds import Bounds
from slurmhooks.job_submit.model import Job
from slurmhooks.job_submit.whole import WholeJob
from slurmhooks.log import log

ROWS = {
    "jobs": types.Record, "nodes": types.Node, "partitions": types.Partition, "reservations": types.Reservation,
    "licenses": types.License, "qos": types.Qos, "associations": types.Association,
}  # fmt: skip
"""Tables of slurmctld, with the types of their rows."""
ACTING = {"jobs": types.ActingRecord, "nodes": types.ActingNode}
"""The same, where rows have actions."""
MANY = ("values", "where", "of_user")
"""Methods of a table that give rows."""


class Known:
    """What is known in a function; ``views`` are types of arguments, by the names that they have in the function."""

    def __init__(self, views: Mapping[str, Any], tables: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
        """Store what is known.

        Args:
            views: see the class.
            tables: types of the rows of tables, by the names of the tables in the function.
            variables: of the module, without those that the function has itself.
        """
        self.views = dict(views)
        self._tables = tables
        self._variables = variables

    def find_rows(self, nodes: Iterable[ast.AST]) -> None:
        """Add the variables of a function that are rows of a table in each turn of one loop, and nothing else."""
        nodes = list(nodes)
        stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        for node in nodes:
            match node:
                case (
                    ast.For(
                        target=ast.Name(id=name), iter=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=how))
                    )
                    | ast.comprehension(
                        target=ast.Name(id=name), iter=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=how))
                    )
                ) if how in MANY and of in self._tables and stored[name] == 1:
                    self.views[name] = self._tables[of]

    def of(self, expression: ast.expr) -> Any:
        """Return a type, module or object of which all attributes are known; None: nothing is known."""
        match expression:
            case ast.Name(id=name):
                value = self.views.get(name, self._variables.get(name))
                # Nothing else of a site is looked into: a module may be lazy.
                return value if name in self.views or value is log or value is constants else None
            case ast.Subscript(value=ast.Name(id=name)):
                return self._tables.get(name)
            case ast.Attribute(value=inner, attr=name):
                of = self.of(inner)
                if of in (Job, WholeJob) and name == "bounds":
                    return Bounds
                value = getattr(of, name, None) if of is constants else None
                return value if isinstance(value, type) else None
        return None
