# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tests/typing/stubs.py.
"""The types of the decorators."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, Literal, Protocol, TypeVar, overload

from slurmhooks.cli_filter.model import Options
from slurmhooks.job_submit.model import Association, Job, License, Node, Partition, Qos, Record, Reservation, Table
from slurmhooks.jobcomp.event import Event
from slurmhooks.option import Option, Value
from slurmhooks.scrun.model import Container
from slurmhooks.spank.model import Spank

R = TypeVar("R", covariant=True)
Mode = Literal["enforce", "warn", "observe", "off"]

class Takes(Protocol[R]):
    def __call__(self) -> R: ...

class Takes_job(Protocol[R]):
    def __call__(self, *, job: Job) -> R: ...

class Takes_submit_uid(Protocol[R]):
    def __call__(self, *, submit_uid: int) -> R: ...

class Takes_partitions(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition]) -> R: ...

class Takes_reservations(Protocol[R]):
    def __call__(self, *, reservations: Table[str, Reservation]) -> R: ...

class Takes_jobs(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record]) -> R: ...

class Takes_nodes(Protocol[R]):
    def __call__(self, *, nodes: Table[str, Node]) -> R: ...

class Takes_licenses(Protocol[R]):
    def __call__(self, *, licenses: Table[str, License]) -> R: ...

class Takes_qos(Protocol[R]):
    def __call__(self, *, qos: Table[str, Qos]) -> R: ...

class Takes_associations(Protocol[R]):
    def __call__(self, *, associations: Table[int, Association]) -> R: ...

class Takes_job_submit_uid(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int) -> R: ...

class Takes_job_partitions(Protocol[R]):
    def __call__(self, *, job: Job, partitions: Table[str, Partition]) -> R: ...

class Takes_job_reservations(Protocol[R]):
    def __call__(self, *, job: Job, reservations: Table[str, Reservation]) -> R: ...

class Takes_job_jobs(Protocol[R]):
    def __call__(self, *, job: Job, jobs: Table[int, Record]) -> R: ...

class Takes_job_nodes(Protocol[R]):
    def __call__(self, *, job: Job, nodes: Table[str, Node]) -> R: ...

class Takes_job_licenses(Protocol[R]):
    def __call__(self, *, job: Job, licenses: Table[str, License]) -> R: ...

class Takes_job_qos(Protocol[R]):
    def __call__(self, *, job: Job, qos: Table[str, Qos]) -> R: ...

class Takes_job_associations(Protocol[R]):
    def __call__(self, *, job: Job, associations: Table[int, Association]) -> R: ...

class Takes_submit_uid_partitions(Protocol[R]):
    def __call__(self, *, submit_uid: int, partitions: Table[str, Partition]) -> R: ...

class Takes_submit_uid_reservations(Protocol[R]):
    def __call__(self, *, submit_uid: int, reservations: Table[str, Reservation]) -> R: ...

class Takes_submit_uid_jobs(Protocol[R]):
    def __call__(self, *, submit_uid: int, jobs: Table[int, Record]) -> R: ...

class Takes_submit_uid_nodes(Protocol[R]):
    def __call__(self, *, submit_uid: int, nodes: Table[str, Node]) -> R: ...

class Takes_submit_uid_licenses(Protocol[R]):
    def __call__(self, *, submit_uid: int, licenses: Table[str, License]) -> R: ...

class Takes_submit_uid_qos(Protocol[R]):
    def __call__(self, *, submit_uid: int, qos: Table[str, Qos]) -> R: ...

class Takes_submit_uid_associations(Protocol[R]):
    def __call__(self, *, submit_uid: int, associations: Table[int, Association]) -> R: ...

class Takes_partitions_reservations(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], reservations: Table[str, Reservation]) -> R: ...

class Takes_partitions_jobs(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], jobs: Table[int, Record]) -> R: ...

class Takes_partitions_nodes(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], nodes: Table[str, Node]) -> R: ...

class Takes_partitions_licenses(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], licenses: Table[str, License]) -> R: ...

class Takes_partitions_qos(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], qos: Table[str, Qos]) -> R: ...

class Takes_partitions_associations(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], associations: Table[int, Association]) -> R: ...

class Takes_reservations_jobs(Protocol[R]):
    def __call__(self, *, reservations: Table[str, Reservation], jobs: Table[int, Record]) -> R: ...

class Takes_reservations_nodes(Protocol[R]):
    def __call__(self, *, reservations: Table[str, Reservation], nodes: Table[str, Node]) -> R: ...

class Takes_reservations_licenses(Protocol[R]):
    def __call__(self, *, reservations: Table[str, Reservation], licenses: Table[str, License]) -> R: ...

class Takes_reservations_qos(Protocol[R]):
    def __call__(self, *, reservations: Table[str, Reservation], qos: Table[str, Qos]) -> R: ...

class Takes_reservations_associations(Protocol[R]):
    def __call__(self, *, reservations: Table[str, Reservation], associations: Table[int, Association]) -> R: ...

class Takes_jobs_nodes(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record], nodes: Table[str, Node]) -> R: ...

class Takes_jobs_licenses(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record], licenses: Table[str, License]) -> R: ...

class Takes_jobs_qos(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record], qos: Table[str, Qos]) -> R: ...

class Takes_jobs_associations(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record], associations: Table[int, Association]) -> R: ...

class Takes_nodes_licenses(Protocol[R]):
    def __call__(self, *, nodes: Table[str, Node], licenses: Table[str, License]) -> R: ...

class Takes_nodes_qos(Protocol[R]):
    def __call__(self, *, nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_nodes_associations(Protocol[R]):
    def __call__(self, *, nodes: Table[str, Node], associations: Table[int, Association]) -> R: ...

class Takes_licenses_qos(Protocol[R]):
    def __call__(self, *, licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_licenses_associations(Protocol[R]):
    def __call__(self, *, licenses: Table[str, License], associations: Table[int, Association]) -> R: ...

class Takes_qos_associations(Protocol[R]):
    def __call__(self, *, qos: Table[str, Qos], associations: Table[int, Association]) -> R: ...

class Takes_job_submit_uid_partitions(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int, partitions: Table[str, Partition]) -> R: ...

class Takes_job_submit_uid_reservations(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int, reservations: Table[str, Reservation]) -> R: ...

class Takes_job_submit_uid_jobs(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int, jobs: Table[int, Record]) -> R: ...

class Takes_job_submit_uid_nodes(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int, nodes: Table[str, Node]) -> R: ...

class Takes_job_submit_uid_licenses(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int, licenses: Table[str, License]) -> R: ...

class Takes_job_submit_uid_qos(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int, qos: Table[str, Qos]) -> R: ...

class Takes_job_submit_uid_associations(Protocol[R]):
    def __call__(self, *, job: Job, submit_uid: int, associations: Table[int, Association]) -> R: ...

class Takes_job_partitions_reservations(Protocol[R]):
    def __call__(self, *, job: Job, partitions: Table[str, Partition], reservations: Table[str, Reservation]) -> R: ...

class Takes_job_partitions_jobs(Protocol[R]):
    def __call__(self, *, job: Job, partitions: Table[str, Partition], jobs: Table[int, Record]) -> R: ...

class Takes_job_partitions_nodes(Protocol[R]):
    def __call__(self, *, job: Job, partitions: Table[str, Partition], nodes: Table[str, Node]) -> R: ...

class Takes_job_partitions_licenses(Protocol[R]):
    def __call__(self, *, job: Job, partitions: Table[str, Partition], licenses: Table[str, License]) -> R: ...

class Takes_job_partitions_qos(Protocol[R]):
    def __call__(self, *, job: Job, partitions: Table[str, Partition], qos: Table[str, Qos]) -> R: ...

class Takes_job_partitions_associations(Protocol[R]):
    def __call__(self, *, job: Job, partitions: Table[str, Partition], associations: Table[int, Association]) -> R: ...

class Takes_job_reservations_jobs(Protocol[R]):
    def __call__(self, *, job: Job, reservations: Table[str, Reservation], jobs: Table[int, Record]) -> R: ...

class Takes_job_reservations_nodes(Protocol[R]):
    def __call__(self, *, job: Job, reservations: Table[str, Reservation], nodes: Table[str, Node]) -> R: ...

class Takes_job_reservations_licenses(Protocol[R]):
    def __call__(self, *, job: Job, reservations: Table[str, Reservation], licenses: Table[str, License]) -> R: ...

class Takes_job_reservations_qos(Protocol[R]):
    def __call__(self, *, job: Job, reservations: Table[str, Reservation], qos: Table[str, Qos]) -> R: ...

class Takes_job_reservations_associations(Protocol[R]):
    def __call__(
        self, *, job: Job, reservations: Table[str, Reservation], associations: Table[int, Association]
    ) -> R: ...

class Takes_job_jobs_nodes(Protocol[R]):
    def __call__(self, *, job: Job, jobs: Table[int, Record], nodes: Table[str, Node]) -> R: ...

class Takes_job_jobs_licenses(Protocol[R]):
    def __call__(self, *, job: Job, jobs: Table[int, Record], licenses: Table[str, License]) -> R: ...

class Takes_job_jobs_qos(Protocol[R]):
    def __call__(self, *, job: Job, jobs: Table[int, Record], qos: Table[str, Qos]) -> R: ...

class Takes_job_jobs_associations(Protocol[R]):
    def __call__(self, *, job: Job, jobs: Table[int, Record], associations: Table[int, Association]) -> R: ...

class Takes_job_nodes_licenses(Protocol[R]):
    def __call__(self, *, job: Job, nodes: Table[str, Node], licenses: Table[str, License]) -> R: ...

class Takes_job_nodes_qos(Protocol[R]):
    def __call__(self, *, job: Job, nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_job_nodes_associations(Protocol[R]):
    def __call__(self, *, job: Job, nodes: Table[str, Node], associations: Table[int, Association]) -> R: ...

class Takes_job_licenses_qos(Protocol[R]):
    def __call__(self, *, job: Job, licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_job_licenses_associations(Protocol[R]):
    def __call__(self, *, job: Job, licenses: Table[str, License], associations: Table[int, Association]) -> R: ...

class Takes_job_qos_associations(Protocol[R]):
    def __call__(self, *, job: Job, qos: Table[str, Qos], associations: Table[int, Association]) -> R: ...

class Takes_submit_uid_partitions_reservations(Protocol[R]):
    def __call__(
        self, *, submit_uid: int, partitions: Table[str, Partition], reservations: Table[str, Reservation]
    ) -> R: ...

class Takes_submit_uid_partitions_jobs(Protocol[R]):
    def __call__(self, *, submit_uid: int, partitions: Table[str, Partition], jobs: Table[int, Record]) -> R: ...

class Takes_submit_uid_partitions_nodes(Protocol[R]):
    def __call__(self, *, submit_uid: int, partitions: Table[str, Partition], nodes: Table[str, Node]) -> R: ...

class Takes_submit_uid_partitions_licenses(Protocol[R]):
    def __call__(self, *, submit_uid: int, partitions: Table[str, Partition], licenses: Table[str, License]) -> R: ...

class Takes_submit_uid_partitions_qos(Protocol[R]):
    def __call__(self, *, submit_uid: int, partitions: Table[str, Partition], qos: Table[str, Qos]) -> R: ...

class Takes_submit_uid_partitions_associations(Protocol[R]):
    def __call__(
        self, *, submit_uid: int, partitions: Table[str, Partition], associations: Table[int, Association]
    ) -> R: ...

class Takes_submit_uid_reservations_jobs(Protocol[R]):
    def __call__(self, *, submit_uid: int, reservations: Table[str, Reservation], jobs: Table[int, Record]) -> R: ...

class Takes_submit_uid_reservations_nodes(Protocol[R]):
    def __call__(self, *, submit_uid: int, reservations: Table[str, Reservation], nodes: Table[str, Node]) -> R: ...

class Takes_submit_uid_reservations_licenses(Protocol[R]):
    def __call__(
        self, *, submit_uid: int, reservations: Table[str, Reservation], licenses: Table[str, License]
    ) -> R: ...

class Takes_submit_uid_reservations_qos(Protocol[R]):
    def __call__(self, *, submit_uid: int, reservations: Table[str, Reservation], qos: Table[str, Qos]) -> R: ...

class Takes_submit_uid_reservations_associations(Protocol[R]):
    def __call__(
        self, *, submit_uid: int, reservations: Table[str, Reservation], associations: Table[int, Association]
    ) -> R: ...

class Takes_submit_uid_jobs_nodes(Protocol[R]):
    def __call__(self, *, submit_uid: int, jobs: Table[int, Record], nodes: Table[str, Node]) -> R: ...

class Takes_submit_uid_jobs_licenses(Protocol[R]):
    def __call__(self, *, submit_uid: int, jobs: Table[int, Record], licenses: Table[str, License]) -> R: ...

class Takes_submit_uid_jobs_qos(Protocol[R]):
    def __call__(self, *, submit_uid: int, jobs: Table[int, Record], qos: Table[str, Qos]) -> R: ...

class Takes_submit_uid_jobs_associations(Protocol[R]):
    def __call__(self, *, submit_uid: int, jobs: Table[int, Record], associations: Table[int, Association]) -> R: ...

class Takes_submit_uid_nodes_licenses(Protocol[R]):
    def __call__(self, *, submit_uid: int, nodes: Table[str, Node], licenses: Table[str, License]) -> R: ...

class Takes_submit_uid_nodes_qos(Protocol[R]):
    def __call__(self, *, submit_uid: int, nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_submit_uid_nodes_associations(Protocol[R]):
    def __call__(self, *, submit_uid: int, nodes: Table[str, Node], associations: Table[int, Association]) -> R: ...

class Takes_submit_uid_licenses_qos(Protocol[R]):
    def __call__(self, *, submit_uid: int, licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_submit_uid_licenses_associations(Protocol[R]):
    def __call__(
        self, *, submit_uid: int, licenses: Table[str, License], associations: Table[int, Association]
    ) -> R: ...

class Takes_submit_uid_qos_associations(Protocol[R]):
    def __call__(self, *, submit_uid: int, qos: Table[str, Qos], associations: Table[int, Association]) -> R: ...

class Takes_partitions_reservations_jobs(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], reservations: Table[str, Reservation], jobs: Table[int, Record]
    ) -> R: ...

class Takes_partitions_reservations_nodes(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], reservations: Table[str, Reservation], nodes: Table[str, Node]
    ) -> R: ...

class Takes_partitions_reservations_licenses(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], reservations: Table[str, Reservation], licenses: Table[str, License]
    ) -> R: ...

class Takes_partitions_reservations_qos(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], reservations: Table[str, Reservation], qos: Table[str, Qos]
    ) -> R: ...

class Takes_partitions_reservations_associations(Protocol[R]):
    def __call__(
        self,
        *,
        partitions: Table[str, Partition],
        reservations: Table[str, Reservation],
        associations: Table[int, Association],
    ) -> R: ...

class Takes_partitions_jobs_nodes(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], jobs: Table[int, Record], nodes: Table[str, Node]
    ) -> R: ...

class Takes_partitions_jobs_licenses(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], jobs: Table[int, Record], licenses: Table[str, License]
    ) -> R: ...

class Takes_partitions_jobs_qos(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], jobs: Table[int, Record], qos: Table[str, Qos]) -> R: ...

class Takes_partitions_jobs_associations(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], jobs: Table[int, Record], associations: Table[int, Association]
    ) -> R: ...

class Takes_partitions_nodes_licenses(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], nodes: Table[str, Node], licenses: Table[str, License]
    ) -> R: ...

class Takes_partitions_nodes_qos(Protocol[R]):
    def __call__(self, *, partitions: Table[str, Partition], nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_partitions_nodes_associations(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], nodes: Table[str, Node], associations: Table[int, Association]
    ) -> R: ...

class Takes_partitions_licenses_qos(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], licenses: Table[str, License], qos: Table[str, Qos]
    ) -> R: ...

class Takes_partitions_licenses_associations(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], licenses: Table[str, License], associations: Table[int, Association]
    ) -> R: ...

class Takes_partitions_qos_associations(Protocol[R]):
    def __call__(
        self, *, partitions: Table[str, Partition], qos: Table[str, Qos], associations: Table[int, Association]
    ) -> R: ...

class Takes_reservations_jobs_nodes(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], jobs: Table[int, Record], nodes: Table[str, Node]
    ) -> R: ...

class Takes_reservations_jobs_licenses(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], jobs: Table[int, Record], licenses: Table[str, License]
    ) -> R: ...

class Takes_reservations_jobs_qos(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], jobs: Table[int, Record], qos: Table[str, Qos]
    ) -> R: ...

class Takes_reservations_jobs_associations(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], jobs: Table[int, Record], associations: Table[int, Association]
    ) -> R: ...

class Takes_reservations_nodes_licenses(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], nodes: Table[str, Node], licenses: Table[str, License]
    ) -> R: ...

class Takes_reservations_nodes_qos(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], nodes: Table[str, Node], qos: Table[str, Qos]
    ) -> R: ...

class Takes_reservations_nodes_associations(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], nodes: Table[str, Node], associations: Table[int, Association]
    ) -> R: ...

class Takes_reservations_licenses_qos(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], licenses: Table[str, License], qos: Table[str, Qos]
    ) -> R: ...

class Takes_reservations_licenses_associations(Protocol[R]):
    def __call__(
        self,
        *,
        reservations: Table[str, Reservation],
        licenses: Table[str, License],
        associations: Table[int, Association],
    ) -> R: ...

class Takes_reservations_qos_associations(Protocol[R]):
    def __call__(
        self, *, reservations: Table[str, Reservation], qos: Table[str, Qos], associations: Table[int, Association]
    ) -> R: ...

class Takes_jobs_nodes_licenses(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record], nodes: Table[str, Node], licenses: Table[str, License]) -> R: ...

class Takes_jobs_nodes_qos(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record], nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_jobs_nodes_associations(Protocol[R]):
    def __call__(
        self, *, jobs: Table[int, Record], nodes: Table[str, Node], associations: Table[int, Association]
    ) -> R: ...

class Takes_jobs_licenses_qos(Protocol[R]):
    def __call__(self, *, jobs: Table[int, Record], licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_jobs_licenses_associations(Protocol[R]):
    def __call__(
        self, *, jobs: Table[int, Record], licenses: Table[str, License], associations: Table[int, Association]
    ) -> R: ...

class Takes_jobs_qos_associations(Protocol[R]):
    def __call__(
        self, *, jobs: Table[int, Record], qos: Table[str, Qos], associations: Table[int, Association]
    ) -> R: ...

class Takes_nodes_licenses_qos(Protocol[R]):
    def __call__(self, *, nodes: Table[str, Node], licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_nodes_licenses_associations(Protocol[R]):
    def __call__(
        self, *, nodes: Table[str, Node], licenses: Table[str, License], associations: Table[int, Association]
    ) -> R: ...

class Takes_nodes_qos_associations(Protocol[R]):
    def __call__(
        self, *, nodes: Table[str, Node], qos: Table[str, Qos], associations: Table[int, Association]
    ) -> R: ...

class Takes_licenses_qos_associations(Protocol[R]):
    def __call__(
        self, *, licenses: Table[str, License], qos: Table[str, Qos], associations: Table[int, Association]
    ) -> R: ...

class Takes_record(Protocol[R]):
    def __call__(self, *, record: Record) -> R: ...

class Takes_modify_uid(Protocol[R]):
    def __call__(self, *, modify_uid: int) -> R: ...

class Takes_job_record(Protocol[R]):
    def __call__(self, *, job: Job, record: Record) -> R: ...

class Takes_job_modify_uid(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int) -> R: ...

class Takes_record_modify_uid(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int) -> R: ...

class Takes_record_partitions(Protocol[R]):
    def __call__(self, *, record: Record, partitions: Table[str, Partition]) -> R: ...

class Takes_record_reservations(Protocol[R]):
    def __call__(self, *, record: Record, reservations: Table[str, Reservation]) -> R: ...

class Takes_record_jobs(Protocol[R]):
    def __call__(self, *, record: Record, jobs: Table[int, Record]) -> R: ...

class Takes_record_nodes(Protocol[R]):
    def __call__(self, *, record: Record, nodes: Table[str, Node]) -> R: ...

class Takes_record_licenses(Protocol[R]):
    def __call__(self, *, record: Record, licenses: Table[str, License]) -> R: ...

class Takes_record_qos(Protocol[R]):
    def __call__(self, *, record: Record, qos: Table[str, Qos]) -> R: ...

class Takes_record_associations(Protocol[R]):
    def __call__(self, *, record: Record, associations: Table[int, Association]) -> R: ...

class Takes_modify_uid_partitions(Protocol[R]):
    def __call__(self, *, modify_uid: int, partitions: Table[str, Partition]) -> R: ...

class Takes_modify_uid_reservations(Protocol[R]):
    def __call__(self, *, modify_uid: int, reservations: Table[str, Reservation]) -> R: ...

class Takes_modify_uid_jobs(Protocol[R]):
    def __call__(self, *, modify_uid: int, jobs: Table[int, Record]) -> R: ...

class Takes_modify_uid_nodes(Protocol[R]):
    def __call__(self, *, modify_uid: int, nodes: Table[str, Node]) -> R: ...

class Takes_modify_uid_licenses(Protocol[R]):
    def __call__(self, *, modify_uid: int, licenses: Table[str, License]) -> R: ...

class Takes_modify_uid_qos(Protocol[R]):
    def __call__(self, *, modify_uid: int, qos: Table[str, Qos]) -> R: ...

class Takes_modify_uid_associations(Protocol[R]):
    def __call__(self, *, modify_uid: int, associations: Table[int, Association]) -> R: ...

class Takes_job_record_modify_uid(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, modify_uid: int) -> R: ...

class Takes_job_record_partitions(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, partitions: Table[str, Partition]) -> R: ...

class Takes_job_record_reservations(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, reservations: Table[str, Reservation]) -> R: ...

class Takes_job_record_jobs(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, jobs: Table[int, Record]) -> R: ...

class Takes_job_record_nodes(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, nodes: Table[str, Node]) -> R: ...

class Takes_job_record_licenses(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, licenses: Table[str, License]) -> R: ...

class Takes_job_record_qos(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, qos: Table[str, Qos]) -> R: ...

class Takes_job_record_associations(Protocol[R]):
    def __call__(self, *, job: Job, record: Record, associations: Table[int, Association]) -> R: ...

class Takes_job_modify_uid_partitions(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int, partitions: Table[str, Partition]) -> R: ...

class Takes_job_modify_uid_reservations(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int, reservations: Table[str, Reservation]) -> R: ...

class Takes_job_modify_uid_jobs(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int, jobs: Table[int, Record]) -> R: ...

class Takes_job_modify_uid_nodes(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int, nodes: Table[str, Node]) -> R: ...

class Takes_job_modify_uid_licenses(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int, licenses: Table[str, License]) -> R: ...

class Takes_job_modify_uid_qos(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int, qos: Table[str, Qos]) -> R: ...

class Takes_job_modify_uid_associations(Protocol[R]):
    def __call__(self, *, job: Job, modify_uid: int, associations: Table[int, Association]) -> R: ...

class Takes_record_modify_uid_partitions(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int, partitions: Table[str, Partition]) -> R: ...

class Takes_record_modify_uid_reservations(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int, reservations: Table[str, Reservation]) -> R: ...

class Takes_record_modify_uid_jobs(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int, jobs: Table[int, Record]) -> R: ...

class Takes_record_modify_uid_nodes(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int, nodes: Table[str, Node]) -> R: ...

class Takes_record_modify_uid_licenses(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int, licenses: Table[str, License]) -> R: ...

class Takes_record_modify_uid_qos(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int, qos: Table[str, Qos]) -> R: ...

class Takes_record_modify_uid_associations(Protocol[R]):
    def __call__(self, *, record: Record, modify_uid: int, associations: Table[int, Association]) -> R: ...

class Takes_record_partitions_reservations(Protocol[R]):
    def __call__(
        self, *, record: Record, partitions: Table[str, Partition], reservations: Table[str, Reservation]
    ) -> R: ...

class Takes_record_partitions_jobs(Protocol[R]):
    def __call__(self, *, record: Record, partitions: Table[str, Partition], jobs: Table[int, Record]) -> R: ...

class Takes_record_partitions_nodes(Protocol[R]):
    def __call__(self, *, record: Record, partitions: Table[str, Partition], nodes: Table[str, Node]) -> R: ...

class Takes_record_partitions_licenses(Protocol[R]):
    def __call__(self, *, record: Record, partitions: Table[str, Partition], licenses: Table[str, License]) -> R: ...

class Takes_record_partitions_qos(Protocol[R]):
    def __call__(self, *, record: Record, partitions: Table[str, Partition], qos: Table[str, Qos]) -> R: ...

class Takes_record_partitions_associations(Protocol[R]):
    def __call__(
        self, *, record: Record, partitions: Table[str, Partition], associations: Table[int, Association]
    ) -> R: ...

class Takes_record_reservations_jobs(Protocol[R]):
    def __call__(self, *, record: Record, reservations: Table[str, Reservation], jobs: Table[int, Record]) -> R: ...

class Takes_record_reservations_nodes(Protocol[R]):
    def __call__(self, *, record: Record, reservations: Table[str, Reservation], nodes: Table[str, Node]) -> R: ...

class Takes_record_reservations_licenses(Protocol[R]):
    def __call__(
        self, *, record: Record, reservations: Table[str, Reservation], licenses: Table[str, License]
    ) -> R: ...

class Takes_record_reservations_qos(Protocol[R]):
    def __call__(self, *, record: Record, reservations: Table[str, Reservation], qos: Table[str, Qos]) -> R: ...

class Takes_record_reservations_associations(Protocol[R]):
    def __call__(
        self, *, record: Record, reservations: Table[str, Reservation], associations: Table[int, Association]
    ) -> R: ...

class Takes_record_jobs_nodes(Protocol[R]):
    def __call__(self, *, record: Record, jobs: Table[int, Record], nodes: Table[str, Node]) -> R: ...

class Takes_record_jobs_licenses(Protocol[R]):
    def __call__(self, *, record: Record, jobs: Table[int, Record], licenses: Table[str, License]) -> R: ...

class Takes_record_jobs_qos(Protocol[R]):
    def __call__(self, *, record: Record, jobs: Table[int, Record], qos: Table[str, Qos]) -> R: ...

class Takes_record_jobs_associations(Protocol[R]):
    def __call__(self, *, record: Record, jobs: Table[int, Record], associations: Table[int, Association]) -> R: ...

class Takes_record_nodes_licenses(Protocol[R]):
    def __call__(self, *, record: Record, nodes: Table[str, Node], licenses: Table[str, License]) -> R: ...

class Takes_record_nodes_qos(Protocol[R]):
    def __call__(self, *, record: Record, nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_record_nodes_associations(Protocol[R]):
    def __call__(self, *, record: Record, nodes: Table[str, Node], associations: Table[int, Association]) -> R: ...

class Takes_record_licenses_qos(Protocol[R]):
    def __call__(self, *, record: Record, licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_record_licenses_associations(Protocol[R]):
    def __call__(
        self, *, record: Record, licenses: Table[str, License], associations: Table[int, Association]
    ) -> R: ...

class Takes_record_qos_associations(Protocol[R]):
    def __call__(self, *, record: Record, qos: Table[str, Qos], associations: Table[int, Association]) -> R: ...

class Takes_modify_uid_partitions_reservations(Protocol[R]):
    def __call__(
        self, *, modify_uid: int, partitions: Table[str, Partition], reservations: Table[str, Reservation]
    ) -> R: ...

class Takes_modify_uid_partitions_jobs(Protocol[R]):
    def __call__(self, *, modify_uid: int, partitions: Table[str, Partition], jobs: Table[int, Record]) -> R: ...

class Takes_modify_uid_partitions_nodes(Protocol[R]):
    def __call__(self, *, modify_uid: int, partitions: Table[str, Partition], nodes: Table[str, Node]) -> R: ...

class Takes_modify_uid_partitions_licenses(Protocol[R]):
    def __call__(self, *, modify_uid: int, partitions: Table[str, Partition], licenses: Table[str, License]) -> R: ...

class Takes_modify_uid_partitions_qos(Protocol[R]):
    def __call__(self, *, modify_uid: int, partitions: Table[str, Partition], qos: Table[str, Qos]) -> R: ...

class Takes_modify_uid_partitions_associations(Protocol[R]):
    def __call__(
        self, *, modify_uid: int, partitions: Table[str, Partition], associations: Table[int, Association]
    ) -> R: ...

class Takes_modify_uid_reservations_jobs(Protocol[R]):
    def __call__(self, *, modify_uid: int, reservations: Table[str, Reservation], jobs: Table[int, Record]) -> R: ...

class Takes_modify_uid_reservations_nodes(Protocol[R]):
    def __call__(self, *, modify_uid: int, reservations: Table[str, Reservation], nodes: Table[str, Node]) -> R: ...

class Takes_modify_uid_reservations_licenses(Protocol[R]):
    def __call__(
        self, *, modify_uid: int, reservations: Table[str, Reservation], licenses: Table[str, License]
    ) -> R: ...

class Takes_modify_uid_reservations_qos(Protocol[R]):
    def __call__(self, *, modify_uid: int, reservations: Table[str, Reservation], qos: Table[str, Qos]) -> R: ...

class Takes_modify_uid_reservations_associations(Protocol[R]):
    def __call__(
        self, *, modify_uid: int, reservations: Table[str, Reservation], associations: Table[int, Association]
    ) -> R: ...

class Takes_modify_uid_jobs_nodes(Protocol[R]):
    def __call__(self, *, modify_uid: int, jobs: Table[int, Record], nodes: Table[str, Node]) -> R: ...

class Takes_modify_uid_jobs_licenses(Protocol[R]):
    def __call__(self, *, modify_uid: int, jobs: Table[int, Record], licenses: Table[str, License]) -> R: ...

class Takes_modify_uid_jobs_qos(Protocol[R]):
    def __call__(self, *, modify_uid: int, jobs: Table[int, Record], qos: Table[str, Qos]) -> R: ...

class Takes_modify_uid_jobs_associations(Protocol[R]):
    def __call__(self, *, modify_uid: int, jobs: Table[int, Record], associations: Table[int, Association]) -> R: ...

class Takes_modify_uid_nodes_licenses(Protocol[R]):
    def __call__(self, *, modify_uid: int, nodes: Table[str, Node], licenses: Table[str, License]) -> R: ...

class Takes_modify_uid_nodes_qos(Protocol[R]):
    def __call__(self, *, modify_uid: int, nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_modify_uid_nodes_associations(Protocol[R]):
    def __call__(self, *, modify_uid: int, nodes: Table[str, Node], associations: Table[int, Association]) -> R: ...

class Takes_modify_uid_licenses_qos(Protocol[R]):
    def __call__(self, *, modify_uid: int, licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_modify_uid_licenses_associations(Protocol[R]):
    def __call__(
        self, *, modify_uid: int, licenses: Table[str, License], associations: Table[int, Association]
    ) -> R: ...

class Takes_modify_uid_qos_associations(Protocol[R]):
    def __call__(self, *, modify_uid: int, qos: Table[str, Qos], associations: Table[int, Association]) -> R: ...

class Takes_environment(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str]) -> R: ...

class Takes_record_environment(Protocol[R]):
    def __call__(self, *, record: Record, environment: Mapping[str, str]) -> R: ...

class Takes_environment_partitions(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], partitions: Table[str, Partition]) -> R: ...

class Takes_environment_reservations(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], reservations: Table[str, Reservation]) -> R: ...

class Takes_environment_jobs(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], jobs: Table[int, Record]) -> R: ...

class Takes_environment_nodes(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], nodes: Table[str, Node]) -> R: ...

class Takes_environment_licenses(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], licenses: Table[str, License]) -> R: ...

class Takes_environment_qos(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], qos: Table[str, Qos]) -> R: ...

class Takes_environment_associations(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], associations: Table[int, Association]) -> R: ...

class Takes_record_environment_partitions(Protocol[R]):
    def __call__(self, *, record: Record, environment: Mapping[str, str], partitions: Table[str, Partition]) -> R: ...

class Takes_record_environment_reservations(Protocol[R]):
    def __call__(
        self, *, record: Record, environment: Mapping[str, str], reservations: Table[str, Reservation]
    ) -> R: ...

class Takes_record_environment_jobs(Protocol[R]):
    def __call__(self, *, record: Record, environment: Mapping[str, str], jobs: Table[int, Record]) -> R: ...

class Takes_record_environment_nodes(Protocol[R]):
    def __call__(self, *, record: Record, environment: Mapping[str, str], nodes: Table[str, Node]) -> R: ...

class Takes_record_environment_licenses(Protocol[R]):
    def __call__(self, *, record: Record, environment: Mapping[str, str], licenses: Table[str, License]) -> R: ...

class Takes_record_environment_qos(Protocol[R]):
    def __call__(self, *, record: Record, environment: Mapping[str, str], qos: Table[str, Qos]) -> R: ...

class Takes_record_environment_associations(Protocol[R]):
    def __call__(
        self, *, record: Record, environment: Mapping[str, str], associations: Table[int, Association]
    ) -> R: ...

class Takes_environment_partitions_reservations(Protocol[R]):
    def __call__(
        self,
        *,
        environment: Mapping[str, str],
        partitions: Table[str, Partition],
        reservations: Table[str, Reservation],
    ) -> R: ...

class Takes_environment_partitions_jobs(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], partitions: Table[str, Partition], jobs: Table[int, Record]
    ) -> R: ...

class Takes_environment_partitions_nodes(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], partitions: Table[str, Partition], nodes: Table[str, Node]
    ) -> R: ...

class Takes_environment_partitions_licenses(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], partitions: Table[str, Partition], licenses: Table[str, License]
    ) -> R: ...

class Takes_environment_partitions_qos(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], partitions: Table[str, Partition], qos: Table[str, Qos]
    ) -> R: ...

class Takes_environment_partitions_associations(Protocol[R]):
    def __call__(
        self,
        *,
        environment: Mapping[str, str],
        partitions: Table[str, Partition],
        associations: Table[int, Association],
    ) -> R: ...

class Takes_environment_reservations_jobs(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], reservations: Table[str, Reservation], jobs: Table[int, Record]
    ) -> R: ...

class Takes_environment_reservations_nodes(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], reservations: Table[str, Reservation], nodes: Table[str, Node]
    ) -> R: ...

class Takes_environment_reservations_licenses(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], reservations: Table[str, Reservation], licenses: Table[str, License]
    ) -> R: ...

class Takes_environment_reservations_qos(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], reservations: Table[str, Reservation], qos: Table[str, Qos]
    ) -> R: ...

class Takes_environment_reservations_associations(Protocol[R]):
    def __call__(
        self,
        *,
        environment: Mapping[str, str],
        reservations: Table[str, Reservation],
        associations: Table[int, Association],
    ) -> R: ...

class Takes_environment_jobs_nodes(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], jobs: Table[int, Record], nodes: Table[str, Node]) -> R: ...

class Takes_environment_jobs_licenses(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], jobs: Table[int, Record], licenses: Table[str, License]
    ) -> R: ...

class Takes_environment_jobs_qos(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], jobs: Table[int, Record], qos: Table[str, Qos]) -> R: ...

class Takes_environment_jobs_associations(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], jobs: Table[int, Record], associations: Table[int, Association]
    ) -> R: ...

class Takes_environment_nodes_licenses(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], nodes: Table[str, Node], licenses: Table[str, License]
    ) -> R: ...

class Takes_environment_nodes_qos(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], nodes: Table[str, Node], qos: Table[str, Qos]) -> R: ...

class Takes_environment_nodes_associations(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], nodes: Table[str, Node], associations: Table[int, Association]
    ) -> R: ...

class Takes_environment_licenses_qos(Protocol[R]):
    def __call__(self, *, environment: Mapping[str, str], licenses: Table[str, License], qos: Table[str, Qos]) -> R: ...

class Takes_environment_licenses_associations(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], licenses: Table[str, License], associations: Table[int, Association]
    ) -> R: ...

class Takes_environment_qos_associations(Protocol[R]):
    def __call__(
        self, *, environment: Mapping[str, str], qos: Table[str, Qos], associations: Table[int, Association]
    ) -> R: ...

class Takes_event(Protocol[R]):
    def __call__(self, *, event: Event) -> R: ...

class Takes_record_event(Protocol[R]):
    def __call__(self, *, record: Record, event: Event) -> R: ...

class Takes_spank(Protocol[R]):
    def __call__(self, *, spank: Spank) -> R: ...

class Takes_options(Protocol[R]):
    def __call__(self, *, options: Options) -> R: ...

class Takes_early(Protocol[R]):
    def __call__(self, *, early: bool) -> R: ...

class Takes_options_early(Protocol[R]):
    def __call__(self, *, options: Options, early: bool) -> R: ...

class Takes_offset(Protocol[R]):
    def __call__(self, *, offset: int) -> R: ...

class TakesOptions_job(Protocol[R]):
    def __call__(self, *, job: Options) -> R: ...

class Takes_options_offset(Protocol[R]):
    def __call__(self, *, options: Options, offset: int) -> R: ...

class TakesOptions_options_job(Protocol[R]):
    def __call__(self, *, options: Options, job: Options) -> R: ...

class TakesOptions_offset_job(Protocol[R]):
    def __call__(self, *, offset: int, job: Options) -> R: ...

class TakesOptions_options_offset_job(Protocol[R]):
    def __call__(self, *, options: Options, offset: int, job: Options) -> R: ...

class Takes_job_id(Protocol[R]):
    def __call__(self, *, job_id: int) -> R: ...

class Takes_step_id(Protocol[R]):
    def __call__(self, *, step_id: int | None) -> R: ...

class Takes_offset_job_id(Protocol[R]):
    def __call__(self, *, offset: int, job_id: int) -> R: ...

class Takes_offset_step_id(Protocol[R]):
    def __call__(self, *, offset: int, step_id: int | None) -> R: ...

class Takes_job_id_step_id(Protocol[R]):
    def __call__(self, *, job_id: int, step_id: int | None) -> R: ...

class Takes_offset_job_id_step_id(Protocol[R]):
    def __call__(self, *, offset: int, job_id: int, step_id: int | None) -> R: ...

class Takes_container(Protocol[R]):
    def __call__(self, *, container: Container) -> R: ...

JobSubmitHandler = TypeVar(
    "JobSubmitHandler",
    bound=Takes[None]
    | Takes_job[None]
    | Takes_submit_uid[None]
    | Takes_partitions[None]
    | Takes_reservations[None]
    | Takes_jobs[None]
    | Takes_nodes[None]
    | Takes_licenses[None]
    | Takes_qos[None]
    | Takes_associations[None]
    | Takes_job_submit_uid[None]
    | Takes_job_partitions[None]
    | Takes_job_reservations[None]
    | Takes_job_jobs[None]
    | Takes_job_nodes[None]
    | Takes_job_licenses[None]
    | Takes_job_qos[None]
    | Takes_job_associations[None]
    | Takes_submit_uid_partitions[None]
    | Takes_submit_uid_reservations[None]
    | Takes_submit_uid_jobs[None]
    | Takes_submit_uid_nodes[None]
    | Takes_submit_uid_licenses[None]
    | Takes_submit_uid_qos[None]
    | Takes_submit_uid_associations[None]
    | Takes_partitions_reservations[None]
    | Takes_partitions_jobs[None]
    | Takes_partitions_nodes[None]
    | Takes_partitions_licenses[None]
    | Takes_partitions_qos[None]
    | Takes_partitions_associations[None]
    | Takes_reservations_jobs[None]
    | Takes_reservations_nodes[None]
    | Takes_reservations_licenses[None]
    | Takes_reservations_qos[None]
    | Takes_reservations_associations[None]
    | Takes_jobs_nodes[None]
    | Takes_jobs_licenses[None]
    | Takes_jobs_qos[None]
    | Takes_jobs_associations[None]
    | Takes_nodes_licenses[None]
    | Takes_nodes_qos[None]
    | Takes_nodes_associations[None]
    | Takes_licenses_qos[None]
    | Takes_licenses_associations[None]
    | Takes_qos_associations[None]
    | Takes_job_submit_uid_partitions[None]
    | Takes_job_submit_uid_reservations[None]
    | Takes_job_submit_uid_jobs[None]
    | Takes_job_submit_uid_nodes[None]
    | Takes_job_submit_uid_licenses[None]
    | Takes_job_submit_uid_qos[None]
    | Takes_job_submit_uid_associations[None]
    | Takes_job_partitions_reservations[None]
    | Takes_job_partitions_jobs[None]
    | Takes_job_partitions_nodes[None]
    | Takes_job_partitions_licenses[None]
    | Takes_job_partitions_qos[None]
    | Takes_job_partitions_associations[None]
    | Takes_job_reservations_jobs[None]
    | Takes_job_reservations_nodes[None]
    | Takes_job_reservations_licenses[None]
    | Takes_job_reservations_qos[None]
    | Takes_job_reservations_associations[None]
    | Takes_job_jobs_nodes[None]
    | Takes_job_jobs_licenses[None]
    | Takes_job_jobs_qos[None]
    | Takes_job_jobs_associations[None]
    | Takes_job_nodes_licenses[None]
    | Takes_job_nodes_qos[None]
    | Takes_job_nodes_associations[None]
    | Takes_job_licenses_qos[None]
    | Takes_job_licenses_associations[None]
    | Takes_job_qos_associations[None]
    | Takes_submit_uid_partitions_reservations[None]
    | Takes_submit_uid_partitions_jobs[None]
    | Takes_submit_uid_partitions_nodes[None]
    | Takes_submit_uid_partitions_licenses[None]
    | Takes_submit_uid_partitions_qos[None]
    | Takes_submit_uid_partitions_associations[None]
    | Takes_submit_uid_reservations_jobs[None]
    | Takes_submit_uid_reservations_nodes[None]
    | Takes_submit_uid_reservations_licenses[None]
    | Takes_submit_uid_reservations_qos[None]
    | Takes_submit_uid_reservations_associations[None]
    | Takes_submit_uid_jobs_nodes[None]
    | Takes_submit_uid_jobs_licenses[None]
    | Takes_submit_uid_jobs_qos[None]
    | Takes_submit_uid_jobs_associations[None]
    | Takes_submit_uid_nodes_licenses[None]
    | Takes_submit_uid_nodes_qos[None]
    | Takes_submit_uid_nodes_associations[None]
    | Takes_submit_uid_licenses_qos[None]
    | Takes_submit_uid_licenses_associations[None]
    | Takes_submit_uid_qos_associations[None]
    | Takes_partitions_reservations_jobs[None]
    | Takes_partitions_reservations_nodes[None]
    | Takes_partitions_reservations_licenses[None]
    | Takes_partitions_reservations_qos[None]
    | Takes_partitions_reservations_associations[None]
    | Takes_partitions_jobs_nodes[None]
    | Takes_partitions_jobs_licenses[None]
    | Takes_partitions_jobs_qos[None]
    | Takes_partitions_jobs_associations[None]
    | Takes_partitions_nodes_licenses[None]
    | Takes_partitions_nodes_qos[None]
    | Takes_partitions_nodes_associations[None]
    | Takes_partitions_licenses_qos[None]
    | Takes_partitions_licenses_associations[None]
    | Takes_partitions_qos_associations[None]
    | Takes_reservations_jobs_nodes[None]
    | Takes_reservations_jobs_licenses[None]
    | Takes_reservations_jobs_qos[None]
    | Takes_reservations_jobs_associations[None]
    | Takes_reservations_nodes_licenses[None]
    | Takes_reservations_nodes_qos[None]
    | Takes_reservations_nodes_associations[None]
    | Takes_reservations_licenses_qos[None]
    | Takes_reservations_licenses_associations[None]
    | Takes_reservations_qos_associations[None]
    | Takes_jobs_nodes_licenses[None]
    | Takes_jobs_nodes_qos[None]
    | Takes_jobs_nodes_associations[None]
    | Takes_jobs_licenses_qos[None]
    | Takes_jobs_licenses_associations[None]
    | Takes_jobs_qos_associations[None]
    | Takes_nodes_licenses_qos[None]
    | Takes_nodes_licenses_associations[None]
    | Takes_nodes_qos_associations[None]
    | Takes_licenses_qos_associations[None]
    | Callable[Concatenate[Any, Any, Any, Any, ...], None],
)

class JobSubmit:
    """Mark a handler of ``job_submit()``.

    It takes any of these, by name: job, submit_uid, partitions, reservations, jobs, nodes, licenses, qos, associations.
    on_error: "reject" or "accept", for a bug in the handler; the first is the default.
    """
    @property
    def init(self) -> JobSubmitInit:
        """``init()``: takes no argument."""
    @property
    def fini(self) -> JobSubmitFini:
        """``fini()``: takes no argument."""
    @overload
    def __call__(self, function: JobSubmitHandler, /) -> JobSubmitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["reject", "accept"] = ...,
        timeout: float = ...,
        mode: Mode = ...,
        percent: float = ...,
        users: str | Iterable[str | int] = ...,
        accounts: str | Iterable[str] = ...,
        partitions: str | Iterable[str] = ...,
        otherwise: Mode = ...,
        note: str = ...,
    ) -> Callable[[JobSubmitHandler], JobSubmitHandler]: ...

JobModifyHandler = TypeVar(
    "JobModifyHandler",
    bound=Takes[None]
    | Takes_job[None]
    | Takes_record[None]
    | Takes_modify_uid[None]
    | Takes_partitions[None]
    | Takes_reservations[None]
    | Takes_jobs[None]
    | Takes_nodes[None]
    | Takes_licenses[None]
    | Takes_qos[None]
    | Takes_associations[None]
    | Takes_job_record[None]
    | Takes_job_modify_uid[None]
    | Takes_job_partitions[None]
    | Takes_job_reservations[None]
    | Takes_job_jobs[None]
    | Takes_job_nodes[None]
    | Takes_job_licenses[None]
    | Takes_job_qos[None]
    | Takes_job_associations[None]
    | Takes_record_modify_uid[None]
    | Takes_record_partitions[None]
    | Takes_record_reservations[None]
    | Takes_record_jobs[None]
    | Takes_record_nodes[None]
    | Takes_record_licenses[None]
    | Takes_record_qos[None]
    | Takes_record_associations[None]
    | Takes_modify_uid_partitions[None]
    | Takes_modify_uid_reservations[None]
    | Takes_modify_uid_jobs[None]
    | Takes_modify_uid_nodes[None]
    | Takes_modify_uid_licenses[None]
    | Takes_modify_uid_qos[None]
    | Takes_modify_uid_associations[None]
    | Takes_partitions_reservations[None]
    | Takes_partitions_jobs[None]
    | Takes_partitions_nodes[None]
    | Takes_partitions_licenses[None]
    | Takes_partitions_qos[None]
    | Takes_partitions_associations[None]
    | Takes_reservations_jobs[None]
    | Takes_reservations_nodes[None]
    | Takes_reservations_licenses[None]
    | Takes_reservations_qos[None]
    | Takes_reservations_associations[None]
    | Takes_jobs_nodes[None]
    | Takes_jobs_licenses[None]
    | Takes_jobs_qos[None]
    | Takes_jobs_associations[None]
    | Takes_nodes_licenses[None]
    | Takes_nodes_qos[None]
    | Takes_nodes_associations[None]
    | Takes_licenses_qos[None]
    | Takes_licenses_associations[None]
    | Takes_qos_associations[None]
    | Takes_job_record_modify_uid[None]
    | Takes_job_record_partitions[None]
    | Takes_job_record_reservations[None]
    | Takes_job_record_jobs[None]
    | Takes_job_record_nodes[None]
    | Takes_job_record_licenses[None]
    | Takes_job_record_qos[None]
    | Takes_job_record_associations[None]
    | Takes_job_modify_uid_partitions[None]
    | Takes_job_modify_uid_reservations[None]
    | Takes_job_modify_uid_jobs[None]
    | Takes_job_modify_uid_nodes[None]
    | Takes_job_modify_uid_licenses[None]
    | Takes_job_modify_uid_qos[None]
    | Takes_job_modify_uid_associations[None]
    | Takes_job_partitions_reservations[None]
    | Takes_job_partitions_jobs[None]
    | Takes_job_partitions_nodes[None]
    | Takes_job_partitions_licenses[None]
    | Takes_job_partitions_qos[None]
    | Takes_job_partitions_associations[None]
    | Takes_job_reservations_jobs[None]
    | Takes_job_reservations_nodes[None]
    | Takes_job_reservations_licenses[None]
    | Takes_job_reservations_qos[None]
    | Takes_job_reservations_associations[None]
    | Takes_job_jobs_nodes[None]
    | Takes_job_jobs_licenses[None]
    | Takes_job_jobs_qos[None]
    | Takes_job_jobs_associations[None]
    | Takes_job_nodes_licenses[None]
    | Takes_job_nodes_qos[None]
    | Takes_job_nodes_associations[None]
    | Takes_job_licenses_qos[None]
    | Takes_job_licenses_associations[None]
    | Takes_job_qos_associations[None]
    | Takes_record_modify_uid_partitions[None]
    | Takes_record_modify_uid_reservations[None]
    | Takes_record_modify_uid_jobs[None]
    | Takes_record_modify_uid_nodes[None]
    | Takes_record_modify_uid_licenses[None]
    | Takes_record_modify_uid_qos[None]
    | Takes_record_modify_uid_associations[None]
    | Takes_record_partitions_reservations[None]
    | Takes_record_partitions_jobs[None]
    | Takes_record_partitions_nodes[None]
    | Takes_record_partitions_licenses[None]
    | Takes_record_partitions_qos[None]
    | Takes_record_partitions_associations[None]
    | Takes_record_reservations_jobs[None]
    | Takes_record_reservations_nodes[None]
    | Takes_record_reservations_licenses[None]
    | Takes_record_reservations_qos[None]
    | Takes_record_reservations_associations[None]
    | Takes_record_jobs_nodes[None]
    | Takes_record_jobs_licenses[None]
    | Takes_record_jobs_qos[None]
    | Takes_record_jobs_associations[None]
    | Takes_record_nodes_licenses[None]
    | Takes_record_nodes_qos[None]
    | Takes_record_nodes_associations[None]
    | Takes_record_licenses_qos[None]
    | Takes_record_licenses_associations[None]
    | Takes_record_qos_associations[None]
    | Takes_modify_uid_partitions_reservations[None]
    | Takes_modify_uid_partitions_jobs[None]
    | Takes_modify_uid_partitions_nodes[None]
    | Takes_modify_uid_partitions_licenses[None]
    | Takes_modify_uid_partitions_qos[None]
    | Takes_modify_uid_partitions_associations[None]
    | Takes_modify_uid_reservations_jobs[None]
    | Takes_modify_uid_reservations_nodes[None]
    | Takes_modify_uid_reservations_licenses[None]
    | Takes_modify_uid_reservations_qos[None]
    | Takes_modify_uid_reservations_associations[None]
    | Takes_modify_uid_jobs_nodes[None]
    | Takes_modify_uid_jobs_licenses[None]
    | Takes_modify_uid_jobs_qos[None]
    | Takes_modify_uid_jobs_associations[None]
    | Takes_modify_uid_nodes_licenses[None]
    | Takes_modify_uid_nodes_qos[None]
    | Takes_modify_uid_nodes_associations[None]
    | Takes_modify_uid_licenses_qos[None]
    | Takes_modify_uid_licenses_associations[None]
    | Takes_modify_uid_qos_associations[None]
    | Takes_partitions_reservations_jobs[None]
    | Takes_partitions_reservations_nodes[None]
    | Takes_partitions_reservations_licenses[None]
    | Takes_partitions_reservations_qos[None]
    | Takes_partitions_reservations_associations[None]
    | Takes_partitions_jobs_nodes[None]
    | Takes_partitions_jobs_licenses[None]
    | Takes_partitions_jobs_qos[None]
    | Takes_partitions_jobs_associations[None]
    | Takes_partitions_nodes_licenses[None]
    | Takes_partitions_nodes_qos[None]
    | Takes_partitions_nodes_associations[None]
    | Takes_partitions_licenses_qos[None]
    | Takes_partitions_licenses_associations[None]
    | Takes_partitions_qos_associations[None]
    | Takes_reservations_jobs_nodes[None]
    | Takes_reservations_jobs_licenses[None]
    | Takes_reservations_jobs_qos[None]
    | Takes_reservations_jobs_associations[None]
    | Takes_reservations_nodes_licenses[None]
    | Takes_reservations_nodes_qos[None]
    | Takes_reservations_nodes_associations[None]
    | Takes_reservations_licenses_qos[None]
    | Takes_reservations_licenses_associations[None]
    | Takes_reservations_qos_associations[None]
    | Takes_jobs_nodes_licenses[None]
    | Takes_jobs_nodes_qos[None]
    | Takes_jobs_nodes_associations[None]
    | Takes_jobs_licenses_qos[None]
    | Takes_jobs_licenses_associations[None]
    | Takes_jobs_qos_associations[None]
    | Takes_nodes_licenses_qos[None]
    | Takes_nodes_licenses_associations[None]
    | Takes_nodes_qos_associations[None]
    | Takes_licenses_qos_associations[None]
    | Callable[Concatenate[Any, Any, Any, Any, ...], None],
)

class JobModify:
    """Mark a handler of ``job_modify()``.

    It takes any of these, by name: job, record, modify_uid, partitions, reservations, jobs, nodes, licenses, qos, associations.
    on_error: "reject" or "accept", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: JobModifyHandler, /) -> JobModifyHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["reject", "accept"] = ...,
        timeout: float = ...,
        mode: Mode = ...,
        percent: float = ...,
        users: str | Iterable[str | int] = ...,
        accounts: str | Iterable[str] = ...,
        partitions: str | Iterable[str] = ...,
        otherwise: Mode = ...,
        note: str = ...,
    ) -> Callable[[JobModifyHandler], JobModifyHandler]: ...

