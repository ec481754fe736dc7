# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers of tasks work the same whether or not they are prepared before slurmstepd forks the tasks."""

import re

import pytest

from tests.native.hosting import ERROR_ID, Host, Run

pytestmark = pytest.mark.slow

SITE = """
kept = []

class Text(str):
    pass

{body}
"""

BOTH = """
@hook.spank.task_init_privileged
def privileged(spank):
{privileged}

@hook.spank.task_init
def task(spank):
{task}
"""


def handlers(task: str, privileged: str = "pass", more: str = "") -> str:
    """Return the source of the two handlers of a task."""
    indented = {"task": task, "privileged": privileged}
    bodies = {name: "\n".join(f"    {line}" for line in text.split("\n")) for name, text in indented.items()}
    return BOTH.format(**bodies) + more


LATER = """
@hook.spank.task_init(order=60)
def later(spank):
    log.info("later", env=dict(spank.env))
    {body}
"""

ERRORS = """
for number, wrong in enumerate({wrong}):
    try:
        wrong(spank)
    except Exception as error:
        log.info("wrong", number=number, name=type(error).__name__, text=str(error))
"""

WRONG_WRITES = {
    'lambda s: s.env.__setitem__("", "1")': "ValueError",
    'lambda s: s.env.__setitem__("A=B", "1")': "ValueError",
    'lambda s: s.env.__setitem__("A\\0B", "1")': "ValueError",
    'lambda s: s.env.__setitem__("A", "1\\0")': "ValueError",
    'lambda s: s.env.__setitem__("A", 1)': "TypeError",
    'lambda s: s.env.__setitem__("A", None)': "TypeError",
    'lambda s: s.env.__setitem__(1, "A")': "TypeError",
    'lambda s: s.env.__setitem__("A", "x" * 131070)': "ValueError",
    'lambda s: s.env.__setitem__("A", "\\ud800")': "ValueError",
    'lambda s: s.env.__delitem__("NONE")': "KeyError",
    "lambda s: s.env.__delitem__(1)": "KeyError",
    'lambda s: s.job_control_env.__setitem__("A", "1")': "SpankError",
    'lambda s: s.job_control_env.__delitem__("A")': "SpankError",
    'lambda s: setattr(s, "env", {})': "AttributeError",
    'lambda s: setattr(s, "evn", {})': "AttributeError",
    "lambda s: s.task_idd": "AttributeError",
}

CASES = {
    "nothing": handlers("pass"),
    "short texts": handlers('spank.env["B"] = "2"\nspank.env["A"] = ""\nspank.env["C"] = Text("3")'),
    "deleted": handlers(
        'del spank.env["A"]\nspank.env["B"] = "2"\ndel spank.env["B"]\nlog.info("now", it=dict(spank.env))'
    ),
    "not ASCII": handlers('spank.env["B"] = "\\u00e4"\nspank.env["\\udcff"] = "\\udcfe"\nspank.env["C"] = "3"'),
    "long": handlers('spank.env["B"] = "x" * 131000\nspank.env["C"] = "y" * 4096'),
    "as a mapping": handlers(
        'spank.env.update(B="2", C="3")\nspank.env.setdefault("A", "5")\nlog.info("it", is_=spank.env.pop("B"))'
        '\nspank.env |= {"D": "4"}\nlog.info("names", of=sorted(spank.env))'
    ),
    "replaced": handlers('spank.env.replace({"Z": "1"})'),
    "wrong writes": handlers(ERRORS.format(wrong=f"[{', '.join(WRONG_WRITES)}]")),
    "items": handlers(
        'log.info("items", id=spank.task_id, pid=spank.task_pid, argv=spank.job_argv, env=spank.job_env)'
        '\nlog.info("more", me=repr(spank), args=spank.args, of=[spank.callback, spank.context, spank.step_name])'
        '\nlog.info("ids", of=spank.job_local_to_global_id(1), known=spank.symbol_supported("slurm_spank_task_init"))'
    ),
    "items in both": handlers('log.info("task", id=spank.task_id)', 'log.info("privileged", id=spank.task_id)'),
    "words": handlers(
        'if hasattr(spank._calls.lib, "spank_prepend_task_argv"):\n'
        '    spank.prepend_task_argv(["b"])\n    spank.prepend_task_argv(["a"])\nspank.env["B"] = "2"'
    ),
    "refused": handlers('spank.env["B"] = "2"\nraise Reject("no such luck")', more=LATER.format(body="pass")),
    "refused with a code": handlers('raise Reject("no", code="ESPANK_BAD_ARG")'),
    "refused before": handlers('log.info("ran")', 'spank.env["B"] = "2"\nraise Reject("early")'),
    "refused after": handlers('spank.env["B"] = "2"', more=LATER.format(body='raise Reject("late")')),
    "a bug": handlers('spank.env["B"] = "2"\n1 / 0'),
    "an exit": handlers("raise SystemExit(0)"),
    "an answer": handlers("return 0"),
    "lenient": """
@hook.spank.task_init(on_error="ignore")
def task(spank):
    spank.env["B"] = "2"
    if hasattr(spank._calls.lib, "spank_prepend_task_argv"):
        spank.prepend_task_argv(["lost"])
    del spank.env["A"]
    1 / 0
"""
    + LATER.format(body='spank.env["C"] = "3"'),
    "lenient, and refused": """
@hook.spank.task_init(on_error="ignore")
def task(spank):
    spank.env["B"] = "2"
    raise Reject("as I said")
""",
    "no argument": "@hook.spank.task_init\ndef task():\n    log.info('ran')\n",
    "kept": handlers(
        'try:\n    kept[0].env["B"] = "2"\nexcept Exception as error:\n    log.info("stale", name=type(error).__name__)'
        '\ntry:\n    kept[0].task_id\nexcept Exception as error:\n    log.info("stale", text=str(error))'
        '\nlog.info("repr", of=[repr(kept[0]), repr(kept[0].env)])',
        'kept.append(spank)\nspank.env["B"] = "1"',
    ),
    "Slurm refuses": handlers('kept.append(spank)\nspank.env["B"] = "2"\nspank.env["REFUSED"] = "1"'),
}

