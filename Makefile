# Everything a contributor runs. .ci/run says what CI runs.

.DEFAULT_GOAL := help

SHELL := /bin/bash
# As in the programs that tests build: with cgo all would be compiled once more. The race detector needs it.
export CGO_ENABLED := 0
MODULES := . $(patsubst %/go.mod,%,$(filter-out go.mod,$(shell git ls-files '*/go.mod')))

.PHONY: help test test-more lint tidy release proxy dist bench report pictures fuzz simulate chaos model arch mutate servers

help: ## this list
	@awk -F ': ## ' '/^[a-z-]+: ## / {printf "make %-11s  %s\n", $$1, $$2}' Makefile

test: ## the tests of all modules, with the servers they need
	@.ci/test $(filter-out .,$(MODULES))

test-more: ## Kubernetes, more drivers of SQLite, the rehearsal of a release, and the stores on the servers of Debian's newest suite, unpacked beside the machine's own
	@.ci/more

lint: ## vet, gofmt, go fix, go mod tidy, staticcheck, words and links; unless CI=true govulncheck, too
	@go run ./internal/test/systest/words
	@.ci/release tidy -diff
	@test -z "$$(gofmt -l .)" || { echo 'gofmt:'; gofmt -l .; exit 1; }
	@.ci/lint $(MODULES)

tidy: ## go mod tidy of all modules, against the siblings in this tree
	@.ci/release tidy
	@go list -m all >/dev/null # completes go.work.sum

release: ## checks CHANGELOG.md, sets VERSION in all modules, prints the tags to make; see CONTRIBUTING.md
	@.ci/release $(VERSION)

proxy: ## the modules of this tree in the folder DIR, for GOPROXY of a program elsewhere
	@.ci/release proxy '$(DIR)'

dist: ## archives, packages, SBOMs and checksums of the commit, in the folder dist; see CONTRIBUTING.md
	@.ci/dist

bench: ## the ways to take IDs and other libraries, beside an atomic add
	go run ./bench compare

report: ## docs/benchmarks, measured anew; REPORT takes flags, such as -rounds=11
	go run ./bench report $(REPORT)

pictures: ## docs/pictures from their sources (needs graphviz)
	@for source in docs/pictures/*.dot; do dot -Tsvg "$$source" -o "$${source%.dot}.svg"; done
	@go run ./bench/internal/scatter >docs/pictures/scatter.svg

fuzz: ## each fuzz target for FUZZTIME
	@.ci/fuzz $(or $(FUZZTIME),30s)

simulate: ## the simulation of leases, SEEDS schedules of each world; see docs/EVIDENCE.md
	UIDRING_SEEDS=$(or $(SEEDS),20000) go test ./assigner -count=1 -v -timeout 0 -run '^TestSimulation(HasNoDuplicates|HorizonHolds|StarvesNoHolder)'

chaos: ## processes, a server and faults for TIME, every ID counted, then the same for segments; SERVER=mysql or postgres replaces MariaDB; CHAOS takes more flags, such as -chaos.seed=7 or -chaos.flush=0
	cd internal/test/systest && go test ./chaos -count=1 -v -timeout 0 -run '^Test(Chaos|Days)$$' -chaos.for=$(or $(TIME),60s) -chaos.server=$(or $(SERVER),mariadb) $(CHAOS)
	UIDRING_KILLS=$(or $(TIME),60s) go test ./assigner/sqlassigner -count=1 -v -timeout 0 -run '^TestSegments$$/MariaDB/^Kills'

model: ## the models of the ring, the lanes, the fence and the horizon, checked exhaustively (needs spin and gcc); MODEL=-changed: only after a change
	docs/model/run.sh $(MODEL)

arch: ## the ring and the generators under other architectures, runtimes and Go versions; other systems built (needs qemu-user); ARCH=runtimes, emulators or systems is a part
	.ci/arch $(ARCH)

mutate: ## breaks the packages that keep IDs unique, one change at a time: a test must fail; MUTATE takes flags, such as -sample=20 or -match=^cached
	go run ./internal/test/systest/mutate $(MUTATE)

servers: ## install what tests need, as root, on Debian or Ubuntu; no system service is started
	.ci/servers
