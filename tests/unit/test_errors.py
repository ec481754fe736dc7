# SPDX-License-Identifier: GPL-2.0-or-later
from typing import Any

import pytest

import slurmhooks
from slurmhooks import types
from slurmhooks.errors import (
    ConfigError,
    HandlerError,
    LoadError,
    Reject,
    SlurmhooksError,
    SpankError,
    StaleHandleError,
)


def test_reject_is_not_an_error_of_slurmhooks() -> None:
    """Code that catches SlurmhooksError does not catch Reject."""
    assert not issubclass(Reject, SlurmhooksError)


@pytest.mark.parametrize("error", [StaleHandleError, HandlerError, SpankError, ConfigError, LoadError])
def test_one_base(error: type[Exception]) -> None:
    """All errors of slurmhooks have one base class."""
    assert issubclass(error, SlurmhooksError)


@pytest.mark.parametrize(("text", "shown"), [(None, ""), (ValueError("no such project"), "no such project"), (7, "7")])
def test_reject_text_of_another_type(text: Any, shown: str) -> None:
    """The text may be another exception; it is converted to str."""
    assert Reject(text).text == shown


def test_a_reject_of_a_site_with_its_own_constructor() -> None:
    """A subclass that does not call the constructor of Reject can also be raised."""

    class Mine(Reject):
        def __init__(self) -> None:
            self.other = 1

    assert (Mine().text, Mine().code) == ("", None)


def test_reject_takes_the_code_by_name_only() -> None:
    """The code cannot be given by position."""
    with pytest.raises(TypeError):
        Reject("no", "ESLURM_INVALID_ACCOUNT")  # type: ignore[call-arg]


def test_spank_error_names_code_and_item() -> None:
    """A SpankError says which item failed, why, and with which code."""
    error = SpankError("ESPANK_NOT_TASK", "S_TASK_ID", "works in tasks")
    assert (error.code, error.item) == ("ESPANK_NOT_TASK", "S_TASK_ID")
    assert str(error) == "S_TASK_ID: works in tasks (ESPANK_NOT_TASK)"


@pytest.mark.parametrize("error", [ConfigError, LoadError])
def test_findings_are_all_told(error: type[ConfigError | LoadError]) -> None:
    """The text of an error has one finding per line; ``findings`` is the list."""
    raised = error(("a: wrong", "b: wrong"))
    assert raised.findings == ["a: wrong", "b: wrong"]
    assert str(raised) == "a: wrong\nb: wrong"


def test_public_names() -> None:
    """All public names of the package can be imported."""
    assert set(slurmhooks.__all__) >= {"UNLIMITED", "Reject", "SpankError", "StaleHandleError", "hook", "log"}
    for name in slurmhooks.__all__:
        assert hasattr(slurmhooks, name)
    for name in types.__all__:
        assert getattr(types, name).__name__ == name
