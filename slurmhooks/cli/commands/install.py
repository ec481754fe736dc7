# SPDX-License-Identifier: GPL-2.0-or-later
"""Copy the plugins to where Slurm looks for them."""

import filecmp
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from slurmhooks import identity
from slurmhooks.cli import build_record, configuration, controllers, manifests, parameters, scrun_lua, slurm
from slurmhooks.cli.bundles import activation, archive, history
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.checks import report
from slurmhooks.cli.child import in_child
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.files import durable, home, plugstack, slurm_conf
from slurmhooks.site import sources as site
from slurmhooks.site import variants

ABSOLUTE = click.Path(path_type=Path)


@click.command("install")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, file_okay=False, exists=True, resolve_path=True),
    required=True,
    help="The output folder of slurmhooks build.",
)
@click.option("--plugin-dir", type=ABSOLUTE, help="Default: the first existing folder of slurm.conf's PluginDir.")
@click.option(
    "--sysconfdir",
    type=ABSOLUTE,
    default=slurm_conf.directory,
    show_default=parameters.CHOSEN,
    help="Where slurm.conf is.",
)
@click.option(
    "--lean",
    is_flag=True,
    help="Leave out the callbacks of SPANK that cost Slurm time: a process for each prolog and epilog, and with"
    " contain_spank a clone for each task. Only for sites without such handlers.",
)
@click.option(
    "--expects-set/--no-expects-set",
    "expects_set",
    default=None,
    help="Refuse launches, jobs and calls also while there is no sign of a set, such as after /etc was lost. Default:"
    " where slurmctld is installed; otherwise as before.",
)
@click.option(
    "--deploy",
    "chosen",
    type=click.Path(path_type=Path, exists=True, resolve_path=True),
    help="Then put this folder or archive in force, as `slurmhooks deploy` does: for an upgrade whose new release does"
    " not load what is in force.",
)
@click.option("--destdir", type=ABSOLUTE, default="/", help="For packagers: copy into this folder instead of /.")
def command(
    source: Path,
    plugin_dir: Path | None,
    sysconfdir: Path,
    lean: bool,
    expects_set: bool | None,
    chosen: Path | None,
    destdir: Path,
) -> None:
    """Copy the plugins to where Slurm looks for them, and list the lines that Slurm's configuration needs.

    This command does not change configuration files of Slurm, except a scrun.lua that it wrote itself. If there is a
    slurm.conf and nothing was deployed on this machine, it ends with a first deployment: of the files beside
    slurm.conf, or of a set without hooks. It changes nothing if what is, or will be, in force does not load.
    """
    if chosen is not None and destdir != Path("/"):
        raise click.UsageError("--deploy puts hooks in force on this machine, and --destdir is for another one")
    for option, path in (("--plugin-dir", plugin_dir), ("--sysconfdir", sysconfdir)):
        if path and not path.is_absolute():
            raise click.UsageError(f"{option} {path}: the daemons need an absolute path")
    destdir = destdir.absolute()
    record = build_record.BuildRecord.load(source)
    if record is None:
        raise Finding(f"{source} contains no build: slurmhooks build --output {source}")
    present = configuration.all_installed_in(sysconfdir) if destdir == Path("/") else []
    # An upgrade replaces the plugins where they are.
    folder = plugin_dir or next(iter(present), None) or configuration.find_plugin_dir(sysconfdir, destdir)
    missing = [name for name in record.files if not (source / name).is_file()]
    findings = [f"{source / name} is missing: slurmhooks build --output {source}" for name in missing]
    if destdir == Path("/"):
        findings += build_record.misfits(record, source)
    findings += [
        f"{other} has plugins of slurmhooks, too, and Slurm loads some of either: name that folder with --plugin-dir,"
        f" or remove them with 'slurmhooks uninstall --plugin-dir {shlex.quote(str(other))}'"
        for other in present
        if folder is not None and other.resolve() != folder.resolve()
    ]
    if folder is None:
        guesses = " or ".join(str(path) for path in slurm.usual_plugin_dirs(destdir))
        hint = f"; {guesses} looks right" if guesses else ""
        findings.append(
            f"{configuration.file_in(sysconfdir)} names no PluginDir that exists: name one with --plugin-dir{hint}"
        )
    if findings:
        raise Findings(findings)
    assert folder is not None
    before = build_record.BuildRecord.load(configuration.below(destdir, folder))
    first = destdir == Path("/") and is_first(sysconfdir)
    if first and chosen is None:
        chosen = present_sources(sysconfdir)
    other = before is not None and before.sources != record.sources
    if chosen is not None or (destdir == Path("/") and (lean or other)):
        handlers = what_is_in_force(sysconfdir, source, chosen)
        if lean and (findings := needed_callbacks(handlers)):
            raise Findings(findings)

    for loss in losses(before, record):
        click.echo(f"{click.style('warning:', fg='yellow')} {loss}", err=True)
    conf = list(slurm_conf.lines(str(configuration.file_in(sysconfdir))))
    written = copy_plugins(record, source, configuration.below(destdir, folder), lean, conf)
    unchanged = len(build_record.plugins_of(record)) - written
    click.echo(f"{folder}: files written: {written}, unchanged: {unchanged}")
    if build_record.TEMPLATE in record.files:
        click.echo(scrun_lua.render(source / build_record.TEMPLATE, folder, sysconfdir, destdir))
    if destdir == Path("/"):
        for finding in configuration.writable_by_others(record.python.paths):
            click.echo(f"{click.style('warning:', fg='yellow')} {finding}", err=True)
        put_in_force(sysconfdir, folder, chosen, first)
        if expects_set is None and slurm.find_program("slurmctld") is not None:
            expects_set = True
    marker = configuration.below(destdir, folder) / "slurmhooks" / home.EXPECTS_SET
    if expects_set is not None:
        own = f"{os.path.abspath(sysconfdir)}\n".encode("utf-8", "surrogateescape")
        known = marker.read_bytes().splitlines(keepends=True) if marker.exists() else []
        others = b"".join(line for line in known if line != own)
        if expects_set or others:  # of other clusters that have these plugins
            durable.write(marker, others + own if expects_set else others, 0o644)
        else:
            marker.unlink(missing_ok=True)
    show_settings(configuration.settings(sysconfdir, folder, destdir), parameters.words_for(sysconfdir))


