# SPDX-License-Identifier: GPL-2.0-or-later
"""cli_filter in the commands of each release."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slurmhooks.cli_filter.command_options import NAMES, short
from slurmhooks.workshop.testing.options.command_lines import NONE, OMITTABLE, REQUIRED, takes
from tests.cluster.conftest import OF_SETS
from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

LUA = Path(__file__).parent / "lua" / "cli_filter.lua"
EXAMPLE = Path(__file__).parents[2] / "contrib" / "examples" / "early_limits.py"
LATER = "/opt/spank/later"
HAVE_LUA = '[hooks]\npaths = ["hooks.d/*.py"]\n[cli_filter]\nlua = "cli_filter.lua"\n'
SAY = """
import json
from slurmhooks import hook, log

def say(what, **values):
    log.user("SAID " + json.dumps({"what": what, **values}))
"""
ALL = (
    SAY
    + """
seen = {}

@hook.cli_filter.setup_defaults
def defaults(options, early):
    say("defaults", command=options.command, early=early)
    options.comment = "by default"

@hook.cli_filter.pre_submit
def pre(options, offset):
    seen[offset] = options.command
    fields = {name: getattr(options, name) for name in WANTED}
    say("pre", command=options.command, offset=offset, argv=options.argv, given=options.given, script=options.script,
        known="time" in options, unknown="nonesuch" in options, home=options.environment["HOME"],
        who=[options.interactive, options.terminal], **fields)
    if options.time_limit is None:
        options.time_limit = 7
    options["job-name"] = None
    options.environment["FROM_FILTER"] = "yes"

@hook.cli_filter.post_submit
def post(offset, job_id, step_id):
    say("post", offset=offset, job_id=job_id, step_id=step_id, seen=seen.get(offset))

WANTED = ("time_limit", "min_mem_per_node", "min_nodes", "max_nodes", "num_tasks", "name")
"""
)
REFUSALS = (
    SAY
    + """
@hook.cli_filter.pre_submit
def refused(options):
    for name, value in (("time", "junk"), ("nonesuch", "x"), ("ntasks", "many"), ("help", "x"), ("wrap", "x"),
                        ("mem", "a\\0")):
        try:
            options[name] = value
        except (KeyError, ValueError) as error:
            say(type(error).__name__, name=name, text=str(error))
    say("left", time=options["time"], ntasks=options.num_tasks)
    options["time"] = None
    say("reset", time=options.time_limit)
"""
)
REJECT = """
from slurmhooks import Reject, hook

@hook.cli_filter.pre_submit
def no(options):
    raise Reject("not on a Sunday")
"""
BUG = """
from slurmhooks import hook

@hook.cli_filter.pre_submit{how}
def broken(options):
    options.comment = "half done"
    options.environment["HALF"] = "done"
    1 / 0
"""
SHARED = """
import sys
from slurmhooks import hook, log

@hook.spank.init(contexts="local")
def first(spank):
    sys.seen_by_spank = True

@hook.cli_filter.pre_submit(contexts="srun")
def second():
    log.user(f"SHARED {getattr(sys, 'seen_by_spank', False)}")
"""
SPANK_OPTION = (
    SAY
    + """
mode = hook.spank.option("gpu-mode", arginfo="MODE", usage="how to use GPUs")
flag = hook.spank.option("gpu-flag", usage="a flag")

@hook.cli_filter.setup_defaults
def default(options):
    if options.spank:  # none in scrontab
        options.spank["python"]["gpu-mode"] = "shared"
        options.spank["python"]["gpu-flag"] = "set"

@hook.cli_filter.pre_submit
def sees(options):
    try:
        options["gpu-mode"]
    except KeyError as error:
        say("error", text=error.args[0])
    try:
        options.spank["python"]["gpu-mode"] = "lost"
    except ValueError as error:
        say("error", text=error.args[0])
    say("filter", mode=options.spank["python"]["gpu-mode"])

@hook.spank.init_post_opt(contexts=("local", "allocator"))
def gets(spank):
    say("spank", mode=mode.value, flag=flag.value)
"""
)
ELSEWHERE = """
from slurmhooks import hook

@hook.cli_filter.pre_submit(contexts="salloc")
def only_salloc(options):
    pass
"""


def with_plugin(cluster: "Cluster") -> Site:
    """A site whose commands have the plugin."""
    made = site(cluster)
    made.plugstack("required spank_python.so")
    configure(made, "python")
    return made


lent = pytest.fixture(scope="module")(with_plugin)


def configure(lent: Site, plugin: str) -> None:
    """Configure one plugin for cli_filter."""
    scron = "" if lent.since < (23, 2) else "ScronParameters=enable\n"
    lent.cluster.put(f"JobSubmitPlugins=python\nCliFilterPlugins={plugin}\n{scron}", "/etc/slurm/local.conf")
    lent.cluster.restart()


def said(output: str) -> list[dict[str, object]]:
    """Return the handlers' messages in the output of a command."""
    lines = output.splitlines()
    return [json.loads(line.partition("SAID ")[2]) for line in lines if "SAID " in line]


