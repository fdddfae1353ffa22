# tests/setup installs just and what the recipes need; tests/run runs the stages.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Built from tests/upstream; the judge and the peer benchmarks start these.
oracle := "target/upstream/oracle"
peer := "target/upstream/oracle.test"
bench_inputs := "target/upstream/bench"

# The recipes
default:
    @just --list --unsorted

# Format every crate
fmt:
    cargo fmt --all

# Is everything formatted?
fmt-check:
    cargo fmt --all --check

# The whole workspace is named so that its crates are built once, with the features of `test`.

# What a compiler does not check: one fact in one place, every paper up to date
tidy:
    cargo test --workspace --test tidy

# Clippy, warnings as errors
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# Every Rust test, then the vectors once more, one line for each case
test:
    cargo test --workspace
    cargo test --workspace --test vectors -- --nocapture

# The vectors, or those whose name contains FILTER; their folder is EVENKEEL_VECTORS or tests/vectors
vectors FILTER="":
    cargo test -p evenkeel-tests --test vectors -- --nocapture {{ FILTER }}

# The API's pages, warnings as errors
doc:
    RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps

# core without std: both bare targets, and the proof that it cannot panic
nostd: && nopanic
    cargo build -p evenkeel-core --target thumbv7em-none-eabi
    cargo build -p evenkeel-core --target x86_64-unknown-none

# Link a program against core and look for panic symbols
nopanic:
    tests/nopanic/run

# The README's first command
manifests:
    cargo run --release --bin evenkeel -- view --files examples/manifests --node node-a

# Upstream's answers, as a program
[private]
oracle-build:
    mkdir -p target/upstream
    go -C tests/upstream build -mod=mod -o "$PWD/{{ oracle }}" ./cmd/oracle

# Upstream's benchmarks, as a test binary
[private]
peer-build:
    mkdir -p target/upstream
    go -C tests/upstream test -mod=mod -c -o "$PWD/{{ peer }}" ./cmd/oracle

# The input files of both sides of a comparison
bench-inputs: oracle-build
    {{ oracle }} bench-gen --missing {{ bench_inputs }}

# The Go module's own tests, and upstream's word on the expectations in tests/vectors/k8s
upstream-test: oracle-build
    cd tests/upstream && go vet -mod=mod ./...
    cd tests/upstream && go test -mod=mod -short ./...
    {{ oracle }} vectors --dir tests/vectors/k8s --without batching

# Judge CLUSTERS random clusters: our view against upstream's, on every node
oracle CLUSTERS="2000" *ARGS: oracle-build
    cargo run --release -p evenkeel-tests --bin judge -- --oracle {{ oracle }} --clusters {{ CLUSTERS }} {{ ARGS }}

# Our benchmarks
bench *ARGS:
    cargo run --release -p evenkeel-tests --bin bench -- {{ ARGS }}

# Our benchmarks and upstream's in one run, with the ratios
bench-peer *ARGS: bench-inputs peer-build
    cargo run --release -p evenkeel-tests --bin bench -- --inputs {{ bench_inputs }} --peer {{ peer }} {{ ARGS }}