JobSubmitInitHandler = TypeVar("JobSubmitInitHandler", bound=Takes[None])

class JobSubmitInit:
    """Mark a handler of ``init()``.

    It takes any of these, by name: nothing.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: JobSubmitInitHandler, /) -> JobSubmitInitHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ...
    ) -> Callable[[JobSubmitInitHandler], JobSubmitInitHandler]: ...

class JobSubmitFini:
    """Mark a handler of ``fini()``.

    It takes any of these, by name: nothing.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: JobSubmitInitHandler, /) -> JobSubmitInitHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ...
    ) -> Callable[[JobSubmitInitHandler], JobSubmitInitHandler]: ...

PriorityHandler = TypeVar(
    "PriorityHandler",
    bound=Takes[int | None]
    | Takes_record[int | None]
    | Takes_partitions[int | None]
    | Takes_reservations[int | None]
    | Takes_jobs[int | None]
    | Takes_nodes[int | None]
    | Takes_licenses[int | None]
    | Takes_qos[int | None]
    | Takes_associations[int | None]
    | Takes_record_partitions[int | None]
    | Takes_record_reservations[int | None]
    | Takes_record_jobs[int | None]
    | Takes_record_nodes[int | None]
    | Takes_record_licenses[int | None]
    | Takes_record_qos[int | None]
    | Takes_record_associations[int | None]
    | Takes_partitions_reservations[int | None]
    | Takes_partitions_jobs[int | None]
    | Takes_partitions_nodes[int | None]
    | Takes_partitions_licenses[int | None]
    | Takes_partitions_qos[int | None]
    | Takes_partitions_associations[int | None]
    | Takes_reservations_jobs[int | None]
    | Takes_reservations_nodes[int | None]
    | Takes_reservations_licenses[int | None]
    | Takes_reservations_qos[int | None]
    | Takes_reservations_associations[int | None]
    | Takes_jobs_nodes[int | None]
    | Takes_jobs_licenses[int | None]
    | Takes_jobs_qos[int | None]
    | Takes_jobs_associations[int | None]
    | Takes_nodes_licenses[int | None]
    | Takes_nodes_qos[int | None]
    | Takes_nodes_associations[int | None]
    | Takes_licenses_qos[int | None]
    | Takes_licenses_associations[int | None]
    | Takes_qos_associations[int | None]
    | Takes_record_partitions_reservations[int | None]
    | Takes_record_partitions_jobs[int | None]
    | Takes_record_partitions_nodes[int | None]
    | Takes_record_partitions_licenses[int | None]
    | Takes_record_partitions_qos[int | None]
    | Takes_record_partitions_associations[int | None]
    | Takes_record_reservations_jobs[int | None]
    | Takes_record_reservations_nodes[int | None]
    | Takes_record_reservations_licenses[int | None]
    | Takes_record_reservations_qos[int | None]
    | Takes_record_reservations_associations[int | None]
    | Takes_record_jobs_nodes[int | None]
    | Takes_record_jobs_licenses[int | None]
    | Takes_record_jobs_qos[int | None]
    | Takes_record_jobs_associations[int | None]
    | Takes_record_nodes_licenses[int | None]
    | Takes_record_nodes_qos[int | None]
    | Takes_record_nodes_associations[int | None]
    | Takes_record_licenses_qos[int | None]
    | Takes_record_licenses_associations[int | None]
    | Takes_record_qos_associations[int | None]
    | Takes_partitions_reservations_jobs[int | None]
    | Takes_partitions_reservations_nodes[int | None]
    | Takes_partitions_reservations_licenses[int | None]
    | Takes_partitions_reservations_qos[int | None]
    | Takes_partitions_reservations_associations[int | None]
    | Takes_partitions_jobs_nodes[int | None]
    | Takes_partitions_jobs_licenses[int | None]
    | Takes_partitions_jobs_qos[int | None]
    | Takes_partitions_jobs_associations[int | None]
    | Takes_partitions_nodes_licenses[int | None]
    | Takes_partitions_nodes_qos[int | None]
    | Takes_partitions_nodes_associations[int | None]
    | Takes_partitions_licenses_qos[int | None]
    | Takes_partitions_licenses_associations[int | None]
    | Takes_partitions_qos_associations[int | None]
    | Takes_reservations_jobs_nodes[int | None]
    | Takes_reservations_jobs_licenses[int | None]
    | Takes_reservations_jobs_qos[int | None]
    | Takes_reservations_jobs_associations[int | None]
    | Takes_reservations_nodes_licenses[int | None]
    | Takes_reservations_nodes_qos[int | None]
    | Takes_reservations_nodes_associations[int | None]
    | Takes_reservations_licenses_qos[int | None]
    | Takes_reservations_licenses_associations[int | None]
    | Takes_reservations_qos_associations[int | None]
    | Takes_jobs_nodes_licenses[int | None]
    | Takes_jobs_nodes_qos[int | None]
    | Takes_jobs_nodes_associations[int | None]
    | Takes_jobs_licenses_qos[int | None]
    | Takes_jobs_licenses_associations[int | None]
    | Takes_jobs_qos_associations[int | None]
    | Takes_nodes_licenses_qos[int | None]
    | Takes_nodes_licenses_associations[int | None]
    | Takes_nodes_qos_associations[int | None]
    | Takes_licenses_qos_associations[int | None]
    | Callable[Concatenate[Any, Any, Any, Any, ...], int | None],
)

