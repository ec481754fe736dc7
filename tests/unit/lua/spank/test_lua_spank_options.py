# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of scripts, their callbacks and their values are those of spank-lua."""

import re
from itertools import product
from pathlib import Path

from slurmhooks.handlers import loader
from slurmhooks.lua.spank_options import LuaOption
from slurmhooks.workshop.adopt.script import Script
from slurmhooks.workshop.adopt.spelling import skeleton
from tests.unit.lua.spank.conftest import Site

OPTIONS = """
spank_options = {
   {name = "word", arginfo = "W", usage = "a word", has_arg = 1, val = 3, cb = "given"},
   {name = "maybe", arginfo = "W", usage = "perhaps", has_arg = 2, val = "4", cb = "given"},
   {name = "yes", usage = "documented as a boolean", has_arg = true},
   {name = "flag", usage = "none", cb = "given"},
   other = {name = "other", usage = "by a name"},
}
function given(val, optarg, remote)
   SPANK.log_info("%d %s %s", val, tostring(optarg), tostring(remote))
   if optarg == "bad" then return 2 end
   if optarg == "worse" then error("worse") end
end
"""


def test_options_and_their_callbacks(site: Site) -> None:
    """Tables have the members of struct spank_option; a result of the callback other than 0 refuses the value."""
    site.write(OPTIONS)
    options = {option.name: option for option in site.load().options}
    assert list(options) == ["word", "maybe", "yes", "flag", "other"]
    assert [option.has_arg for option in options.values()] == [1, 2, 1, 0, 0]
    assert [option.checked for option in options.values()] == [True, True, False, True, False]
    assert [option.arginfo for option in options.values()] == ["W", "W", None, None, None]

    def take(name: str, text: str | None, remote: bool = False) -> int:
        option = options[name]
        assert isinstance(option, LuaOption)
        return option.take(text, remote)

    assert [take("word", "x"), take("word", ""), take("maybe", "(null)", True), take("flag", "(null)", True)] == [0] * 4
    assert [take("word", "bad"), take("word", "worse"), take("yes", "x")] == [2, -1, 0]
    assert site.said() == ["3 x false", "3  false", "4 nil true", "0 nil true", "3 bad false", "3 worse false"]
    assert len(site.said("error")) == 1
    assert re.search(r"^Failed to call lua callback function given: \S+/script\.lua:12: worse$", site.said("error")[0])


def test_getopt_and_register_option(site: Site) -> None:
    """getopt returns the argument, true without one, or nil and a message; options can be registered in init."""
    site.write(
        """
        local word = {name = "word", usage = "a word", has_arg = 1}
        local maybe = {name = "maybe", usage = "a word", has_arg = 2}
        function slurm_spank_init(spank)
           SPANK.log_info("%s", tostring(spank:register_option(word)))
           SPANK.log_info("%s", tostring(select(2, pcall(spank.register_option, spank, "x"))))
        end
        function slurm_spank_task_init(spank)
           for _, option in ipairs({word, maybe, {name = "flag", usage = "x"}, {name = "no", usage = "x"}}) do
              local value, why = spank:getopt(option)
              SPANK.log_info("%s %s", tostring(value), tostring(why))
           end
        end
        """
    )
    site.native.given = {b"word": b"w", b"maybe": b"(null)", b"flag": None}
    site.load(version="5.1")
    site.call("init", "local")
    site.call("task_init")
    assert [option.name for option in site.registered] == ["word"]
    expected = ["true", "Expected table argument to spank_option_register", "w nil", "true nil", "true nil"]
    assert site.said() == [*expected, "nil Option unused"]


USAGES = (
    '"plain"',
    "'say \"x\"'",
    '"say \\"x\\" in \'y\'"',
    '"two" .. " parts"',
    "[[long]]",
    '"a\\tb\\\\c"',
    '"ümlaut"',
)


def test_ported_options_are_those_of_the_script(site: Site, tmp_path: Path) -> None:
    """The hook file of `slurmhooks adopt --port` defines options with the same name, argument and help text."""
    tables = [
        f'{{ name = "o{index}", usage = {usage}{arginfo}{has_arg}, cb = "given" }}'
        for index, (usage, arginfo, has_arg) in enumerate(
            product(
                USAGES,
                ("", ', arginfo = "N"'),
                ("", *(f", has_arg = {value}" for value in ("0", "1", "2", "true", "false"))),
            )
        )
    ]
    script = f"function given() return 0 end\nspank_options = {{ {', '.join(tables)} }}\n"
    site.write(script)
    ported = tmp_path / "ported.py"
    ported.write_text(skeleton(Script(script.encode()), "script.lua"))
    theirs, ours = site.load().options, loader.load([loader.Source(path=str(ported))]).options
    assert [(option.name, option.has_arg, option.usage) for option in ours] == [
        (option.name, option.has_arg, option.usage) for option in theirs
    ]
    assert {(option.arginfo, other.arginfo) for option, other in zip(ours, theirs, strict=True) if option.has_arg} == {
        ("N", "N"),
        ("ARG", None),
    }


def test_options_that_a_script_computes() -> None:
    """Where the number of arguments is computed, the option takes one, and a comment says so."""
    text = 'local n = 1\nspank_options = { { name = "x" .. "", usage = "u" }, { name = "y", usage = n, has_arg = n } }'
    assert 'y = hook.spank.option("y", "ARG", usage="...")  # the script computes has_arg' in skeleton(
        Script(text.encode()), "s"
    )