def test_options_reach_handlers_and_slurm(lent: Site) -> None:
    """Handlers read text and values; the job has what they write; post_submit sees the globals of pre_submit."""
    lent.hooks(filter=ALL)
    done = lent.shell("sbatch -J mine -t 60 --mem=2G -N1-2 -H --wrap 'echo $FROM_FILTER'")
    early, late, pre, post = said(done.stdout)
    assert (early["early"], late["early"], early["command"]) == (True, False, "sbatch"), done.stdout
    assert pre["given"] == {
        "comment": "by default", "hold": "set", "job-name": "mine", "mem": "2G", "nodes": "1-2", "time": "01:00:00",
        "wrap": "echo $FROM_FILTER",
    }  # fmt: skip
    assert [
        pre[name] for name in ("time_limit", "min_mem_per_node", "min_nodes", "max_nodes", "num_tasks", "name")
    ] == [*(60, 2048, 1, 2, None, "mine")]
    assert (pre["home"], pre["known"], pre["unknown"], pre["argv"]) == ("/home/alice", True, False, [])
    assert str(pre["script"]).endswith("\necho $FROM_FILTER\n")
    job = int(str(post["job_id"]))
    assert (post["seen"], post["step_id"], post["offset"]) == ("sbatch", None, 0)
    assert (lent.job(job)["TimeLimit"], lent.job(job)["Comment"]) == ("01:00:00", "by")
    assert lent.job(job)["JobName"] == "wrap"
    lent.root(f"scancel {job}")


@pytest.mark.each_release
def test_each_command(lent: Site) -> None:
    """Every command calls the handlers, with the words after its options as Slurm has them."""
    lent.hooks(filter=ALL)
    done = lent.shell("srun -Q -n1 sh -c 'echo $FROM_FILTER; true' 'a  b'")
    early, pre, post = said(done.stdout)
    assert "yes" in done.stdout.splitlines()
    assert (early["command"], pre["num_tasks"], post["step_id"], post["seen"]) == ("srun", 1, 0, "srun")
    words = pre["argv"]
    assert isinstance(words, list)
    assert (words[0].rpartition("/")[2], words[1:]) == ("sh", ["-c", "echo $FROM_FILTER; true", "a  b"])
    assert pre["who"] == [True, False]
    _, pre, _ = said(lent.shell("""python3 -c 'import pty; pty.spawn(["srun", "-Qn1", "true"])'""").stdout)
    assert pre["who"] == [True, True]

    done = lent.shell("salloc -Q -n1 sh -c 'scontrol -o show job $SLURM_JOB_ID' x")
    early, pre, post = said(done.stdout)
    assert (early["early"], pre["command"], post["step_id"]) == (False, "salloc", None)
    assert pre["argv"] == ["sh", "-c", "scontrol -o show job $SLURM_JOB_ID", "x"]
    assert "TimeLimit=00:07:00" in done.stdout

    lent.root("printf '#!/bin/sh\\n#SBATCH -J inside\\necho $1\\n' > '/opt/job script.sh'; chmod 755 /opt/job*.sh")
    done = lent.shell("sbatch -H '/opt/job script.sh' 'a  b'")
    *_, pre, post = said(done.stdout)
    assert (pre["argv"], pre["name"], pre["who"]) == (["/opt/job script.sh", "a  b"], "inside", [False, False])
    assert pre["script"] == "#!/bin/sh\n#SBATCH -J inside\necho $1\n"
    lent.root(f"scancel {post['job_id']}")

    if lent.since >= (23, 2):  # its scrontab has no filters
        done = lent.shell("printf '#SCRON -t 5\\n0 0 1 1 * true\\n' | scrontab -")
        _, pre, post = said(done.stdout)
        assert (pre["command"], pre["time_limit"], post["seen"]) == ("scrontab", 5, "scrontab"), done.stdout
        lent.shell("scrontab -r")


def test_components(lent: Site) -> None:
    """Handlers see each component of a heterogeneous job separately."""
    lent.hooks(filter=ALL)
    done = lent.shell("sbatch -H -n1 : -n2 --wrap true")
    found = said(done.stdout)
    assert [(one["offset"], one["num_tasks"]) for one in found if one["what"] == "pre"] == [(0, 1), (1, 2)]
    jobs = {one["offset"]: one["job_id"] for one in found if one["what"] == "post"}
    assert set(jobs) == {0, 1}
    lent.root(f"scancel {jobs[0]}")


