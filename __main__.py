"""`python -m planwright`: the same as the command `planwright`."""

from __future__ import annotations

from planwright.cli.main import main

if __name__ == "__main__":
    main()
