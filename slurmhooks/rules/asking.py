# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks a program or a web service of the site, within a deadline."""

from __future__ import annotations

import errno
import http.client
import json
import os
import queue
import select
import subprocess
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.errors import SlurmhooksError

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = 64 << 10
"""Maximum bytes of an answer."""
MOST_WAITING = 4
"""Maximum number of threads of a worker that still wait for a service that has missed its deadline."""
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


class Answer(NamedTuple):
    """The exit status of a program and its output, or the status code of HTTP and the body."""

    code: int
    text: str


class UnansweredError(SlurmhooksError):
    """A service does not work: it is too slow, cannot be reached, or has failed itself."""


class InvalidAnswerError(SlurmhooksError):
    """A service has answered a question, perhaps one with an odd value of a user, but not with a decision."""


def program(words: Sequence[str], deadline: float) -> Answer:
    """Run a program and return its answer; its standard error goes to the log of slurmctld.

    The program is killed at the deadline. Processes that it has started are killed when this worker ends, because they
    belong to its process group.

    ``words`` are an absolute path and arguments, which no shell interprets. ``deadline`` is in seconds from now.

    Raises:
        UnansweredError: the program cannot be started, was ended by a signal, or has not ended by the deadline.
        InvalidAnswerError: the output is longer than LARGEST, or the words are longer than the system allows.
    """
    end = time.monotonic() + deadline
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=ENVIRONMENT)
    except OSError as error:
        if error.errno == errno.E2BIG:  # by values of the user
            raise InvalidAnswerError(f"{words[0]}: {error.strerror}") from None
        raise UnansweredError(f"{words[0]}: {error.strerror}") from None
    assert process.stdout is not None
    with process.stdout as stream:
        try:
            text = _read(stream.fileno(), end)
            code = process.wait(max(end - time.monotonic(), 0))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise UnansweredError(f"{words[0]}: not done after {deadline:g} s") from None
        finally:
            process.kill()
            process.wait()
    if code < 0:
        raise UnansweredError(f"{words[0]}: ended by signal {-code}")
    return Answer(code, text)


def _read(descriptor: int, end: float) -> str:
    """Read until the end of the output.

    Raises:
        TimeoutError: the output has no end by then.
        InvalidAnswerError: the output is longer than LARGEST.
    """
    parts: list[bytes] = []
    size = 0
    while size <= LARGEST:
        ready, _, _ = select.select([descriptor], [], [], max(end - time.monotonic(), 0))
        if not ready:
            raise TimeoutError
        part = os.read(descriptor, LARGEST)
        if not part:
            return b"".join(parts).decode("utf-8", "replace")
        parts.append(part)
        size += len(part)
    raise InvalidAnswerError(f"its output has more than {LARGEST >> 10} KiB")


class _SameAddress(urllib.request.HTTPRedirectHandler):
    """Follow no redirections: only the address in the configuration may be asked."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = urllib.request.build_opener(_SameAddress, urllib.request.ProxyHandler({}))
_waiting = threading.BoundedSemaphore(MOST_WAITING)


def web(url: str, deadline: float) -> Answer:
    """Send a GET request to a web service and return its answer.

    A separate thread sends it, because neither a name look-up nor a slow answer can be interrupted. A thread that
    misses the deadline ends by itself later.

    Redirections are not followed, and no proxy is used. ``deadline`` is in seconds from now.

    Raises:
        UnansweredError: the service cannot be reached, has not answered by the deadline, or has status 500 or above.
    """
    if not _waiting.acquire(blocking=False):
        raise UnansweredError(f"{url}: {MOST_WAITING} earlier requests have no answer yet")
    results: queue.SimpleQueue[Answer | str] = queue.SimpleQueue()
    threading.Thread(target=_fetch, args=(url, deadline, results), daemon=True).start()
    try:
        result = results.get(timeout=deadline)
    except queue.Empty:
        raise UnansweredError(f"{url}: no answer after {deadline:g} s") from None
    if isinstance(result, str):
        raise UnansweredError(f"{url}: {result}")
    if result.code >= 500:
        raise UnansweredError(f"{url}: status {result.code}")
    return result


def _fetch(url: str, deadline: float, results: queue.SimpleQueue[Answer | str]) -> None:
    """Send the request; runs in a thread of its own."""
    try:
        request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "slurmhooks"})
        try:
            with _opener.open(request, timeout=deadline) as answer:
                results.put(Answer(answer.status, answer.read(LARGEST).decode("utf-8", "replace")))
        except urllib.error.HTTPError as error:
            with error:
                results.put(Answer(error.code, error.read(LARGEST).decode("utf-8", "replace")))
    except (OSError, ValueError, http.client.HTTPException) as error:
        results.put(f"{error}" or type(error).__name__)
    finally:
        _waiting.release()


def table(text: str) -> dict[str, Any]:
    """Return an answer that is a JSON object.

    Raises:
        InvalidAnswerError: the answer is not a JSON object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidAnswerError("the answer is not a JSON object")
    return value
