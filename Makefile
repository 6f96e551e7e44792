# The few commands there are. `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENGINE := engine/target/release/patternbench-engine
JVM_CALLS := agents/jvm-calls/target/patternbench-jvm-calls.jar
INSURANCE := apps/insurance/customer-core/target/customer-core-app.jar
CINEMA := apps/cinema/broker/target/broker-app.jar
SHOP := apps/shop/persistence/target/persistence-app.jar
OVERLOAD := apps/overload/items/target/items-app.jar
FORMATTERS := scripts/formatters/node_modules/.package-lock.json
AXE := tests/browser/node_modules/.package-lock.json
CARGO_JOBS ?= $(shell nproc)
BASES ?= public
# Python compiles what it loads: what pip would compile is several times as much.
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
BOTH_CORES := $(MAKE) --jobs=2 --output-sync=target

.DEFAULT_GOAL := help
.PHONY: help setup quickstart test check lint format formatters axe licences advisories clients agents apps images setup-test test-tools by-maven by-others contracts docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: $(VENV)/.stamp $(ENGINE) ## set up everything that a study on the embedded default needs

quickstart: ## set up, then run studies/quickstart.yaml
	$(MAKE) --jobs=$(CARGO_JOBS) setup
	$(BIN)/patternbench run studies/quickstart.yaml

test: setup-test ## set up what the tests need, then run all of them
	scripts/test all

check: setup $(VENV)/.stamp-dev ## lint, types and unit tests
	scripts/test fast

clients: $(VENV)/.stamp ## build the clients that the tools here allow, and say what the others need
	scripts/clients build

agents: $(JVM_CALLS) ## build what counts calls within JVM services (needs a JDK 17 and Maven)

apps: $(INSURANCE) $(CINEMA) $(SHOP) $(OVERLOAD) ## build the applications that our studies measure (needs a JDK 17 and Maven)

images: setup apps ## build container images of the applications (needs Docker or Podman; BASES=debian pulls nothing)
	$(BIN)/python -m scripts.images --bases $(BASES)

setup-test: ## set up what the tests need: JDK, Maven, Chromium, servers from Debian, httpbin
	$(BOTH_CORES) setup $(VENV)/.stamp-dev test-tools
	$(BOTH_CORES) by-maven by-others
	export PATH="$(CURDIR)/$(BIN):$$PATH"; patternbench doctor --install > /dev/null || \
	  patternbench doctor || echo "a test that needs what is missing fails, unless tests/allowed-skips.toml names it"

test-tools:
	scripts/install-test-tools

by-maven: # one Maven at a time: two would write the same files of its repository
	scripts/clients build with mvn
	$(MAKE) --jobs=1 agents apps

by-others:
	scripts/clients build without mvn
	$(MAKE) formatters axe

contracts: setup ## write the checked-in schemas and reference pages anew from the code
	$(BIN)/patternbench schema > contracts/study/study.schema.json
	$(BIN)/patternbench schema model > contracts/simulation/model.schema.json
	for file in attempts rounds steps plan manifest; do \
	  $(BIN)/patternbench schema $$file > contracts/records/$$file.schema.json || exit 1; done
	$(BIN)/python -m scripts.site.answers
	$(BIN)/python -m scripts.site.reference

docs: $(VENV)/.stamp-docs ## build the documentation as a site into site/; broken links fail
	$(BIN)/python -m scripts.site
	$(BIN)/zensical build --clean --strict

lint: setup $(VENV)/.stamp-dev ## lint and check formats, every language
	scripts/test lint

format: $(VENV)/.stamp-dev ## format every language whose formatter is installed; name the others
	scripts/format

formatters: $(FORMATTERS) ## install the formatters that npm brings

axe: $(AXE) ## install axe-core, with which tests look at pages

licences: setup $(VENV)/.stamp-dev ## check the licences of all that we depend on (needs cargo-deny)
	scripts/test licences

advisories: setup $(VENV)/.stamp-dev ## ask what is known today against all that we depend on (needs the network)
	scripts/test advisories

clean: ## remove what was built (not what was measured)
	rm -rf $(VENV) site target engine/target clients/target clients/*/target clients/kits/*/target clients/*/.venv clients/*/node_modules clients/*/bin clients/*/*/bin clients/*/*/obj clients/kits/*/*/bin clients/kits/*/*/obj agents/*/target apps/*/target apps/*/*/target

$(VENV)/.stamp: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp requirements-dev.lock
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/.stamp-docs: $(VENV)/.stamp requirements-docs.lock
	$(PIP) --require-hashes -r requirements-docs.lock
	@touch $@

$(FORMATTERS) $(AXE): %/node_modules/.package-lock.json: %/package-lock.json
	npm ci --silent --no-audit --no-fund --prefix $*
	@touch $@

$(ENGINE): clients/Cargo.toml $(shell find engine clients/kits/rust/server -name target -prune -o \( -name '*.rs' -o -name 'Cargo.*' \) -print)
	cd engine && cargo build --release --locked --jobs $(CARGO_JOBS) --bin patternbench-engine
	@touch $@

$(JVM_CALLS): $(shell find agents/jvm-calls -name target -prune -o -type f -print)
	cd agents/jvm-calls && mvn -q -B --no-transfer-progress package -DskipTests
	@touch $@

$(INSURANCE): apps/pom.xml $(shell find apps/insurance apps/commons apps/testing -name target -prune -o -type f -print)
	cd apps/insurance && mvn -q -B --no-transfer-progress package -DskipTests
	@touch $@

$(CINEMA): apps/pom.xml $(shell find apps/cinema apps/commons apps/testing -name target -prune -o -type f -print) | $(INSURANCE)
	cd apps/cinema && mvn -q -B --no-transfer-progress package -DskipTests
	@touch $@

$(SHOP): apps/pom.xml $(shell find apps/shop apps/commons apps/testing -name target -prune -o -type f -print) | $(CINEMA)
	cd apps/shop && mvn -q -B --no-transfer-progress package -DskipTests
	@touch $@

$(OVERLOAD): apps/pom.xml $(shell find apps/overload apps/commons apps/testing -name target -prune -o -type f -print) | $(SHOP)
	cd apps/overload && mvn -q -B --no-transfer-progress package -DskipTests
	@touch $@
