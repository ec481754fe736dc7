# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Lua script uses of Slurm, read from its text without running it.

It follows the arguments of the functions that Slurm calls, under whatever names, into the script's own functions. What
a script puts together at run time (``job[name]``) it cannot see, and says so.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRIES = {
    "slurm_job_submit": ("job_desc", "part_list", "uid"),
    "slurm_job_modify": ("job_desc", "job_rec", "part_list", "uid"),
    "slurm_cli_setup_defaults": ("options",),
    "slurm_cli_pre_submit": ("options", "offset"),
    "slurm_cli_post_submit": ("offset", "job_id", "step_id"),
    "slurm_scrun_stage_in": (
        "id", "bundle", "spool_dir", "config_file", "job_id", "user_id", "group_id", "job_env",
    ),
    "slurm_scrun_stage_out": (
        "id", "bundle", "orig_bundle", "root_path", "orig_root_path", "spool_dir", "config_file", "job_id", "user_id",
        "group_id",
    ),
    **{
        f"slurm_spank_{name}": ("spank",)
        for name in (
            "init", "job_prolog", "init_post_opt", "local_user_init", "user_init", "task_init_privileged", "task_init",
            "task_post_fork", "task_exit", "job_epilog", "exit", "slurmd_init", "slurmd_exit",
        )
    },
}  # fmt: skip
"""The functions that Slurm calls, with what each of their arguments is."""

TOKEN = re.compile(
    r"--\[(=*)\[.*?\]\1\]|--[^\n]*|\[(=*)\[(.*?)\]\2\]"
    r"|\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'"
    r"|([A-Za-z_]\w*)|(0[xX][\da-fA-F.]+|\d[\d.]*(?:[eE][+-]?\d+)?)|(\.\.\.?|[=~<>]=|::|[^\sA-Za-z_])",
    re.DOTALL,
)

KEYWORDS = frozenset(
    {"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil"}
    | {"not", "or", "repeat", "return", "then", "true", "until", "while"}
)


class Token(NamedTuple):
    """A word of the script.

    Attributes:
        kind: ``name``, ``word`` (a keyword), ``string``, ``number`` or ``sign``.
        text: of a string, what is between the quotes.
        line: counted from 1.
    """

    kind: str
    text: str
    line: int


class Use(NamedTuple):
    """One place where a script uses something.

    Attributes:
        of: what: ``job_desc``, ``job_rec``, ``part``, ``slurm``, ``SPANK``, ``spank``, ``environment``, ``global`` ...
        name: of the field, function or variable; empty if it is put together at run time.
        line: where.
        writes: it is assigned to.
    """

    of: str
    name: str
    line: int
    writes: bool


class Function(NamedTuple):
    """A function that the script defines under a name."""

    name: str
    line: int
    parameters: tuple[str, ...]
    start: int
    end: int


def tokens(source: str) -> list[Token]:
    """Return the words of a script, comments left out."""
    found = []
    line = 1
    at = 0
    if source.startswith("#"):
        at = max(source.find("\n"), 0)
    for match in TOKEN.finditer(source, at):
        line += source.count("\n", at, match.start())
        at = match.start()
        text = match.group()
        _, _, long, double, single, name, number, _ = match.groups()
        if text.startswith("--"):
            continue
        if name is not None:
            found.append(Token("word" if name in KEYWORDS else "name", name, line))
        elif number is not None:
            found.append(Token("number", number, line))
        elif text[0] in "\"'" or (long is not None and text[0] == "["):
            found.append(Token("string", next(part for part in (long, double, single) if part is not None), line))
        else:
            found.append(Token("sign", text, line))
    return found


