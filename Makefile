# Every target works in a fresh clone; `make` alone lists them.

N ?= 2000
export GOFLAGS ?= -buildvcs=false
# The commit, for varve --version. Go's own stamp fails the build where git does not trust the folder.
COMMIT = $(shell git describe --always --dirty=-modified --abbrev=12 --exclude '*' 2>/dev/null)
# The version, from the tag of the core. It is empty before the first release.
VERSION = $(shell git describe --tags --match 'v[0-9]*' --dirty=-modified --abbrev=12 2>/dev/null)

# Packages in which the compiler inlines nothing: the command and the jobs, which leave the work on
# elements to other packages, and what waits for files and services. It makes the command 2 MB smaller, of 32.
OUTLINED = varve.dev/zarr/cmd/... varve.dev/zarr/serve/page varve.dev/zarr/virtual/... varve.dev/zarr/convert \
	varve.dev/zarr/transfer varve.dev/zarr/check/... varve.dev/zarr/rechunk varve.dev/zarr/internal/job/... \
	varve.dev/zarr/internal/stac varve.dev/zarr/internal/rehearsal varve.dev/zarr/internal/draw \
	varve.dev/zarr/internal/consolidation varve.dev/zarr/internal/conventions varve.dev/zarr/internal/copying \
	varve.dev/zarr/store/s3/... varve.dev/zarr/store/gcs/... varve.dev/zarr/store/azure/... github.com/aws/... \
	github.com/spf13/... github.com/Azure/... github.com/AzureAD/...

# Modules that have Go code. `go list` of one module leaves out those in folders below it.
MODULES = . codec/extra columnar virtual/parquet icechunk store/s3 store/gcs store/azure cmd/varve interop bench observe/otel examples

.PHONY: help demo build beam test check unit race fuzz interop benchmarks bench bench-full bench-growth bench-options bench-rechunk bench-cloud bench-mirror bench-virtual bench-serving bench-icechunk bench-zarr-python cross processors mutants soak wheel release-test release-snapshot release-packages clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' Makefile

demo: ## make a small archive in build/demo, append to it and read it back
	@rm -rf build/demo && mkdir -p build
	@go run ./cmd/varve demo build/demo

build: ## the static binary build/varve, stripped as the released one
	@mkdir -p build
	CGO_ENABLED=0 go build -trimpath $(OUTLINED:%=-gcflags=%=-l) -ldflags "-s -w -X main.commit=$(COMMIT) -X main.version=$(VERSION)" -o build/varve ./cmd/varve

test: check ## all that a change must pass: checks and tests; CI adds race, fuzz and more
	@VET=off $(MAKE) --no-print-directory unit

check: ## formatting, vet, staticcheck, tidy modules, layers, house rules
	@sh .ci/check $(MODULES)

unit: ## the tests of all modules but interop
	@sh .ci/unit $(filter-out interop,$(MODULES))

race: ## the tests of packages that start goroutines or share data, with the race detector, which needs a C compiler
	@sh .ci/unit -race . cmd/varve

fuzz: ## N executions of each fuzz target, as in: make fuzz N=500000
	@sh .ci/fuzz $(N) $(MODULES)

interop: ## compare with zarr-python and zarrita, which are installed in a cache folder when they are missing
	@sh interop/setup
	@sh interop/judges/setup
	@sh interop/zarrita/setup
	@sh interop/web/setup
	@sh interop/page/setup
	@sh interop/peers/setup
	cd interop && go test -count=1 -timeout 30m ./...

beam: ## check and test the executor on Apache Beam, which go.work leaves out
	@sh .ci/beam

mutants: ## break the protocols one line at a time; the quick tests must notice each break
	@go run ./tools/mutants

