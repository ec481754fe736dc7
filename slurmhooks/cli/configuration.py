# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm's configuration says about the plugins, and which lines it lacks."""

from dataclasses import dataclass
from pathlib import Path

from slurmhooks.cli import build_record, slurm
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, plugstack_conf, slurm_conf, trusted

UNKNOWN = "SLURM'S_OWN_PLUGIN_FOLDER"
"""Placeholder in a proposed PluginDir: with only our folder Slurm would find no other plugin."""
CHANGE_NOTHING = {"logging", "require_timelimit", "syslog", "throttle", "user_defaults"}
"""Slurm's own plugins that may run after ours: user_defaults only sets what a user could give as options."""


@dataclass(kw_only=True)
class Setting:
    """A line that a configuration file needs.

    Attributes:
        file: the configuration file, as the daemons see it.
        line: the line, as it is or as it should be.
        present: the file has it.
        why: its purpose.
    """

    file: Path
    line: str
    present: bool
    why: str


def settings(sysconfdir: Path, plugin_dir: Path, root: Path = Path("/")) -> list[Setting]:
    """Return the lines that Slurm needs to use the plugins.

    Folders are as the daemons see them; ``root`` is that of the package that is being built, otherwise /.
    """
    conf = below(root, file_in(sysconfdir))
    needed = []

    value = slurm_conf.value(str(conf), "PluginDir")
    # Without PluginDir Slurm uses the folder that it was built with, which must be guessed here.
    own = slurm.usual_plugin_dirs(root)
    folders = value.split(":") if value else [str(own[0]) if own else UNKNOWN]
    if value or plugin_dir not in own:
        present = str(plugin_dir) in folders
        line = "PluginDir=" + ":".join(folders if present else [*folders, str(plugin_dir)])
        needed.append(Setting(file=file_in(sysconfdir), line=line, present=present, why="Slurm finds the plugins"))

    for point, key in (("job_submit", "JobSubmitPlugins"), ("cli_filter", "CliFilterPlugins")):
        value = slurm_conf.value(str(conf), key) or ""
        present = has_plugin(value, point)
        twice = not present and runs_twice(below(root, sysconfdir), value, point)
        proposed = with_plugin(without_lua(value, point) if twice else value, point, "python")
        line = f"{key}=" + (",".join(names_in(value)) if present else proposed)
        needed.append(Setting(file=file_in(sysconfdir), line=line, present=present, why=f"hook.{point}"))

    plugstack = plugstack_in(sysconfdir, root)
    lines = spank_lines(sysconfdir, root)
    line = lines[0].strip() if lines else "required spank_python.so"
    needed.append(Setting(file=plugstack, line=line, present=bool(lines), why="hook.spank"))

    toml = Path(home.source_in(str(below(root, sysconfdir))))
    line = '[hooks]\npaths = ["hooks.d/*.py"]'
    needed.append(Setting(file=toml, line=line, present=below(root, toml).exists(), why="names the hook files"))
    return needed


def names_in(value: str) -> list[str]:
    """Return the names of plugins in a value of slurm.conf."""
    return [name.strip() for name in value.split(",") if name.strip()]


def has_plugin(value: str, point: str) -> bool:
    """Tell whether a value of slurm.conf names the plugin of a plugin point."""
    return any(name.removeprefix(f"{point}/") == "python" for name in names_in(value))


def changing_after(value: str, point: str) -> list[str]:
    """Return the plugins of a value of slurm.conf that run after ours and may change what that has accepted."""
    names = [name.removeprefix(f"{point}/") for name in names_in(value)]
    after = names[names.index("python") + 1 :] if "python" in names else []
    return [name for name in after if name not in CHANGE_NOTHING]


def with_plugin(value: str, point: str, name: str) -> str:
    """Return a value of slurm.conf with the plugin in it, in place of a name that somebody took for it."""
    mistaken = ("slurmhooks", f"{point}_python")
    others = [each for each in names_in(value) if each.removeprefix(f"{point}/") not in mistaken]
    return ",".join([*others, name])


