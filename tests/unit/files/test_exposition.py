# SPDX-License-Identifier: GPL-2.0-or-later
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from slurmhooks.files.exposition import sample

TEXT = st.text(st.characters() | st.sampled_from('\\"\n\0\x1b\x9b\u202e\udc9b{},= '))


@given(first=TEXT, second=TEXT)
def test_any_text_is_a_label(first: str, second: str) -> None:
    """Prometheus' own parser reads one sample with both labels; plain texts are unchanged, others act on nothing."""
    (family,) = text_string_to_metric_families(sample("x", 7, first=first, second=second) + "\n")
    (read,) = family.samples
    assert (read.name, read.value, set(read.labels)) == ("x", 7.0, {"first", "second"})
    for given_text, shown in zip((first, second), (read.labels["first"], read.labels["second"]), strict=True):
        assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp", "Cf") for char in shown)
        if given_text.isprintable():
            assert shown == given_text
