# SPDX-License-Identifier: GPL-2.0-or-later
"""The counters of the collector, and the file with them."""

import json
import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from slurmhooks.collector.collector import wanted
from slurmhooks.collector.metrics import Counts, Metrics
from slurmhooks.config.model import Config
from slurmhooks.hooks.points import HANDED_OVER
from tests.unit.collector.conftest import DECISION
from tests.unit.jobcomp.spools import FIRST, SpoolFolder

ROOT = Path(__file__).parents[3]


def orders(folder: Path, **changed: Any) -> dict[str, Any]:
    """Return orders to show metrics in a folder."""
    settings = {"textfile": f"{folder}/m.prom", "interval": 0.0, "readers": "everyone", **changed}
    return {"point": "job_submit", "generation": 3, "hooks": "abc", "since": 5.0, "fault": False, "metrics": settings}


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[Metrics]:
    """Metrics with a textfile."""
    before = os.umask(0o077)
    os.umask(before)
    found = Metrics(orders(tmp_path))
    yield found
    found.close()
    os.umask(before)


def values(file: Path) -> dict[tuple[str, str], float]:
    """Return the values of a file by the name of the sample and its labels other than the plugin."""
    families = text_string_to_metric_families(file.read_text())
    return {
        (each.name, ",".join(value for name, value in sorted(each.labels.items()) if name != "point")): each.value
        for family in families
        for each in family.samples
    }


def test_what_is_counted(counting: Metrics, tmp_path: Path) -> None:
    """Requests, refusals, bugs, missed deadlines, ends of workers and losses each have their counter."""
    counting.decision(DECISION)
    counting.decision(DECISION._replace(verdict="refused", handlers=[("limits:account", "refused", 30, None, {})]))
    bug = ("limits:account", "accepted on error", 30, None, {"error": "57dad26a"})
    counting.decision(DECISION._replace(verdict="accepted on error", handlers=[bug]))
    hung = {"handler": "limits:account", "outcome": "ended its worker"}
    late = {"event": "unserved", "hook": "job_submit", "cause": "timeout", "handlers": [hung]}
    observed = DECISION._replace(verdict=None, handlers=[])
    counting.decision(observed._replace(more={"unobserved": 12}))
    counting.decision(observed)
    counting.event(late | {"verdict": "failed"})
    counting.event(late | {"verdict": "handler left out"})
    counting.event({"event": "worker_ended", "reason": "crash"})
    counting.event({"event": "dropped", "count": 7})
    counting.turn()
    found = values(tmp_path / "m.prom")
    expected = {
        ("requests_total", "job_submit,accepted"): 1,
        ("requests_total", "job_submit,refused"): 1,
        ("requests_total", "job_submit,accepted on error"): 1,
        ("requests_total", "job_submit,failed"): 1,
        ("request_seconds_count", "job_submit"): 3,
        ("requests_unobserved_total", "job_submit"): 12,
        ("handler_seconds_count", "limits:account,job_submit"): 3,
        ("handler_outcomes_total", "limits:account,job_submit,refused"): 1,
        ("handler_bugs_total", "limits:account,job_submit"): 1,
        ("handler_timeouts_total", "limits:account,job_submit"): 2,
        ("worker_ends_total", "timeout"): 2,
        ("worker_ends_total", "crash"): 1,
        ("reports_dropped_total", ""): 7,
        ("generation", ""): 3,
        ("generation_since_timestamp_seconds", ""): 5,
        ("hooks_info", "abc"): 1,
        ("hooks_refused", ""): 0,
    }
    assert {name: found.get((f"slurmhooks_{name[0]}", name[1])) for name in expected} == expected
    assert ("slurmhooks_requests_total", "job_submit,handler left out") not in found


@pytest.mark.parametrize(("readers", "mode"), [("owner", 0o600), ("group", 0o640), ("everyone", 0o644)])
def test_who_may_read(counting: Metrics, tmp_path: Path, readers: str, mode: int) -> None:
    """The configuration says who can read the file."""
    counting.order(orders(tmp_path, textfile=f"{tmp_path}/n.prom", readers=readers))
    assert stat.S_IMODE((tmp_path / "n.prom").stat().st_mode) == mode


