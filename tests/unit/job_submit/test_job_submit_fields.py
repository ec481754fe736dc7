# SPDX-License-Identifier: GPL-2.0-or-later
import ast
import inspect

import pytest

from slurmhooks import fields
from slurmhooks.fields.rows import Computed, Field, rows
from slurmhooks.hooks.points import HOOKS
from slurmhooks.job_submit.model import VIEWS, Job, Partition, Record, Reservation

RELEASES = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05", "26.11")


def words(text: str) -> list[str]:
    """Split a text into words."""
    return text.split()


# The names that a job_submit.lua of Slurm 22.05 to 26.05 can use.
LUA_WRITABLE = words(
    """
account acctg_freq admin_comment array_inx batch_features begin_time bitflags burst_buffer clusters comment
container contiguous core_spec cores_per_socket cpu_freq_gov cpu_freq_max cpu_freq_min cpus_per_task cpus_per_tres
delay_boot dependency end_time exc_nodes extra features gres immediate licenses mail_type mail_user max_cpus
max_nodes mcs_label mem_per_tres min_cpus min_mem_per_cpu min_mem_per_node min_nodes name nice ntasks_per_gpu
ntasks_per_node ntasks_per_socket ntasks_per_tres num_tasks oversubscribe partition pn_min_cpus pn_min_memory
pn_min_tmp_disk prefer priority qos reboot req_nodes req_switch requeue reservation script segment_size
selinux_context shared site_factor sockets_per_node std_err std_in std_out thread_spec threads_per_core time_limit
time_min tres_bind tres_freq tres_per_job tres_per_node tres_per_socket tres_per_task wait4switch wckey work_dir
"""
)
LUA_READABLE = words(
    """
alloc_node argc argv assoc_comment assoc_qos boards_per_node cron_job default_account default_qos environment
group_id het_job_offset network ntasks_per_board ntasks_per_core pack_job_offset req_context sockets_per_board
spank_job_env spank_job_env_size user_id user_name
"""
)
LUA_RECORD = words(
    """
account admin_comment alloc_node argv array_job_id array_task_cnt array_task_id batch_features batch_host
best_switch burst_buffer comment container core_spec cpus_per_tres curr_dependency delay_boot derived_ec
direct_set_prio end_time exit_code extra features gres gres_req gres_used group_id het_job_id het_job_id_set
het_job_offset job_id job_state licenses max_cpus max_nodes mcs_label mem_per_tres min_cpus min_mem_per_cpu
min_mem_per_node min_nodes name nice nodes orig_dependency origin_cluster original_sluid partition pn_min_cpus
pn_min_memory priority qos reboot req_switch resizing restart_cnt resv_name script segment_size selinux_context
site_factor sluid spank_job_env spank_job_env_size start_time std_err std_in std_out submit_time thread_spec
time_limit time_min total_cpus total_nodes tres_alloc_str tres_bind tres_fmt_alloc_str tres_fmt_req_str tres_freq
tres_per_job tres_per_node tres_per_socket tres_per_task tres_req_str user_id user_name wait4switch
wait4switch_start wckey work_dir
"""
)
LUA_PARTITION = words(
    """
allow_accounts allow_alloc_nodes allow_groups allow_qos alternate billing_weights_str def_mem_per_cpu
def_mem_per_node default_time deny_accounts deny_qos flag_default flags max_cpus_per_node max_cpus_per_socket
max_mem_per_cpu max_mem_per_node max_nodes max_nodes_orig max_oversubscribe max_share max_time min_nodes
min_nodes_orig name nodes priority_job_factor priority_tier qos state_up total_cpus total_nodes
"""
)
LUA_RESERVATION = words(
    """
accounts assoc_list duration end_time features flags flags_set_node full_nodes licenses node_cnt node_list partition
start_time users
"""
)


def all_rows() -> list[tuple[str, Field[object]]]:
    """Return every row of every view, by a name for the report."""
    return [(f"{view.__name__}.{name}", row) for view in VIEWS.values() for name, row in rows(view).items()]


@pytest.mark.parametrize(
    ("view", "names"),
    [
        (Job, LUA_WRITABLE + LUA_READABLE),
        (Record, LUA_RECORD),
        (Partition, LUA_PARTITION),
        (Reservation, LUA_RESERVATION),
    ],
)
def test_everything_that_lua_can_read(view: type, names: list[str]) -> None:
    """A site that moves from job_submit.lua finds every field under the name that it knows."""
    assert [name for name in names if not hasattr(view, name)] == []


def test_everything_that_lua_can_write() -> None:
    """Every field that a script could change can be changed."""
    known = rows(Job)
    assert [name for name in LUA_WRITABLE if not known[name].writable] == []


def test_only_the_request_can_be_written() -> None:
    """Records, partitions, nodes and all other records belong to slurmctld and are read-only."""
    for view in [view for view in VIEWS.values() if view is not Job]:
        assert [name for name, row in rows(view).items() if row.writable] == []


def test_every_row_is_documented() -> None:
    """The reference, editors and `help()` show the text of the row: one sentence."""
    for where, row in all_rows():
        assert row.doc, where
        assert row.doc[-1] in ".)", where
        assert "\n" not in row.doc, where
        assert len(row.doc) <= 90, where


def test_releases_are_those_that_there_are() -> None:
    """since and until name a release, since is the earlier one, and is not set if it holds for all releases."""
    for where, row in all_rows():
        ends = [end for end in (row.since, row.until) if end is not None]
        assert set(ends) <= set(RELEASES), where
        assert ends == sorted(ends), where
        assert row.since != RELEASES[0], where


def test_what_is_computed_has_no_member() -> None:
    """Fields for which slurmctld or the name service is asked cannot be assigned."""
    for where, row in all_rows():
        if isinstance(row, Computed):
            assert not row.writable, where


def test_no_row_is_defined_twice() -> None:
    """Names of rows are unique: Python would silently drop the first of two rows with one name."""
    modules = [module for _, module in inspect.getmembers(fields, inspect.ismodule)]
    assert modules
    for node in (node for module in modules for node in ast.parse(inspect.getsource(module)).body):
        if isinstance(node, ast.ClassDef):
            names = [
                target.id
                for statement in node.body
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                if isinstance(target, ast.Name)
            ]
            assert len(names) == len(set(names)), node.name


def test_every_table_has_all_its_parts() -> None:
    """Each struct has rows and a view with them; each mapping of records is an argument of both hooks."""
    assert list(fields.TABLES) == list(VIEWS)
    for name, view in VIEWS.items():
        assert issubclass(view, fields.TABLES[name])
    assert set(fields.LISTS.values()) | {"job"} == set(VIEWS)
    for table in fields.LISTS.values():
        assert fields.KEYS.get(table, "name") in rows(VIEWS[table])
    for hook in ("job_submit", "job_modify"):
        assert set(HOOKS[hook].arguments) >= set(fields.LISTS)