class Script:
    """What a script holds and uses.

    Attributes:
        functions: those that it defines by name.
        uses: in the order of the text.
    """

    def __init__(self, source: str) -> None:
        """Read it."""
        self._tokens = tokens(source)
        self.functions = list(self._defined())
        self._roles = self._followed()
        self.uses = list(self._used())

    @property
    def entries(self) -> dict[str, Function]:
        """The functions that Slurm calls, by name; of several of one name the last counts."""
        return {function.name: function for function in self.functions if function.name in ENTRIES}

    def uses_of(self, *kinds: str) -> list[Use]:
        """Return the uses of some kinds."""
        return [use for use in self.uses if use.of in kinds]

    @property
    def strings(self) -> list[str]:
        """The strings of the script, each once."""
        return list(dict.fromkeys(word.text for word in self._tokens if word.kind == "string"))

    def named_in(self, *openers: str) -> list[str]:
        """Return what ``name = "..."`` says within the braces that follow some names."""
        found: dict[str, None] = {}
        words = self._tokens
        for index, word in enumerate(words):
            if word.text not in openers:
                continue
            depth = 0
            for at in range(index + 1, len(words) - 2):
                depth += (words[at].text == "{") - (words[at].text == "}")
                if depth == 0 and at > index + 3:
                    break
                if words[at].text == "name" and words[at + 1].text == "=" and words[at + 2].kind == "string":
                    found[words[at + 2].text] = None
        return list(found)

    def uses_in(self, entry: str) -> list[Use]:
        """Return the uses in a function, and in those that it calls."""
        wanted = [entry]
        for name in wanted:
            for function in self.functions:
                if function.name == name:
                    wanted += [called for called in self._called(function) if called not in wanted]
        spans = [function for function in self.functions if function.name in wanted]
        lines = [(function.line, self._last_line(function)) for function in spans]
        return [use for use in self.uses if any(first <= use.line <= last for first, last in lines)]

    def _called(self, function: Function) -> list[str]:
        known = {other.name for other in self.functions if other.name}
        inside = self._tokens[function.start : function.end]
        return list(dict.fromkeys(word.text for word in inside if word.kind == "name" and word.text in known))

    def _last_line(self, function: Function) -> int:
        return self._tokens[min(function.end, len(self._tokens) - 1)].line

    def _defined(self) -> Iterator[Function]:
        words = self._tokens
        for index, word in enumerate(words):
            if word != ("word", "function", word.line):
                continue
            before, after = words[max(index - 2, 0) : index], words[index + 1 : index + 2]
            if after and after[0].kind == "name":
                name, open_at = self._dotted(index + 1)
            elif len(before) == 2 and before[1].text == "=" and before[0].kind == "name":
                name, open_at = before[0].text, index + 1
            elif len(before) == 2 and before[1].text == "=" and before[0].text == "]":
                name, open_at = "", index + 1
            else:
                name, open_at = "", index + 1
            close = open_at
            while close < len(words) and words[close].text != ")":
                close += 1
            parameters = tuple(item.text for item in words[open_at + 1 : close] if item.kind == "name")
            if ":" in name:
                parameters = ("self", *parameters)
            yield Function(name.replace(":", "."), word.line, parameters, close + 1, self._end(index))

    def _dotted(self, index: int) -> tuple[str, int]:
        """Return a name such as ``a.b:c`` that begins at a word, and where it ends."""
        words = self._tokens
        name = words[index].text
        index += 1
        while index + 1 < len(words) and words[index].text in ".:" and words[index + 1].kind == "name":
            name += words[index].text + words[index + 1].text
            index += 2
        return name, index

    def _end(self, index: int) -> int:
        """Return where the block that opens at a word ends."""
        words = self._tokens
        depth = 0
        pending_do = 0
        for at in range(index, len(words)):
            if words[at].kind != "word":
                continue
            text = words[at].text
            if text in ("for", "while"):
                pending_do += 1
                depth += 1
            elif text == "do":
                if pending_do:
                    pending_do -= 1
                else:
                    depth += 1
            elif text in ("function", "if", "repeat"):
                depth += 1
            elif text in ("end", "until"):
                depth -= 1
                if depth == 0:
                    return at
        return len(words)

    def _followed(self) -> dict[int, dict[str, str]]:
        """Return for each function what its parameters are, as far as Slurm's arguments reach them."""
        roles: dict[int, dict[str, str]] = {index: {} for index in range(len(self.functions))}
        for index, function in enumerate(self.functions):
            known = ENTRIES.get(function.name, ())
            roles[index].update(zip(function.parameters, known, strict=False))
        by_name: dict[str, list[int]] = {}
        for index, function in enumerate(self.functions):
            by_name.setdefault(function.name, []).append(index)
        changed = True
        while changed:
            changed = False
            for name, arguments, scope in self._calls(roles):
                for index in by_name.get(name, ()) if name else ():
                    for parameter, role in zip(self.functions[index].parameters, arguments, strict=False):
                        if role and roles[index].get(parameter) != role and parameter not in roles[index]:
                            roles[index][parameter] = role
                            changed = True
                del scope
        return roles

    def _calls(self, roles: dict[int, dict[str, str]]) -> Iterator[tuple[str, list[str], dict[str, str]]]:
        """Yield the calls of functions by name, with what each plain argument is."""
        words = self._tokens
        for index, word in enumerate(words):
            if word.kind != "name" or (index and words[index - 1].text in (".", ":", "function")):
                continue
            name, at = self._dotted(index)
            if at >= len(words) or words[at].text != "(":
                continue
            scope = self._scope(index, roles)
            arguments = [
                scope.get(item[0].text, "") if len(item) == 1 and item[0].kind == "name" else ""
                for item in self._arguments(at)
            ]
            yield name.replace(":", "."), arguments, scope

    def _arguments(self, at: int) -> list[list[Token]]:
        """Return the words of each argument of a call that opens at a word."""
        found: list[list[Token]] = [[]]
        depth = 0
        for word in self._tokens[at:]:
            if word.kind == "sign" and word.text in "([{":
                depth += 1
                if depth == 1:
                    continue
            elif word.kind == "sign" and word.text in ")]}":
                depth -= 1
                if depth == 0:
                    break
            elif word.text == "," and depth == 1:
                found.append([])
                continue
            found[-1].append(word)
        return found

    def _scope(self, index: int, roles: dict[int, dict[str, str]]) -> dict[str, str]:
        """Return what the names of parameters mean at a word: the innermost function's count."""
        found: dict[str, str] = {}
        for number, function in enumerate(self.functions):
            if function.start <= index <= function.end:
                found.update(dict.fromkeys(function.parameters, ""))
                found.update(roles[number])
        return found

    def _used(self) -> Iterator[Use]:
        words = self._tokens
        elements: dict[str, str] = {}
        for index, word in enumerate(words):
            if word.kind != "name" or (index and words[index - 1].text in (".", ":")):
                continue
            scope = self._scope(index, self._roles)
            role = scope.get(word.text) or (word.text if word.text in ("slurm", "SPANK") else "")
            if not role and word.text in elements and not scope.get(word.text, ""):
                role = elements[word.text]
            if not role:
                if self._is_called(index) or word.text in ("require", "dofile", "loadfile"):
                    yield from self._library(index)
                continue
            elements.update(self._elements(index, role))
            yield from self._access(index, role)

    def _is_called(self, index: int) -> bool:
        words = self._tokens
        return words[index].text in ("io", "os", "package", "posix") and words[index + 1 : index + 2] != []

    def _library(self, index: int) -> Iterator[Use]:
        """Yield what a script takes from elsewhere: modules, programs, the environment of the process."""
        words = self._tokens
        name, at = self._dotted(index)
        if name in ("require", "dofile", "loadfile"):
            argument = next((item for item in words[at : at + 2] if item.kind == "string"), None)
            yield Use(name, argument.text if argument else "", words[index].line, False)
        elif name in ("io.popen", "io.open", "os.execute", "os.getenv", "os.exit", "package.loadlib"):
            yield Use("system", name, words[index].line, False)

    def _elements(self, index: int, role: str) -> dict[str, str]:
        """Return the loop variables that hold partitions: ``for name, part in pairs(part_list)``."""
        words = self._tokens
        if role != "part_list" or index < 2 or words[index - 2].text not in ("pairs", "next", "in"):
            return {}
        at = index - 2
        while at > 0 and words[at].text != "in":
            at -= 1
        return {words[at - 1].text: "part"} if at > 0 and words[at - 1].kind == "name" else {}

    def _access(self, index: int, role: str) -> Iterator[Use]:
        """Yield the use that begins at a variable: a field, a method, an element, or the whole."""
        words = self._tokens
        name, at = self._member(index + 1)
        line = words[index].line
        if name is None:
            previous = words[index - 1].text if index else ""
            if previous not in ("(", ",", "function") or role == "part_list":
                yield (
                    Use(role, "", line, False) if role in ("part_list", "job_rec") else Use("whole", role, line, False)
                )
            return
        inner, after = self._member(at)
        if role == "job_desc" and name == "environment":
            yield Use("job_desc", name, line, False)
            if inner is not None:
                yield Use("environment", inner, line, self._assigned(after))
            return
        if role == "part_list":
            yield Use("part_list", name, line, False)
            if inner is not None:
                yield Use("part", inner, line, False)
            return
        if role == "slurm" and name in ("jobs", "reservations"):
            yield Use("slurm", name, line, False)
            field, _ = self._member(after) if inner is not None else (None, 0)
            if field is not None:
                yield Use("job_rec" if name == "jobs" else "reservation", field, line, False)
            return
        yield Use(role, name, line, self._assigned(at))

    def _member(self, index: int) -> tuple[str | None, int]:
        """Return a member's name and where it ends: "" if it is made at run time, None if there is none."""
        words = self._tokens[index : index + 3]
        if len(words) >= 2 and words[0].text in (".", ":") and words[0].kind == "sign" and words[1].kind == "name":
            return words[1].text, index + 2
        if words and words[0].text == "[" and words[0].kind == "sign":
            if len(words) == 3 and words[1].kind == "string" and words[2].text == "]":
                return words[1].text, index + 3
            depth = 0
            for at in range(index, len(self._tokens)):
                text = self._tokens[at].text if self._tokens[at].kind == "sign" else ""
                depth += (text == "[") - (text == "]")
                if depth == 0:
                    return "", at + 1
        return None, index

    def _assigned(self, index: int) -> bool:
        words = self._tokens
        return index < len(words) and words[index].text == "=" and words[index].kind == "sign"
