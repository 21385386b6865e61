"""Runs in time that does not pass, on disks that fail, by workers that die, in an order that a seed decides."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.counted_stage import quick_folder
from benchmarks.simulated_trial import play


def main() -> int:
    """Play the seeds and return the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="simulate-", dir=quick_folder()) as folder:
        if options.seed is not None:
            played = play(options.seed, Path(folder) / "workspace")
            print("\n".join(played.trace), played.digest, played.counts, sep="\n")
            return int(bool(played.wrong))
        began = time.process_time()
        rows = []
        for seed in range(options.first, options.first + options.seeds):
            rows.append(play(seed, Path(folder) / str(seed)))
            if rows[-1].wrong:
                print(seed, rows[-1].way, rows[-1].wrong, flush=True)
        print(time.process_time() - began, Counter(row.status for row in rows))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many seeds are played")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="play this seed, and print its trace")
    parser.add_argument("--json", type=Path, default=Path("simulate.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
