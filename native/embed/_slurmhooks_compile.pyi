# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of compile.c."""

from types import CodeType

def compile_file(source: bytes, path: str, /) -> CodeType: ...
def text_at(address: int, /) -> bytes: ...