class Priority:
    """Mark a handler of ``site_factor_p_set()``.

    It takes any of these, by name: record, partitions, reservations, jobs, nodes, licenses, qos, associations.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: PriorityHandler, /) -> PriorityHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ..., timeout: float = ...
    ) -> Callable[[PriorityHandler], PriorityHandler]: ...

ControllerPrologHandler = TypeVar(
    "ControllerPrologHandler",
    bound=Takes[None]
    | Takes_record[None]
    | Takes_environment[None]
    | Takes_partitions[None]
    | Takes_reservations[None]
    | Takes_jobs[None]
    | Takes_nodes[None]
    | Takes_licenses[None]
    | Takes_qos[None]
    | Takes_associations[None]
    | Takes_record_environment[None]
    | Takes_record_partitions[None]
    | Takes_record_reservations[None]
    | Takes_record_jobs[None]
    | Takes_record_nodes[None]
    | Takes_record_licenses[None]
    | Takes_record_qos[None]
    | Takes_record_associations[None]
    | Takes_environment_partitions[None]
    | Takes_environment_reservations[None]
    | Takes_environment_jobs[None]
    | Takes_environment_nodes[None]
    | Takes_environment_licenses[None]
    | Takes_environment_qos[None]
    | Takes_environment_associations[None]
    | Takes_partitions_reservations[None]
    | Takes_partitions_jobs[None]
    | Takes_partitions_nodes[None]
    | Takes_partitions_licenses[None]
    | Takes_partitions_qos[None]
    | Takes_partitions_associations[None]
    | Takes_reservations_jobs[None]
    | Takes_reservations_nodes[None]
    | Takes_reservations_licenses[None]
    | Takes_reservations_qos[None]
    | Takes_reservations_associations[None]
    | Takes_jobs_nodes[None]
    | Takes_jobs_licenses[None]
    | Takes_jobs_qos[None]
    | Takes_jobs_associations[None]
    | Takes_nodes_licenses[None]
    | Takes_nodes_qos[None]
    | Takes_nodes_associations[None]
    | Takes_licenses_qos[None]
    | Takes_licenses_associations[None]
    | Takes_qos_associations[None]
    | Takes_record_environment_partitions[None]
    | Takes_record_environment_reservations[None]
    | Takes_record_environment_jobs[None]
    | Takes_record_environment_nodes[None]
    | Takes_record_environment_licenses[None]
    | Takes_record_environment_qos[None]
    | Takes_record_environment_associations[None]
    | Takes_record_partitions_reservations[None]
    | Takes_record_partitions_jobs[None]
    | Takes_record_partitions_nodes[None]
    | Takes_record_partitions_licenses[None]
    | Takes_record_partitions_qos[None]
    | Takes_record_partitions_associations[None]
    | Takes_record_reservations_jobs[None]
    | Takes_record_reservations_nodes[None]
    | Takes_record_reservations_licenses[None]
    | Takes_record_reservations_qos[None]
    | Takes_record_reservations_associations[None]
    | Takes_record_jobs_nodes[None]
    | Takes_record_jobs_licenses[None]
    | Takes_record_jobs_qos[None]
    | Takes_record_jobs_associations[None]
    | Takes_record_nodes_licenses[None]
    | Takes_record_nodes_qos[None]
    | Takes_record_nodes_associations[None]
    | Takes_record_licenses_qos[None]
    | Takes_record_licenses_associations[None]
    | Takes_record_qos_associations[None]
    | Takes_environment_partitions_reservations[None]
    | Takes_environment_partitions_jobs[None]
    | Takes_environment_partitions_nodes[None]
    | Takes_environment_partitions_licenses[None]
    | Takes_environment_partitions_qos[None]
    | Takes_environment_partitions_associations[None]
    | Takes_environment_reservations_jobs[None]
    | Takes_environment_reservations_nodes[None]
    | Takes_environment_reservations_licenses[None]
    | Takes_environment_reservations_qos[None]
    | Takes_environment_reservations_associations[None]
    | Takes_environment_jobs_nodes[None]
    | Takes_environment_jobs_licenses[None]
    | Takes_environment_jobs_qos[None]
    | Takes_environment_jobs_associations[None]
    | Takes_environment_nodes_licenses[None]
    | Takes_environment_nodes_qos[None]
    | Takes_environment_nodes_associations[None]
    | Takes_environment_licenses_qos[None]
    | Takes_environment_licenses_associations[None]
    | Takes_environment_qos_associations[None]
    | Takes_partitions_reservations_jobs[None]
    | Takes_partitions_reservations_nodes[None]
    | Takes_partitions_reservations_licenses[None]
    | Takes_partitions_reservations_qos[None]
    | Takes_partitions_reservations_associations[None]
    | Takes_partitions_jobs_nodes[None]
    | Takes_partitions_jobs_licenses[None]
    | Takes_partitions_jobs_qos[None]
    | Takes_partitions_jobs_associations[None]
    | Takes_partitions_nodes_licenses[None]
    | Takes_partitions_nodes_qos[None]
    | Takes_partitions_nodes_associations[None]
    | Takes_partitions_licenses_qos[None]
    | Takes_partitions_licenses_associations[None]
    | Takes_partitions_qos_associations[None]
    | Takes_reservations_jobs_nodes[None]
    | Takes_reservations_jobs_licenses[None]
    | Takes_reservations_jobs_qos[None]
    | Takes_reservations_jobs_associations[None]
    | Takes_reservations_nodes_licenses[None]
    | Takes_reservations_nodes_qos[None]
    | Takes_reservations_nodes_associations[None]
    | Takes_reservations_licenses_qos[None]
    | Takes_reservations_licenses_associations[None]
    | Takes_reservations_qos_associations[None]
    | Takes_jobs_nodes_licenses[None]
    | Takes_jobs_nodes_qos[None]
    | Takes_jobs_nodes_associations[None]
    | Takes_jobs_licenses_qos[None]
    | Takes_jobs_licenses_associations[None]
    | Takes_jobs_qos_associations[None]
    | Takes_nodes_licenses_qos[None]
    | Takes_nodes_licenses_associations[None]
    | Takes_nodes_qos_associations[None]
    | Takes_licenses_qos_associations[None]
    | Callable[Concatenate[Any, Any, Any, Any, ...], None],
)

class ControllerProlog:
    """Mark a handler of ``prep_p_prolog_slurmctld()``.

    It takes any of these, by name: record, environment, partitions, reservations, jobs, nodes, licenses, qos, associations.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: ControllerPrologHandler, /) -> ControllerPrologHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ..., timeout: float = ...
    ) -> Callable[[ControllerPrologHandler], ControllerPrologHandler]: ...

