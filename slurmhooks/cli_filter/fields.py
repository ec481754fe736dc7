# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that handlers also see as Python values: one row for each option.

Names are those of job_submit's ``job``, so that one function can be a handler of both. ``None`` means not given.
"""

from __future__ import annotations

from slurmhooks.values import UNLIMITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from slurmhooks.values import Unlimited

    class Options(Protocol):
        """What a field reads and writes."""

        def __getitem__(self, name: str, /) -> str | None:
            """Return the text of an option."""

        def __setitem__(self, name: str, value: str | None, /) -> None:
            """Set the text of an option."""


MIB = {"M": 1, "G": 1 << 10, "T": 1 << 20, "P": 1 << 30, "?": 1 << 40}
"""Of the units that mbytes_to_str() prints: it knows none above P, and prints 0 as ``0?``."""


class Field:
    """A property of ``options``; tools/make_stubs.py declares it for type checkers and editors.

    Attributes:
        option: the long option.
        name: of the property.
        kind: type of the value, unless that is None.
        unit: of the value.
        text: description.
    """

    __slots__ = ("name", "option", "text")

    unit = ""
    kind = "str"

    def __init__(self, option: str, text: str) -> None:
        self.option = option
        self.text = text

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the name."""
        self.name = name

    def __get__(self, view: Options | None, owner: type | None = None) -> Any:
        """Return the value; None if the option is not given, or has no text, or the command does not have it."""
        if view is None:
            return self
        text = view[self.option]
        return None if text is None or (not text and not isinstance(self, Text)) else self.read(text)

    def __set__(self, view: Options, value: Any) -> None:
        """Set the option; None puts it back to its default.

        Raises:
            TypeError: the value is of the wrong type.
            ValueError: Slurm refuses it, or it is out of range.
        """
        view[self.option] = None if value is None else self.write(value, view[self.option] or None)

    def read(self, text: str) -> Any:
        """Convert a text that Slurm prints to the value."""
        return text

    def write(self, value: Any, before: str | None) -> str:
        """Convert a value to the text for Slurm; a field that is half of an option also needs the old text."""
        if not isinstance(value, str):
            raise TypeError(f"{self.name} takes a str or None, not {value!r}")
        return value


class Text(Field):
    """The text as it is."""

    __slots__ = ()


class Number(Field):
    """A number."""

    __slots__ = ("lowest",)

    kind = "int"

    def __init__(self, option: str, text: str, lowest: int = 0) -> None:
        super().__init__(option, text)
        self.lowest = lowest

    def read(self, text: str) -> int:
        """Return the number."""
        return int(text)

    def write(self, value: Any, before: str | None) -> str:
        """Return the digits."""
        return str(self.checked(value))

    def checked(self, value: Any) -> int:
        """Return a number that the option can have.

        Raises:
            TypeError: the value is not an int.
            ValueError: the value is out of range.
        """
        if not isinstance(value, int):
            raise TypeError(f"{self.name} takes an int or None, not {value!r}")
        if not self.lowest <= value < 1 << 31:
            raise ValueError(f"{self.name} takes {self.lowest} to {(1 << 31) - 1}, not {value}")
        return int(value)


class NodeCount(Number):
    """One end of ``--nodes=MIN-MAX``."""

    __slots__ = ("end",)

    def __init__(self, option: str, text: str, end: int) -> None:
        """Store the description; ``end`` is 0 for the minimum and 1 for the maximum."""
        super().__init__(option, text, 1)
        self.end = end

    def read(self, text: str) -> int:
        """Return this end; if Slurm prints one number, that is both ends."""
        return int(text.split("-")[self.end if "-" in text else 0])

    def write(self, value: Any, before: str | None) -> str:
        """Return both ends; the other end is adjusted if minimum would exceed maximum."""
        number = self.checked(value)
        ends = [number, number] if before is None else [int((before.split("-") * 2)[0]), int(before.split("-")[-1])]
        ends[self.end] = number
        return f"{min(ends[0], number)}-{max(ends[1], number)}"


class Memory(Number):
    """An amount of memory."""

    __slots__ = ()

    unit = "MiB"

    def read(self, text: str) -> int:
        """Return MiB."""
        number, unit = (text[:-1], text[-1]) if text[-1] in MIB else (text, "M")
        return int(number) * MIB[unit]

    def write(self, value: Any, before: str | None) -> str:
        """Return the number with its unit."""
        return f"{super().write(value, before)}M"


