# Each target is one step; those of more than a few lines are scripts of their own in scripts/.
# `make help` lists them.

SEEDS ?= 0..100000
SECONDS_PER_TARGET ?= 60
SOAK_SECONDS ?= 1800

# Where rustup puts cargo, for a shell that was open before.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help setup build python demo playground probe-library site test lint bench chaos fuzz sanitize verify-aarch64 verify-accecn verify-bare verify-drill verify-dualpi2 verify-ecn-proxy verify-judge verify-monitoring verify-mutants verify-nat verify-new verify-ns2 verify-packages verify-playground verify-probe verify-site verify-stacks verify-threads verify-tou verify-traffic packages soak-sessions soak install uninstall install-tou uninstall-tou install-service clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing (Debian packages, Rust, the lab's Python packages)
	@scripts/setup

build: setup ## Build the windlass binary: target/release/windlass
	cargo build --locked --release

python: ## Build the native half of the lab's Python package, for use from .venv
	@scripts/setup demo
	@scripts/build-native

site: build ## Build the documentation site: out/site/index.html; minutes the first time, for rustdoc
	@scripts/build-site

demo: ## All papers in short on one site, in two minutes as root; and a crossing of two NATs
	@scripts/demo

probe-library: build ## Trace Linux's congestion controllers again for `windlass probe --cca`, in the emulated machine
	@scripts/probe-library

playground: setup ## Build the simulator as a web page: out/playground/index.html, for a web server
	@scripts/build-playground out/playground

test: setup ## Run every test
	@scripts/test

lint: setup ## Check format, lints, docs, dependencies and licences
	@scripts/lint

bench: build ## Measure the simulator against ns-2 and ns-3, ToU against other transports, the programs in the kernel
	@scripts/setup-bench
	@benches/run.py
	@benches/first_result.py
	@.venv/bin/python benches/tou.py
	@.venv/bin/python benches/tou.py --connections
	@.venv/bin/python benches/tou_tunnels.py
	@.venv/bin/python benches/environments.py
	@.venv/bin/python benches/ecn_proxy.py
	@.venv/bin/python benches/split_ack.py

chaos: build ## Run random connections over random paths; SEEDS=0..100000, CHAOS=--modern, --ecn-proxy, --traversal
	target/release/windlass sim chaos --seeds $(SEEDS) $(CHAOS)

fuzz: setup ## Fuzz each target; SECONDS_PER_TARGET=60
	@scripts/fuzz $(SECONDS_PER_TARGET)

sanitize: setup ## Run ToU's tests under AddressSanitizer and ThreadSanitizer
	@scripts/sanitize

verify-mutants: setup ## Break the code on purpose: does a test fail each time? MUTANTS='--shard 0/40', --hand-made, --cargo
	@scripts/verify-mutants $(MUTANTS)

verify-judge: setup ## Break controllers and recovery on purpose: which cases of the judge fail? In an hour; JUDGE=--write for a new list
	@mkdir -p target/mutants
	@python3 scripts/mutants.py --list tests/mutants/judge.toml --json target/mutants/judge.json
	@python3 scripts/teeth.py target/mutants/judge.json $(or $(JUDGE),--check)

verify-aarch64: setup ## Build the static binary for aarch64, try the ECN proxy on an emulated small router
	@scripts/verify-aarch64

verify-bare: ## Run make demo and make test in a minimal Debian root with empty caches, as root, in an hour
	@scripts/bare

verify-accecn: setup ## Hold AccECN against Linux 7.3 in an emulated machine, as root, in ten minutes
	@scripts/build-quick
	@scripts/verify-accecn

verify-drill: setup ## Run the kernel's packetdrill scripts on Linux 7.3 in an emulated machine and on the engine, as root, in ten minutes
	@scripts/build-quick
	@scripts/verify-drill

verify-dualpi2: setup ## Compare DualPI2 with the kernel's in an emulated machine, as root, in many hours
	@scripts/verify-dualpi2

verify-ecn-proxy: build ## Served senders beside senders with ECN of their own, CoDel, RED, PIE, as root: two and a half hours
	cargo test --locked --package windlass --test ecn_proxy -- --ignored senders::
	mkdir -p out; for queue in codel red:min=10,max=20 pie; do \
		.venv/bin/python benches/ecn_proxy_beside.py --queue $$queue --runs 10 | tee out/beside-$${queue%%:*}.jsonl || exit 1; \
	done
	.venv/bin/python benches/ecn_proxy_beside.py --summary out/beside-*.jsonl

verify-monitoring: setup ## Check the Grafana dashboard and the alert rules with Debian's Prometheus, as root
	@scripts/setup-verify-monitoring
	cargo test --locked --package windlass --test ecn_proxy -- --ignored --nocapture monitoring::