class ControllerEpilog:
    """Mark a handler of ``prep_p_epilog_slurmctld()``.

    It takes any of these, by name: record, environment, partitions, reservations, jobs, nodes, licenses, qos, associations.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: ControllerPrologHandler, /) -> ControllerPrologHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ..., timeout: float = ...
    ) -> Callable[[ControllerPrologHandler], ControllerPrologHandler]: ...

JobEndHandler = TypeVar(
    "JobEndHandler", bound=Takes[None] | Takes_record[None] | Takes_event[None] | Takes_record_event[None]
)

class JobEnd:
    """Mark a handler of ``jobcomp_p_record_job_end()``.

    It takes any of these, by name: record, event.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: JobEndHandler, /) -> JobEndHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ..., timeout: float = ...
    ) -> Callable[[JobEndHandler], JobEndHandler]: ...

class JobStart:
    """Mark a handler of ``jobcomp_p_record_job_start()``.

    It takes any of these, by name: record, event.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: JobEndHandler, /) -> JobEndHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ..., timeout: float = ...
    ) -> Callable[[JobEndHandler], JobEndHandler]: ...

SpankInitHandler = TypeVar("SpankInitHandler", bound=Takes[None] | Takes_spank[None])

class SpankInit:
    """Mark a handler of ``slurm_spank_init()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: local, remote, allocator, slurmd.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["local", "remote", "allocator", "slurmd"]
        | Iterable[Literal["local", "remote", "allocator", "slurmd"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankJobProlog:
    """Mark a handler of ``slurm_spank_job_prolog()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: job_script.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["job_script"] | Iterable[Literal["job_script"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankInitPostOpt:
    """Mark a handler of ``slurm_spank_init_post_opt()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: local, remote, allocator.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["local", "remote", "allocator"] | Iterable[Literal["local", "remote", "allocator"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankLocalUserInit:
    """Mark a handler of ``slurm_spank_local_user_init()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: local.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["local"] | Iterable[Literal["local"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankUserInit:
    """Mark a handler of ``slurm_spank_user_init()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: remote.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["remote"] | Iterable[Literal["remote"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankTaskInitPrivileged:
    """Mark a handler of ``slurm_spank_task_init_privileged()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: remote.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["remote"] | Iterable[Literal["remote"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankTaskInit:
    """Mark a handler of ``slurm_spank_task_init()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: remote.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["remote"] | Iterable[Literal["remote"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankTaskPostFork:
    """Mark a handler of ``slurm_spank_task_post_fork()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: remote.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["remote"] | Iterable[Literal["remote"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankTaskExit:
    """Mark a handler of ``slurm_spank_task_exit()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: remote.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["remote"] | Iterable[Literal["remote"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankExit:
    """Mark a handler of ``slurm_spank_exit()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: local, remote, allocator.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["local", "remote", "allocator"] | Iterable[Literal["local", "remote", "allocator"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankJobEpilog:
    """Mark a handler of ``slurm_spank_job_epilog()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: job_script.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["job_script"] | Iterable[Literal["job_script"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

class SpankSlurmdExit:
    """Mark a handler of ``slurm_spank_slurmd_exit()``.

    It takes any of these, by name: spank.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: slurmd.
    """
    @overload
    def __call__(self, function: SpankInitHandler, /) -> SpankInitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["slurmd"] | Iterable[Literal["slurmd"]] = ...,
        timeout: float = ...,
    ) -> Callable[[SpankInitHandler], SpankInitHandler]: ...

CliFilterSetupDefaultsHandler = TypeVar(
    "CliFilterSetupDefaultsHandler",
    bound=Takes[None] | Takes_options[None] | Takes_early[None] | Takes_options_early[None],
)

class CliFilterSetupDefaults:
    """Mark a handler of ``cli_filter_p_setup_defaults()``.

    It takes any of these, by name: options, early.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: salloc, sbatch, srun, scrontab.
    """
    @overload
    def __call__(self, function: CliFilterSetupDefaultsHandler, /) -> CliFilterSetupDefaultsHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["salloc", "sbatch", "srun", "scrontab"]
        | Iterable[Literal["salloc", "sbatch", "srun", "scrontab"]] = ...,
        timeout: float = ...,
    ) -> Callable[[CliFilterSetupDefaultsHandler], CliFilterSetupDefaultsHandler]: ...

CliFilterPreSubmitHandler = TypeVar(
    "CliFilterPreSubmitHandler",
    bound=Takes[None]
    | Takes_options[None]
    | Takes_offset[None]
    | TakesOptions_job[None]
    | Takes_options_offset[None]
    | TakesOptions_options_job[None]
    | TakesOptions_offset_job[None]
    | TakesOptions_options_offset_job[None],
)

class CliFilterPreSubmit:
    """Mark a handler of ``cli_filter_p_pre_submit()``.

    It takes any of these, by name: options, offset, job.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: salloc, sbatch, srun, scrontab.
    """
    @overload
    def __call__(self, function: CliFilterPreSubmitHandler, /) -> CliFilterPreSubmitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["salloc", "sbatch", "srun", "scrontab"]
        | Iterable[Literal["salloc", "sbatch", "srun", "scrontab"]] = ...,
        timeout: float = ...,
    ) -> Callable[[CliFilterPreSubmitHandler], CliFilterPreSubmitHandler]: ...

CliFilterPostSubmitHandler = TypeVar(
    "CliFilterPostSubmitHandler",
    bound=Takes[None]
    | Takes_offset[None]
    | Takes_job_id[None]
    | Takes_step_id[None]
    | Takes_offset_job_id[None]
    | Takes_offset_step_id[None]
    | Takes_job_id_step_id[None]
    | Takes_offset_job_id_step_id[None],
)

class CliFilterPostSubmit:
    """Mark a handler of ``cli_filter_p_post_submit()``.

    It takes any of these, by name: offset, job_id, step_id.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    contexts: salloc, sbatch, srun, scrontab.
    """
    @overload
    def __call__(self, function: CliFilterPostSubmitHandler, /) -> CliFilterPostSubmitHandler: ...
    @overload
    def __call__(
        self,
        /,
        *,
        order: int = ...,
        on_error: Literal["fail", "ignore"] = ...,
        contexts: Literal["salloc", "sbatch", "srun", "scrontab"]
        | Iterable[Literal["salloc", "sbatch", "srun", "scrontab"]] = ...,
        timeout: float = ...,
    ) -> Callable[[CliFilterPostSubmitHandler], CliFilterPostSubmitHandler]: ...

ScrunStageInHandler = TypeVar("ScrunStageInHandler", bound=Takes[None] | Takes_container[None])

class ScrunStageIn:
    """Mark a handler of ``slurm_scrun_stage_in()``.

    It takes any of these, by name: container.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: ScrunStageInHandler, /) -> ScrunStageInHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ..., timeout: float = ...
    ) -> Callable[[ScrunStageInHandler], ScrunStageInHandler]: ...

class ScrunStageOut:
    """Mark a handler of ``slurm_scrun_stage_out()``.

    It takes any of these, by name: container.
    on_error: "fail" or "ignore", for a bug in the handler; the first is the default.
    """
    @overload
    def __call__(self, function: ScrunStageInHandler, /) -> ScrunStageInHandler: ...
    @overload
    def __call__(
        self, /, *, order: int = ..., on_error: Literal["fail", "ignore"] = ..., timeout: float = ...
    ) -> Callable[[ScrunStageInHandler], ScrunStageInHandler]: ...

class SpankHooks:
    """``hook.spank``: the hooks of spank."""
    @property
    def init(self) -> SpankInit:
        """``slurm_spank_init()``: takes spank."""
    @property
    def job_prolog(self) -> SpankJobProlog:
        """``slurm_spank_job_prolog()``: takes spank."""
    @property
    def init_post_opt(self) -> SpankInitPostOpt:
        """``slurm_spank_init_post_opt()``: takes spank."""
    @property
    def local_user_init(self) -> SpankLocalUserInit:
        """``slurm_spank_local_user_init()``: takes spank."""
    @property
    def user_init(self) -> SpankUserInit:
        """``slurm_spank_user_init()``: takes spank."""
    @property
    def task_init_privileged(self) -> SpankTaskInitPrivileged:
        """``slurm_spank_task_init_privileged()``: takes spank."""
    @property
    def task_init(self) -> SpankTaskInit:
        """``slurm_spank_task_init()``: takes spank."""
    @property
    def task_post_fork(self) -> SpankTaskPostFork:
        """``slurm_spank_task_post_fork()``: takes spank."""
    @property
    def task_exit(self) -> SpankTaskExit:
        """``slurm_spank_task_exit()``: takes spank."""
    @property
    def exit(self) -> SpankExit:
        """``slurm_spank_exit()``: takes spank."""
    @property
    def job_epilog(self) -> SpankJobEpilog:
        """``slurm_spank_job_epilog()``: takes spank."""
    @property
    def slurmd_exit(self) -> SpankSlurmdExit:
        """``slurm_spank_slurmd_exit()``: takes spank."""
    @overload
    def option(
        self,
        name: str,
        arginfo: None = None,
        *,
        usage: str,
        contexts: Literal["local", "remote", "allocator", "slurmd", "job_script"]
        | Iterable[Literal["local", "remote", "allocator", "slurmd", "job_script"]] = ...,
    ) -> Option[Literal[True]]:
        """Add a command line option to srun, sbatch and salloc; ``usage`` is its text for ``--help``."""
    @overload
    def option(
        self,
        name: str,
        arginfo: None,
        usage: str,
        *,
        contexts: Literal["local", "remote", "allocator", "slurmd", "job_script"]
        | Iterable[Literal["local", "remote", "allocator", "slurmd", "job_script"]] = ...,
    ) -> Option[Literal[True]]:
        """Add a command line option to srun, sbatch and salloc; ``usage`` is its text for ``--help``."""
    @overload
    def option(
        self,
        name: str,
        arginfo: str,
        usage: str,
        *,
        optional: Literal[False] = ...,
        contexts: Literal["local", "remote", "allocator", "slurmd", "job_script"]
        | Iterable[Literal["local", "remote", "allocator", "slurmd", "job_script"]] = ...,
    ) -> Option[str]:
        """Add a command line option to srun, sbatch and salloc; ``usage`` is its text for ``--help``."""
    @overload
    def option(
        self,
        name: str,
        arginfo: str,
        usage: str,
        *,
        optional: Literal[False] = ...,
        type: Callable[[str], Value],
        contexts: Literal["local", "remote", "allocator", "slurmd", "job_script"]
        | Iterable[Literal["local", "remote", "allocator", "slurmd", "job_script"]] = ...,
    ) -> Option[Value]:
        """Add a command line option to srun, sbatch and salloc; ``usage`` is its text for ``--help``."""
    @overload
    def option(
        self,
        name: str,
        arginfo: str,
        usage: str,
        *,
        optional: Literal[True],
        contexts: Literal["local", "remote", "allocator", "slurmd", "job_script"]
        | Iterable[Literal["local", "remote", "allocator", "slurmd", "job_script"]] = ...,
    ) -> Option[str | Literal[True]]:
        """Add a command line option to srun, sbatch and salloc; ``usage`` is its text for ``--help``."""
    @overload
    def option(
        self,
        name: str,
        arginfo: str,
        usage: str,
        *,
        optional: Literal[True],
        type: Callable[[str], Value],
        contexts: Literal["local", "remote", "allocator", "slurmd", "job_script"]
        | Iterable[Literal["local", "remote", "allocator", "slurmd", "job_script"]] = ...,
    ) -> Option[Value | Literal[True]]:
        """Add a command line option to srun, sbatch and salloc; ``usage`` is its text for ``--help``."""

class CliFilterHooks:
    """``hook.cli_filter``: the hooks of cli_filter."""
    @property
    def setup_defaults(self) -> CliFilterSetupDefaults:
        """``cli_filter_p_setup_defaults()``: takes options, early."""
    @property
    def pre_submit(self) -> CliFilterPreSubmit:
        """``cli_filter_p_pre_submit()``: takes options, offset, job."""
    @property
    def post_submit(self) -> CliFilterPostSubmit:
        """``cli_filter_p_post_submit()``: takes offset, job_id, step_id."""

class ScrunHooks:
    """``hook.scrun``: the hooks of scrun."""
    @property
    def stage_in(self) -> ScrunStageIn:
        """``slurm_scrun_stage_in()``: takes container."""
    @property
    def stage_out(self) -> ScrunStageOut:
        """``slurm_scrun_stage_out()``: takes container."""

class Hooks:
    """``hook``: a decorator for each function of Slurm."""
    @property
    def job_submit(self) -> JobSubmit:
        """``job_submit()``: takes job, submit_uid, partitions, reservations, jobs, nodes, licenses, qos, associations."""
    @property
    def job_modify(self) -> JobModify:
        """``job_modify()``: takes job, record, modify_uid, partitions, reservations, jobs, nodes, licenses, qos, associations."""
    @property
    def priority(self) -> Priority:
        """``site_factor_p_set()``: takes record, partitions, reservations, jobs, nodes, licenses, qos, associations."""
    @property
    def controller_prolog(self) -> ControllerProlog:
        """``prep_p_prolog_slurmctld()``: takes record, environment, partitions, reservations, jobs, nodes, licenses, qos, associations."""
    @property
    def controller_epilog(self) -> ControllerEpilog:
        """``prep_p_epilog_slurmctld()``: takes record, environment, partitions, reservations, jobs, nodes, licenses, qos, associations."""
    @property
    def job_end(self) -> JobEnd:
        """``jobcomp_p_record_job_end()``: takes record, event."""
    @property
    def job_start(self) -> JobStart:
        """``jobcomp_p_record_job_start()``: takes record, event."""
    @property
    def spank(self) -> SpankHooks:
        """The hooks of spank."""
    @property
    def cli_filter(self) -> CliFilterHooks:
        """The hooks of cli_filter."""
    @property
    def scrun(self) -> ScrunHooks:
        """The hooks of scrun."""
