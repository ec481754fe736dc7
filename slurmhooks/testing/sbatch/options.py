# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of sbatch, and which fields of a submission each sets.

Source: slurm_opt.c:slurm_opt_create_job_desc and sbatch.c:_fill_job_desc_from_opts.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmhooks.fields.constants import MailType, OpenMode, Profile, Shared, TaskDist, TaskDistFlag, WarnFlag
from slurmhooks.fields.rows import release_of
from slurmhooks.testing.job_submit import RELEASE
from slurmhooks.testing.option_numbers import NEVER, megabytes, minutes, seconds, strtol
from slurmhooks.testing.option_texts import printed
from slurmhooks.testing.option_values import SbatchError, moment, nodes, number
from slurmhooks.testing.option_words import mail_types, profiles, signal_parts
from slurmhooks.testing.sbatch import hints, settings
from slurmhooks.values import NO_VAL, UNLIMITED

Fields = dict[str, Any]
Setter = Callable[[Fields, str], None]

MOST_NICE = (1 << 31) - 3
TOP = NO_VAL[32] - 1
"""The priority ``TOP``."""


@dataclass(frozen=True)
class Sets:
    """A setter of one field.

    Attributes:
        field: its name; names with an underscore are those of values that other options need.
        read: converts the argument; None unsets the field.
    """

    field: str
    read: Callable[[str], Any]

    def __call__(self, fields: Fields, text: str) -> None:
        """Store the converted argument."""
        value = self.read(text)
        if value is None:
            fields.pop(self.field, None)
        else:
            fields[self.field] = value


@dataclass(frozen=True)
class Alternative(Sets):
    """A setter that unsets another field, of which only the last option counts.

    Attributes:
        other: the field that it unsets.
    """

    other: str

    def __call__(self, fields: Fields, text: str) -> None:
        """Store the converted argument."""
        super().__call__(fields, text)
        fields.pop(self.other, None)


def text_of(field: str) -> Sets:
    """Return a setter that stores the argument as it is."""
    return Sets(field, lambda text: text)


def always(field: str, value: Any) -> Sets:
    """Return a setter that stores a value, regardless of the argument."""
    return Sets(field, lambda _: value)


def names_of(field: str, values: Mapping[str, Any], read: Callable[[str], str]) -> Sets:
    """Return a setter that combines flags, whose names a function reads, with commas between."""
    return Sets(field, lambda text: sum(int(values[word.upper()]) for word in read(text).split(",")))


def profile(text: str) -> int:
    """Return the flags of ``--profile``; all of them are more than the known ones."""
    names = profiles(text).upper().split(",")
    return PROFILES["ALL"] if len(names) > 1 and "all" in text.lower() else sum(PROFILES[name] for name in names)


def one_of(field: str, values: Mapping[str, Any]) -> Sets:
    """Return a setter that stores the value of one of several words."""

    def read(text: str) -> Any:
        if text.lower() not in values:
            raise SbatchError(f"{text!r} is not one of {', '.join(sorted(word for word in values if word))}")
        return values[text.lower()]

    return Sets(field, read)


def tres(field: str, prefix: str = "") -> Sets:
    """Return a setter that stores TRES, without empty items; the last option of several counts."""
    return Sets(field, lambda text: ",".join(f"{prefix}{part}" for part in text.split(",") if part) or None)


def memory_per_gpu(fields: Fields, text: str) -> None:
    """``--mem-per-gpu``."""
    tres("mem_per_tres", "gres/gpu:")(fields, str(megabytes(text)))


def generic_resources(fields: Fields, text: str) -> None:
    """``--gres``."""
    words = (word if "/" in word.split(":")[0] else f"gres/{word}" for word in text.split(","))
    fields["_gres"] = "" if text.lower() == "none" else ",".join(words)


def signal(fields: Fields, text: str) -> None:
    """``--signal=[{R|B}:]SIGNAL[@SECONDS]``."""
    letters, number, seconds = signal_parts(text, release_of(RELEASE), "sbatch")
    flags = {"B": WarnFlag.KILL_JOB_BATCH, "R": WarnFlag.KILL_JOB_RESV}
    given = sum(int(flags[letter]) for letter in letters)
    # The flags of an earlier option remain.
    fields.update(warn_signal=number, warn_time=seconds, warn_flags=fields.get("warn_flags", 0) | given)