verify-nat: setup ## Run sessions of ToU behind every pair of gateways, without UDP and while hosts move, as root
	cargo test --locked --package windlass --test tou -- --ignored --nocapture every_pair_of_gateways
	CARGO_PROFILE_QUICK_OPT_LEVEL=3 cargo test --locked --profile quick --package windlass --test tou -- \
		--ignored --nocapture --test-threads 1 hosts_without_udp a_large_transfer_goes_on

verify-new: setup ## Build, test and run the crate that `windlass new` writes where the checkout is hidden, as root
	cargo test --locked --package windlass --test new -- --ignored --nocapture

verify-ns2: setup ## Compare transfers that come and go with ns-2, the same arrivals on both, in half an hour
	@scripts/setup-verify-ns2
	@scripts/build-quick
	@scripts/verify-ns2

verify-playground: build ## Build the playground, test it in Chromium: bytes, links, keyboard, axe-core, size, speed
	@scripts/setup-verify-playground
	@scripts/verify-playground

verify-packages: packages ## Try the packages in clean Debian roots, build them a second time and compare, as root
	@scripts/setup-verify-packages
	@scripts/package-image out/packages
	@scripts/verify-packages out/packages
	@scripts/verify-reproducible out/packages

verify-probe: setup ## Probe the servers that Debian packages, initial windows 3, 10 and 40, several paths, as root
	@scripts/setup-verify-probe
	cargo test --locked --package windlass --test probe_servers -- --ignored --nocapture --test-threads 4
	cargo test --locked --package windlass-probe --test controllers --test controllers_namespaces -- --ignored --nocapture

verify-site: site ## Run the tutorials and the guides' examples, as root; open the site in Chromium, with axe-core
	@scripts/setup-verify-site
	@PATH="$(CURDIR)/target/release:$(CURDIR)/.venv/bin:$$PATH" .venv/bin/python -m pytest -q -rs site/verify

verify-stacks: setup ## Lint and test other transports in the simulator; as root hold them against windlass link
	@scripts/verify-stacks

verify-threads: setup ## Hold runs on 2 and 4 threads against one: 20,000 random networks, the committed scenarios, in minutes
	cargo test --locked --profile quick --package windlass-sim --test parts -- --ignored --nocapture

verify-tou: setup ## Run ssh, rsync, git, curl, psql, Go across two NATs with loss, kill -9 each part, as root
	@scripts/setup-verify-tou
	cargo test --locked --package windlass --test tou -- --ignored --nocapture --test-threads 1 \
		verify::programs verify::kills verify::opening

verify-traffic: setup ## Hold queues at a high load and a shared link against theory, in some minutes
	cargo test --locked --profile quick --package windlass-sim --test queueing --test processor_sharing -- \
		--ignored --nocapture

soak-sessions: setup ## Disturb one session of ToU for half an hour, as root; SOAK_SECONDS=1800
	SOAK_SECONDS=$(SOAK_SECONDS) cargo test --locked --package windlass --test tou -- --ignored --nocapture verify::soak

soak: build ## Let ToU live on bad paths, with kills and blackouts, as root; SOAK_SECONDS=1800
	@.venv/bin/python benches/tou_soak.py --seconds $(SOAK_SECONDS)

packages: setup ## Build the Debian packages, the wheel and the archive of a release: out/packages
	@scripts/package out/packages

ifdef PREFIX
install: build install-tou ## Install the binary, man pages, completions for the user; PREFIX=/usr/local: there, and libtou
else
install: setup
	cargo install --locked --path crates/cli
endif
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install-windlass

ifdef PREFIX
uninstall: uninstall-tou ## Remove what install installed, given the same PREFIX
else
uninstall:
endif
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install-windlass --uninstall

install-tou: ## Install libtou for C and C++; PREFIX=/usr/local DESTDIR= LIBDIR=
	@scripts/setup tou
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' scripts/install-tou

uninstall-tou: ## Remove what install-tou installed, given the same
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' scripts/install-tou --uninstall

install-service: build ## Install the ECN proxy and the services of ToU for systemd (as root)
	install -D --mode=755 target/release/windlass $(DESTDIR)/usr/local/bin/windlass
	for name in ecn-proxy tou-expose tou-rendezvous; do install -D --mode=644 packaging/windlass-$$name.service $(DESTDIR)/etc/systemd/system/windlass-$$name.service || exit; done
	test -e $(DESTDIR)/etc/windlass/ecn-proxy.toml || install -D --mode=644 packaging/ecn-proxy.toml $(DESTDIR)/etc/windlass/ecn-proxy.toml

clean: ## Remove what was built, the lab's environment and the reports
	rm -rf target stacks/target benches/tou-peers/target tests/freestanding/target fuzz/target .venv .venv-site out