class Minutes(Field):
    """A time limit."""

    __slots__ = ()

    unit = "minutes"
    kind = "int | Unlimited"

    def read(self, text: str) -> int | Unlimited:
        """Return the minutes in a text of mins2time_str(): ``[DAYS-]HOURS:MINUTES:SECONDS``."""
        if text == "UNLIMITED":
            return UNLIMITED
        days, _, time = text.rpartition("-")
        hours, minutes, _ = time.split(":")
        return int(days or 0) * 1440 + int(hours) * 60 + int(minutes)

    def write(self, value: Any, before: str | None) -> str:
        """Return minutes as a number."""
        if value is UNLIMITED:
            return "UNLIMITED"
        if not isinstance(value, int):
            raise TypeError(f"{self.name} takes minutes as an int, UNLIMITED or None, not {value!r}")
        if not 0 <= value < 1 << 31:
            raise ValueError(f"{self.name} takes 0 to {(1 << 31) - 1} minutes, not {value}")
        return str(int(value))


class OptionFields:
    """The fields of ``options``, in alphabetical order."""

    __slots__ = ()

    account = Text("account", "Account to charge.")
    burst_buffer = Text("bb", "Burst buffer directives.")
    clusters = Text("clusters", "Clusters that the job may go to, separated by commas.")
    comment = Text("comment", "Comment of the user.")
    container = Text("container", "OCI bundle to run in.")
    cores_per_socket = Number("cores-per-socket", "Minimum number of cores per socket.")
    cpus_per_task = Number("cpus-per-task", "CPUs for each task.")
    dependency = Text("dependency", "Jobs to wait for.")
    exc_nodes = Text("exclude", "Nodes not to use, as a node list.")
    extra = Text("extra", "Text that Slurm stores.")
    features = Text("constraint", "Features that nodes must have.")
    licenses = Text("licenses", "Licenses that the job needs.")
    mail_user = Text("mail-user", "Recipient of mail.")
    max_nodes = NodeCount("nodes", "Maximum number of nodes.", 1)
    mcs_label = Text("mcs-label", "Label for sharing nodes.")
    min_mem_per_cpu = Memory("mem-per-cpu", "Memory for each CPU.")
    min_mem_per_node = Memory("mem", "Memory on each node; 0 for all of it.")
    min_nodes = NodeCount("nodes", "Minimum number of nodes.", 0)
    name = Text("job-name", "Name of the job.")
    network = Text("network", "Requirements on the interconnect.")
    nice = Number("nice", "Adjustment of the priority; positive numbers lower it.", -((1 << 31) - 1))
    ntasks_per_core = Number("ntasks-per-core", "Maximum number of tasks per core.")
    ntasks_per_node = Number("ntasks-per-node", "Tasks on each node.")
    ntasks_per_socket = Number("ntasks-per-socket", "Maximum number of tasks per socket.")
    num_tasks = Number("ntasks", "Tasks to start.")
    partition = Text("partition", "Partitions, separated by commas.")
    pn_min_cpus = Number("mincpus", "Minimum number of CPUs per node.")
    pn_min_tmp_disk = Memory("tmp", "Minimum temporary disk space per node.")
    prefer = Text("prefer", "Features that nodes should have.")
    qos = Text("qos", "Quality of service.")
    req_nodes = Text("nodelist", "Nodes that the job must get, as a node list.")
    reservation = Text("reservation", "Reservations to use, separated by commas.")
    sockets_per_node = Number("sockets-per-node", "Minimum number of sockets per node.")
    std_err = Text("error", "File for errors.")
    std_in = Text("input", "File for input.")
    std_out = Text("output", "File for output.")
    threads_per_core = Number("threads-per-core", "Threads to use per core.")
    time_limit = Minutes("time", "Time limit.")
    time_min = Minutes("time-min", "Minimum time limit that the user accepts.")
    wckey = Text("wckey", "Workload characterization key.")
    work_dir = Text("chdir", "Working directory.")


FIELDS: dict[str, Field] = {name: field for name, field in vars(OptionFields).items() if isinstance(field, Field)}
"""The fields by name."""
