# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines: cli_filter and job_submit see the same in the newest Slurm and in the stand-ins of `slurmhooks try`.

Differences that remain are rows of a table in docs/testing.md; each row must still be one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.fields.rows import NEWEST
from tests.cluster import kit_pairs
from tests.cluster.kit_pairs import Allowed, Command, Done, in_kit, in_slurm
from tests.cluster.sbatch_scripts import FILES, RELATIVE, SCRIPTS
from tests.cluster.spank.site import site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.stopped, pytest.mark.one_release("26.05")]

HOOKS = (
    kit_pairs.RECORDER
    + """
from slurmhooks import Reject, hook, log
from slurmhooks.cli_filter.fields import FIELDS
from slurmhooks.fields.rows import Computed, rows

hook.spank.option("kit-flag", usage="for a test")
word = hook.spank.option("kit-word", arginfo="WORD", usage="for a test")
hook.spank.option("kit-words", arginfo="WORD", usage="for a test", type=int)
hook.spank.option("maybe", arginfo="WORD", usage="for a test", optional=True)

@word.check
def check(value):
    if value == "bad":
        raise Reject("a bad word")

@hook.cli_filter.setup_defaults
def defaults(options, early):
    record(place="setup_defaults", early=early, command=options.command, argv=options.argv, spank=options.spank)
    if "KIT_DEFAULT" in options.environment:
        options.comment = "by default"
    if options.environment.get("KIT_REFUSE") == "setup_defaults":
        raise Reject("no defaults")

@hook.cli_filter.pre_submit
def pre(options, offset):
    log.user("KIT told by pre_submit")
    record(
        place="pre_submit", offset=offset, command=options.command, given=options.given, argv=options.argv,
        script=options.script, spank=options.spank, fields={name: getattr(options, name) for name in FIELDS},
    )
    if "KIT_DEFAULT" in options.environment:
        options.name = "by filter"
    if options.environment.get("KIT_REFUSE") == "pre_submit":
        raise Reject("no submission")

@hook.job_submit
def seen(job):
    log.user("KIT told by job_submit")
    fields = {name: getattr(job, name) for name, row in rows(type(job)).items()
              if name not in job._missing and not isinstance(row, Computed)}
    maps = {name: getattr(job, name) for name in ("argv", "environment", "spank_job_env")}
    record(place="job_submit", fields=fields, **maps)
    if job.het_job_offset in (None, 1):
        raise Reject("KIT seen", code="ESLURM_INVALID_ACCOUNT")
"""
)
SCRIPT = "#!/bin/sh\n#SBATCH -n 2 --kit-flag\n#SBATCH --comment='of the script' --kit-word=script\necho $1\n"
PLAIN = "#!/bin/sh\ntrue\n"
DOS = "#!/bin/sh\r\n#SBATCH -n 2\r\ntrue\r\n"
HET = "#!/bin/sh\n#SBATCH -n 2 -A x\n#SBATCH hetjob\n#SBATCH -n 3\ntrue\n"


def sbatch(*words: str, script: str | None = None, stdin: str = "", **env: str) -> Command:
    """Return a command of sbatch, which names the script a.sh if it needs one."""
    return Command(("sbatch", *words), env, {**FILES, **({} if script is None else {"a.sh": script})}, stdin)