def test_links_in_the_folder_of_the_textfile(counting: Metrics, tmp_path: Path) -> None:
    """The owner of the folder cannot make SlurmUser write through a link, whatever its name is."""
    mine, folder = tmp_path / "mine", tmp_path / "folder"
    folder.mkdir()
    mine.write_text("mine")
    for name in ("m.prom", f"m.prom.{os.getpid()}.{threading.get_ident()}", f".m.prom.{os.getpid()}.{'00' * 4}"):
        (folder / name).symlink_to(mine)
    counting.order(orders(folder))
    counting.decision(DECISION)
    counting.turn()
    assert mine.read_text() == "mine"
    assert values(folder / "m.prom")["slurmhooks_requests_total", "job_submit,accepted"] == 1


def test_what_waits_in_the_spool(tmp_path: Path, counting: Metrics) -> None:
    """Records that wait and dead letters are counted as they are at each version of the file, without any worker."""
    folder = tmp_path / "spool"

    def shown() -> dict[str, float]:
        counting.turn()
        found = values(tmp_path / "m.prom")
        start = "slurmhooks_spool_"
        return {name.removeprefix(start): number for (name, _), number in found.items() if name.startswith(start)}

    assert shown() == {}
    counting.order(orders(tmp_path, spool=str(folder)))
    assert shown() == {"waiting": 0, "oldest_timestamp_seconds": 0, "dead": 0}
    spool = SpoolFolder(folder)
    spool.append(1)
    spool.append(2)
    assert shown() == {"waiting": 2, "oldest_timestamp_seconds": FIRST + 1, "dead": 0}
    other = spool.read()
    other.bury(next(other.records()))
    assert shown() == {"waiting": 1, "oldest_timestamp_seconds": FIRST + 2, "dead": 1}
    spool.close()
    folder.rename(tmp_path / "gone")
    folder.write_text("no folder")
    assert shown() == {}
    folder.unlink()
    (tmp_path / "gone").rename(folder)
    assert shown() == {"waiting": 1, "oldest_timestamp_seconds": FIRST + 2, "dead": 1}


def test_only_jobcomp_has_a_spool(tmp_path: Path) -> None:
    """The orders name the spool of the configuration for jobcomp, and none for other plugins."""
    config = Config.model_validate({"metrics": {"textfiles": "/x"}, "jobcomp": {"spool": "/spool"}})
    assert wanted(config, "jobcomp")["metrics"]["spool"] == "/spool"
    assert wanted(config, "job_submit")["metrics"]["spool"] is None


def test_the_dashboard_asks_for_what_exists() -> None:
    """Every metric and label in the dashboard exists, and every metric is in it and in the page of the guide."""
    dashboard = json.loads((ROOT / "contrib/grafana/slurmhooks.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [each["expr"] for each in dashboard["annotations"]["list"]]
    queries += [each["definition"] for each in dashboard["templating"]["list"] if "definition" in each]
    labels: dict[str, set[str]] = {}
    counts = Counts()
    for metric in vars(counts).values():
        if metric is not counts.registry:
            (family,) = metric.describe()
            labels[family.name + {"counter": "_total"}.get(family.type, "")] = {*metric._labelnames, "instance"}
    page = (ROOT / "docs/metrics.md").read_text()
    assert set(re.findall(r"^\| `(slurmhooks_\w+)`", page, re.MULTILINE)) == set(labels)
    everything = {*labels} - {"slurmhooks_hooks_info"}
    of_power = re.findall(r"^\| `(slurmhooks_power_\w+)`", (ROOT / "docs/power.md").read_text(), re.MULTILINE)
    for point in HANDED_OVER:
        labels |= {name.replace("_power_", f"_{point}_"): {"instance"} for name in of_power}
    alerts = yaml.safe_load((ROOT / "contrib/grafana/alerts.yml").read_text())["groups"]
    queries += [rule["expr"] for group in alerts for rule in group["rules"]]
    used = set()
    for query in queries:
        for name, braces in re.findall(r"(slurmhooks_\w+)(\{[^}]*\})?", query):
            metric = re.sub(r"_bucket$", "", name)
            used.add(metric)
            assert set(re.findall(r"(\w+)=", braces)) <= labels[metric], query
        asked = {label for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(", ")} - {"le"}
        assert asked <= set().union(*(labels[re.sub(r"_bucket$", "", n)] for n in re.findall(r"slurmhooks_\w+", query)))
    assert used >= everything
