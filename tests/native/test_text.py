# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts that are not UTF-8, long, or have NUL bytes, control characters or formats."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from slurmhooks.log import CONTINUED, PREFIX, visible
from tests.native.hosting import Host

pytestmark = pytest.mark.slow

SIGNS = "ab c\n\n\t\x1b\x85\u2028\u202eä"


def test_job_submit(each_host: Host) -> None:
    """Bytes that are not UTF-8 are read and written unchanged; a NUL byte raises, and nothing is written."""
    each_host.site(
        r"""
        @hook.job_submit
        def submit(job):
            if job.name == "nul":
                for assign in (
                    lambda: setattr(job, "comment", "a\0b"),
                    lambda: setattr(job, "argv", ["a\0b"]),
                    lambda: job.environment.update(A="a\0b"),
                    lambda: job.environment.update({"A\0": "b"}),
                ):
                    try:
                        assign()
                    except ValueError as error:
                        log.info("refused", nul="NUL" in str(error))
                return
            log.info("read", account=job.account, argv=job.argv, env=dict(job.environment))
            job.comment = job.account + "!"
            job.argv = [*job.argv, "\udcfd"]
            job.environment["B\udcfc"] = "\udcfb"
        """
    )
    run = each_host.run(
        r"""
        open js $job_submit
        job_submit js script=x account=\xc3\xa4\xff argv=\xfe environment=A\xfa=\xf9
        job_submit js script=x name=nul argv=x environment=A=1
        balance
        """
    )
    odd, nul = run.of("job_submit")
    assert odd["comment"] == "ä\udcff!"
    assert odd.lists["argv"] == ["\udcfe", "\udcfd"]
    assert odd.lists["environment"] == ["A\udcfa=\udcf9", "B\udcfc=\udcfb"]
    assert run.said("read") == [r"account='ä\xff' argv=['\xfe'] env={'A\xfa': '\xf9'}"]
    assert run.said("refused") == ["nul=True"] * 4
    assert (nul.rc, nul["comment"], nul.lists["argv"], nul.lists["environment"]) == (0, None, ["x"], ["A=1"])
    assert run.one("balance")["alive"] == 0


LOCALES = {"de_DE.ISO-8859-1": ("de_DE", "ISO-8859-1"), "en_US.UTF-8": ("en_US", "UTF-8")}


@pytest.mark.skipif(shutil.which("localedef") is None, reason="NOT TESTED: no localedef")
@pytest.mark.parametrize("name", LOCALES)
def test_the_locale_of_slurmctld_does_not_matter(name: str, host: Host, tmp_path: Path) -> None:
    """Handlers print and encode any text as UTF-8, as in the processes of a launch, whatever the locale is."""
    language, encoding = LOCALES[name]
    subprocess.run(["localedef", "-i", language, "-f", encoding, tmp_path / name], check=True)
    host.site(
        """
        import os

        @hook.job_submit
        def submit(job):
            print("name", job.name)
            job.comment = os.fsencode(job.name).hex()
        """
    )
    run = host.run(
        r"""
        open js $job_submit
        job_submit js script=x name=\xc3\xa4\xe2\x82\xac\xff
        """,
        env={"LOCPATH": str(tmp_path), "LC_ALL": name},
    )
    result = run.one("job_submit")
    assert (result.rc, result["comment"]) == (0, "c3a4e282acff"), run.log
    assert ("INFO", "| name ä€?") in run.log


def test_messages(each_host: Host) -> None:
    """A text for the user keeps percent signs and lines; control characters are escaped, and its length is limited.

    The label of the handler is at the end of the first line, and comes on top of the limit.
    """
    texts = [r"100%s %n %d", r"a\0b", r"\udcff", "one\\ntwo", r"\x1b[2J\r\u202e", "x" * 100_000, ""]
    each_host.site(
        f"texts = iter({[text.encode().decode('unicode_escape') for text in texts]!r})\n"
        + "@hook.job_submit\ndef submit(job):\n    raise Reject(next(texts))\n"
    )
    run = each_host.run("open js $job_submit\n" + "job_submit js\n" * len(texts) + "balance")
    said = [str(result["err_msg"]).partition("\n") for result in run.of("job_submit")]
    assert all(first.endswith("(hooks:submit)") for first, _, _ in said)
    messages = ["".join((first[: -len(" (hooks:submit)")], *others)) for first, *others in said]
    cut = messages.pop(-2)
    assert messages == ["100%s %n %d", r"a\x00b", r"\xff", "one\ntwo", r"\x1b[2J\r\u202e", ""]
    assert len(cut) <= 4096
    assert cut.endswith(" bytes left out]")
    assert all(result.rc for result in run.of("job_submit"))
    assert run.one("balance")["alive"] == 0