def is_first(sysconfdir: Path) -> bool:
    """Tell whether this machine has a slurm.conf, and nothing was deployed on it."""
    store = Store(sysconfdir)
    return configuration.file_in(sysconfdir).exists() and not os.path.lexists(store.pointer) and not store.events()


def present_sources(sysconfdir: Path) -> Path | None:
    """Return the folder of what may be in force on a machine on which nothing was deployed; None if there is nothing.

    Earlier releases read the files beside slurm.conf as they were, or through a link from slurmhooks.toml.

    Raises:
        Finding: nobody can tell, because only lines of plugstack.conf name files.
    """
    parameters.use(sysconfdir)
    toml = site.source_path()
    if os.path.lexists(toml):
        real = site.located(str(toml))
        return Path(real).parent if home.is_deployed(real) else sysconfdir
    for args in configuration.plugstack_arguments(sysconfdir):
        config, pattern, _ = plugstack.split(args)
        if (config or pattern) is not None and not site.lacks(config, pattern, None):
            raise Finding(
                f"plugstack.conf: {' '.join(args)}: names files, and {toml}, which belongs to a set, does not exist:"
                " create it, even if it stays empty; nothing is installed"
            )
    return None


def what_is_in_force(sysconfdir: Path, source: Path, chosen: Path | None) -> list[report.Row]:
    """Return the handlers that will be in force, loaded with the modules of this command.

    The daemons of the release that is replaced serve what is in force until they are restarted, and then nothing.

    If nothing is ``chosen``, what is in force stays.

    Raises:
        Findings: it does not load.
    """
    try:
        if chosen is not None:
            return deploy.loads(chosen, sysconfdir)
        if not configuration.file_in(sysconfdir).exists():
            return []
        loaded = in_child(loading, sysconfdir)
        if loaded.findings:
            raise Findings(loaded.findings)
    except Findings as error:
        raise Findings(
            [
                *error.findings,
                "nothing is installed: what is in force would not load after a restart. Change a copy of its sources,"
                f" and put it in force together with the plugins: 'slurmhooks install --from {shlex.quote(str(source))}"
                f"{parameters.words_for(sysconfdir)} --deploy COPY'",
            ]
        ) from error
    return list(loaded.handlers)


def put_in_force(sysconfdir: Path, folder: Path, chosen: Path | None, first: bool) -> None:
    """Deploy what was chosen, or a first set without hooks; or fit the set in force to the new build.

    Raises:
        Findings: what was chosen cannot be in force.
    """
    store = Store(sysconfdir)
    if chosen is not None:
        # Slurm's configuration may still lack the lines that this command lists at its end.
        verb = "install" if first else "deploy"
        asks = can_ask(sysconfdir)
        deploy.show(deploy.of_source(chosen, sysconfdir, folder, "by 'slurmhooks install'", asks=asks, verb=verb))
        words = parameters.words_for(sysconfdir)
        click.echo(f"  what you edit from now on is in force after 'slurmhooks deploy{words}'")
        return
    if os.getuid() or not (first or store.deployed):
        return
    try:
        with store.locked():
            if is_first(sysconfdir):  # now that no other command puts anything in force
                files = {site.FILE_NAME: File(b"# nothing was deployed yet\n")}
                event = history.Event(bundle=store.put(archive.pack(files), files), verb="install")
                findings = activation.activate(store, event, folder, asks=can_ask(sysconfdir))
            else:
                assert store.deployed is not None
                store.verify(store.deployed)  # a new manifest would not have what the set has lost
                findings = activation.renew(store, folder)
    except Findings as error:
        findings = error.findings
    for text in findings:
        click.echo(f"{click.style('warning:', fg='yellow')} {shown(text)}", err=True)


