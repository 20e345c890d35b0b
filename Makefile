# Leasehold: `make run` starts it, `make test` checks it. Everything else is in xtask.
# Needs Rust (rustup), Node.js 20 or newer and the package registries.

CARGO ?= cargo
XTASK = $(CARGO) run --quiet --package xtask --

# What follows `leasehold serve`, for instance: make run ARGS="--addr 127.0.0.1:4000"
ARGS ?=

.PHONY: run dev build bench test end2end fmt clean toolchain help

run: toolchain ## build everything (debug) and serve on http://127.0.0.1:3000 with SQLite in data/
	@$(XTASK) run $(ARGS)

dev: toolchain ## the same, rebuilt and restarted on every change
	@$(XTASK) watch $(ARGS)

build: toolchain ## target/release/leasehold, one binary with the site inside
	@$(XTASK) build --release

test: toolchain ## everything CI checks; ends with `N passed, N failed`
	@$(XTASK) test $(if $(ONLY),--only $(ONLY))

bench: build ## how fast, as ratios against plain SQL; about four minutes (ARGS=--quick: half of that)
	@target/release/leasehold bench $(ARGS)

end2end: toolchain ## the browser tests alone, on both databases
	@$(XTASK) end2end $(ARGS)

fmt: toolchain ## format the sources
	@$(CARGO) fmt --all

clean: ## remove what was built and the tests' packages; data/ stays
	@$(CARGO) clean
	@rm -rf end2end/node_modules end2end/test-results end2end/playwright-report

# Where rustup does not install toolchains by itself (RUSTUP_AUTO_INSTALL=0), ask it to.
toolchain:
	@$(CARGO) --version >/dev/null 2>&1 || rustup toolchain install || \
	  { echo 'Leasehold needs Rust: install rustup from https://rustup.rs'; exit 1; }

help: ## this list
	@grep -E '^[a-z0-9]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12