def no_kill(fields: Fields, text: str) -> None:
    """``--no-kill[=off]``."""
    fields.pop("kill_on_node_fail", None)
    if text.lower() not in ("", "set", "off", "no"):
        raise SbatchError(f"{text!r} is not one of set, off, no")
    if text.lower() in ("", "set"):
        fields["kill_on_node_fail"] = 0


def file_name(text: str) -> str:
    """Return the name of a file for input or output."""
    return "/dev/null" if text.lower() == "none" else text


def switches(fields: Fields, text: str) -> None:
    """``--switches=COUNT[@TIME]``."""
    count, _, wait = text.partition("@")
    fields["req_switch"] = number(count)
    if wait and printed("switches", text).endswith(tuple("0123456789")) and seconds(wait) != NEVER:
        fields["wait4switch"] = seconds(wait)


def limit(text: str) -> Any:
    """Return a time limit in minutes."""
    value = minutes(text) % (1 << 32)
    return UNLIMITED if value in (0, NEVER) else value


def period(text: str) -> Any:
    """Return a period in seconds."""
    value = seconds(text) % (1 << 32)
    return UNLIMITED if value == NEVER else value


def nice(text: str) -> int:
    """Return what strtoll() makes of a text; without one, 100."""
    value = strtol(text)[0] if text else 100
    if abs(value) > MOST_NICE:
        raise SbatchError(f"{text!r} is out of range (+/- {MOST_NICE})")
    return value


def distribution(fields: Fields, text: str) -> None:
    """``--distribution``."""
    fields.pop("task_dist_flags", None)
    kind, _, flag = printed("distribution", text).partition(",")
    name, _, size = kind.replace("fcyclic", "cfull").replace(":", "_").upper().partition("=")
    if name in ("PACK", "NOPACK"):
        name, flag = "UNKNOWN", kind
    fields["task_dist"] = int(TaskDist[f"SLURM_DIST_{name}"])
    if size:
        fields["plane_size"] = int(size)
    flags = {"pack": TaskDistFlag.SLURM_DIST_PACK_NODES, "nopack": TaskDistFlag.SLURM_DIST_NO_PACK_NODES}
    if flag:
        fields["task_dist_flags"] = int(flags[flag])


def text_in(path: str) -> str:
    """Return the text of a file."""
    try:
        # A device or a FIFO may have no end.
        text = Path(path).read_text(errors="surrogateescape") if Path(path).is_file() else None
    except (OSError, ValueError) as error:
        raise SbatchError(f"{path}: {error}") from error
    if text is None:
        raise SbatchError(f"{path}: not a file")
    return text


def identity(field: str, kind: str) -> Sets:
    """Return a setter that stores the id of a user or group, given by name or number."""

    def read(text: str) -> int:
        import grp
        import pwd

        try:
            if text.isdecimal() and text.isascii() and number(text) < NO_VAL[32]:
                return number(text)
            return pwd.getpwnam(text).pw_uid if kind == "user" else grp.getgrnam(text).gr_gid
        except (KeyError, ValueError):
            raise SbatchError(f"{kind} {text!r} does not exist here") from None

    return Sets(field, read)


def open_mode(text: str) -> int:
    """Return the value of ``--open-mode``, of which only the first letter counts."""
    if text[:1].lower() not in MODES:
        raise SbatchError(f"{text!r} is not one of append, truncate")
    return int(MODES[text[0].lower()])


def nothing(fields: Fields, text: str) -> None:
    """Ignore an option that sets no field of the submission."""


class Priority(Sets):
    """``--priority``; 0 is not sent, and ``--hold``, which stores 0, comes first."""

    def __call__(self, fields: Fields, text: str) -> None:
        """Store the priority."""
        if fields.get("priority") != 0 and self.read(text):
            super().__call__(fields, text)


class Requeue(Sets):
    """``--requeue[=expedite]``."""

    def __call__(self, fields: Fields, text: str) -> None:
        """Store 1, and the flag."""
        super().__call__(fields, text)
        if text.lower() == "expedite":
            settings.flag("EXPEDITED_REQUEUE")(fields, text)


