# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of all messages between C and Python.

native/generate/protocol.py makes protocol.h from this module: the members of each enumeration, and the constants that
it names.
"""

from __future__ import annotations

from enum import IntEnum

MAGIC = b"SHW1"
"""The first bytes of a message."""
MAX_MESSAGE = 64 << 20
"""Largest message, in bytes; Slurm's own limit for a request can be configured to be larger."""
TEXT_FOR_USER = (1 << 32) - 1
"""The tag of an answer's text for the user, who reads that of a prolog as the reason of the job."""
EXCLUDED_HANDLER = TEXT_FOR_USER - 1
"""The tag of a request's text: the name of a lenient handler that must not run, because it has ended a worker."""
MEMBERS = TEXT_FOR_USER - 2
"""The tag of the numbers, 32 bits each, of the members that the structs of a message contain, or those of the answer to
a question are to contain; none: all members."""
VARIABLES = TEXT_FOR_USER - 3
"""The tag of the environment variables, as texts, that Slurm's scripts for the same event get."""
WAIT = TEXT_FOR_USER - 4
"""The tag of a number in an answer of jobcomp's workers: milliseconds until they want to be asked again."""
PAGE_END = TEXT_FOR_USER - 5
"""The tag of an item of a page whose rows may move: the question for the next page contains it unchanged."""
TALLY = TEXT_FOR_USER - 6
"""The tag of two numbers in the result of a COUNT: how many structs are like the one before them, and as how many jobs
they count."""
DEFERRED = 1
"""The slot of a text, or texts, that are set but too long to be sent unasked."""
INLINE = 16 << 10
"""Largest size, in bytes, of a text, or of all texts of a member, in a packed struct, unless it is packed whole."""
SHORT = 1 << 10
"""The same for a struct of a page: a page has many, and what one user writes must not decide how long it takes."""
MAX_CONDITIONS = 8
"""Largest number of conditions on the structs of a page."""
MAX_CONTROL_MESSAGE = 4096
"""Largest message between slurmctld and the supervisor, in bytes, header included."""
STATUS_PAGE = 256
"""Size of a status page in bytes. It holds the number of requests that the worker has begun and the flags of the
running handler (Flag), each as 32 bits; then what the worker is doing, up to a NUL byte."""


class Type(IntEnum):
    """What a message is; slurmctld sends requests and results, workers send queries and answers."""

    REQUEST = 1
    ANSWER = 2
    QUERY = 3
    RESULT = 4


class What(IntEnum):
    """What a query asks for.

    MEMBER: one member of the job or the record, however long: its number in a table.
    ROW: a struct of a table by its key: a number, or the text of the only item.
    PAGE: some structs of a table, from a number on, that meet the conditions in the items.
    FACT: other knowledge of slurmctld (Fact) about a user id, or for JOB_SCRIPT a job id.
    ROWS: structs of a table by their keys, which are the items after MEMBERS: numbers or texts. They have their texts,
        however long. `next` is the number of keys after which the answer was long enough; 0: it has all that exist.
    COUNT: how many structs of a table, from a number on, meet the conditions in the items: a struct of MEMBERS for each
        combination of their values, with its TALLY; without any, one empty struct. The third number of the result is
        the number from which it has counted: 0 if slurmctld no longer knows where the page before has ended.
    """

    MEMBER = 1
    ROW = 2
    PAGE = 3
    FACT = 4
    ROWS = 5
    COUNT = 6


class Fact(IntEnum):
    """Knowledge of slurmctld that is not in a member; the result is one text or number, or nothing.

    IN_CONTROL: a number if this slurmctld controls the cluster; nothing if it stands by.
    """

    USER_NAME = 1
    DEFAULT_ACCOUNT = 2
    DEFAULT_QOS = 3
    ASSOC_COMMENT = 4
    ASSOC_QOS = 5
    QOS_PRIORITY = 6
    CLUSTER_NAME = 7
    JOB_SCRIPT = 8
    DEFAULT_PARTITION = 9
    CHOSEN_QOS = 10
    CHARGED_ACCOUNT = 11
    IN_CONTROL = 12


class Status(IntEnum):
    """The status of a result.

    TOO_LONG: no message can hold it, such as a script of 100 MB.
    """

    FOUND = 0
    NOTHING = 1
    TOO_LONG = 2


