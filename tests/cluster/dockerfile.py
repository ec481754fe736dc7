# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays the instructions of a Dockerfile in a cluster, in place of an image builder."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.cluster.carrying import SECONDS
from tests.cluster.conftest import Cluster

IGNORED = {"ARG", "USER"}
INSTALLERS = {
    "apt-get": """#!/bin/sh
# In place of apt-get, without network: tells whether the packages exist and are installed.
for word; do
    case $word in
        -*) ;;
        update) exit 0 ;;
        install) verb=install ;;
        *) [ "$verb" = install ] && dpkg-query --show --showformat='${db:Status-Abbrev}' "$word" | grep -q ^ii ||
            { echo "apt-get: $word is not installed" >&2; exit 1; } ;;
    esac
done
""",
    "dnf": """#!/bin/sh
# In place of dnf, on a machine of Debian: tells whether what the packages of Rocky Linux contain is there.
for word; do
    case $word in
        -*|install) continue ;;
        clean) exit 0 ;;
        gcc) file=/usr/bin/gcc ;;
        binutils) file=/usr/bin/ld ;;
        pkgconf) file=/usr/bin/pkg-config ;;
        glibc-devel) file=/usr/include/stdio.h ;;
        python3.*-devel) file=/usr/include/${word%-devel}/Python.h ;;
        python3.*-libs) file=$(ldconfig -p | sed -n "s/.*lib${word%-libs}\\.so\\.1.* => //p") ;;
        python3.*) file=/usr/bin/$word ;;
        *) file=/nonexistent ;;
    esac
    [ -e "$file" ] || { echo "dnf: $word is not installed" >&2; exit 1; }
done
""",
}


def stages(path: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each stage of a Dockerfile: its name, or the empty text; and its instructions with their texts."""
    name = ""
    found: list[tuple[str, str]] = []
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            if any(each[0] not in IGNORED for each in found):
                yield name, found
            name, found = rest.partition(" AS ")[2], []
        else:
            found.append((word, rest.strip()))
    yield name, found


def play(cluster: Cluster, instructions: list[tuple[str, str]], tree: str, arguments: Mapping[str, str]) -> None:
    """Play the instructions of a stage as root."""
    for name, program in INSTALLERS.items():
        cluster.put(program, f"/usr/local/sbin/{name}", 0o755)
    for word, text in instructions:
        if word == "RUN":
            run = f"export PATH=/usr/local/sbin:$PATH; {text}"
            done = cluster.root("sh", "-c", run, env=arguments, timeout=SECONDS)
            assert done.returncode == 0, f"RUN {text}\n{done.stdout}{done.stderr}"
        elif word == "COPY" and text.startswith("--from="):
            # All stages are played in one place.
            _, source, target = text.split()
            assert source == target
        elif word == "COPY":
            source, target = text.split()
            cluster.root("sh", "-ec", f"mkdir -p {target}; cp -a {tree}/{source} {target}", check=True)
        else:
            assert word in IGNORED, word
