# SPDX-License-Identifier: GPL-2.0-or-later
"""Two witnesses in C for job_submit: plugins that record every member of a request without slurmhooks' fields.

They are compiled in the cluster with the release's own header. One runs before slurmhooks and one after it:
JobSubmitPlugins is ``before,python,after,lua`` while tests use them.
"""

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import Computed, Field, rows

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOK_FILE = "/etc/slurm/hooks.d/fields.py"
FOLDER = "/var/tmp/fields"
"""The folder for records of hooks and witnesses, and for users' scripts."""
PLUGINS = "/usr/local/lib/slurm"
NO_VAL = {8: 0xFE, 16: 0xFFFE, 32: 0xFFFFFFFE, 64: 0xFFFFFFFFFFFFFFFE}
INFINITE = {bits: value + 1 for bits, value in NO_VAL.items()}

WITNESS = r"""
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <stdio.h>

const char plugin_name[] = "witness", plugin_type[] = "job_submit/@NAME@";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static void text(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=", name);
    if (value) {
        fputc('"', out);
        for (; *value; value++)
            fprintf(out, "%02x", (unsigned char)*value);
    }
    fputc('\n', out);
}

static void array(FILE *out, const char *name, char **value)
{
    for (int i = 0; value && value[i]; i++)
        text(out, name, value[i]);
}

#define NUMBER(member) fprintf(out, #member "=%llu\n", (unsigned long long)d->member)
#define TEXT(member) text(out, #member, d->member)
#define ARRAY(member) array(out, #member "[]", d->member)

static int see(job_desc_msg_t *d)
{
    FILE *out = fopen("@FOLDER@/@NAME@.new", "w");
    if (!out)
        return SLURM_ERROR;
@MEMBERS@
    fclose(out);
    rename("@FOLDER@/@NAME@.new", "@FOLDER@/@NAME@");
    return SLURM_SUCCESS;
}

int init(void) { return SLURM_SUCCESS; }
int fini(void) { return SLURM_SUCCESS; }
int job_submit(job_desc_msg_t *d, uint32_t uid, char **message) { return see(d); }
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
int job_modify(job_desc_msg_t *d, void *record, uint32_t uid, char **message) { return see(d); }
#else
int job_modify(job_desc_msg_t *d, void *record, uint32_t uid) { return see(d); }
#endif
"""

LUA = """
function slurm_job_submit(job, partitions, uid)
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
"""

PREAMBLE = f"""\
import json
from slurmhooks import Reject, hook, log
from slurmhooks.job_submit import constants

def shown(value):
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return [int(value), repr(value)]
    return repr(value)

def fields(view):
    found = {{}}
    for name in dir(view):
        try:
            found[name] = shown(getattr(view, name))
        except Exception as error:
            found[name] = f"{{type(error).__name__}}: {{error}}"
    return found

def tell(**what):
    with open("{FOLDER}/told", "a") as file:
        file.write(json.dumps(what) + "\\n")

"""


class Member(NamedTuple):
    """One member of job_desc_msg_t, as the header declares it."""

    kind: str
    stars: str
    name: str


