#!/usr/bin/python
# SPDX-License-Identifier: GPL-2.0-or-later
"""A module of Ansible that puts a bundle of slurmhooks in force, or goes back to an earlier one."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import tarfile
import tempfile

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: slurmhooks_bundle
short_description: Put a bundle of slurmhooks in force
description:
  - Calls C(slurmhooks deploy) or C(slurmhooks rollback). If the bundle does not pass their checks, the task fails with
    their findings, and what was in force stays in force.
  - In check mode it only compares files; whether the bundle passes the checks of this machine is not known. For
    I(source) it is, by C(slurmhooks deploy --dry-run).
options:
  executable:
    description: The command C(slurmhooks).
    type: path
    required: true
  sysconfdir:
    description: The folder of slurm.conf.
    type: path
    default: /etc/slurm
  state:
    description: Whether to deploy I(archive) or I(source), or to go back to I(id).
    choices: [deployed, rolled_back]
    default: deployed
  archive:
    description: The archive that C(slurmhooks bundle) has made, as base64.
    type: str
  signature:
    description: The signature of the archive; empty if there is none.
    type: str
    default: ""
  source:
    description: A folder of this machine that has slurmhooks.toml, such as that of slurm.conf.
    type: path
  id:
    description: The id of the bundle to go back to; by default, the one that was deployed before the present one.
    type: str
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
author: The slurmhooks authors
"""

EXAMPLES = """
- name: Put a policy in force
  slurmhooks_bundle:
    executable: /opt/slurmhooks/bin/slurmhooks
    archive: "{{ lookup('ansible.builtin.pipe', 'base64 < policy.tar') }}"
    signature: "{{ lookup('ansible.builtin.file', 'policy.tar.sig', rstrip=false) }}"
"""

RETURN = """
bundle:
  description: The id of the bundle that is in force.
  type: str
  returned: success, except in check mode for an archive
before:
  description: The id of the bundle that was in force before; empty if there was none.
  type: str
  returned: success, except in check mode
notes:
  description: What may be a mistake.
  type: list
  elements: str
  returned: success, except in check mode
"""


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "executable": {"type": "path", "required": True},
            "sysconfdir": {"type": "path", "default": "/etc/slurm"},
            "state": {"choices": ["deployed", "rolled_back"], "default": "deployed"},
            "archive": {"type": "str", "no_log": True},  # long
            "signature": {"type": "str", "default": ""},
            "source": {"type": "path"},
            "id": {"type": "str"},
        },
        required_if=[("state", "deployed", ("archive", "source"), True)],
        mutually_exclusive=[("archive", "source", "id")],
        supports_check_mode=True,
    )
    before = of_folder(os.path.join(module.params["sysconfdir"], "slurmhooks.set"))
    data = base64.b64decode(module.params["archive"] or "")
    if module.check_mode and module.params["source"]:
        report = call(module, "deploy", module.params["source"], "--dry-run")
        prepared = "".join(f"{line}\n" for line in report["changes"])
        module.exit_json(changed=report["before"] != report["bundle"], diff=[{"prepared": prepared}], **report)
    if module.check_mode:
        bundle = None
        if module.params["state"] == "deployed":
            after = of_archive(data)
        else:
            bundle = module.params["id"] or previous(module)
            after = of_folder(os.path.join(module.params["sysconfdir"], "slurmhooks.d", "sets", bundle))
        module.exit_json(changed=before != after, diff=difference(before, after), bundle=bundle)
    if module.params["source"]:
        report = call(module, "deploy", module.params["source"])
    elif module.params["state"] == "deployed":
        report = deploy(module, data)
    else:
        report = call(module, "rollback", *filter(None, [module.params["id"]]))
    after = of_folder(os.path.join(module.params["sysconfdir"], "slurmhooks.set"))
    report["before"] = report["before"] or ""
    module.exit_json(changed=report["before"] != report["bundle"], diff=difference(before, after), **report)


def deploy(module: AnsibleModule, data: bytes) -> dict:
    """Deploy an archive, and return the report; end this module if it is refused."""
    # Nobody but root can write to the folder, so that an archive without a signature is accepted, too.
    folder = tempfile.mkdtemp(prefix="slurmhooks.", dir="/run")
    try:
        path = os.path.join(folder, "policy.tar")
        with open(path, "wb") as file:
            file.write(data)
        if module.params["signature"]:
            with open(f"{path}.sig", "w", encoding="utf-8") as file:
                file.write(module.params["signature"])
        return call(module, "deploy", path)
    finally:
        shutil.rmtree(folder)


def call(module: AnsibleModule, verb: str, *arguments: str) -> dict:
    """Call the command, and return its report; end this module if it fails."""
    command = [module.params["executable"], verb, *arguments, "--json", "--sysconfdir", module.params["sysconfdir"]]
    code, out, err = module.run_command(command)
    if code:
        module.fail_json(msg=err.strip() or out.strip() or f"slurmhooks {verb}: exit {code}", rc=code)
    return json.loads(out)


def previous(module: AnsibleModule) -> str:
    """Return the id of the bundle that was in force before the present one; end this module if there is none."""
    command = [module.params["executable"], "status", "--json", "--sysconfdir", module.params["sysconfdir"]]
    _, out, err = module.run_command(command)
    try:
        before = json.loads(out)["before"]
    except (ValueError, KeyError):
        module.fail_json(msg=err.strip() or out.strip())
    if before is None:
        module.fail_json(msg="nothing was in force before this bundle")
    return before


def of_archive(data: bytes) -> dict[str, str]:
    """Return the files of a bundle by their names."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        members = ((member.name, tar.extractfile(member)) for member in tar)
        return {name: file.read().decode(errors="replace") for name, file in members if file is not None}


def of_folder(folder: str) -> dict[str, str]:
    """Return the files of a bundle that was deployed; none if there is no such folder."""
    files = {}
    for place, _, names in os.walk(os.path.realpath(folder)):
        if os.path.basename(place) != "__pycache__":
            for name in names:
                path = os.path.join(place, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    files[os.path.relpath(path, os.path.realpath(folder))] = file.read()
    return files


def difference(before: dict[str, str], after: dict[str, str]) -> list[dict[str, str]]:
    """Return what Ansible shows with --diff: the files that differ."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return [
        {"before_header": name, "after_header": name, "before": before.get(name, ""), "after": after.get(name, "")}
        for name in names
    ]


if __name__ == "__main__":
    main()
