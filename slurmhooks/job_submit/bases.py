# SPDX-License-Identifier: GPL-2.0-or-later
"""What native/job_submit offers to the views, and the same in Python, for where nothing is compiled.

Views are compiled in slurmctld, and Python on the laptop where a site tests its hooks.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

native_view: Any = None
"""The compiled module; None where nothing is compiled."""
with suppress(ModuleNotFoundError):
    import _slurmhooks_view

    native_view = _slurmhooks_view

SLOTS = ("_struct", "_writes")

if TYPE_CHECKING or native_view is None:

    class View:
        """Holds a struct and staged values.

        Attributes:
            _struct: as the backend reads it.
            _writes: staged raw values by member.
        """

        __slots__ = SLOTS

        def __init__(self, struct: Any, address: int = 0) -> None:
            """Hold a struct; only compiled fields need its address."""
            _set_struct(self, struct)
            _set_writes(self, {})

        def __getattr__(self, name: str) -> Any:
            """Explain an attribute that does not exist, or a view that is over."""
            return self._explain(name)

        def _explain(self, name: str) -> Any:
            """Raise what there is to say of an attribute that does not exist."""
            raise NotImplementedError

        def _replace(self, writes: dict[str, Any]) -> None:
            """Put other staged values in place."""
            _set_writes(self, writes)

        def _end(self) -> None:
            """Refuse every later use."""
            for name in SLOTS:
                object.__delattr__(self, name)

    # The slots' own descriptors: an assignment would go through the __setattr__ of the bound class.
    _set_struct = vars(View)["_struct"].__set__
    _set_writes = vars(View)["_writes"].__set__

    class Request(View):
        """The view of a request.

        Attributes:
            _argv: the staged words, or None.
            _environment: the mapping, once it was asked for.
            _modify: it is an update.
            _owner: whose job it is, where the request does not say.
            _spank_job_env: the mapping, once it was asked for.
        """

        __slots__ = ("_argv", "_environment", "_modify", "_owner", "_spank_job_env")

        def __init__(self, struct: Any, address: int = 0, *, modify: bool = False, owner: int | None = None) -> None:
            """Hold a struct, without writes."""
            View.__init__(self, struct, address)
            values = {"_modify": modify, "_owner": owner}
            for name in Request.__slots__:
                object.__setattr__(self, name, values.get(name))

else:
    View = native_view.View
    Request = native_view.Request
