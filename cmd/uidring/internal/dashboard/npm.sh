#!/bin/sh
# Copies the files of assets/npm and testdata/npm out of the packages that package-lock.json names, as they are
# published, and writes their checksums to npm.sha256. npm compares the packages with the lock's checksums.
# To take another version, change package.json, run `npm install --package-lock-only` here, then this script.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json "$work"
npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --engine-strict=false

take() { # package, destination, files
	from=$work/node_modules/$1 to=$2/$1
	shift 2
	rm -rf "$to"
	mkdir -p "$to"
	for file; do cp "$from/$file" "$to/"; done
}
take uplot assets/npm LICENSE dist/uPlot.iife.min.js dist/uPlot.min.css
take axe-core testdata/npm LICENSE LICENSE-3RD-PARTY.txt axe.min.js
find assets/npm testdata/npm -type f | LC_ALL=C sort | xargs sha256sum >npm.sha256
