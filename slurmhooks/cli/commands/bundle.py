# SPDX-License-Identifier: GPL-2.0-or-later
"""Make one archive of hook files, packages and slurmhooks.toml, which other machines deploy."""

import os
from dataclasses import dataclass
from pathlib import Path

import click

from slurmhooks.cli import output
from slurmhooks.cli.bundles import archive, contents, signature
from slurmhooks.cli.findings import shown
from slurmhooks.cli.progress import note


@dataclass(kw_only=True)
class BundleReport:
    """The output with --json.

    Attributes:
        bundle: the id.
        path: of the archive.
        signature: path of the signature.
        files: the names of the files in it.
    """

    bundle: str
    path: Path
    signature: Path | None = None
    files: list[str]


@click.command("bundle")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True), default="/etc/slurm")
@click.option("--output", "path", type=click.Path(path_type=Path), help=f"The archive; by default ID{archive.SUFFIX}.")
@click.option("--sign", "key", type=click.Path(path_type=Path, exists=True), help="Sign it with this key of OpenSSH.")
@output.json_option(BundleReport)
def command(folder: Path, path: Path | None, key: Path | None) -> None:
    """Make one archive of hook files, packages and slurmhooks.toml, which other machines deploy.

    FOLDER has slurmhooks.toml, and may have a plugstack.conf with lines for spank_python.so; by default it is
    /etc/slurm. The same files always make the same bytes, and the id of the bundle is a hash of them. No hook file is
    run.
    """
    files, notes = contents.collect(folder)
    data = archive.pack(files)
    bundle = archive.identity(data)
    path = path or Path(f"{bundle}{archive.SUFFIX}")
    archive.write(path, data, 0o600 if archive.private(files) else 0o644)
    report = BundleReport(bundle=bundle, path=path, files=sorted(files))
    if key is not None:
        report.signature = signature.sign(path, key)
    for text in notes:
        note(text)
    text = f"{os.fspath(path)}: bundle {bundle}, {len(files)} files"
    output.result(report, lambda _: click.echo(shown(text)))