def without_lua(value: str, point: str) -> str:
    """Return the plugins of a value of slurm.conf, except lua."""
    return ",".join(name for name in names_in(value) if name.removeprefix(f"{point}/") != "lua")


def runs_twice(sysconfdir: Path, value: str, point: str) -> bool:
    """Tell whether a value of slurm.conf has Slurm's plugin lua, and that runs the script of the set in force.

    The set has a copy of it; the script itself may have been edited since.
    """
    from slurmhooks.site import sources as site

    if without_lua(value, point) == ",".join(names_in(value)):
        return False
    toml = Path(home.of(str(sysconfdir)), home.SET).resolve() / home.SOURCE
    own = sysconfdir / f"{point}.lua"
    try:
        script = site.script_of(point, *site.located_config(toml))
        if script is None:
            return False
        source = site.script_of(point, *site.located_config(Path(home.source_in(str(sysconfdir)))))
        return (source is not None and own.samefile(source)) or Path(script).read_bytes() == own.read_bytes()
    except (ConfigError, LoadError, OSError):
        return False


def file_in(sysconfdir: Path) -> Path:
    """Return the slurm.conf of a folder."""
    return Path(slurm_conf.file_in(str(sysconfdir)))


def plugstack_arguments(sysconfdir: Path) -> list[tuple[str, ...]]:
    """Return the arguments of each line of plugstack.conf that loads the plugin."""
    return [plugstack_conf.arguments(line) for line in spank_lines(sysconfdir)]


def spank_lines(sysconfdir: Path, root: Path = Path("/")) -> list[str]:
    """Return the lines of plugstack.conf that load the plugin."""
    return plugstack_conf.of_plugin(plugstack_in(sysconfdir, root), lambda path: below(root, path))


def plugstack_in(sysconfdir: Path, root: Path = Path("/")) -> Path:
    """Return the path of plugstack.conf."""
    return plugstack_conf.path_of(str(below(root, file_in(sysconfdir))), sysconfdir)


def below(root: Path, path: Path) -> Path:
    """Return the location of an absolute path in the package that is being built in ``root``."""
    return root / path.relative_to("/") if path.is_absolute() else path


def installed_in(sysconfdir: Path) -> Path | None:
    """Return the folder of slurm.conf's PluginDir that has our plugins; None if none has."""
    return next(iter(all_installed_in(sysconfdir)), None)


def all_installed_in(sysconfdir: Path) -> list[Path]:
    """Return all folders that have our plugins: those of slurm.conf's PluginDir, in its order, then the usual ones."""
    value = slurm_conf.value(str(file_in(sysconfdir)), "PluginDir") or ""
    folders = [Path(folder) for folder in value.split(":") if folder] + slurm.usual_plugin_dirs()
    found: dict[Path, Path] = {}
    for folder in folders:
        if build_record.BuildRecord.path_in(folder).exists():
            found.setdefault(folder.resolve(), folder)
    return list(found.values())


def find_plugin_dir(sysconfdir: Path, root: Path = Path("/")) -> Path | None:
    """Return the first folder of slurm.conf's PluginDir that exists; None if none does.

    Without PluginDir Slurm uses the folder that it was built with; this is assumed to be the usual folder that has
    plugins, if there is only one.
    """
    value = slurm_conf.value(str(below(root, file_in(sysconfdir))), "PluginDir") or ""
    usual = slurm.usual_plugin_dirs(root)
    if not value and len(usual) == 1:
        return usual[0]
    folders = [Path(folder) for folder in value.split(":") if folder]
    return next((folder for folder in folders if below(root, folder).is_dir()), None)


def writable_by_others(paths: list[str]) -> list[str]:
    """Return a finding for each folder or archive that users other than root may change, with the remedy.

    Parent folders that others may write to count, too.
    """
    trusted.guard()
    findings = []
    for path in paths:
        try:
            trusted.check(path)
        except LoadError as error:
            findings += error.findings
    return findings
