# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the pages below reference/ from the code: one row for each hook, item, field, key and option.

Imports only slurmhooks, so that tests can read the pages without Sphinx.
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.command_line import command_line_page
from docs.markdown import code, doc, page
from docs.spank_callbacks import PLACES
from docs.spank_pages import spank_page, spank_releases_page
from slurmhooks import scrun, testing
from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.cli_filter.fields import FIELDS
from slurmhooks.config import model as config
from slurmhooks.fields import flag_rows, number_rows, rows
from slurmhooks.hooks.points import COMMANDS, HEALTH, HOOKS, POINTS, HookSpec
from slurmhooks.job_submit import constants, model, strings
from slurmhooks.rules import describe
from slurmhooks.rules.describe import table
from slurmhooks.site.sources import FILE_NAME

FOLDER = Path(__file__).resolve().parent / "reference"

VIEWS = {
    "job": (model.Job, "The request, `job_desc_msg_t` of `slurm.h`."),
    "record": (model.Record, "A job as slurmctld knows it: `job_record_t` and the structs that it points to."),
    "partition": (model.Partition, "A value of `partitions`, `part_record_t`."),
    "reservation": (model.Reservation, "A value of `reservations`, `slurmctld_resv_t`."),
    "node": (model.Node, "A value of the mapping `nodes`, `node_record_t`."),
    "license": (model.License, "A value of the mapping `licenses`, `slurm_license_info_t`."),
    "qos": (
        model.Qos,
        "A value of the mapping `qos`, `slurmdb_qos_rec_t`. TRES are texts as sacctmgr shows them (`cpu=4,mem=1000M`);"
        " `None`, or `UNLIMITED` of a number, is no limit.",
    ),
    "association": (
        model.Association,
        "A value of the mapping `associations`, `slurmdb_assoc_rec_t`: an account, or a user with one, in one partition"
        " or all. Limits include inherited ones; those of a group are of an account and all below it.",
    ),
}
"""The views by name, each with the class whose rows are its fields and its description."""


