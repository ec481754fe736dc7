# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration of Sphinx, for `make docs`."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import slurmhooks
from docs import generate

generate.main()

project = "slurmhooks"
author = "the slurmhooks contributors"
copyright = "the slurmhooks contributors, GPL-2.0-or-later"  # noqa: A001 - Sphinx's name for it
release = version = slurmhooks.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = [".gitignore"]
html_theme = "furo"
html_title = f"slurmhooks {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["style.css"]

# Headings are link targets, so that a page can link to a section of another page.
myst_heading_anchors = 3

# The docstring of a class has the summary; the arguments are under "Args:", there or in __init__.
autoclass_content = "class"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# Docstrings refer to names of their own module without the module's name, which Sphinx cannot resolve on a page of
# another module.
nitpick_ignore = [
    ("py:attr", "bundle"),
    ("py:attr", "config"),
    ("py:attr", "job_env"),
    ("py:class", "Cluster"),
    ("py:class", "Environment"),
    ("py:exc", "LoadError"),
    ("py:func", "run"),
    ("py:func", "running_module"),
    ("py:func", "visible"),
]


def keep_colons(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Keep napoleon from reading the words before a colon in a property's docstring as its type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"  # a type without letters


def setup(app: Any) -> None:
    """Register the functions above; called by Sphinx."""
    app.connect("autodoc-process-docstring", keep_colons, priority=1)