def test_what_slurm_refuses(lent: Site) -> None:
    """A value that Slurm does not accept raises and changes nothing; None resets an option."""
    lent.hooks(filter=REFUSALS)
    done = lent.shell("sbatch -H -t 3 -n2 --wrap true")
    assert [(one["what"], one.get("name")) for one in said(done.stdout)] == [
        *(("ValueError", "time"), ("KeyError", "nonesuch"), ("ValueError", "ntasks"), ("ValueError", "help")),
        *(("ValueError", "wrap"), ("ValueError", "mem"), ("left", None), ("reset", None)),
    ]
    time, _, ntasks, *_, left, reset = said(done.stdout)
    assert time["text"] == "sbatch refuses --time=junk: Invalid --time specification"
    assert ntasks["text"] == '--ntasks=many would end sbatch: Invalid numeric value "many" for --ntasks.'
    assert "Invalid" not in re.sub("SAID.*", "", done.stdout)
    assert (left["time"], left["ntasks"], reset["time"]) == ("00:03:00", 2, None)
    lent.root("scancel -u alice")


def test_a_refusal(lent: Site) -> None:
    """The user reads the text, and nothing is sent; each command ends with an error."""
    lent.hooks(filter=REJECT)
    before = lent.root("squeue -h -a | wc -l")
    for command in ("sbatch -H --wrap true", "srun true", "salloc true"):
        done = lent.shell(command)
        assert done.returncode != 0
        assert done.stdout.splitlines()[0] == f"{command.split()[0]}: error: not on a Sunday (filter:no)", done.stdout
        assert "Traceback" not in done.stdout
    assert lent.root("squeue -h -a | wc -l") == before


def test_a_bug(lent: Site) -> None:
    """A bug refuses with one line and an id.

    With on_error="ignore" the command continues without the handler's writes.
    """
    lent.hooks(filter=BUG.format(how=""))
    done = lent.shell("sbatch -H --wrap true")
    assert done.returncode != 0
    assert "cli_filter.pre_submit handler filter:broken failed (error " in done.stdout
    assert "ZeroDivisionError" not in done.stdout
    lent.hooks(filter=BUG.format(how='(on_error="ignore")'))
    done = lent.shell("sbatch -H --comment=mine --wrap true")
    assert "filter:broken failed (error " in done.stdout
    job = int(done.stdout.split()[-1])
    assert lent.job(job)["Comment"] == "mine"
    lent.root(f"scancel {job}")


def test_files_that_do_not_load(lent: Site) -> None:
    """The user gets one line with an id, and nothing is sent."""
    lent.hooks(filter=f"import os\nif os.path.exists('{LATER}'): raise OSError('a file server is gone')\n{ELSEWHERE}")
    lent.cluster.deploy()
    lent.root(f"touch {LATER}")
    done = lent.shell("salloc true")
    lent.root(f"rm {LATER}")
    assert done.returncode != 0
    assert "the hooks could not be loaded (error " in done.stdout


def test_no_python_without_a_handler(lent: Site) -> None:
    """A command loads libpython only if there is a handler for that command."""
    lent.hooks(filter=ELSEWHERE)
    for command, loads in (("sbatch -H --wrap true", False), ("srun true", False), ("salloc true", True)):
        done = lent.shell(f"LD_DEBUG=files {command}")
        assert done.returncode == 0, done.stdout[-500:]
        assert ("libpython" in done.stdout) is loads, command
    lent.root("scancel -u alice")


@pytest.mark.moved
def test_a_script_does_the_same_under_slurms_own_plugin(lent: Site) -> None:
    """Whatever a cli_filter.lua reads, writes, stores and returns, the terminal and the exit code are the same."""
    lent.hooks()
    lent.cluster.put(LUA, "/etc/slurm/cli_filter.lua")
    toml = lent.root("cat /etc/slurm/slurmhooks.toml")
    commands = (
        "sbatch -H -J mine --mem=2G -N1-2 --wrap 'echo a/b'",
        "srun -Q -t 3 -n1 sh -c 'echo a b' 'x  y'",
        "salloc -Q -n1 true a",
        *(f"{name}=1 sbatch -H --wrap true" for name in ("BUG", "TEXT", "NOTHING", "REFUSE")),
    )
    seen: dict[tuple[str, str], tuple[int, list[str]]] = {}
    try:
        for plugin in ("lua", "python"):
            configure(lent, plugin)
            lent.cluster.put(HAVE_LUA if plugin == "python" else toml, "/etc/slurm/slurmhooks.toml")
            for command in commands:
                done = lent.shell(command, FOR_JSON="a/\u00e9", SLURM_NOT_THIS="x")
                rows = OF_SETS.sub("/etc/slurm", done.stdout).splitlines()
                lines = [re.sub("^(Submitted batch job) .*", r"\1", line) for line in rows]
                seen[plugin, command] = (done.returncode, lines)
            lent.root("scancel -u alice")
        for command in commands:
            assert seen["python", command] == seen["lua", command], command
        assert "SAID kept kept" in "".join(seen["python", commands[0]][1])
    finally:
        configure(lent, "python")
        lent.cluster.put(toml, "/etc/slurm/slurmhooks.toml")


