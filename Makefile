# locklab. `make` lists the targets.

GO      ?= go
BUILD   := build
REPORT  ?= $(BUILD)/report
FULL    ?= $(BUILD)/report-full
CHAOS   ?= $(BUILD)/chaos
BUDGET  ?= 2m15s
HOUR    ?= 58m
COUNT   ?= 1
STRESS  ?= 1250ms
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || echo +dirty)
LDFLAGS := -w -X locklab/internal/machine.commit=$(COMMIT)

# A build from an empty cache is a seventh faster without DWARF. Stack traces and profiles do
# not need it.
GCFLAGS := all=-dwarf=false

# The compiler takes less processor time if it collects no garbage below 1.2 GB.
ROOMY := GOGC=off GOMEMLIMIT=1200MiB

# The tests of these packages mostly wait for servers and child processes. Four packages run
# in parallel, the longest first, with four tests in parallel in each.
WAITING  := redislock harness/measure lab zklock peers deploy redislock/lab internal/backend internal/zksession internal/wire/redis internal/wire/zookeeper internal/faultproxy

# Separate modules, so that only their users get their dependencies.
CONTRIB  := contrib/otel contrib/prometheus

# Packages that run nothing concurrently, so the race detector cannot find anything in them.
# A test of internal/layers checks that.
RACELESS := reports/draw reports/chart reports/page harness harness/judge harness/result hardware/evidence cmd/locklab/catalog internal/boottime internal/nearest internal/qemu internal/stat internal/numfmt mutex/lab

# By default the race detector sleeps for a second at the end of every process.
GORACE   ?= atexit_sleep_ms=0

# Most JVMs of the tests live for seconds. The optimizing compiler would take a third of their
# processor time and save less.
test race: export JAVA_TOOL_OPTIONS ?= -XX:TieredStopAtLevel=1

# $(call but,a b) lists all packages except a and b.
empty :=
comma := ,
but    = $$($(GO) list ./... | grep -vE "^$$($(GO) list -m)/($(subst $(empty) $(empty),|,$(1)))\$$" | tr '\n' ' ')

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
HUGO        := github.com/gohugoio/hugo@v0.152.2
BENCHSTAT   := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

.DEFAULT_GOAL := help
.PHONY: help build deps report report-full chaos chaos-full test test-all test-arches test-fresh test-slurm test-a11y models mutants race stress bench bench-c profile-redis compare prove-compare prove-verdict prove-locktest lint golden docs module clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# These packages import most of the standard library packages that locklab needs.
STD := crypto/tls html/template encoding/gob encoding/xml image/gif image/jpeg regexp

# The standard library is compiled while modules are downloaded.
build: ## build build/locklab
	@$(GO) list -deps ./cmd/locklab >/dev/null & $(ROOMY) $(GO) build -trimpath -gcflags '$(GCFLAGS)' $(STD); wait
	$(ROOMY) $(GO) build -trimpath -gcflags '$(GCFLAGS)' -ldflags '$(LDFLAGS)' -o $(BUILD)/locklab ./cmd/locklab

report: ## install missing servers, measure one lock for each idea with real servers, 20 seconds of it under failures, and write build/report/index.html and report.md (about 4 minutes with the build; BUDGET=10m for narrower intervals)
	$(MAKE) -j2 --no-print-directory deps build
	$(BUILD)/locklab run --hardware --chaos --budget $(BUDGET) --out $(REPORT) --replace

deps:
	scripts/deps redis zookeeper

report-full: ## measure all locks except the broken ones, with every number of workers (an hour; HOUR=time); the next call resumes an interrupted run
	scripts/deps redis zookeeper curator
	$(MAKE) --no-print-directory build
	$(BUILD)/locklab run --locks all,-broken --hardware --chaos --budget $(HOUR) --out $(FULL) $(if $(wildcard $(FULL)/manifest.json),--resume)