def main() -> None:
    """Write the pages that have changed; Sphinx builds only those."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def pages() -> dict[str, str]:
    """Return the text of every page, by its name."""
    return {
        "hooks": hooks_page(),
        "spank-items": spank_page(),
        "spank-releases": spank_releases_page(),
        "options": options_page(),
        "job-fields": fields_page(),
        "constants": constants_page(),
        "configuration": configuration_page(),
        "rules": rules_page(),
        "command-line": command_line_page(),
        "python": python_page(),
        "testing": testing_page(),
    }


# Hooks


def hooks_page() -> str:
    """Return the page of all hooks."""
    plain = [spec for spec in HOOKS.values() if not spec.contexts]
    spank = list(POINTS["spank"].hooks)
    filters = list(POINTS["cli_filter"].hooks)
    node = [spec for spec in HOOKS.values() if spec.has_terms]
    on_error = "The first value of `on_error` is the default."
    return page(
        "# Hooks\n",
        f"A handler takes any subset of a hook's arguments, by their names.\n{on_error}\n",
        "## slurmctld's plugins and scrun\n",
        table(("decorator", "called by", "arguments", "`on_error`"), map(_hook, plain)),
        "## Health checks\n",
        f"`contexts=` chooses among {code(HEALTH)}; [](../node.md) says what they mean.\n",
        table(("decorator", "called by", "arguments", "`on_error`"), map(_hook, node)),
        "## cli_filter\n",
        f"`contexts=` chooses among the commands: {code(COMMANDS)}.\n",
        table(("decorator", "called by", "arguments", "`on_error`"), map(_hook, filters)),
        "## SPANK\n",
        "Each takes the argument `spank`, and `contexts=` to choose among the contexts in the table.\n",
        table(
            ("decorator", "called by", "contexts", "`on_error`"),
            ([*_hook(spec)[:2], code(spec.contexts), _hook(spec)[3]] for spec in spank),
        ),
        "## SPANK: process, user, time and effect of a failure\n",
        'A failure is a `Reject`, or a bug with `on_error="fail"`, on a `required` line of `plugstack.conf`.\n',
        table(
            ("callback", "context", "process", "user", "when", "effect of a failure"),
            ((f"`{it.callback}`", f"`{it.context}`", it.program, it.user, it.when, it.failure) for it in PLACES),
        ),
    )


def _hook(spec: HookSpec) -> list[str]:
    return [
        f"`hook.{spec.name}`",
        f"`{spec.function}`",
        code(spec.arguments, "none"),
        " or ".join(f'`"{word}"`' for word in spec.on_error),
    ]


# cli_filter


def options_page() -> str:
    """Return the page of the options that a cli_filter handler can read and write."""
    everywhere = sorted(set.intersection(*(set(names) for names in NAMES.values())))
    return page(
        "# Options of commands\n",
        "## Properties of `options`\n",
        "They have the same names as the fields of `job` in job_submit; `None` means that the option is not given.\n",
        table(
            ("name", "type", "unit", "option", "what"),
            ([f"`{it.name}`", f"`{it.kind}`", it.unit, f"`--{it.option}`", it.text] for it in FIELDS.values()),
        ),
        "## Long options\n",
        '`options["name"]` reads and sets any option of the command, as text.\n'
        "Which options exist depends on the release of Slurm; the table has those of 22.05 to 26.11.0-0rc1.\n",
        table(
            ("command", "options"),
            [
                ["all", code(everywhere)],
                *([f"also {name}", code(it for it in own if it not in everywhere)] for name, own in NAMES.items()),
            ],
        ),
    )


# job_submit


def fields_page() -> str:
    """Return the page of the fields of all job_submit views."""
    return page(
        "# Fields of job_submit\n",
        "`None` is unset; see [](../values.md).\n"
        "`UNLIMITED` is greater than every number.\n"
        "The last column says in which releases a field exists, if not in all; reading it elsewhere raises an error.\n",
        *(part for name in VIEWS for part in _view(name)),
    )


def _view(name: str) -> Iterator[str]:
    view, what = VIEWS[name]
    read_only = "" if name == "job" else "\nIt is read-only, and needs a build with Slurm's sources."
    yield f"## {name}\n\n{what}{read_only}\n"
    titles = ("field", "type", "unit", "what", "access", "releases")
    yield table(titles, (_field(row, name) for row in sorted(rows.rows(view).values(), key=lambda row: row.name)))
    if view is model.Job:
        own = {key: value for key, value in vars(model.Job).items() if isinstance(value, property)}
        yield "Fields that are not single values:\n"
        yield table(("field", "what"), ((f"`{key}`", doc(value)) for key, value in own.items() if key[0] != "_"))


def _field(row: rows.Field[Any], name: str) -> list[str]:
    span = [f"{word} {release}" for word, release in (("from", row.since), ("until", row.until)) if release]
    access = "read, write" if row.writable else "read"
    if isinstance(row, rows.Computed) and row.private and name == "job":
        access = "read; needs Slurm's sources"
    return [f"`{row.name}`", type_of(row), row.unit, row.doc, access, " ".join(span)]


def type_of(row: rows.Field[Any]) -> str:
    """Return in words what a handler reads from a field."""
    if isinstance(row, rows.Text | rows.Sluid):
        return "str or None"
    if isinstance(row, rows.Strings | rows.Names):
        return "list of str"
    if isinstance(row, flag_rows.Bit | rows.Truth):
        return "bool"
    if isinstance(row, rows.Status):
        return "ExitStatus or None"
    if isinstance(row, number_rows.Number):
        return f"int ({row.bits} bits), `UNLIMITED` or None"
    if isinstance(row, number_rows.Real):
        return "float, `UNLIMITED` or None"
    if isinstance(row, number_rows.Tagged | number_rows.Offset | number_rows.Identity):
        return f"int ({row.bits} bits) or None"
    if isinstance(row, flag_rows.Enumerated):
        name = f"[`{row.kind.__name__}`](constants.md#{row.kind.__name__.lower()})"
        return f"{name} or None" if row.optional else name
    if isinstance(row, rows.Computed):
        return "str or None" if row.kind is str else "dict"
    assert isinstance(row, number_rows.Plain | number_rows.Time)
    return f"int ({row.bits} bits)"


def constants_page() -> str:
    """Return the page of all enumerations."""
    parts = []
    for name, kind in sorted(constants.KINDS.items()):
        parts.append(f"## {name}\n\n{doc(kind)}\n")
        parts.append(
            table(("name", "number"), ((f"`{item}`", f"`{kind[item].value:#x}`") for item in kind.__members__))
        )
    return page(
        "# Constants\n",
        "`slurmhooks.job_submit.constants` has each constant under its group and under its own name:\n"
        "`constants.MailType.MAIL_JOB_END` is `constants.MAIL_JOB_END`.\n"
        "In slurmctld's workers, names and numbers are those of the installed release, whose headers the build read;\n"
        "elsewhere they are those listed below.\n"
        "Error codes are constants too: `constants.ESLURM_INVALID_ACCOUNT`; `Reject` takes their names as text.\n",
        *parts,
    )


# Configuration


def configuration_page() -> str:
    """Return the page of all keys of slurmhooks.toml."""
    parts = []
    for name, kind in config.sections().items():
        parts.append(f"## [{name}]\n\n{_sentence(doc(kind).split(': ', 1)[-1])}\n")
        lines = list(map(describe.coded, describe.keys_of(kind)))
        parts.append(table(describe.TITLES, lines) if lines else "It has no keys yet.\n")
    return page(
        f"# Keys of {FILE_NAME}\n",
        "The file is in the folder of `slurm.conf`.\n"
        "An unknown key, or a value of a wrong type, is an error that names the key.\n",
        *parts,
    )


def rules_page() -> str:
    """Return the page of all ready-made rules."""
    return page(
        "# Ready-made rules\n",
        "Each `[[rule]]` of `slurmhooks.toml` is one of these; [](../rules.md) says how to use them.\n",
        describe.reference(),
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


# Python


def python_page() -> str:
    """Return the page of what hook files import."""
    return page(
        "# Python interface\n",
        "## slurmhooks\n",
        _rst(
            "module:: slurmhooks",
            *_members("slurmhooks", "Reject", "SlurmhooksError", "SpankError", "StaleHandleError"),
            "autodata:: slurmhooks.values.UNLIMITED",
            "autoclass:: slurmhooks.hooks.decorator.Decorator\n   :special-members: __call__",
            "automethod:: slurmhooks.hooks.hook.SpankHooks.option",
            "autoclass:: slurmhooks.hooks.option.Option\n   :members: value, given, check",
            "autoclass:: slurmhooks.log.Log\n   :members: error, info, verbose, debug, debug2, debug3, user",
        ),
        "## slurmhooks.job_submit\n",
        "`job` and the read-only views; [](job-fields.md) lists their fields.\n",
        _rst(
            "autoclass:: slurmhooks.job_submit.model.Job",
            "autoclass:: slurmhooks.job_submit.model.Record",
            "autoclass:: slurmhooks.job_submit.model.Table",
            "automodule:: slurmhooks.job_submit.slurmctld\n   :members:",
        ),
        "## slurmhooks.job_submit.strings\n",
        _rst(
            "automodule:: slurmhooks.job_submit.strings", *_members("slurmhooks.job_submit.strings", *strings.__all__)
        ),
        "## slurmhooks.cli_filter\n",
        "`options`; [](options.md) lists its properties.\n",
        _rst("autoclass:: slurmhooks.cli_filter.model.Options\n   :members: given, argv, script, spank"),
        "## slurmhooks.namespaces\n",
        _rst("automodule:: slurmhooks.namespaces\n   :members:"),
        "## slurmhooks.programs\n",
        _rst("automodule:: slurmhooks.programs\n   :members:"),
        "## slurmhooks.spank.state\n",
        _rst("autoclass:: slurmhooks.spank.state.State"),
        "## slurmhooks.node\n",
        _rst("autoclass:: slurmhooks.node.model.HealthNode", "automodule:: slurmhooks.node.checks\n   :members:"),
        "## slurmhooks.jobcomp\n",
        _rst("autoclass:: slurmhooks.jobcomp.event.Event"),
        "## slurmhooks.scrun\n",
        _rst("automodule:: slurmhooks.scrun", *_members("slurmhooks.scrun", *sorted(scrun.__all__))),
    )


def testing_page() -> str:
    """Return the page of slurmhooks.testing."""
    return page(
        "# slurmhooks.testing\n",
        _rst("automodule:: slurmhooks.testing", *_members("slurmhooks.testing", *testing.__all__)),
    )


MEMBERS = {"Container": "save_config, allocator_command, remote_command", "FakeSpank": "prepended_task_argv"}
BARE = {"Config", "FakeContainer", "FakeJob", "FakeRecord", "FakeTable"}
"""Classes whose members are not listed: tables list them, or they are those of the class that is replaced."""


def _members(module: str, *names: str) -> Iterator[str]:
    """Return the directives that document some names of a module."""
    for name in names:
        thing = getattr(sys.modules[module], name)
        # The fields of views are in tables, and models have hundreds.
        if not inspect.isclass(thing):
            yield f"autofunction:: {module}.{name}"
        elif name in MEMBERS:
            yield f"autoclass:: {module}.{name}\n   :members: {MEMBERS[name]}"
        elif name in BARE or issubclass(thing, Exception):
            yield f"autoclass:: {module}.{name}"
        else:
            yield f"autoclass:: {module}.{name}\n   :members:"


def _rst(*directives: str) -> str:
    return "```{eval-rst}\n" + "".join(f".. {directive}\n\n" for directive in directives) + "```\n"


if __name__ == "__main__":
    main()