class Probe:
    """A cluster with the witnesses."""

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster
        self.release = cluster.version
        header = cluster.root("cat", "/usr/include/slurm/slurm.h", check=True).stdout
        self.header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
        # The row of extra says why 22.05 does not have it.
        members = _members(self.header, "job_descriptor")
        self.members = [member for member in members if member.name != "extra" or self.release >= (23, 2)]
        self.said = ""
        self.private = cluster.has_sources
        """Whether slurmhooks was built with Slurm's sources."""

    def hooks(self, source: str) -> None:
        """Put only these hooks in force."""
        self.cluster.put(PREAMBLE + textwrap.dedent(source), HOOK_FILE)
        self.cluster.deploy()
        self.cluster.root("sh", "-c", f"rm -f {FOLDER}/told {FOLDER}/before {FOLDER}/after")

    def submit(self, *command: str, user: str = "alice", env: dict[str, str] | None = None) -> str:
        """Run a command that must succeed, and return its output."""
        said: str = self.cluster.user(user, *command, check=True, env=env or {}).stdout
        return said.strip()

    def attempt(self, *command: str, user: str = "alice") -> str:
        """Run a command that may fail, and return its messages."""
        self.said = self.cluster.user(user, *command).stderr
        return self.said

    def told(self) -> list[dict[str, Any]]:
        """Return the records of hooks."""
        done = self.cluster.root("cat", f"{FOLDER}/told")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def saw(self, witness: str) -> dict[str, Any]:
        """Return the last record of a witness: numbers, texts or None by member; lists of texts by "member[]"."""
        members: dict[str, Any] = {f"{name}[]": [] for name in ("argv", "environment", "spank_job_env")}
        done = self.cluster.root("cat", f"{FOLDER}/{witness}")
        assert done.returncode == 0, f"{witness} was not called; {self.said}\n{self.cluster.log()[-3000:]}"
        for line in done.stdout.splitlines():
            name, value = line.split("=", 1)
            if value.startswith('"'):
                text = bytes.fromhex(value[1:]).decode("utf-8", "surrogateescape")
                if name.endswith("[]"):
                    members[name].append(text)
                else:
                    members[name] = text
            else:
                members[name] = int(value) if value else None
        return members

    def show(self, job_id: str) -> dict[str, str]:
        """Return the fields that scontrol shows for a job."""
        text = self.submit("scontrol", "show", "job", "-o", job_id)
        pairs = re.split(r" +(?=[A-Z][\w:/]*=)", text.strip())
        return {name: value.strip() for name, _, value in (pair.partition("=") for pair in pairs)}

    def rows(self) -> dict[str, tuple[Field[Any], str]]:
        """Return the rows of this release, each with the path of its member."""
        names = {member.name for member in self.members} | {
            f"{member.name}.{inner.name}"
            for member in self.members
            if member.kind == "slurm_step_id_t"
            for inner in _members(self.header, "slurm_step_id_t")
        }
        rows_ = {}
        for name, row in rows(JobFields).items():
            path = next((path for path in row.members if path in names), None)
            if path is not None and not isinstance(row, Computed):
                rows_[name] = (row, path)
        return rows_


def _members(header: str, name: str) -> list[Member]:
    body = re.search(rf"struct(?: {name})? \{{([^{{}}]*)\}}\s*(?:job_desc_msg_t|{name});", header)
    assert body is not None, name
    parts = []
    for declaration in body.group(1).split(";"):
        match = re.fullmatch(r"(.*?)\s*(\**)\s*(\w+)", " ".join(declaration.split()))
        if match:
            parts.append(Member(match.group(1), match.group(2), match.group(3)))
    return parts


def _witness(name: str, members: list[Member], header: str) -> str:
    lines = []
    for member in members:
        path = member.name
        if member.kind == "char" and member.stars:
            lines.append(f"    {'TEXT' if member.stars == '*' else 'ARRAY'}({path});")
        elif member.kind == "slurm_step_id_t":
            lines += [f"    NUMBER({path}.{inner.name});" for inner in _members(header, "slurm_step_id_t")]
        elif not member.stars and member.kind != "slurm_hash_t":
            lines.append(f"    NUMBER({path});")
    source = WITNESS.replace("@NAME@", name).replace("@FOLDER@", FOLDER)
    return source.replace("@MEMBERS@", "\n".join(lines))


def probing(cluster: "Cluster") -> Probe:
    """Put both witnesses and job_submit/lua beside slurmhooks, in a cluster that is fresh for each test file."""
    new_probe = Probe(cluster)
    cluster.root("sh", "-c", f"rm -f /etc/slurm/hooks.d/*.py; mkdir -p {FOLDER}; chmod 777 {FOLDER}", check=True)
    for name in ("before", "after"):
        cluster.put(_witness(name, new_probe.members, new_probe.header), f"{FOLDER}/{name}.c")
        output = f"{PLUGINS}/job_submit_{name}.so"
        cluster.root("gcc", "-shared", "-fPIC", "-w", "-o", output, f"{FOLDER}/{name}.c", check=True)
    cluster.put(LUA.replace("@FOLDER@", FOLDER), "/etc/slurm/job_submit.lua")
    cluster.put('#!/bin/sh\necho "ran $*"\nsleep 1\n', f"{FOLDER}/job.sh", mode=0o755)
    conf = "/etc/slurm/local.conf"
    before = cluster.root("cat", conf, check=True).stdout
    rest = "".join(line for line in before.splitlines(keepends=True) if not line.startswith("JobSubmitPlugins"))
    cluster.put(
        f"{rest}JobSubmitPlugins=before,python,after,lua\nLicenses=matlab:10\nGresTypes=gpu\nScronParameters=enable\n",
        conf,
    )
    cluster.restart()
    return new_probe
