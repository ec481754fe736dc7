# SPDX-License-Identifier: GPL-2.0-or-later
"""Signatures of bundles, which ssh-keygen makes and checks: OpenSSH is on nearly every machine of a cluster."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from slurmhooks.cli.findings import Finding
from slurmhooks.errors import LoadError
from slurmhooks.files import regular, trusted
from slurmhooks.files.paths import is_absent

ALLOWED = "slurmhooks.allowed_signers"
"""Beside slurm.conf, in the format of ALLOWED SIGNERS in ssh-keygen(1)."""
NAMESPACE = "slurmhooks"
"""A signature that was made with the key for another purpose is not valid here."""
SUFFIX = ".sig"
LARGEST = 1 << 16
"""Maximum bytes of a signature."""
FOLDERS = "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/sbin:/usr/local/sbin"
"""Where ssh-keygen is looked for: another program of this name in the caller's PATH would accept any signature."""


def beside(bundle: Path) -> Path:
    """Return the path of the signature of a bundle."""
    return bundle.with_name(bundle.name + SUFFIX)


def is_required(sysconfdir: Path) -> bool:
    """Tell whether this machine accepts only signed archives."""
    return not is_absent(str(sysconfdir / ALLOWED))


def sign(bundle: Path, key: Path) -> Path:
    """Sign a bundle; return the path of the signature.

    Raises:
        Finding: ssh-keygen failed; it has printed the reason.
    """
    signature = beside(bundle)
    signature.unlink(missing_ok=True)  # ssh-keygen would ask before it replaces the file
    # ssh-keygen may ask for a passphrase on the terminal.
    done = _run(["-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(bundle)], None)
    if done.returncode:
        raise Finding(f"{bundle}: not signed: {done.stderr.strip()}")
    return signature


def signer(bundle: Path, data: bytes, sysconfdir: Path) -> str | None:
    """Return the signer of a bundle, whose signature is beside it; None if this machine accepts bundles without one.

    Raises:
        Finding: the machine has a list of signers, and none of them has signed these bytes; or the list may exist but
            cannot be read, or another user could have written it.
    """
    allowed = sysconfdir / ALLOWED
    try:
        trusted.check(str(sysconfdir))  # errors about the folder must not name a file that need not exist
        signers = trusted.read(str(allowed))
    except LoadError as error:
        raise Finding(error.findings[0]) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError) and is_absent(str(allowed)):
            return None
        raise Finding(f"{allowed}: {error.strerror}; without it no bundle is accepted") from error
    try:
        signature = regular.read(beside(bundle), LARGEST)
    except OSError as error:
        raise Finding(
            f"{bundle}: refused: {allowed} exists, so it must be signed: {bundle}{SUFFIX}: {error.strerror}"
        ) from error
    # Other users could replace these files while ssh-keygen reads them, but not our copies.
    with tempfile.TemporaryDirectory() as folder:
        list_copy, signature_copy = Path(folder, "signers"), Path(folder, "signature")
        list_copy.write_bytes(signers)
        signature_copy.write_bytes(signature)
        files = ["-s", str(signature_copy), "-f", str(list_copy)]
        principals = _run(["-Y", "find-principals", *files], b"")
        name = principals.stdout.partition("\n")[0].strip()
        if principals.returncode or not name:
            raise Finding(
                f"{bundle}: refused: {allowed} does not have the key that has signed it: add a line for that key"
                " there, or sign with one of its keys"
            )
        checked = _run(["-Y", "verify", "-n", NAMESPACE, "-I", name, *files], data)
        if checked.returncode:
            why = f"{checked.stdout} {checked.stderr}".strip().replace("\n", " ")
            raise Finding(f"{bundle}: refused: its signature is not valid: {why}")
    return name


def _run(arguments: list[str], stdin: bytes | None) -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen", path=FOLDERS)
    if program is None:
        raise Finding(f"there is no ssh-keygen in {FOLDERS}: install OpenSSH's client")
    done = subprocess.run([program, *arguments], input=stdin, capture_output=True, check=False)
    out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)
