#!/bin/sh
# Copies the files of testdata/npm out of the package that package-lock.json names, as they are
# published. npm compares the package with the lock's checksum.
# To take another version, change package.json, run `npm install --package-lock-only` here, then this script.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json "$work"
npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --engine-strict=false

to=testdata/npm/axe-core
rm -rf "$to"
mkdir -p "$to"
for file in LICENSE LICENSE-3RD-PARTY.txt axe.min.js; do cp "$work/node_modules/axe-core/$file" "$to/"; done
