# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of TRES are read as Slurm's own function reads them, or refused."""

import random

import pytest

from slurmhooks.job_submit.strings import NotationError, Tres
from tests.cluster.conftest import Cluster

PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int slurm_get_next_tres(char **, char *, char **, char **, uint64_t *, char **);

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof(line), stdin)) {
        char *kinds[] = {"gres", "license"};
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < 2; i++) {
            char *name = NULL, *type = NULL, *save = NULL, *in = line;
            uint64_t count = 0;
            int rc;
            while (!(rc = slurm_get_next_tres(&kinds[i], in, &name, &type, &count, &save)) && save) {
                printf("%s/%s|%s|%llu\x1f", kinds[i], name ? name : "", type ? type : "", (unsigned long long)count);
                in = NULL;
            }
            printf(rc ? "refused\x1f" : "");
        }
        printf("\n");
    }
    return 0;
}
"""
PIECES = ("gres/gpu", "gres/gpu", "gres:gpu", "gres", "gres/", "gresgpu", "license/a", "licensea", "cpu", "x", ":", "=",
          ":", "=", ",", ",", "a100", "1", "2", "04", "2k", "3g.20gb", "+1", " 1", "-1", "/", "shard")  # fmt: skip
TEXTS = 20_000


def read(text: str) -> list[tuple[str, str, int]] | None:
    """Return the GRES and licenses of a list, as the program prints them; None if slurmhooks refuses it."""
    try:
        items = Tres.parse(text).items
    except NotationError:
        return None
    return [
        (item.name, item.type or "", item.count)
        for kind in ("gres/", "license/")
        for item in items
        if item.name.startswith(kind) and item.count
    ]


@pytest.mark.one_release
def test_random_lists(cluster: Cluster) -> None:
    """In each random list, slurmhooks finds the GRES and licenses that Slurm finds, or refuses it; or finds more."""
    generator = random.Random(1)
    texts = ["".join(generator.choices(PIECES, k=generator.randint(1, 7))) for _ in range(TEXTS)]
    cluster.put(PROGRAM, "/var/tmp/tres.c")
    library = "$(dirname $(find /usr/lib -name libslurmfull.so | head -n1))"
    cluster.root(
        "sh", "-ec", f"cc -o /var/tmp/tres /var/tmp/tres.c -L{library} -lslurmfull -Wl,-rpath,{library}", check=True
    )  # fmt: skip
    output = cluster.root("/var/tmp/tres", input="\n".join(texts) + "\n", check=True).stdout
    lines = output.split("\n")[:-1]
    assert len(lines) == TEXTS
    accepted = 0
    for text, line in zip(texts, lines, strict=True):
        ours = read(text)
        if ours is None:
            continue
        theirs = []
        for word in line.replace("refused\x1f", "").split("\x1f"):
            name, *rest = word.split("|")
            # slurmctld knows no TRES without a name, and refuses it.
            theirs += [(name, rest[0], int(rest[1]))] if rest and not name.endswith("/") else []
        accepted += bool(theirs)
        assert [each for each in theirs if each not in ours] == [], (text, line, ours)
    assert accepted > TEXTS / 50
