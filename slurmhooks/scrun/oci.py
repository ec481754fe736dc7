# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: N815 - the names are those of the OCI runtime specification
"""A model of the OCI runtime configuration (config.json of a bundle).

It has types for the keys that sites change. Other keys, at any depth, are kept and written back. This module imports
pydantic, so only ``container.config`` imports it.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from slurmhooks.scrun import contents
from slurmhooks.scrun.errors import BundleError
from slurmhooks.scrun.folders import parent_of
from slurmhooks.scrun.removal import replace_file
from slurmhooks.values import ENCODING, ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ModelWrapValidatorHandler

    Text = str
else:

    def _text(value: object) -> str:
        if not isinstance(value, str):
            raise ValueError("Input should be a valid string")
        if "\0" in value:
            raise ValueError("Input should have no NUL byte, with which no path, argument or variable can be given")
        return value

    # pydantic's str refuses surrogates, which represent bytes of paths that are not UTF-8.
    Text = Annotated[str, PlainValidator(_text)]


def _none_is_empty(value: object) -> object:
    """Convert null to an empty array: tools written in Go write null."""
    return [] if value is None else value


def _none_is_no_keys(value: object) -> object:
    return {} if value is None else value


if TYPE_CHECKING:
    Texts = list[str]
    TextMap = dict[str, str]
else:
    Texts = Annotated[list[Text], BeforeValidator(_none_is_empty)]
    TextMap = Annotated[dict[Text, Text], BeforeValidator(_none_is_no_keys)]

_UNPAIRED = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that do not represent a byte; JSON can contain them as escapes."""

Unsigned = Annotated[int, Field(ge=0, lt=1 << 32)]