def propagated(fields: Fields, text: str) -> None:
    """Check ``--propagate``, as parse_rlimits() of slurm_rlimits_info.c does."""
    for word in re.split(r"[, \t\n]+", text) if text not in ("ALL", "NONE") else ():
        if word and word.removeprefix("RLIMIT_") not in LIMITS:
            raise SbatchError(f"{word!r} is not a limit such as STACK")


LIMITS = ("CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS")
MAIL = {
    "BEGIN": MailType.MAIL_JOB_BEGIN,
    "END": MailType.MAIL_JOB_END,
    "FAIL": MailType.MAIL_JOB_FAIL,
    "REQUEUE": MailType.MAIL_JOB_REQUEUE,
    "INVALID_DEPEND": MailType.MAIL_INVALID_DEPEND,
    "STAGE_OUT": MailType.MAIL_JOB_STAGE_OUT,
    "TIME_LIMIT": MailType.MAIL_JOB_TIME100,
    "TIME_LIMIT_90": MailType.MAIL_JOB_TIME90,
    "TIME_LIMIT_80": MailType.MAIL_JOB_TIME80,
    "TIME_LIMIT_50": MailType.MAIL_JOB_TIME50,
    "ARRAY_TASKS": MailType.MAIL_ARRAY_TASKS,
    "NONE": 0,
}
MAIL["ALL"] = MAIL["BEGIN"] | MAIL["END"] | MAIL["FAIL"] | MAIL["REQUEUE"] | MAIL["INVALID_DEPEND"] | MAIL["STAGE_OUT"]
PROFILES = {name.removeprefix("ACCT_GATHER_PROFILE_"): int(value) for name, value in Profile.__members__.items()}
SHARED = {"": "NONE", "exclusive": "NONE", "oversubscribe": "OK", "user": "USER", "mcs": "MCS", "topo": "TOPO"}
EXCLUSIVE = {word: int(Shared.__members__[f"JOB_SHARED_{name}"]) for word, name in SHARED.items()
             if f"JOB_SHARED_{name}" in Shared.__members__}  # fmt: skip
MODES = {"a": OpenMode.OPEN_MODE_APPEND, "t": OpenMode.OPEN_MODE_TRUNCATE}