soak: mutants race ## tests too long for every change: mutants, the race detector, long and soak tests, fuzzing, servers of object stores, arrays of all peers
	VARVE_LONG=1 go test -count=1 -timeout 30m ./...
	@sh .ci/fuzz 100000 $(MODULES)
	@sh .ci/soak
	@sh store/servers/setup fake-gcs-server azurite
	for service in s3 gcs azure; do (cd store/$$service && VARVE_LONG=1 go test -count=1 -timeout 60m ./...) || exit 1; done
	@sh interop/setup
	cd interop && VARVE_LONG=1 VARVE_SOAK=$${VARVE_SOAK:-1} go test -count=1 -timeout 90m -run '^Test(RandomFiles|Icechunk(Turns|Crowd|ThreePrograms|LongLog))' .
	@sh interop/peers/setup all
	cd interop && VARVE_PEERS=all go test -count=1 -timeout 20m ./peers
	sh interop/slurm/run
	sh interop/kubernetes/run
	sh interop/batch/run
	sh interop/executors/run
	sh interop/flink/run
	cd interop && VARVE_PEERS=all go test -count=1 -timeout 10m -run 'TestGDAL|TestECCodes|TestPyramid$$|TestRagged$$' .

benchmarks: ## the benchmarks of the packages
	go test -run '^$$' -bench . -benchmem ./...

bench: ## measure Varve beside other libraries, with small data sets: some minutes; results in bench/RESULTS.md
	@sh bench/setup
	@sh bench/run -size small

bench-full: ## the same with data sets of 2 GiB and more: an hour or two and 20 GB of disk
	@sh bench/setup
	@sh bench/run -size full

bench-growth: ## how cost grows, as tables and plots in bench/GROWTH.md: some ten minutes, 4 GB of disk and of memory
	@sh bench/setup
	@sh bench/run -grow

bench-options: ## what each option of Varve costs and gains, in bench/OPTIONS.md: three minutes
	@sh bench/setup varve
	@sh bench/run -options

bench-rechunk: ## rechunking beside what bounds it and other programs, in bench/RECHUNK.md: ten to twenty minutes, 6 GB of disk
	@sh bench/setup
	@sh bench/run -rechunk

bench-cloud: ## an object store beside other programs, in bench/CLOUD.md: ten to twenty minutes
	@sh store/servers/setup
	@sh bench/setup
	@sh bench/run -cloud

bench-mirror: ## copies of many small objects beside cp, rsync, s5cmd and rclone, in bench/MIRROR.md: ten minutes
	@sh store/servers/setup
	@sh bench/mirrors

bench-virtual: ## scanning NetCDF-4 files beside kerchunk and VirtualiZarr, and reading through manifests beside Zarr, in bench/VIRTUAL.md: ten minutes, 2 GB of disk
	@sh bench/virtual/run

bench-serving: ## varve serve beside nginx, http.FileServer and servers in Python, in bench/SERVING.md: five minutes, 2 GB of disk
	@sh bench/serving/run

bench-icechunk: ## repositories of Icechunk beside the reference, in bench/ICECHUNK.md: fifteen minutes, 10 GB of disk
	@sh bench/icechunk/run

bench-zarr-python: ## measure Varve and zarr-python in one run of a few minutes
	@sh interop/setup
	@cd interop && VARVE_TIMES=1 go test -count=1 -timeout 20m -v -run '^TestTimes$$' .

cross: ## build and vet for other systems and processors
	@sh .ci/cross

processors: ## tests with 32 bits, without assembly, and under QEMU on s390x (big endian) and arm64
	@sh .ci/processors

wheel: build ## a Python wheel with build/varve, tried in a new virtual environment
	@sh .ci/wheel test

release-test: ## make a release in a temporary clone and install it from an empty module cache
	@sh .ci/release

release-snapshot: ## build and try archives, Debian and RPM packages in build/dist; the first run builds goreleaser
	@COMMIT=$(COMMIT) sh .ci/snapshot

release-packages: ## build and upload the packages of the release that is checked out; for a workflow
	@COMMIT=$(COMMIT) PATH="$$(dirname "$$(sh .ci/tool cyclonedx-gomod)"):$$PATH" "$$(sh .ci/tool goreleaser)" release --clean

clean: ## remove what was built
	rm -rf build