STEP = """
    open sp $spank hooks.py
    context remote
    job argv=prog env=A=1 refuse=REFUSED
    call sp init
    {prepare}
    show
    fork
    call sp task_init_privileged
    call sp task_init
    show
    call sp task_init
    show
    end
    show
    fork
    call sp task_init_privileged task=1
    call sp task_init task=1
    show
    end
    call sp task_post_fork
    call sp exit
    """


def run(host: Host, body: str, prepared: bool) -> Run:
    """Run a step of two tasks.

    ``prepared``: the step calls init_post_opt, in which slurmhooks prepares the handlers of tasks.
    """
    host.site(SITE.format(body=body))
    return host.run(STEP.format(prepare="call sp init_post_opt" if prepared else "call sp user_init"))


def seen(run: Run) -> tuple[object, ...]:
    """Return all results and log lines of a step, without the frames of slurmhooks in tracebacks."""
    lines: list[str] = []
    skipping = False
    for line in run.lines():
        text = ERROR_ID.sub("error ID", line)
        skipping = ("File" in text and "hooks.py" not in text) or (
            skipping and text.startswith("slurmhooks: error ID:    ")
        )
        lines += [] if skipping else [text]
    results = [result for result in run.results if result.values.get("callback") not in ("init_post_opt", "user_init")]
    return [(result.command, result.values, result.lists) for result in results], lines


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_prepared_tasks(each_host: Host, body: str) -> None:
    """Codes, environments, commands, texts and tracebacks are the same as without preparation."""
    plain, prepared = run(each_host, body, prepared=False), run(each_host, body, prepared=True)
    assert "could not be loaded" not in plain
    assert seen(prepared) == seen(plain)


@pytest.mark.parametrize("prepared", [False, True], ids=["plain", "prepared"])
def test_what_cannot_be_written(each_host: Host, prepared: bool) -> None:
    """Each wrong write raises in the handler, and has no effect."""
    ran = run(each_host, CASES["wrong writes"], prepared)
    assert [re.sub(r" text=.*", "", line) for line in ran.said("wrong")] == [
        f"number={number} name={name!r}" for number, name in enumerate(WRONG_WRITES.values())
    ] * 3
    assert {tuple(result.lists["env"]) for result in ran.of("show")} == {("A=1",)}


def test_tasks_of_two_lines(host: Host) -> None:
    """Handlers are prepared for each line of plugstack.conf, with its own arguments."""
    host.site("@hook.spank.task_init\ndef task(spank):\n    log.info('ran', args=spank.args)\n")
    step = "open {0} $spank hooks.py {0}\ncontext remote\ncall {0} init\ncall {0} init_post_opt\n"
    calls = "fork\ncall a task_init\ncall b task_init\nend\n"
    run = host.run(step.format("a") + step.format("b") + calls)
    assert run.said("ran") == ["args=('a',)", "args=('b',)"]
