"""Begin a workspace: settings, a policy and one capability, each with remarks, in a folder."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path

from planwright.capabilities.trust.guard import trust_folder
from planwright.domain.errors import SetupError
from planwright.settings.settings import load
from planwright.store.store_origin import OURS

TEMPLATES = {  # names in the workspace, and in the package, where no module is made of them
    "planwright.toml": "planwright.toml",
    "policy.toml": "policy.toml",
    "own_work.py": "own_work.txt",
}
NEXT = """next:
  cd {folder}
  planwright call words.count --text="one two three"     # the capability of own_work.py
  planwright run "Save hello to note.txt"                 # a plan, which you approve
  planwright doctor                                       # are settings, store and providers sound?
"""


def begin_workspace(folder: Path) -> int:
    """Write the files of a new workspace, and say what comes next. Returns the exit code.

    Raises SetupError, before anything is written, where one of them is there, or cannot be written.
    """
    there = [name for name in TEMPLATES if (folder / name).exists()]
    if there:
        look = f"look at what is in force: planwright config -w {shlex.quote(str(folder))}"
        raise SetupError(f"{folder / there[0]} is there already", look)
    templates = files("planwright.cli") / "workspace"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, template in TEMPLATES.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write((templates / template).read_text("utf-8"))
            print(f"wrote {folder / name}")
    except OSError as error:
        raise SetupError(f"cannot write {folder}: {error.strerror}", "name another folder") from error
    trust_folder(load(folder), OURS, ("capabilities.modules", *TEMPLATES))
    print(NEXT.format(folder=shlex.quote(str(folder))), end="")
    return 0