# The locks of the default report, and scenarios for each guarantee.
CAMPAIGN := --locks redis-poll-5ms,redis-pubsub,redis-queue,redis-reentrant,redis-token,zk-fair,zk-handoff,zk-herd,bsm-redislock-1ms,go-zookeeper-lock,redsync-1ms,rueidislock-majority --scenario acquire-reply-lost,holder-pause,holder-crash,redis-holder-cut-off,redis-restart-empty,redis-promotion-cut,zk-holder-cut-off,leader-killed,leader-stopped

chaos: build ## try these scenarios, the cheap ones 200 times and the others 60 (up to 6 hours), and renew the counts that every report has; the next call resumes an interrupted run
	scripts/deps redis zookeeper
	$(BUILD)/locklab chaos $(CAMPAIGN) --out $(BUILD)/campaign $(if $(wildcard $(BUILD)/campaign/manifest.json),--resume)
	$(BUILD)/locklab export $(BUILD)/campaign --format published >$(BUILD)/published.csv
	mv $(BUILD)/published.csv harness/chaos/published.csv

chaos-full: ## try every failure scenario on every lock, with real servers (a day and a half), into build/chaos; the next call resumes an interrupted run. TRIES=n
	scripts/deps redis zookeeper curator
	$(MAKE) --no-print-directory build
	$(BUILD)/locklab chaos $(if $(TRIES),--tries $(TRIES)) --out $(CHAOS) $(if $(wildcard $(CHAOS)/manifest.json),--resume)

# The tests of these packages build programs for other architectures and run them under qemu.
FOREIGN := atomics hardware/evidence
ARM64   := $(FOREIGN) hardware internal/qemu mutex spinlock
RISCV64 := $(FOREIGN) hardware

# $(call compile,ENVIRONMENT,FLAGS) PACKAGES compiles packages and their tests into the cache,
# at the lowest priority. There they would not end on a busy machine, with over six running threads.
LEAST   := $(shell awk -F '[ /]' '{ print ($$4 > 6 ? 5 : 19) }' /proc/loadavg 2>/dev/null || echo 19)
nice    := nice -n $(LEAST) env $(ROOMY)
compile = $(nice) $(1) $(GO) list $(2) -export -test -f=

# $(call foreign,ARCH,PACKAGES) compiles for another architecture.
foreign = '$(call compile,GOOS=linux GOARCH=$(1) CGO_ENABLED=0) $(addprefix ./,$(2))'

# A test that waits can fail because the machine is busy. Up to three failed tests run twice
# more, alone, and are listed if they pass. Two holders, a lost update and a repeated token do
# not depend on the load. FINAL matches the tests of these rules and the messages of such
# failures, which count at once, as data races and panics do.
FINAL   := two holders|are inside|^TestSuite/.*/(exclusion|first-use|lost-update|reuse|try|permits|reentrant|not-reentrant|no-allocation|read-exclusion|read-count|read-snapshot|fencing|owner)$$
COUNTED := $(GO) run ./cmd/testcount -again 3 -final '$(FINAL)' --

# ABROAD lists further compilations, in the order in which the tests need them. They run while
# the tests of WAITING run. AHEAD adds compilations for a target that runs after make test.
AHEAD   ?=
ifeq ($(shell uname -sm),Linux x86_64)
ABROAD  := $(call foreign,arm64,$(ARM64)) $(call foreign,riscv64,$(RISCV64)) $(foreach a,ppc64le s390x loong64,$(call foreign,$(a),$(FOREIGN)))
endif

# $(call tests,FLAGS,COMPILE,RUNS) runs the tests of every package once.
#
# With an empty cache half of the processor time of make test goes into compiling. The tests
# that wait for leases are compiled first and start at once, so no compiler of normal priority
# runs at the same time. Other packages are compiled meanwhile, at the lowest priority.
# "vet ./..." checks more than go test does, so -vet=off avoids the repetition.
# The failure scenarios keep many processes busy, so no test of leases runs at the same time.
# -trimpath shares the cache with tests that build a copy of this tree, -gcflags with make build.
tests = env $(ROOMY) $(GO) list -export -test -f= $(addprefix ./,$(WAITING)) && $(COUNTED) '$(1) -vet=off -p 4 -parallel 4 -timeout $(STUCK) $(addprefix ./,$(WAITING))' + '$(nice) $(GO) vet ./...' '$(call compile) ./...' $(foreach m,$(CONTRIB),'$(call compile,,-C $(m)) ./...') $(2) then '$(1) -vet=off -timeout $(STUCK) ./harness/chaos' $(foreach m,$(CONTRIB),'-C $(m) ./...') '$(1) -tags systematic -timeout $(STUCK) -skip ^Test(Toolchain|UnderQEMU|Suite$$) ./atomics ./spinlock ./mutex ./internal/explore' $(3) + "$(1) -vet=off -p 4 -timeout $(STUCK) $(call but,$(WAITING) harness/chaos)"