class Object(BaseModel):
    """A JSON object; keys that are not declared are kept, and are also attributes.

    Assignments are validated. A missing optional key reads as None, a missing array or map as an empty one; unless it
    is changed, it stays missing in the file.
    """

    model_config = ConfigDict(extra="allow", strict=True, validate_assignment=True, validate_default=False)

    _order: tuple[str, ...] = PrivateAttr(default=())
    _nulls: frozenset[str] = PrivateAttr(default=frozenset())

    @model_validator(mode="wrap")
    @classmethod
    def _remember_order(cls, value: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        model = handler(value)
        if isinstance(value, dict) and isinstance(model, Object):
            model._order = tuple(value)
            model._nulls = frozenset(key for key in value if value[key] is None)
        return model

    def to_json(self) -> dict[str, Any]:
        """Return the object for JSON, with the keys in the order of the file."""
        content = {**dict(_plain(self)), **(self.__pydantic_extra__ or {})}
        ordered = {key: content.pop(key) for key in self._order if key in content}
        return {**ordered, **content}

    def __delattr__(self, name: str) -> None:
        """Remove a key: it gets its default value, and is no longer written."""
        if name not in type(self).model_fields:
            super().__delattr__(name)
            return
        field = type(self).model_fields[name]
        if field.is_required():
            raise AttributeError(f"{name!r} is required and cannot be removed")
        setattr(self, name, field.get_default(call_default_factory=True))
        self.model_fields_set.discard(name)


def _plain(model: Object) -> Iterator[tuple[str, Any]]:
    """Yield the declared keys that are written, with their values."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if value in (None, [], {}) and name not in model.model_fields_set:
            continue
        if value is None and name not in model._nulls:
            continue  # assigning None removes a key; a null in the file stays
        yield name, _to_json(value)


def _to_json(value: Any) -> Any:
    if isinstance(value, Object):
        return value.to_json()
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _to_json(item) for key, item in value.items()}
    return value


class User(Object):
    """``process.user``."""

    uid: Unsigned = 0
    gid: Unsigned = 0
    umask: Unsigned | None = None
    additionalGids: Annotated[list[Unsigned], BeforeValidator(_none_is_empty)] = Field(default_factory=list)
    username: Text | None = None


class Rlimit(Object):
    """One of ``process.rlimits``."""

    type: Text
    soft: Annotated[int, Field(ge=0, lt=1 << 64)]
    hard: Annotated[int, Field(ge=0, lt=1 << 64)]


class Process(Object):
    """``process``: the program in the container."""

    terminal: bool | None = None
    user: User | None = None
    args: Texts = Field(default_factory=list)
    env: Texts = Field(default_factory=list)
    cwd: Text
    capabilities: dict[str, Any] | None = None
    rlimits: Annotated[list[Rlimit], BeforeValidator(_none_is_empty)] = Field(default_factory=list)
    noNewPrivileges: bool | None = None
    apparmorProfile: Text | None = None
    oomScoreAdj: int | None = None
    selinuxLabel: Text | None = None


class Root(Object):
    """``root``: the root file system; a relative path is relative to the bundle."""

    path: Text
    readonly: bool | None = None


class IDMapping(Object):
    """One line of a user or group id map."""

    containerID: Unsigned
    hostID: Unsigned
    size: Unsigned


Mappings = Annotated[list[IDMapping], BeforeValidator(_none_is_empty)]


class Mount(Object):
    """One of ``mounts``, which are mounted in their order."""

    destination: Text
    type: Text | None = None
    source: Text | None = None
    options: Texts = Field(default_factory=list)
    uidMappings: Mappings = Field(default_factory=list)
    gidMappings: Mappings = Field(default_factory=list)

    @property
    def is_bind(self) -> bool:
        """Whether it is a bind mount of a file or folder of the host."""
        return self.type == "bind" or "bind" in self.options or "rbind" in self.options


class Hook(Object):
    """A program that the runtime runs on the host."""

    path: Text
    args: Texts = Field(default_factory=list)
    env: Texts = Field(default_factory=list)
    timeout: int | None = None


HookList = Annotated[list[Hook], BeforeValidator(_none_is_empty)]


class Hooks(Object):
    """``hooks``: programs that the runtime runs, by the time at which they run."""

    prestart: HookList = Field(default_factory=list)
    createRuntime: HookList = Field(default_factory=list)
    createContainer: HookList = Field(default_factory=list)
    startContainer: HookList = Field(default_factory=list)
    poststart: HookList = Field(default_factory=list)
    poststop: HookList = Field(default_factory=list)


class Namespace(Object):
    """One of ``linux.namespaces``; without a path, a new namespace."""

    type: Text
    path: Text | None = None


class Linux(Object):
    """``linux``."""

    namespaces: Annotated[list[Namespace], BeforeValidator(_none_is_empty)] = Field(default_factory=list)
    uidMappings: Mappings = Field(default_factory=list)
    gidMappings: Mappings = Field(default_factory=list)
    cgroupsPath: Text | None = None
    resources: dict[str, Any] | None = None
    devices: Annotated[list[dict[str, Any]], BeforeValidator(_none_is_empty)] = Field(default_factory=list)
    sysctl: TextMap = Field(default_factory=dict)
    seccomp: dict[str, Any] | None = None
    rootfsPropagation: Text | None = None
    maskedPaths: Texts = Field(default_factory=list)
    readonlyPaths: Texts = Field(default_factory=list)
    mountLabel: Text | None = None


class Config(Object):
    """The content of config.json.

    Source: https://github.com/opencontainers/runtime-spec/blob/v1.2.0/config.md
    """

    ociVersion: Text
    process: Process | None = None
    root: Root | None = None
    hostname: Text | None = None
    domainname: Text | None = None
    mounts: Annotated[list[Mount], BeforeValidator(_none_is_empty)] = Field(default_factory=list)
    hooks: Hooks | None = None
    annotations: TextMap = Field(default_factory=dict)
    linux: Linux | None = None

    _bundle: str = PrivateAttr(default="")

    @property
    def bundle(self) -> str:
        """The folder that relative sources of bind mounts are in: that of the file which was read."""
        return os.path.abspath(self._bundle)


def read(path: str) -> Config:
    """Read and validate a config.json.

    Args:
        path: path of a regular file; root does not follow links of other users.

    Raises:
        BundleError: the file is missing, not JSON, or invalid; the text names all invalid places.
    """
    try:
        with open(contents.open_file(path), "rb") as file:
            raw = file.read()
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror}") from error
    return parse(raw, path)


def parse(raw: bytes, path: str) -> Config:
    """Parse a configuration; see :func:`read`."""
    try:
        content = json.loads(raw.decode(ENCODING, ERRORS), parse_constant=_refuse_constant)
    except ValueError as error:
        raise BundleError(f"{path}: not JSON: {error}") from error
    except RecursionError as error:
        raise BundleError(f"{path}: nested too deeply") from error
    config = _validated(content, path)
    config._bundle = os.path.dirname(path)
    return config


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def _validated(content: object, path: str) -> Config:
    if not isinstance(content, dict):
        raise BundleError(f"{path}: a configuration is a JSON object, not {type(content).__name__}")
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        lines = [f"{path}: {_pointer(item['loc'])}: {_message(item['type'], item['msg'])}" for item in error.errors()]
        raise BundleError("\n".join(lines)) from error


def _pointer(location: tuple[int | str, ...]) -> str:
    """Return a JSON pointer, which scrun's own messages use, too."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in location) or "/"


def _message(kind: str, message: str) -> str:
    return {"missing": "is missing", "model_type": "should be an object"}.get(
        kind, message.removeprefix("Value error, ")
    )


def encoded(config: Config, path: str) -> bytes:
    """Validate a configuration, and return the content of its file.

    Raises:
        BundleError: the configuration is invalid.
    """
    try:
        content = config.to_json()
        _validated(content, path)
        text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError as error:  # a number such as 1e999 is read as infinite
        raise BundleError(f"{path}: not for JSON: {error}") from error
    except RecursionError as error:
        raise BundleError(f"{path}: nested too deeply") from error
    return _UNPAIRED.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode(ENCODING, ERRORS) + b"\n"


def write(config: Config, path: str) -> None:
    """Validate a configuration and write it atomically.

    Args:
        config: the configuration.
        path: path of the file; an existing file is replaced and its mode kept. Root does not follow links of other
            users.

    Raises:
        BundleError: the configuration is invalid, or cannot be written.
    """
    raw = encoded(config, path)
    try:
        with parent_of(path) as (parent, name):
            replace_file(name, parent, raw)
    except OSError as error:
        raise BundleError(f"{path}: cannot be written: {error.strerror}") from error