def can_ask(sysconfdir: Path) -> bool:
    """Tell whether the slurmctld that runs here, if any, is of this build: one of another build cannot load a set."""
    return {each.build for each in controllers.find_running(sysconfdir)[0]} <= {identity.here()}


def loading(sysconfdir: Path) -> report.CheckReport:
    """Return what is in force on a machine."""
    return report.of_loading(sysconfdir, None)[1]


def needed_callbacks(handlers: list[report.Row]) -> list[str]:
    """Return a finding for each handler that the lean plugin would leave out: launches would be refused."""
    costly = {f"hook.spank.{name}" for name in variants.COSTLY_CALLBACKS}
    return [
        f"{row.where}: --lean leaves out what handler {row.handler} of {row.hook} needs"
        for row in handlers
        if row.hook in costly
    ]


def copy_plugins(
    record: build_record.BuildRecord, source: Path, folder: Path, lean: bool, lines: Sequence[str] = ()
) -> int:
    """Copy a build to the PluginDir and remove leftovers of an older build; return how many files were written.

    ``lean`` chooses the SPANK plugin that leaves callbacks out. ``lines`` of slurm.conf may name programs where earlier
    releases had them.
    """
    before = build_record.files_of(folder)
    names = build_record.plugins_of(record)
    written = 0
    # Copy the stubs last: an srun that starts meanwhile must not load a new stub with an old library.
    for name in sorted(names, key=lambda name: name.count("/"), reverse=True):
        if lean and name == manifests.PLUGIN:
            written += _link(folder / name, f"slurmhooks/spank_python-{variants.LEAN}.so")
        else:
            written += _copy(source / name, folder / name)
    _copy(build_record.BuildRecord.path_in(source), build_record.BuildRecord.path_in(folder))
    former = {Path(name).name for name in build_record.PROGRAMS.values()}  # where earlier releases had them
    for path in (folder / name for name in (before | former) - set(names)):
        if path.name in former and path.exists() and (not lines or any(names_program(line, path) for line in lines)):
            _link(path, f"slurmhooks/{path.name}")
        else:
            path.unlink(missing_ok=True)
    return written


def names_program(line: str, path: Path) -> bool:
    """Tell whether a line of slurm.conf names a program at its place, perhaps through links such as /lib64."""
    words = map(Path, re.split(r'[\s="]+', line))
    return any(word.name == path.name and word.parent.resolve() == path.parent.resolve() for word in words)


def _link(target: Path, variant: str) -> bool:
    if target.is_symlink() and os.readlink(target) == variant:
        return False
    durable.make(target.parent)
    durable.link(target, variant)
    return True


def _copy(source: Path, target: Path) -> bool:
    if not target.is_symlink() and target.exists() and filecmp.cmp(source, target, shallow=False):
        return False
    mode = 0o755 if source.suffix == ".so" or source.name.startswith("slurmhooks_") else 0o644
    durable.make(target.parent)
    durable.write(target, source.read_bytes(), mode)
    return True


def losses(before: build_record.BuildRecord | None, record: build_record.BuildRecord) -> Iterator[str]:
    """Yield what the installed build has, and the new one lacks."""
    if before is None:
        return
    if before.tiers.private and not record.tiers.private:
        yield (
            "the installed plugins have job records and tables of slurmctld, the new ones have not: handlers that need"
            " them do not load; 'slurmhooks build --fetch-source' adds them"
        )
    if before.lua is not None and record.lua is None:
        yield "the installed plugins include that for scrun, the new ones do not: install scrun before the build"


def show_settings(settings: list[configuration.Setting], words: str) -> None:
    """Print the lines that the configuration has and needs; ``words`` let a command use the same folder."""
    missing = [setting for setting in settings if not setting.present]
    for setting in settings:
        if setting.present and setting.line.startswith("[hooks]"):
            click.echo(f"{setting.file}: exists")
        elif setting.present:
            click.echo(f"{setting.file}: has {setting.line}")
    if not missing:
        click.echo("The configuration is complete. Restart slurmctld and slurmd to load the new build.")
        return
    click.echo("Add these lines by hand, of the hooks that you use:")
    for setting in missing:
        click.echo(f"  {setting.file} needs ({setting.why}):")
        for line in setting.line.splitlines():
            click.echo(f"      {line}")
    # If Slurm's lines are there and this folder is not, no hooks load, and nobody can submit jobs.
    folders = [setting.file.parent / "hooks.d" for setting in missing if setting.line.startswith("[hooks]")]
    create = "".join(f"create {folder}, " for folder in folders)
    click.echo(f"Then {create}run 'slurmhooks deploy{words}', and restart slurmctld and slurmd once it has succeeded.")