OPTIONS: dict[str, Setter] = {
    "account": text_of("account"),
    "acctg-freq": text_of("acctg_freq"),
    "array": text_of("array_inx"),
    "batch": text_of("batch_features"),
    "bb": text_of("burst_buffer"),
    "bbf": Sets("_burst_buffer", text_in),
    "begin": Sets("begin_time", moment),
    "chdir": text_of("work_dir"),
    "cluster": text_of("clusters"),
    "cluster-constraint": text_of("cluster_features"),
    "clusters": text_of("clusters"),
    "comment": text_of("comment"),
    "constraint": text_of("features"),
    "consolidate-segments": settings.flag("CONSOLIDATE_SEGMENTS"),
    "container": text_of("container"),
    "container-id": text_of("container_id"),
    "container-type": text_of("container_type"),
    "context": text_of("req_context"),
    "contiguous": always("contiguous", 1),
    "core-spec": Alternative("core_spec", number, "thread_spec"),
    "cores-per-socket": Sets("cores_per_socket", number),
    "cpu-bind": text_of("_cpu_bind"),
    "cpu-freq": settings.cpu_frequency,
    "cpus-per-gpu": tres("cpus_per_tres", "gres/gpu:"),
    "cpus-per-task": Sets("cpus_per_task", number),
    "deadline": Sets("deadline", moment),
    "delay-boot": Sets("delay_boot", period),
    "dependency": text_of("dependency"),
    "distribution": distribution,
    "error": Sets("std_err", file_name),
    "exclude": text_of("exc_nodes"),
    "exclusive": one_of("shared", EXCLUSIVE),
    "export": text_of("_export"),
    "export-file": Sets("_export_file", text_in),
    "external": settings.flag("EXTERNAL_JOB"),
    "extra": text_of("extra"),
    "extra-node-info": settings.node_layout,
    "get-user-env": always("_user_environment", True),
    "gpu-bind": settings.gpu_binding,
    "gid": identity("group_id", "group"),
    "gpu-freq": Sets("tres_freq", "gpu:{}".format),
    "gpus": tres("tres_per_job", "gres/gpu:"),
    "gpus-per-node": text_of("_gpus_per_node"),
    "gpus-per-socket": tres("tres_per_socket", "gres/gpu:"),
    "gpus-per-task": text_of("_gpus_per_task"),
    "gres": generic_resources,
    "gres-flags": settings.gres_flags,
    "hint": hints.check,
    "hold": always("priority", 0),
    "ignore-pbs": nothing,
    "immediate": Sets("immediate", lambda text: int(number(text or "1") == 1)),
    "input": Sets("std_in", file_name),
    "job-name": text_of("name"),
    "kill-on-invalid-dep": settings.dependency_end,
    "licenses": text_of("licenses"),
    "mail-type": names_of("mail_type", MAIL, mail_types),
    "mail-user": text_of("mail_user"),
    "mcs-label": text_of("mcs_label"),
    "mem": Sets("min_mem_per_node", megabytes),
    "mem-bind": settings.memory_binding,
    "mem-per-cpu": Sets("min_mem_per_cpu", megabytes),
    "mem-per-gpu": memory_per_gpu,
    "mem-update": settings.memory_update,
    "mincpus": Sets("pn_min_cpus", number),
    "network": text_of("network"),
    "nice": Sets("nice", nice),
    "no-kill": no_kill,
    "no-requeue": always("requeue", 0),
    "nodefile": Alternative("_nodefile", str, "req_nodes"),
    "nodelist": Alternative("req_nodes", str, "_nodefile"),
    "nodes": nodes,
    "ntasks": Sets("num_tasks", number),
    "ntasks-per-core": Sets("ntasks_per_core", number),
    "ntasks-per-gpu": Sets("_ntasks_per_gpu", number),
    "ntasks-per-node": Sets("ntasks_per_node", number),
    "ntasks-per-socket": Sets("ntasks_per_socket", number),
    "ntasks-per-tres": Sets("ntasks_per_tres", number),
    "oom-kill-step": Sets("oom_kill_step", lambda text: number(text or "1")),
    "open-mode": Sets("open_mode", open_mode),
    "output": Sets("std_out", file_name),
    "overcommit": always("overcommit", 1),
    "oversubscribe": always("shared", int(Shared.__members__["JOB_SHARED_OK"])),
    "parsable": nothing,
    "partition": text_of("partition"),
    "prefer": text_of("prefer"),
    "priority": Priority("priority", lambda text: TOP if text.upper() == "TOP" else strtol(text)[0]),
    "profile": Sets("profile", profile),
    "propagate": propagated,
    "qos": text_of("qos"),
    "quiet": always("_quiet", True),
    "reboot": always("reboot", 1),
    "requeue": Requeue("requeue", lambda _: 1),
    "reservation": text_of("reservation"),
    "resources": text_of("_resources"),
    "resv-ports": Sets("resv_port_cnt", lambda text: number(text or "0")),
    "segment": Sets("segment_size", number),
    "signal": signal,
    "sockets-per-node": Sets("sockets_per_node", number),
    "spread-segments": settings.flag("SPREAD_SEGMENTS"),
    "spread-job": settings.flag("SPREAD_JOB"),
    "stepmgr": settings.flag("STEPMGR_ENABLED"),
    "switch-req": Sets("req_switch", number),
    "switch-wait": Sets("wait4switch", seconds),
    "switches": switches,
    "test-only": nothing,
    "thread-spec": Alternative("thread_spec", number, "core_spec"),
    "threads-per-core": settings.threads,
    "time": Sets("time_limit", limit),
    "time-min": Sets("time_min", limit),
    "tmp": Sets("pn_min_tmp_disk", megabytes),
    "tres-bind": text_of("tres_bind"),
    "tres-per-task": tres("tres_per_task"),
    "uid": identity("user_id", "user"),
    "use-min-nodes": settings.flag("USE_MIN_NODES"),
    "verbose": Sets("_verbose", lambda text: text != "0" or None),
    "wait": nothing,
    "wait-all-nodes": Sets("wait_all_nodes", lambda text: number(text) % (1 << 16)),
    "wckey": text_of("wckey"),
    "wrap": text_of("_wrap"),
}
"""The setters by long name; an omitted argument is an empty text."""
