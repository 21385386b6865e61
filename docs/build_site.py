"""Build the documents as a site: `make docs-site`.

The pages stand where they are read in the repository, so their links lead from there. They are put side by
side in one folder, in the same places, and so every link stays as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / ".site-pages"
FILES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "langgraph.json"),
    "capabilities/policy/default_policy.toml",
)
FOLDERS = ("docs", "examples")
SITE = ROOT / "site"
LOADS = re.compile(r"<(?:link|script|img|iframe|source)\b[^>]*?(?:src|href)=[\"']((?:https?:)?//[^\"']+)")
LEFT_BY_RUNS = shutil.ignore_patterns("__pycache__", ".planwright", "workspace", "node_modules", "*.db")


def gather() -> None:
    """Put the pages, and the files that they link to, into one folder."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for name in FILES:
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, PAGES / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, PAGES / name, ignore=LEFT_BY_RUNS)


def loads_from_elsewhere() -> list[str]:
    """List what pages load from other hosts: each page and address."""
    return [
        f"{page.relative_to(SITE)} loads {address}"
        for page in sorted(SITE.rglob("*.html"))
        for address in LOADS.findall(page.read_text("utf-8"))
    ]


def main() -> int:
    """Build the site; fail for a link that leads nowhere, and for a page that loads from another host."""
    gather()
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an advertisement of twelve lines
    built = subprocess.run([*mkdocs, "--config-file", "mkdocs.yml"], cwd=ROOT, env=quiet, check=False)
    loaded = loads_from_elsewhere()
    print("\n".join(loaded) or f"{SITE.name}/index.html")
    return built.returncode or len(loaded) > 0


if __name__ == "__main__":
    sys.exit(main())