HAND = (
    sbatch("a.sh", script=PLAIN),
    sbatch("a.sh", "one", "two words", "--three", script=SCRIPT),
    sbatch("--wrap", "echo a"),
    sbatch("--wrap=echo a", "-n", "3", "-J", "wrapped"),
    sbatch("--wrap", "true", "superfluous"),
    sbatch(stdin=SCRIPT),
    sbatch("-n", "4", stdin=PLAIN),
    sbatch("a.sh", script=DOS),
    sbatch("a.sh", script="#!/bin/sh\n#SBATCH -n 2\ntrue\r\n"),
    sbatch("a.sh", script="true\n"),
    sbatch("a.sh", script=""),
    sbatch("nothing.sh"),
    sbatch("-n4", "a.sh", "-n5", script=PLAIN),
    sbatch("--", "a.sh", script=PLAIN),
    sbatch("-n2", ":", "-n4", "a.sh", script=PLAIN),
    sbatch("-n2", ":", "-n4", "--wrap", "true"),
    sbatch("-n2", "-A", "x", ":", "-n4", "--kit-word=second", "a.sh", script=SCRIPT),
    sbatch("a.sh", script=HET),
    sbatch("-c", "2", "a.sh", script=HET),
    sbatch("-a", "1-10%2", "--wrap", "true"),
    sbatch("--array=1-3,", "--wrap", "true"),
    sbatch("--array=", "--wrap", "true"),
    sbatch("--array=x", "--wrap", "true"),
    sbatch("--account=", "--wrap", "true"),
    sbatch("--comment=", "--gres=", "--wrap", "true"),
    sbatch("--mem=0", "--wrap", "true"),
    sbatch("--nonesuch", "--wrap", "true"),
    sbatch("--nonesuch=1", "--wrap", "true"),
    sbatch("-y", "--wrap", "true"),
    sbatch("--time", "--wrap", "true"),
    sbatch("--contiguous=yes", "--wrap", "true"),
    sbatch("--n=1", "--wrap", "true"),
    sbatch("--acc=x", "--parti=debug", "--wrap", "true"),
    sbatch("-pdebug", "-n", "2", "-t5", "--wrap", "true"),
    sbatch("-Hn3", "--wrap", "true"),
    sbatch("-n", "junk", "--wrap", "true"),
    sbatch("-t", "junk", "--wrap", "true"),
    sbatch("--mem=junk", "--wrap", "true"),
    sbatch("-N", "4-2", "--wrap", "true"),
    sbatch("--mem=1", "--mem-per-cpu=2", "--wrap", "true"),
    sbatch("--kit-flag", "--wrap", "true"),
    sbatch("--kit-flag=x", "--wrap", "true"),
    sbatch("--kit-word", "--wrap", "true"),
    sbatch("--kit-word", "a b", "--wrap", "true"),
    sbatch("--kit-word=", "--wrap", "true"),
    sbatch("--kit-word=a", "--kit-word=b", "--wrap", "true"),
    sbatch("--kit-word=bad", "--wrap", "true"),
    sbatch("--kit-words=3", "--wrap", "true"),
    sbatch("--kit-words=x", "--wrap", "true"),
    sbatch("--kit-f", "--wrap", "true"),
    sbatch("--kit=x", "--wrap", "true"),
    sbatch("--maybe", "--wrap", "true"),
    sbatch("--maybe=", "--wrap", "true"),
    sbatch("--maybe=x", "--wrap", "true"),
    sbatch("--may", "x", "--wrap", "true"),
    sbatch("--kit-word=(null)", "--maybe=(null)", "--wrap", "true"),
    sbatch("--kit-flag", "a.sh", script=SCRIPT),
    sbatch("--wrap", "true", SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_word="inherited"),
    sbatch("--kit-word=line", "a.sh", script=SCRIPT, SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_word="inherited"),
    sbatch("--wrap", "true", SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_word="bad"),
    sbatch("--wrap", "true", SLURM_SPANK__SLURM_SPANK_OPTION_python_maybe="(null)"),
    sbatch("--wrap", "true", SLURM_SPANK__SLURM_SPANK_OPTION_python_maybe=""),
    sbatch("--wrap", "true", SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_flag=""),
    sbatch("--wrap", "true", SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_flag="any text"),
    sbatch("-n2", "--kit-word=a", "--wrap", "true", SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_flag="(null)"),
    sbatch("a.sh", script="#!/bin/sh\n##SBATCH -n 3\n #SBATCH -n 4\n#SBATCH\t-n 5\ntrue\n#SBATCH -n 6\n"),
    sbatch("a.sh", script="#!/bin/bash -l\n#SBATCH   --comment=\"a 'b' c\"   -n2\n#SBATCH -t 5 # five\ntrue\n"),
    sbatch("--gpus=2", "--mem-per-gpu=10", "--wrap", "true"),
    sbatch("-c2", "--hint=compute_bound", "--wrap", "true"),
    sbatch("--mem=0", "--tmp=0", "--mem-per-cpu=0", "--wrap", "true"),
    sbatch("--wrap=true", "--gres=help"),
    Command(("srun", "-lun2", "--kit-wor=a", "true")),
    Command(("salloc", "--kit-words= 7 ", "--kit-flag", "--maybe=(null)", "true")),
    sbatch("--wrap", "true", SBATCH_ACCOUNT="environment", SBATCH_TIMELIMIT="7", SLURM_HINT="nomultithread"),
    sbatch("a.sh", "x", script="#!/bin/sh\n#SBATCH -A script -p debug\n", SBATCH_ACCOUNT="environment"),
    sbatch("-A", "line", "--wrap", "true", SBATCH_ACCOUNT="environment"),
    sbatch("--wrap", "true", SBATCH_ARRAY_INX="1-4", SBATCH_EXCLUSIVE="user", SBATCH_NO_REQUEUE="1"),
    sbatch("--wrap", "true", SBATCH_MEM_PER_NODE="junk"),
    sbatch("--wrap", "true", SBATCH_EXPORT="NONE", OTHER="x"),
    sbatch("--export=SITE,MADE=1", "--wrap", "true", OTHER="x"),
    sbatch("--export=NONE", "--wrap", "true", SLURM_OWN="kept", SPANK_OWN="kept"),
    sbatch("-D", "/tmp", "-o", "out", "--wrap", "true"),
    sbatch("-D", ".", "a.sh", script=PLAIN),
    sbatch("--chdir=sub", "-o", "out", "--wrap", "true"),
    sbatch("--no-kill=", "--nice=", "--exclusive=", "--wrap", "true"),
    sbatch("--cpus-per-gpu=5:6", "--wrap", "true"),
    sbatch("--gpus=", "--gpus-per-node=", "--wrap", "true"),
    sbatch("--export=MADE='a,b',all", "--wrap", "true", OTHER="x"),
    sbatch("--export-file=environment.txt", "--wrap", "true", OTHER="x"),
    sbatch("--export-file=environment.txt", "--export=OTHER,MADE=1", "--wrap", "true", OTHER="x"),
    sbatch("--wrap", "true", KIT_DEFAULT="1"),
    sbatch("--comment=mine", "-J", "mine", "--wrap", "true", KIT_DEFAULT="1"),
    sbatch("--wrap", "true", KIT_REFUSE="setup_defaults"),
    sbatch("--wrap", "true", KIT_REFUSE="pre_submit"),
    sbatch("-n1", ":", "-n2", "--wrap", "true", KIT_REFUSE="pre_submit"),
    sbatch("--test-only", "--wrap", "true"),
    sbatch("--parsable", "-Q", "--wrap", "true"),
    sbatch("--begin=2035-01-31T12:00:00", "--deadline=2035-02-01", "--wrap", "true"),
    sbatch("-d", "afterok:1", "--wrap", "true"),
    sbatch("--propagate=STACK", "--wrap", "true"),
    sbatch("--runtime=x", "--wrap", "true"),
    sbatch("--propagate=x", "--wrap", "true"),
    sbatch("--propagate=core,", "--wrap", "true"),
    sbatch("--priority=x", "--wrap", "true"),
    sbatch("--requeue=expedite", "--wrap", "true"),
    sbatch("--wrap", "true", SBATCH_REQUEUE="1"),
    sbatch("--wrap", "true", SBATCH_REQUEUE=""),
    sbatch("--wrap", "true", SBATCH_REQUEUE="no"),
    sbatch("--wrap", "true", SBATCH_REQUEUE="expedite"),
    sbatch("--wrap", "#SBATCH -n 3\ntrue"),
    sbatch("a.sh", script='#!/bin/sh\n#SBATCH -n 2 hetjob -c 3\n#SBATCH "" -n 4\ntrue\n'),
    sbatch("--uid=1", "--wrap", "true"),
    Command(("salloc", "-n1", ":", "--begin=2034-01-01", "--kit-flag", "true")),
    Command(("srun", "--nice", "true", ":", "-n2", "true"), {"SLURM_UNBUFFEREDIO": "2 "}),
    Command(("srun", "--bcast=/tmp/x", "true")),
    Command(("salloc", "--container=/tmp/bundle", "true")),
    Command(("salloc", "--get-user-env", "true")),
    Command(("salloc", "--chdir=nowhere", "true")),
    Command(("salloc", "-D", "/tmp", "-H", "--priority=100", "true")),
    Command(("srun", "--open-mode=append", "true")),
    sbatch("--hold", "--priority=100", "--wrap", "true"),
    Command(("srun", "true")),
    Command(("srun", "-n2", "-N1", "-t", "5", "echo", "a b", "--c")),
    Command(("srun", "-n", "2", "--kit-word=x", "--maybe", "true")),
    Command(("srun", "--kit-word=bad", "true")),
    Command(("srun", "--kit-f", "--kit-words", "4", "true")),
    Command(("srun", "--kit=4", "true")),
    Command(("srun", "--nonesuch", "true")),
    Command(("srun",)),
    Command(("srun", "true"), {"SLURM_ACCOUNT": "environment", "SLURM_NTASKS": "3", "SLURM_TIMELIMIT": "5"}),
    Command(("srun", "-A", "line", "true"), {"SLURM_ACCOUNT": "environment"}),
    Command(("srun", "true"), {"KIT_REFUSE": "pre_submit"}),
    Command(("srun", "true"), {"KIT_REFUSE": "setup_defaults"}),
    Command(("srun", "--label", "--mem=0", "-J", "x", "true"), {"KIT_DEFAULT": "1"}),
    Command(("srun", "-n1", "true", ":", "-n2", "false")),
    Command(("srun", "--wait=0", "--kill-on-bad-exit", "--exclusive", "true")),
    Command(("salloc", "true")),
    Command(("salloc", "-n2", "--time=1:00:00", "--kit-flag", "sh", "-c", "true")),
    Command(("salloc", "-n1", ":", "-n2", "true")),
    Command(("salloc", "--bell", "--no-shell", "-J", "x")),
    Command(("salloc", "true"), {"SALLOC_ACCOUNT": "environment", "SALLOC_TIMELIMIT": "9", "SLURM_CLUSTERS": ""}),
    Command(("salloc", "--kit-word=bad", "true")),
    Command(("salloc", "true"), {"KIT_REFUSE": "pre_submit"}),
    *(
        Command(("scrontab", "table"), env, {"table": f"#SCRON {words}\n0 0 1 1 * true\n"})
        for words, env in (
            ("-t 5", {}),
            ("--job-name=nightly -n2 --mem=10", {}),
            ("--partition=debug --comment=words -c 2", {"SBATCH_ACCOUNT": "unread"}),
            ("--time=junk", {}),
            ("--nonesuch=1", {}),
            ("-A x", {"KIT_REFUSE": "pre_submit"}),
            ("-A x", {"KIT_REFUSE": "setup_defaults"}),
            ("-J x", {"KIT_DEFAULT": "1"}),
        )
    ),
)
"""Commands by hand."""
REFUSALS = {
    "No command given to execute": "no program",
    "Unable to open file": "no program",
    "unrecognized option '--": "other releases",
    "requires LaunchParameters": "slurm.conf",
    "Problem talking to database": "clusters",
    "error: chdir(": "no folder",
    "only permitted by root user": "other users",
}
"""Messages of commands, each with the row that allows the kit to accept what they refuse."""
WRONG_USE = 2
"""The exit code of the kit for a command that Slurm would refuse itself."""
SAMPLE = 16
"""One script of so many is compared in each run of the tests; `make soak` compares all."""
COMBINED = {"--requeue --no-requeue", "-N 2 --sockets-per-node=2 --cores-per-socket=2"}
"""Scripts whose options the kit only reads one by one."""
SECONDS = 600
"""How far the clocks of two commands may differ."""
PROGRAMS = ("sbatch", "srun", "salloc")
"""The programs whose requests are compared."""