@pytest.mark.moved
def test_the_options_of_stand_ins(lent: Site) -> None:
    """slurmhooks.testing knows every option that a command has."""
    lent.hooks(filter="from slurmhooks import hook, log\n@hook.cli_filter.pre_submit\ndef f(options):\n"
               "    log.user(f'NAMES {options.command} ' + ' '.join(options))\n")  # fmt: skip
    for command in ("sbatch -H --wrap true", "srun true", "salloc true"):
        shown = re.search(r"NAMES (\w+) (.*)", lent.shell(command).stdout)
        assert shown is not None
        assert set(shown[2].split()) - set(NAMES[shown[1]]) == set()
    lent.root("scancel -u alice")


def test_one_interpreter_for_spank_and_filters(lent: Site) -> None:
    """In one srun, handlers of both points run in the same Python."""
    lent.hooks(filter=SHARED)
    assert "SHARED True" in lent.shell("srun -Q true").stdout


def test_options_of_spank_plugins(lent: Site) -> None:
    """Handlers give them defaults in setup_defaults; the user's variable and the command line take precedence."""
    lent.hooks(filter=SPANK_OPTION)
    variable = {"SLURM_SPANK__SLURM_SPANK_OPTION_python_gpu_mode": "mine"}
    for command in ("sbatch -H", "srun -Q", "salloc -Q"):
        cases: tuple[tuple[str, dict[str, str], str], ...] = (
            ("", {}, "shared"), ("--gpu-mode=own", {}, "own"), ("", variable, "mine"),
        )  # fmt: skip
        for option, env, mode in cases:
            done = lent.shell(f"{command} {option} {'--wrap true' if command == 'sbatch -H' else 'true'}", **env)
            elsewhere, late, seen, got = said(done.stdout)
            assert elsewhere["text"] == '--gpu-mode belongs to a SPANK plugin: options.spank["python"]["gpu-mode"]'
            assert str(late["text"]).startswith("--gpu-mode: Slurm has read it already")
            assert (seen["mode"], got["mode"], got["flag"]) == (mode, mode, True), command
    lent.root("scancel -u alice")


def test_one_rule_at_two_places(lent: Site) -> None:
    """The example's function refuses in the command, and in slurmctld if a user avoids the command's filters."""
    lent.hooks(limits=EXAMPLE.read_text())
    text = "partition debug takes at most 60 minutes: lower --time"
    command = "sbatch -H -p debug -t 61 --wrap true"
    done = lent.shell(command)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"sbatch: error: {text} (limits:early)")
    lent.root("cd /etc/slurm; grep -vi '^include' slurm.conf > own.conf; grep -vi clifilter local.conf >> own.conf")
    done = lent.shell(command, SLURM_CONF="/etc/slurm/own.conf")
    assert done.returncode == 1
    assert f"sbatch: error: {text}" in done.stdout
    done = lent.shell("sbatch -H -p debug --wrap true")
    assert lent.job(int(done.stdout.split()[-1]))["TimeLimit"] == "01:00:00", done.stdout
    lent.root("scancel -u alice")


TAKES = {"no_argument": NONE, "required_argument": REQUIRED, "optional_argument": OMITTABLE}


@pytest.mark.moved
def test_options_take_what_they_take_in_slurm(lent: Site) -> None:
    """`try` knows the short name of each option, and whether it takes an argument, as Slurm's source has it."""
    if not lent.cluster.has_sources or lent.since < (23, 11):
        pytest.skip("needs the source of 23.11 or later")
    source = lent.root("cat /usr/src/slurm/src/common/slurm_opt.c")
    compared = 0
    for match in re.finditer(r"static slurm_cli_opt_t slurm_opt_\w+ = \{(.*?)\n\};", source, re.DOTALL):
        fields = dict(re.findall(r"\.(name|has_arg|val) = ([^,]+),", match[1]))
        name = fields["name"].strip('"')
        for command in (each for each in NAMES if name in NAMES[each]):
            # srun and sbatch have different options of this name.
            # The argument of --requeue is new, that of --get-user-env is gone since 25.11.
            if name not in ("get-user-env", "requeue") and (name != "wait" or f".set_func_{command}" in match[1]):
                assert takes(command, name) == TAKES[fields["has_arg"]], name
            if fields["val"].startswith("'") and f".set_func_{command[:5]}" in match[1]:
                assert short(command, fields["val"].strip("'")) == name
            compared += 1
    assert compared > 300