# The tests of a package that take longer are stuck, even on a busy machine.
STUCK := 40m

test test-all race stress: export GOFLAGS := $(GOFLAGS) -trimpath -gcflags=$(GCFLAGS)
test: ## install missing servers and run the tests that fit into 10 minutes; counts the skipped tests by reason
	scripts/deps redis zookeeper curator
	$(call tests,-short,$(AHEAD))

test-all: ## run every test, also on other architectures under qemu, of the simulator, of all commands in the documents and of failing ranks; then make test-slurm and models
	scripts/deps redis zookeeper curator qemu valgrind
	scripts/module_test.sh
	$(call tests,,$(ABROAD),'-tags systematic$(comma)simulate -timeout $(STUCK) ./harness/simulate/...' '-tags purego -skip ^Test(Toolchain|UnderQEMU) ./atomics ./spinlock' '-tags systematic$(comma)simulate -run ^TestR?W?MutexSimulated$$ ./mutex/...')
	$(MAKE) --no-print-directory test-slurm models

test-fresh: ## run the two commands of the README in a new Debian root with only Go, git and make (Linux, root, debootstrap)
	scripts/fresh $(BUILD)/fresh

mutants: ## break the code in known ways and check that a test fails each time, into build/mutants.txt; the next call resumes an interrupted run
	$(GO) run ./cmd/mutants

test-arches: ## run the assembly of six architectures, and every lock on arm64, under qemu
	scripts/deps qemu
	$(GO) test -count=1 -v -run '^Test(UnderQEMU|Toolchain)' ./atomics ./hardware ./spinlock ./mutex

test-slurm: ## submit deploy/slurm/locklab.sbatch to a Slurm of three nodes on this machine, as root; downloads the packages of Debian or Ubuntu into build/slurm
	scripts/deps-slurm $(BUILD)/slurm
	scripts/deps redis
	LOCKLAB_SLURM=$(CURDIR)/$(BUILD)/slurm $(GO) test -count=1 -v -run '^TestSlurm' ./deploy

test-a11y: build ## check the pages with axe-core in headless Chromium, in both themes, at the width of a phone and of a desktop; npm installs axe-core into build/
	scripts/a11y/run $(filter-out $(BUILD)/report,$(REPORT))

models: ## check Promela models of mutex, ticket, mcs, clh, zk-handoff, zk-rw and redis-queue, and broken variants, with Spin; installs Spin
	scripts/deps spin
	for folder in mutex spinlock zklock redislock; do scripts/models $$folder/models || exit; done

# Only tests have other code under the race detector, and make lint vets it.
race: export GORACE := $(GORACE)
race: ## run the tests of make test under the race detector, except in packages that start no goroutine
	$(COUNTED) '$(call compile,,-race) $(addprefix ./,$(WAITING))' then '-race -short -vet=off -p 3 -parallel 4 -timeout $(STUCK) $(addprefix ./,$(WAITING))' + "$(call compile,,-race) $(call but,$(RACELESS))" then "-race -short -vet=off -timeout $(STUCK) $(call but,$(WAITING) $(RACELESS))"

# Of the rules that search for a second holder at random, these two find a rare one soonest:
# lost-update on an idle machine, preemption on a busy one.
stress: ## search each local lock for two holders, for twice STRESS: 90 seconds
	LOCKLAB_STRESS=$(STRESS) $(GO) run ./cmd/testcount -- '-p 1 -count=1 -run ^Test(Suite|StressFindsTheRare)$$/^/^(lost-update|preemption)$$ ./spinlock ./mutex ./harness/locktest'

