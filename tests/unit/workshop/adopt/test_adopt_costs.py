# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of reading a script grows with its length only."""

from collections.abc import Callable

import pytest

from slurmhooks.workshop.adopt.script import Script
from tests.costs import cost
from tests.unit.workshop.adopt.test_adopt_remarks import submit

pytestmark = [pytest.mark.slow, pytest.mark.moved]

PARTS = {
    "locals in blocks": "if job_desc.name then local a{0} = job_desc.name print(a{0}) end",
    "locals": "local a{0} = job_desc.name .. 'x'",
    "globals": "a{0} = job_desc.comment",
    "members": "t.a{0} = job_desc.comment or t.a{1}",
    "closures": "do local t{0} = {{}} each(function(v) t{0}[v] = job_desc.time_limit > 60 end) end",
    "functions": "local function f{0}(j) return j.time_limit end if f{0}(job_desc) > 60 then return 1 end",
    "functions that call the next one": "function f{0}(j) if j.num_tasks > 1 then return f{1}(j) end end f0(job_desc)",
    "functions that call the one before": "function f{1}(j) return f{0}(j) end os.execute(f{1}(job_desc.name))",
    "functions in tables": "rules[#rules + 1] = function(j) return rules[1](j) end",
    "one function": "each(job_desc, {0})",
    "comparisons": "if job_desc.time_limit > {0} and job_desc.num_tasks * 2 > {0} then return slurm.ERROR end",
    "branches": "if job_desc.qos == 'q{0}' then job_desc.qos = nil elseif job_desc.x{0} then return {0} end",
    "loops": "for _, p{0} in pairs(part_list) do while p{0}.max_time > 1 do p{0} = job_desc.features end end",
    "checks": "if job_desc.name:match('^%w+$') then io.popen('id ' .. job_desc.name) end",
    "arguments": "slurm.log_info('%s %s', job_desc.account, tostring(job_desc.name):gsub('a', job_desc.comment))",
}
"""Parts of scripts; ``{0}`` is the number of the part, ``{1}`` the next one."""


@pytest.mark.parametrize("part", PARTS)
def test_eight_times_as_long_costs_eight_times_as_much(part: str) -> None:
    """The lines of Python that reading a script runs grow no faster than the script, whatever it consists of."""

    def reading(count: int) -> Callable[[], object]:
        source = submit("\n".join(PARTS[part].format(index, index + 1) for index in range(count))).encode()
        return lambda: Script(source)

    reading(10)()  # do imports and other one-time work first
    steps, _ = cost(reading(12))
    more_steps, _ = cost(reading(96))
    assert more_steps <= 9 * steps
