# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the Debian mirror of this machine, and how it is reached."""

import os
import shutil
import subprocess

from .errors import LabError

APT_SETTINGS = ("acquire::http", "acquire::https", "acquire::check-", "acquire::retries", "acquire::forceipv")
"""The settings of the host's apt that say how to reach a mirror."""


def find_mirror() -> str:
    """Return the address of the Debian mirror that this machine's apt uses, or SLURMHOOKS_MIRROR.

    Raises:
        LabError: apt's configuration names none.
    """
    if mirror := os.environ.get("SLURMHOOKS_MIRROR"):
        return mirror.rstrip("/")
    directory = "/etc/apt/sources.list.d"
    files = (
        [os.path.join(directory, name) for name in sorted(os.listdir(directory))] if os.path.isdir(directory) else []
    )
    for path in [*files, "/etc/apt/sources.list"]:
        if not path.endswith((".sources", ".list")) or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        mirror = _deb822(text) if path.endswith(".sources") else _one_line(text)
        if mirror:
            return mirror.rstrip("/")
    raise LabError("apt's configuration names no Debian mirror: set SLURMHOOKS_MIRROR to the address of one")


def _is_debian(address: str, suite: str, components: str) -> bool:
    return address.rstrip("/").endswith("/debian") and "security" not in suite and "main" in components.split()


def _deb822(text: str) -> str:
    for stanza in text.split("\n\n"):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        for address in fields.get("uris", "").split():
            if _is_debian(address, fields.get("suites", ""), fields.get("components", "")):
                return address
    return ""


def _one_line(text: str) -> str:
    for line in text.splitlines():
        if not line.startswith("deb "):
            continue
        words = line.split("]")[-1].split() if "[" in line else line.split()[1:]
        if len(words) >= 3 and _is_debian(words[0], words[1], " ".join(words[2:])):
            return words[0]
    return ""


def apt_settings(root: str) -> str:
    """Return the settings by which the host's apt reaches its mirror, and copy their certificates into `root`."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    lines = []
    for line in dump.splitlines():
        if not line.lower().startswith(APT_SETTINGS):
            continue
        lines.append(line)
        value = line.partition(" ")[2].strip('";')
        if value.startswith("/") and os.path.isfile(value):
            _copy_same_path(root, value)
    if os.path.isfile("/etc/ssl/certs/ca-certificates.crt"):
        _copy_same_path(root, "/etc/ssl/certs/ca-certificates.crt")
    return "".join(line + "\n" for line in lines)


def _copy_same_path(root: str, path: str) -> None:
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    shutil.copyfile(path, root + path)


def proxies() -> dict[str, str]:
    """Return the environment variables that say how this machine reaches the network."""
    names = ("http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY")
    return {name: os.environ[name] for name in names if name in os.environ}


def reachable(address: str) -> bool:
    """Return whether a server answers at this address."""
    # A third of the start of each of the lab's processes, hardly any of which asks.
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(address, timeout=20):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, urllib.error.URLError):
        return False
