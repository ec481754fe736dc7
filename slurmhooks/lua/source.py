# SPDX-License-Identifier: GPL-2.0-or-later
"""Determines from the source code of a Lua script what it uses of Slurm, without running it.

The arguments of the functions that Slurm calls are followed into other functions of the script, whatever their names.
Names that a script computes at run time (``job[name]``) are not known, and are marked as such.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from slurmhooks.hooks.points import POINTS

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
        for name in (*POINTS["spank"].functions, "slurmd_init")
    },
}  # fmt: skip
"""The functions that Slurm calls, with the meaning of each argument."""

ESCAPE = r"\\(?:z\s*(?=\S)|\r\n|[^z])"
"""An escape sequence in a string; that of z skips all blanks, and one way to match them keeps the search linear."""
TOKEN = re.compile(
    r"--\[(=*)\[.*?\]\1\]|--[^\n]*|\[(=*)\[(.*?)\]\2\]"
    rf"|\"((?:{ESCAPE}|[^\"\\\n])*)\"|'((?:{ESCAPE}|[^'\\\n])*)'"
    r"|([A-Za-z_]\w*)|(0[xX][\da-fA-F.]+|\d[\d.]*(?:[eE][+-]?\d+)?)|(\.\.\.?|[=~<>]=|::|[^\sA-Za-z_])",
    re.DOTALL,
)

KEYWORDS = frozenset(
    {"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil"}
    | {"not", "or", "repeat", "return", "then", "true", "until", "while"}
)


class Token(NamedTuple):
    """A token of the script.

    Attributes:
        kind: ``name``, ``word`` (a keyword), ``string``, ``number`` or ``sign``.
        text: the token; a string without its quotation marks.
        line: its line, counted from 1.
    """

    kind: str
    text: str
    line: int


class Use(NamedTuple):
    """A place where the script uses something.

    Attributes:
        of: what it belongs to: ``job_desc``, ``job_rec``, ``part``, ``slurm``, ``SPANK``, ``environment`` and so on.
        name: name of the field, function or variable; empty if it is computed at run time.
        line: its line.
        writes: it is assigned to.
    """

    of: str
    name: str
    line: int
    writes: bool = False


class Function(NamedTuple):
    """A function that the script defines.

    Attributes:
        name: its name; empty if it has none.
        line: its line.
        parameters: the names of its parameters.
        start: index of the first token of its body.
        end: index of the token that ends it.
    """

    name: str
    line: int
    parameters: tuple[str, ...]
    start: int
    end: int


def tokens(source: str) -> list[Token]:
    """Return the tokens of a script, without comments."""
    result = []
    line = 1
    at = max(source.find("\n"), 0) if source.startswith("#") else 0
    for match in TOKEN.finditer(source, at):
        line += source.count("\n", at, match.start())
        at = match.start()
        text = match.group()
        _, _, long, double, single, name, number, _ = match.groups()
        if text.startswith("--"):
            continue
        if name is not None:
            result.append(Token("word" if name in KEYWORDS else "name", name, line))
        elif number is not None:
            result.append(Token("number", number, line))
        elif (string := next((part for part in (long, double, single) if part is not None), None)) is not None:
            result.append(Token("string", string, line))
        else:  # among others, a quotation mark of a string without an end
            result.append(Token("sign", text, line))
    return result


class Script:
    """The functions of a script, and what it uses.

    Attributes:
        functions: the functions that it defines.
        uses: its uses of Slurm, in the order of the source.
    """

    def __init__(self, source: str) -> None:
        """Analyse the source code of a script."""
        self._tokens = tokens(source)
        self.functions = list(self._defined())
        self._roles = self._followed()
        self.uses = list(self._used())

    @property
    def entries(self) -> dict[str, Function]:
        """The functions that Slurm calls, by name; of several with one name, the last counts."""
        return {function.name: function for function in self.functions if function.name in ENTRIES}

    def uses_of(self, *kinds: str) -> list[Use]:
        """Return the uses of some kinds."""
        return [use for use in self.uses if use.of in kinds]

    @property
    def words(self) -> list[Token]:
        """The tokens of the script."""
        return self._tokens

    @property
    def strings(self) -> list[str]:
        """The string literals of the script, each once."""
        return list(dict.fromkeys(word.text for word in self._tokens if word.kind == "string"))

    def uses_in(self, entry: str) -> list[Use]:
        """Return the uses in a function and in the functions that it calls."""
        wanted = [entry]
        for name in wanted:
            for function in self.functions:
                if function.name == name:
                    wanted += [called for called in self._called(function) if called not in wanted]
        spans = [function for function in self.functions if function.name in wanted]
        lines = [(function.line, self._last_line(function)) for function in spans]
        return [use for use in self.uses if any(first <= use.line <= last for first, last in lines)]

    def _called(self, function: Function) -> list[str]:
        names = {other.name for other in self.functions if other.name}
        inside = self._tokens[function.start : function.end]
        return list(dict.fromkeys(word.text for word in inside if word.kind == "name" and word.text in names))

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
        """Return the name such as ``a.b:c`` that starts at a token, and the index after it."""
        words = self._tokens
        name = words[index].text
        index += 1
        while index + 1 < len(words) and words[index].text in ".:" and words[index + 1].kind == "name":
            name += words[index].text + words[index + 1].text
            index += 2
        return name, index

    def _end(self, index: int) -> int:
        """Return the index of the end of the block that starts at a token."""
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
        """Return the meaning of each function's parameters, for those to which Slurm's arguments are passed."""
        roles: dict[int, dict[str, str]] = {index: {} for index in range(len(self.functions))}
        for index, function in enumerate(self.functions):
            meanings = ENTRIES.get(function.name, ())
            roles[index].update(zip(function.parameters, meanings, strict=False))
        by_name: dict[str, list[int]] = {}
        for index, function in enumerate(self.functions):
            by_name.setdefault(function.name, []).append(index)
        changed = True
        while changed:
            changed = False
            for name, arguments in self._calls(roles):
                for index in by_name.get(name, ()) if name else ():
                    for parameter, role in zip(self.functions[index].parameters, arguments, strict=False):
                        if role and roles[index].get(parameter) != role and parameter not in roles[index]:
                            roles[index][parameter] = role
                            changed = True
        return roles

    def _calls(self, roles: dict[int, dict[str, str]]) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each called function, with the meaning of each argument that is a plain name."""
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
            yield name.replace(":", "."), arguments

    def _arguments(self, at: int) -> list[list[Token]]:
        """Return the tokens of each argument of the call whose parenthesis is at an index."""
        arguments: list[list[Token]] = [[]]
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
                arguments.append([])
                continue
            arguments[-1].append(word)
        return arguments

    def _scope(self, index: int, roles: dict[int, dict[str, str]]) -> dict[str, str]:
        """Return the meaning of parameters at a token; those of the innermost function take precedence."""
        meanings: dict[str, str] = {}
        for number, function in enumerate(self.functions):
            if function.start <= index <= function.end:
                meanings.update(dict.fromkeys(function.parameters, ""))
                meanings.update(roles[number])
        return meanings

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
        """Yield uses of other modules, programs, and the environment of the process."""
        words = self._tokens
        name, at = self._dotted(index)
        if name in ("require", "dofile", "loadfile"):
            argument = next((item for item in words[at : at + 2] if item.kind == "string"), None)
            yield Use(name, argument.text if argument else "", words[index].line)
        elif name in ("io.popen", "io.open", "os.execute", "os.getenv", "os.exit", "package.loadlib"):
            yield Use("system", name, words[index].line)

    def _elements(self, index: int, role: str) -> dict[str, str]:
        """Return the loop variable that is a partition, as in ``for name, part in pairs(part_list)``."""
        words = self._tokens
        if role != "part_list" or index < 2 or words[index - 2].text not in ("pairs", "next", "in"):
            return {}
        at = index - 2
        while at > 0 and words[at].text != "in":
            at -= 1
        return {words[at - 1].text: "part"} if at > 0 and words[at - 1].kind == "name" else {}

    def _access(self, index: int, role: str) -> Iterator[Use]:
        """Yield the use that starts at a variable: of a field, a method, an element, or the whole variable."""
        words = self._tokens
        name, at = self._member(index + 1)
        line = words[index].line
        if name is None:
            previous = words[index - 1].text if index else ""
            if previous not in ("(", ",", "function") or role == "part_list":
                yield (Use(role, "", line) if role in ("part_list", "job_rec") else Use("whole", role, line))
            return
        inner, after = self._member(at)
        if role == "job_desc" and name == "environment":
            yield Use("job_desc", name, line)
            if inner is not None:
                yield Use("environment", inner, line, self._assigned(after))
            return
        if role == "part_list":
            yield Use("part_list", name, line)
            if inner is not None:
                yield Use("part", inner, line)
            return
        if role == "slurm" and name in ("jobs", "reservations"):
            yield Use("slurm", name, line)
            field, _ = self._member(after) if inner is not None else (None, 0)
            if field is not None:
                yield Use("job_rec" if name == "jobs" else "reservation", field, line)
            return
        yield Use(role, name, line, self._assigned(at))

    def _member(self, index: int) -> tuple[str | None, int]:
        """Return the name of a member and the index after it; "" for a computed name, None if there is no member."""
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
