# SPDX-License-Identifier: GPL-2.0-or-later
"""Exceptions with code of their own, which hook files and handlers may raise."""

RAISED = {
    "str() raises": """
        class Odd(Exception):
            def __str__(self): raise SystemExit(0)
        raise Odd()""",
    "the name of the class raises": """
        class Kind(type):
            __name__ = property(lambda cls: cls.missing)
        class Odd(Exception, metaclass=Kind): pass
        raise Odd()""",
    "the qualified name raises": """
        class Kind(type):
            __qualname__ = property(lambda cls: cls.missing)
        class Odd(Exception, metaclass=Kind): pass
        raise Odd()""",
    "the class is hidden": """
        class Odd(Exception):
            __class__ = property(lambda self: sys.exit(0))
        raise Odd()""",
    "the class is another": """
        class Odd(Exception):
            __class__ = Reject
        raise Odd()""",
    "the cause raises": """
        class Odd(Exception):
            __cause__ = property(lambda self: sys.exit(0))
        raise Odd()""",
    "notes are no list": """
        error = ValueError("x")
        error.__notes__ = 5
        raise error""",
    "a syntax error with texts for numbers": """
        raise SyntaxError("x", ("file", "line", "column", "text"))""",
    "a group that hides its exceptions": """
        class Odd(BaseExceptionGroup):
            exceptions = property(lambda self: sys.exit(0))
        raise Odd("x", [ValueError()])""",
}
"""Code that raises each; it needs `sys` and `Reject`."""
