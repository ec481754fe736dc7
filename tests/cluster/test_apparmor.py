# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld confined by AppArmor, in a virtual machine: its profile has what docs/security-officers.md says."""

import re
from collections.abc import Iterator

import pytest

from tests.cluster.carrying import CHECKOUT, HOOKS, hooked
from tests.cluster.conftest import Cluster
from tests.cluster.versions import TOML
from tests.cluster.virtual import PATIENT, Virtual, virtual

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.soak]

PAGE = CHECKOUT / "docs" / "security-officers.md"
OURS = re.search(r"```text\n(.*?peer=slurmctld,\n)```", PAGE.read_text(), re.DOTALL)
SLURMS = """
  capability chown,
  capability dac_override,
  capability dac_read_search,
  capability fowner,
  capability kill,
  capability setgid,
  capability setuid,
  capability sys_resource,
  network inet,
  network inet6,
  network netlink,
  /usr/sbin/slurmctld* mrix,
  /usr/lib/@{multiarch}/slurm-wlm/{,**} mr,
  /etc/slurm/{,**} r,
  /var/lib/slurm/{,**} rwkl,
  /var/log/slurm/{,**} rwk,
  /run/ r,
  /run/slurmctld** rwk,
  /run/slurm/** rw,
  @{sys}/** r,
"""
PROFILE = f"""
abi <abi/4.0>,
include <tunables/global>

profile slurmctld /usr/sbin/slurmctld* flags=(attach_disconnected) {{
  include <abstractions/base>
  include <abstractions/nameservice>
{SLURMS}
{OURS[1] if OURS else ""}
}}
"""
MORE = """
@hook.job_end
def ended(record):
    with open("/var/lib/slurm/marks", "a") as file:
        file.write("ended\\n")

@hook.every("10s")
def rule(jobs):
    with open("/var/lib/slurm/marks", "a") as file:
        file.write("rule\\n")
"""
LINES = """
printf 'JobSubmitPlugins=python\\nJobCompType=jobcomp/python\\nMessageTimeout=120\\n' > /etc/slurm/local.conf
echo required spank_python.so > /etc/slurm/plugstack.conf
mkdir -p /etc/slurm/hooks.d
apparmor_parser --replace /etc/apparmor.d/slurmctld
sysctl -q -w kernel.printk_ratelimit=0
"""


@pytest.fixture(scope="module")
def confined(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    """A cluster on a machine with AppArmor and a profile for slurmctld."""
    folder = tmp_path_factory.mktemp("machine")
    mount = "mount -t securityfs none /sys/kernel/security"
    with virtual(cluster, folder, ("apparmor",), mount, kernel="apparmor=1 security=apparmor") as machine:
        machine.put(PROFILE, "/etc/apparmor.d/slurmctld")
        machine.root("sh", "-ec", LINES, check=True)
        machine.put(HOOKS + MORE, "/etc/slurm/hooks.d/site.py")
        machine.put(TOML + PATIENT, "/etc/slurm/slurmhooks.toml")
        machine.deploy()
        yield machine


def test_hooks_run(confined: Virtual) -> None:
    """Handlers of requests, of ended jobs and of periodic handlers run in that profile, and nothing is denied."""
    assert hooked(confined) == ["hooked", "hooked"]
    label = confined.root("sh", "-c", "cat /proc/$(pgrep -o -f slurmhooks.worker)/attr/current", check=True).stdout
    assert label == "slurmctld (enforce)\n"

    def marks() -> set[str]:
        return set(confined.root("cat", "/var/lib/slurm/marks").stdout.split())

    confined.wait(lambda: marks() == {"ended", "rule"}, what="end of a job, and a periodic handler")
    assert re.findall('apparmor="DENIED".*', confined.root("dmesg", check=True).stdout) == []