def test_logging(each_host: Host) -> None:
    """A handler can log any object and format: each call writes one record of limited length, and never raises."""
    each_host.site(
        r"""
        class Odd:
            def __str__(self):
                return "odd\nlines"

        @hook.spank.init
        def init(spank):
            log.info("100%s %n")
            log.info("%d", "no number")
            log.info("a\0b")
            log.info("\udcff")
            log.info("one\n\x1btwo")
            log.info(Odd())
            log.error("x" * 100_000)
            log.user("to the user %s")
        """
    )
    run = each_host.run("open sp $spank hooks.py\ncontext remote\ncall sp init")
    assert run.one("call").rc == 0
    said = [line.removeprefix("slurmhooks: ") for line in run.lines("INFO") if "manifest" not in line]
    texts = ["100%s %n", "%d ('no number',)", r"a\x00b", r"\xff", "one", r"| \x1btwo", r"odd\nlines"]
    assert said == texts
    assert len(run.lines("ERROR")[0]) <= 4096
    assert run.lines("SPANK") == ["to the user %s"]


def test_spank(each_host: Host) -> None:
    """SPANK's environment, options and arguments can have bytes that are not UTF-8; NUL bytes raise."""
    each_host.site(
        r"""
        name = hook.spank.option("name", "NAME", usage="gr\u00f6\u00dfe")

        @hook.spank.task_init
        def task_init(spank):
            spank.env["OPTION"] = name.value
            spank.env["COPY"] = spank.env["RAW"] + spank.args[0]
            for key, value in (("A\0", "b"), ("A", "b\0"), ("A=B", "c"), ("", "c")):
                try:
                    spank.env[key] = value
                except ValueError:
                    log.info("refused")
        """
    )
    run = each_host.run(
        r"""
        job env=RAW=\xff
        open sp $spank hooks.py \xfe
        context remote
        call sp init
        option sp name \xfd
        call sp task_init
        show
        """
    )
    assert sorted(map(str, run.one("show").lists["env"])) == ["COPY=\udcff\udcfe", "OPTION=\udcfd", "RAW=\udcff"]
    assert run.one("show").lists["usage"] == ["größe"]
    assert run.said("refused") == [""] * 4


def random_texts() -> list[str]:
    """Return texts with any number of lines; each begins with a mark of its own."""
    chosen = random.Random(5)
    return [f"T{number}" + "".join(chosen.choices(SIGNS, k=chosen.randrange(25))) for number in range(60)]


def expected(text: str, prefix: str = "", mark: str = CONTINUED) -> list[str]:
    """Return the lines of a text in the log."""
    first, *others = text.rstrip("\n").split("\n")
    return [f"{prefix}{visible(first)}", *(f"{prefix}{mark}{visible(line)}" for line in others)]


@pytest.mark.parametrize("place", ["local", "remote", "worker"])
def test_lines_of_random_texts(host: Host, place: str) -> None:
    """In launches and in workers, each line of a text is a record; each but the first is marked, for users only there.

    Users of srun and of job_submit read the lines as they are; on a node they are also in its log.
    """
    texts = random_texts()
    escaped = [visible(text, "\t\n").replace("\t", "\\t").replace("\n", "\\n") for text in texts]
    host.site(
        f"""
        texts = {texts!r}
        def tell(*_):
            for text in texts:
                log.info(text)
                log.error("%s", text)
                log.user("U" + text)
        @hook.job_submit
        def submit(job): tell()
        hook.spank.init_post_opt(lambda spank: tell())
        """
    )
    if place == "worker":
        run = host.run("open js $job_submit\njob_submit js script=x")
    else:
        run = host.run(f"open sp $spank hooks.py\ncontext {place}\ncall sp init\ncall sp init_post_opt")
    info = [line for line in run.lines("INFO") if "manifest" not in line]
    assert info == [line for text in texts for line in expected(text, PREFIX)]
    own = [line for line in run.lines("ERROR") if line.startswith(f"{PREFIX}T")]
    assert own == [PREFIX + text for text in escaped]
    users = ["U" + visible(text, "\t\n").rstrip("\n") for text in texts]
    if place == "worker":
        assert run.one("job_submit")["err_msg"] == "\n".join(users)
        return
    mark = CONTINUED if place == "remote" else ""
    shown = [line.replace("\n", f"\n{mark}") for line in users]
    assert "\n".join(run.lines("USER", "SPANK")) == "\n".join(shown)