class Pairs:
    """A cluster whose hooks record, and the same hook file here."""

    def __init__(self, cluster: "Cluster", folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.hooks = folder / "kit.py"
        self.hooks.write_text(HOOKS.replace("@FOLDER@", str(folder)))
        self.uid = cluster.user("alice", "id", "-u", check=True).stdout.strip()

    def of_command(self, command: Command, submits: tuple[str, ...]) -> tuple[Done, Done | None]:
        """Return what the kit does with a command: its filters, and for these programs slurmctld's part."""
        program, *words = command.argv
        if program == "scrontab":
            words = command.files["table"].partition("\n")[0].split()[1:]
        own = ["--hooks", str(self.hooks), "--json", "--really"]
        first = in_kit(self.folder, ["cli_filter", *own, program, "--", *words], command)
        if program not in submits or not (words or command.stdin):
            return first, None
        who = ["--release", self.cluster.release, "--uid", self.uid, "--command", program]
        source = ["-"] if command.stdin else []
        return first, in_kit(self.folder, ["job_submit", *own, *who, *source, "--", *words], command)


@pytest.fixture(scope="module")
def pairs(cluster: "Cluster", tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    """Prepare a cluster of the newest release, whose options the stand-ins read."""
    if cluster.version != NEWEST:
        pytest.skip("compared with the newest release")
    prepared = site(cluster)
    prepared.hooks(kit=HOOKS.replace("@FOLDER@", kit_pairs.FOLDER))
    prepared.plugstack("required spank_python.so")
    kit_pairs.prepare(cluster)
    before = prepared.root("cat /etc/slurm/local.conf")
    more = "CliFilterPlugins=python\nGresTypes=gpu,nic\nAllowSpecResourcesUsage=yes\nScronParameters=enable\n"
    cluster.put(f"{before}\n{more}", "/etc/slurm/local.conf")
    cluster.restart()
    return Pairs(cluster, tmp_path_factory.mktemp("kit"))


def compare(pairs: Pairs, commands: list[Command], submits: tuple[str, ...], *, all_rows: bool = False) -> None:
    """Compare what handlers see, what users read and how commands end.

    ``submits`` are the programs whose fields of job_submit are compared, too. ``all_rows``: the commands show each
    difference that the page lists.
    """
    allowed = Allowed("Command lines", pairs.cluster.version)
    wrong = []
    for command, real in zip(commands, in_slurm(pairs.cluster, commands), strict=True):
        filters, submitted = pairs.of_command(command, submits)
        found = list(differing(command, real, filters, submitted, allowed))
        wrong += [f"{command}\n    {text}" for text in found]
        if found:
            wrong.append(f"    Slurm: {real.code} {real.out!r} {real.err!r}\n    kit: {filters.code} {filters.err!r}")
    assert not wrong, "\n".join(wrong)
    assert not (all_rows and allowed.unseen), f"no longer different: {allowed.unseen}"


def differing(command: Command, real: Done, filters: Done, submitted: Done | None, allowed: Allowed) -> Iterator[str]:
    """Yield what differs for one command."""
    ours = {place: filters.of(place) for place in ("setup_defaults", "pre_submit")}
    theirs = {place: real.of(place) for place in ours}
    row = next((row for text, row in REFUSALS.items() if text in real.err), None)
    if not theirs["pre_submit"]:
        if command.stdin and submitted is not None:  # the filters of the kit do not read the script
            filters = submitted
        if filters.code == 0:
            yield from allowed.excuse([f"filters: kit accepts; Slurm: {real.code}"], row)
        return
    if filters.code == WRONG_USE and real.code and not real.of("job_submit"):
        return  # the kit reads all components first
    if submitted is not None and submitted.code and not real.of("job_submit"):
        # sbatch ends at the first component whose options do not fit together, which the kit's filters do not check.
        ours = {place: rows[: len(theirs[place])] for place, rows in ours.items()}
    found = [text for place, rows in theirs.items() for text in compared(place, ours[place], rows, allowed)]
    yield from allowed.excuse(found, "standard input" if command.stdin else None)
    if submitted is None:
        return
    if not real.of("job_submit"):
        if submitted.of("job_submit") and not filters.code:
            yield from allowed.excuse([f"job_submit: kit accepts; Slurm: {real.code}"], row)
        return
    mine = submitted.of("job_submit")[: len(real.of("job_submit"))]
    found = list(compared("job_submit", mine, real.of("job_submit"), allowed))
    yield from allowed.excuse(found, "cli_filter" if "KIT_DEFAULT" in command.env else None)


def compared(place: str, ours: list[Any], theirs: list[Any], allowed: Allowed) -> Iterator[str]:
    """Yield what differs in the calls of one hook."""
    if len(ours) != len(theirs):
        yield f"{place}: kit {len(ours)} calls, Slurm {len(theirs)}"
    for mine, other in zip(ours, theirs, strict=False):
        yield from kit_pairs.differences(mine, other, allowed, place)


@pytest.mark.moved
def test_commands_by_hand(pairs: Pairs) -> None:
    """Handlers see the same options, fields, variables and arguments; commands that Slurm refuses are refused."""
    compare(pairs, list(HAND), PROGRAMS, all_rows=True)


@pytest.mark.moved
def test_options_of_scripts(pairs: Pairs) -> None:
    """The same holds for options in scripts, of each kind of value."""
    compare(pairs, scripts()[::SAMPLE], ("sbatch",))


@pytest.mark.soak
def test_all_options_of_scripts(pairs: Pairs) -> None:
    """The same holds for each option of sbatch."""
    compare(pairs, scripts(), ("sbatch",))


@pytest.mark.soak
def test_times_by_the_clock(pairs: Pairs) -> None:
    """Times for ``--begin`` that depend on the clock mean the same."""
    commands = [sbatch(f"--begin={text}", "--wrap", "true") for text in RELATIVE]
    for command, real in zip(commands, in_slurm(pairs.cluster, commands), strict=True):
        _, ours = pairs.of_command(command, ("sbatch",))
        assert ours is not None
        times = [done.of("job_submit")[0]["fields"]["begin_time"] for done in (real, ours)]
        assert abs(times[0] - times[1]) <= SECONDS, command


def scripts() -> list[Command]:
    """Return commands that submit scripts."""
    texts = [text.replace("@FOLDER@/", "") for what, text in SCRIPTS.items() if what not in COMBINED]
    return [sbatch("a.sh", "one", "two words", script=text) for text in texts]