bench: ## run the benchmarks of every lock package, COUNT times, into build/bench.txt, and summarise them
	@mkdir -p $(BUILD)
	$(GO) test -run '^$$' -bench Lock -count $(COUNT) ./spinlock ./mutex ./zklock ./redislock ./peers | tee $(BUILD)/bench.txt
	$(GO) run $(BENCHSTAT) $(BUILD)/bench.txt

bench-c: ## compare Go with the same algorithms in C (needs a C compiler): ratios of adjacent blocks
	$(GO) test -run '^$$' -bench Twin -count $(COUNT) ./hardware ./spinlock

profile-redis: ## measure an acquisition of redis-queue with 8 and 50 contending clients: requests, time, and a pprof profile of the clients
	scripts/deps redis
	@mkdir -p $(BUILD)
	$(GO) test -run '^$$' -bench '^BenchmarkAcquisition$$/^lock=redis-queue$$' -benchtime 20000x -cpuprofile $(BUILD)/redis.prof -o $(BUILD)/redis.test ./redislock
	$(GO) tool pprof -top -cum -nodecount=60 $(BUILD)/redis.test $(BUILD)/redis.prof

compare: build ## compare two runs: BASE=dir NEW=dir. In CI call build/locklab compare: make turns its exit status 1 (regressed) into 2
	$(BUILD)/locklab compare $(BASE) $(NEW)

prove-compare: ## compare a build 20 times with itself and 20 times with a lock slowed by 10 % (ten minutes); TRIES=n
	scripts/prove-compare

prove-verdict: build ## run the default report 10 times, and 10 times next to two busy processes: 9 of 10 must recommend the same locks in the same first sentence (an hour); the next call resumes an interrupted run. TRIES=n BUDGET=2m15s KIND=--quiet
	scripts/deps redis zookeeper
	BUDGET=$(BUDGET) scripts/prove-verdict $(KIND)

prove-locktest: ## check that every broken lock is rejected TRIES times in a row, by default 20 (two minutes)
	LOCKLAB_TRIES=$${TRIES:-20} $(GO) test -count=1 -run '^TestBrokenLocalIsRejected$$' ./harness/locktest

lint: ## check gofmt, go vet for every architecture with assembly and for -race, staticcheck, and go mod tidy
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	$(GO) vet ./...
	for arch in arm64 riscv64 ppc64le s390x loong64; do GOARCH=$$arch $(GO) vet ./... || exit 1; done
	GOOS=darwin $(GO) vet ./...
	$(GO) vet -race ./...
	$(GO) vet -tags systematic ./atomics ./spinlock ./mutex ./internal/explore
	$(GO) vet -tags systematic,simulate ./atomics ./spinlock ./mutex/... ./harness/simulate/...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(STATICCHECK) -tags systematic,simulate ./harness/simulate/...
	$(GO) mod tidy -diff
	for m in $(CONTRIB); do (cd $$m && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) mod tidy -diff) || exit 1; done

golden: ## rewrite the golden files, and show the changes
	$(GO) test ./reports/page -update
	git --no-pager diff --stat

docs: ## build a site of the documents in build/site, with the report of make report or of a recorded run; a dead link is an error
	$(GO) test -run '^TestLinks$$' ./internal/layers
	$(GO) run $(HUGO) --source docs/site --destination ../../$(BUILD)/site --cleanDestinationDir --noBuildLock --logLevel error
	@mkdir -p $(BUILD)/site/report
	$(if $(wildcard $(REPORT)/index.html),cp $(REPORT)/*.html $(BUILD)/site/report,$(GO) run ./cmd/locklab report reports/testdata/run --out $(BUILD)/site/report >/dev/null)

module: ## change the path of the module everywhere: MODULE=example.org/you/locklab
	@scripts/module "$$MODULE"

clean: ## remove build/
	rm -rf $(BUILD)
