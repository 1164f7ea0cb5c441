# What CI runs is in .ci/run; these are the same steps for people.
LDFLAGS := -s -w

.PHONY: choice build test lint regen site check kills soak accuracy bench stats conformance slurm gpu release

build: ## one static binary in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ndc ./cmd/ndc

test: ## everything that needs Go alone
	go test ./...

lint:
	test -z "$$(gofmt -l .)"
	go vet ./...
	for suites in conformance slurm gpu; do go vet -tags $$suites ./integration/... || exit 1; done
	go tool staticcheck ./...

regen: ## rewrite goldens, examples and generated docs, to be read before they are committed
	go test $$(git grep -l 'ndc/tools/golden"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') -short -update
	go run ./tools/docs

choice: ## plan published launches anew, pinned and free, for docs/choice.md; minutes
	go run ./tools/choice

site: ## render the documentation as a static site, into site/
	go run ./tools/site site

check: lint test
	go test -race ./...

kills: ## builds killed at every call that changes the disk, about half an hour
	NDC_KILLS=all go test -timeout 3h -v -run 'TestKilled|TestInterrupted|TestTogether' ./output ./cmd/ndc

# Property tests draw the same cases in every run; here they draw others.
DRAWS ?= 20000
soak: ## property tests with DRAWS cases each, searches against brute force, advice that is followed and views against builds, drawn anew
	for package in $$(git grep -l 'ndc/tools/draws"' -- '*_test.go' | xargs -n1 dirname | sort -u | grep -v '^cmd/ndc$$'); do \
	  NDC_DRAWS=random go test -timeout 1h ./$$package -rapid.nofailfile -rapid.checks $(DRAWS) || failed=1; \
	done; \
	NDC_SEARCH_SEED=$$(date +%s) NDC_SEARCH_JOBS=1000 go test -timeout 1h -v -run TestRandomJobs ./compiler/search || failed=1; \
	NDC_ADVICE_SEED=$$(date +%s) NDC_ADVICE_JOBS=200 go test -timeout 1h -v -run TestDrawnAdvice ./cmd/ndc || failed=1; \
	NDC_VIEWS_SEED=$$(date +%s) NDC_VIEWS_JOBS=200 go test -timeout 1h -v -run TestDrawnViews ./cmd/ndc || failed=1; \
	exit $$failed

accuracy: ## predictions against published measurements
	go run ./tools/accuracy -out docs/accuracy.md

bench:
	go test -run '^$$' -bench . -benchmem ./compiler/... ./cmd/...

stats: ## how far a change reaches: lines, fields of structs, undocumented names
	go run ./tools/stats

# In full, about three hours on two cores: RANDOM_JOBS legal jobs per framework version, RANDOM_DEEP of them built; SUITES of the suites at a time.
RANDOM_JOBS ?= 500
RANDOM_DEEP ?= 50
SUITES ?= 2
OUT ?=
conformance: ## the real frameworks as judges, on CPU; OUT=docs/conformance.md keeps the table
	export NDC_CONFORMANCE_RESULTS=$$(mktemp) NDC_RANDOM_JOBS=$(RANDOM_JOBS) NDC_RANDOM_DEEP=$(RANDOM_DEEP) NDC_RANDOM_MINUTES=60; \
	go test -tags conformance -p $(SUITES) -timeout 8h -v ./integration/... ./backends/megatron; status=$$?; \
	go run ./tools/conformance $(if $(OUT),-out $(OUT)); exit $$status

slurm: ## generated jobs in a real Slurm on this machine
	go test -tags slurm -timeout 45m -v ./integration/slurm

gpu: ## generated jobs on this machine's NVIDIA GPU, predicted beside measured; appends to testdata/measured
	go test -tags gpu -p 1 -timeout 6h -v ./integration/gpu

release: ## static binaries for Linux and macOS, amd64 and arm64, in dist/
	for os in linux darwin; do for arch in amd64 arm64; do \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags '$(LDFLAGS)' -o dist/ndc-$$os-$$arch ./cmd/ndc || exit 1; \
	done; done
