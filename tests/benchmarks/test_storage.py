"""A short form of `storage`, and faults that are really there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import storage
from benchmarks.counted_shapes import SHAPES
from benchmarks.storage_faults import FAULTS, LIBRARY, SOURCE, VARIABLE, compiler
from tests.forked import Forked
from tests.patience import PATIENCE_S
from tests.sampling import examples

ROOT = Path(__file__).parents[2]

needs_a_compiler = pytest.mark.skipif(not compiler(), reason="there is no C compiler to make the faults with")
WRITES = """
import errno, os, sys
seen = []
for n in range(4):
    with open(f"{sys.argv[1]}/{n}", "wb", buffering=0) as file:
        try:
            file.write(b"x")
        except OSError as error:
            seen.append((n, errno.errorcode[error.errno]))
print(seen)
"""


@pytest.mark.long
@needs_a_compiler
def test_every_run_goes_on_when_its_storage_is_well_again(tmp_path: Path) -> None:
    points = examples(12)
    arguments = ["--points", str(points), "--seed", "7"]
    arguments += ["--shape", "a sequence", "--json", str(tmp_path / "storage.json")]
    with Forked("benchmarks.storage", *arguments, folder=ROOT, env=os.environ) as process:
        assert process.wait(PATIENCE_S) == 0, process.stdout + process.stderr
    figures = json.loads((tmp_path / "storage.json").read_text())
    assert (figures["bad"], figures["doubled"], figures["lost"]) == ([], 0, 0)
    assert figures["points"] >= points - 1
    assert figures["raised"].get("StoreFailed", 0) > 0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("faults") / "storage_faults.so"
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"], check=True)
    return made


@needs_a_compiler
@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("2:28:0:", "[(1, 'ENOSPC')]"),
        ("3:5:1:", "[(2, 'EIO'), (3, 'EIO')]"),
        ("0:5:1:", "[]"),
        ("2:30:0:/elsewhere", "[]"),
    ],
)
def test_a_fault_comes_at_its_call_and_below_its_folder(
    tmp_path: Path, library: Path, fault: str, seen: str
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    where = fault if "/" in fault else f"{fault}{folder}/"
    environment = {**os.environ, LIBRARY: str(library), VARIABLE: where}
    command = [sys.executable, "-c", WRITES, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == seen


def test_every_shape_has_every_fault_at_every_call() -> None:
    whole = [{"shape": name, "calls": 5, "commits": 3} for name in SHAPES]
    points = list(storage.every_point(whole))
    assert len(points) == len(set(points)) == len(SHAPES) * (3 * 5 + 3)
    assert len(SHAPES) >= 10
    assert {point.fault for point in points if point.lasting} == set(FAULTS)
