# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of numbers that are NO_VAL if they are not given."""

import pytest

from tests.unit.workshop.adopt.test_adopt_remarks import found, submit

UNSET = {"time_limit": 2.0**32 - 2, "cpus_per_task": 65534.0, "pn_min_memory": 2.0**64}
LARGE = {
    **{text: float(int(text, 0)) for text in ("65534", "65535", "1000000", "0xFFFFFFFD", "4294967294", "0xFFFFFFFF")},
    "slurm.NO_VAL": 2.0**32 - 2, "slurm.INFINITE": 2.0**32 - 1, "slurm.NO_VAL16": 65534.0, "slurm.NO_VAL64": 2.0**64,
}  # fmt: skip
SIGNS = {"==": "==", "~=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


CHECKS = {
    "if {t} ~= slurm.NO_VAL and {t} <= 30 then job_desc.partition = 'debug' end": "note",
    "if job_desc.name == nil then if {t} ~= slurm.NO_VAL then job_desc.name = 'x' end end": "note",
    "if job_desc.name then local n = {t} == slurm.NO_VAL and 5 or 6 end": None,
    "if {t} == slurm.NO_VAL then {t} = 60 end": None,
    "if {t} == slurm.NO_VAL then return slurm.ERROR end": None,
    "if not ({t} ~= slurm.NO_VAL) then if job_desc.name then error('x') end end": None,
    "for i = 1, 2 do if {t} == slurm.NO_VAL then break end end": None,
    "job_desc.name = 'x'": "warning",
}


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_elsewhere(check: str) -> None:
    """A check that neither leaves the function nor sets the number says nothing of uses outside of its statement."""
    field = "job_desc.time_limit"
    use = f"if {field} > 30 then return slurm.ERROR end"
    source = submit(f"{check.format(t=field)}\n{use}")
    expected = CHECKS[check]
    assert found(source) == ([] if expected is None else [(3, expected, "unset")])
    assert found(submit(f"if {field} ~= slurm.NO_VAL then\n{use}\nend")) == []


@pytest.mark.parametrize("field", UNSET)
@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("template", ["{0} {1} {2}", "{2} {1} {0}", "tonumber({0}) {1} {2}"])
def test_a_comparison_that_tells_an_unset_number(template: str, sign: str, field: str) -> None:
    """A comparison with a large number is a check if it has another result for the unset number than for 1."""
    wrong = []
    for constant, number in LARGE.items():
        condition = template.format(f"job_desc.{field}", sign, constant)
        unset, given = (
            eval(template.format(value, SIGNS[sign], number), {"tonumber": float}) for value in (UNSET[field], 1.0)
        )
        reported = found(submit(f"if {condition} then return slurm.ERROR end\nlocal n = job_desc.{field} * 2"))
        if ((3, "warning", "unset") in reported) != (unset == given):
            wrong.append(constant)
    assert wrong == []
