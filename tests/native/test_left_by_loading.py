# SPDX-License-Identifier: GPL-2.0-or-later
"""What hook files for slurmctld change in their process while they are loaded does not end it or its workers later."""

import time

import pytest

from tests.cluster.turns import moved_from
from tests.native.hosting import ERROR_ID, Host
from tests.native.test_workers import Start, start  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

LEFT = {
    "a default timeout": "import socket\nsocket.setdefaulttimeout(0.01)",
    "standard output closed": "import sys\nsys.stdout.close()",
    "standard output of another type": "import io, sys\nsys.stdout = io.StringIO()",
    "standard output detached": "import codecs, sys\nsys.stdout = codecs.getwriter('utf-8')(sys.stdout.detach())",
    "no standard output": "import sys\nsys.stdout = sys.stderr = None",
    "standard error of another type": "import io, sys\nsys.stderr = io.StringIO()",
    "a timer": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 20)",
    "a blocked signal": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "a small stack": "import sys\nsys.setrecursionlimit(200)",
    "an exception for each warning": "import warnings\nwarnings.simplefilter('error')",
    "no modules": "import sys\nsys.modules.clear()",
    "no environment": "import os\nos.environ.clear()",
    "no current folder": "import os\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')",
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
}
"""Code of hook files."""


@pytest.mark.parametrize("code", moved_from(5, LEFT.values()), ids=LEFT)
def test_a_worker_continues(start: Start, tmp_path: object, code: str) -> None:  # noqa: F811 - the fixture
    """One worker answers requests with a pause between them, and a periodic process and an observer do not end."""
    host = start(load=f"import os\nos.chdir({str(tmp_path)!r})\n{code}", observe="pass", repeat="turns.wait(1000)")
    pid = host.exchange("import os; answer = os.getpid()")
    time.sleep(0.5)
    assert host.exchange("answer = os.getpid()") == pid, host.log
    assert "ended unexpectedly" not in host.log
    assert "Traceback" not in host.log
    assert ("a hook file has left a timer" in host.log) == ("setitimer" in code)
    host.stop()


ENDS = {
    "exit": "os._exit(0)",
    "killed": "os.kill(os.getpid(), 9)",
    "another program": "os.execv('/bin/true', ['true'])",
    "no descriptors": "os.closerange(3, 256)",
}
"""Code of hook files that end their process."""


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_the_file_that_ended_the_process_is_named(host: Host, code: str) -> None:
    """The request is refused with one line, and the log names the hook file that was being loaded."""
    path = host.site(f"import os\n{code}\n@hook.job_submit\ndef handler(job): ...")
    run = host.run("open js $job_submit\njob_submit js account=a")
    (refused,) = run.of("job_submit")
    assert refused.rc != 0
    assert ERROR_ID.search(str(refused["err_msg"]))
    assert f"the process that loads the hooks ended unexpectedly; the last file that was begun is {path}" in run