class ChannelKind(IntEnum):
    """Kinds of messages on the socket between slurmctld and one worker, which are around the messages above.

    LAST: an answer after which the worker ends.
    READY: sent once, before the first request.
    LIMIT: 32 bits: how long slurmctld waits for the next message, in ms; 0: until the deadline of the request.
    """

    REQUEST = 1
    QUERY = 2
    REPLY = 3
    ANSWER = 4
    LAST = 5
    READY = 6
    LIMIT = 7


class Flag(IntEnum):
    """Flags on a status page: on_error is "accept" for the running handler, or for all handlers of the hook."""

    LENIENT = 1
    ALL_LENIENT = 2


class Control(IntEnum):
    """Kinds of messages between slurmctld, the supervisor and generations, over SOCK_SEQPACKET.

    To slurmctld, forwarded by the supervisor:
    WORKER: a worker is ready; the descriptors of its channel and its status page come with the message.
    DIED: a worker has ended; value: its wait status. Its process id is not reused before RELEASED.
    SERVING: use only workers of this generation and later ones; value: timeout in ms; about: 1 to accept requests if no
        worker can serve.
    UNAVAILABLE: no handlers can serve; text: why; about: one of Availability; value, from a generation: how many times
        in a row no worker could.
    OBSERVER: the observer of a generation has a channel for questions, whose descriptor comes with the message.

    From slurmctld:
    ACKNOWLEDGED: all later requests go to this generation or later ones.
    RELEASED: slurmctld knows that a worker has ended, or has closed its channel, and no longer uses its process id;
        value: 1 if it could not take the worker at all.
    KILL: kill a worker, with the programs that it has started. Its generation does it, which has the rights of its
        user.
    UNSERVED: slurmctld has decided a request without an answer; value: one of Unserved; about: one of Result; text: 5
        lines.

    Between the supervisor and a generation:
    CONFIGURED: the configuration is read, and no code of the site has run; a descriptor holds the settings and the
        watch as JSON.
    LOADED: the hooks are loaded; a descriptor holds the watch as JSON.
    FAILED: the hooks could not be loaded; a descriptor holds the findings and the watch as JSON.
    FINISH: start no more workers, and end when the last one has ended; value: 1 to end the observer at once.
    CLAIMS: the process of periodic handlers has a socket (slurmhooks/worker/claims.py), whose other end comes with the
        message.
    """

    WORKER = 1
    DIED = 2
    SERVING = 3
    UNAVAILABLE = 4
    ACKNOWLEDGED = 5
    RELEASED = 6
    LOADED = 7
    FAILED = 8
    FINISH = 9
    OBSERVER = 10
    UNSERVED = 11
    KILL = 12
    CONFIGURED = 13
    CLAIMS = 14


class Availability(IntEnum):
    """What on_unavailable of the newest configuration says; UNKNOWN: no configuration could be read."""

    UNKNOWN = 0
    REJECT = 1
    ACCEPT = 2


class Unserved(IntEnum):
    """How a request without an answer ends. After EXCLUDED, the other handlers run again."""

    EXCLUDED = 0
    PASSED_ON_ERROR = 1
    FAILED = 2
    PASSED_UNAVAILABLE = 3
    FAILED_UNAVAILABLE = 4


class Result(IntEnum):
    """How an exchange with a worker ended.

    OK: with an answer.
    TIMED_OUT: the worker did not answer before the deadline; it is killed.
    WORKER_DIED: the worker ended before it answered.
    UNAVAILABLE: no worker got the request: none was free in time, or the hooks do not load.
    PROTOCOL: the worker sent an invalid message; it is killed.
    """

    OK = 0
    TIMED_OUT = 1
    WORKER_DIED = 2
    UNAVAILABLE = 3
    PROTOCOL = 4


class DeliveryItem(IntEnum):
    """Tags of the items in a request to jobcomp's workers.

    FOLDER: of the spool.
    DETAIL: how the last worker failed.
    HANDLER: the handler that ran then.
    LANE, LANES: which share of the jobs is meant: those whose number, divided by LANES, leaves LANE.
    """

    FOLDER = 0
    DETAIL = 1
    HANDLER = 2
    LANE = 3
    LANES = 4


class FactorsItem(IntEnum):
    """Tags of an answer of site_factor's workers: a value for each job, and the members of jobs to send from now on."""

    VALUES = 0
    USED_MEMBERS = 1


class Fsync(IntEnum):
    """When records in the spool are forced onto the disk; they survive the end of a process in any case.

    NEVER: when the kernel decides.
    INTERVAL: about once a second.
    ALWAYS: before slurmctld continues.
    """

    NEVER = 0
    INTERVAL = 1
    ALWAYS = 2
