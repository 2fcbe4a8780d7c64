#!/usr/bin/env bash
# Installs the system packages that the build and the tests need and this machine lacks.
# Safe to run again; says and changes nothing when nothing is missing.
set -euo pipefail

has() { command -v "$1" >/dev/null 2>&1; }

# The compiler of the contract, and the well-known types, which Debian packages apart from it.
protoc_works() {
    local dir ok=0
    dir=$(mktemp -d)
    printf 'syntax = "proto3";\nimport "google/protobuf/any.proto";\nmessage M { google.protobuf.Any a = 1; }\n' \
        >"$dir/probe.proto"
    protoc -I "$dir" --descriptor_set_out=/dev/null "$dir/probe.proto" >/dev/null 2>&1 || ok=1
    rm -rf "$dir"
    return "$ok"
}

missing=()
has cc && has c++ || missing+=(build-essential)
has pkg-config || missing+=(pkg-config)
has protoc && protoc_works || missing+=(protobuf-compiler libprotobuf-dev)
has python3 || missing+=(python3)
has python3 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing+=(python3-venv)
# Some of the object stores that the tests run; `setup.sh tests` asks for it.
if [ "${1:-}" = tests ]; then
    has node && has npm || missing+=(nodejs npm)
fi

if ! has cargo; then
    echo "setup: cargo is missing; install Rust (the version is in Cargo.toml, rust-version)" >&2
    exit 1
fi

if [ "${#missing[@]}" -eq 0 ]; then
    exit 0
fi

if ! has apt-get; then
    echo "setup: install these packages, or what your system calls them: ${missing[*]}" >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! has sudo; then
        echo "setup: run this as root, or install sudo; missing: ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

apt() {
    ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

echo "setup: installing ${missing[*]}"
apt update
apt install --no-install-recommends "${missing[@]}"
