#!/usr/bin/env bash
# Checks the models in this folder exhaustively, then every mutant, which the checker has to refute.
# Needs spin and a C compiler. Two checks run at a time, with 2,000 MB each at most.
#
#	run.sh            # checks, and writes the sums of what it has checked into the file checked
#	run.sh -changed   # does nothing if these files are as they were: a search of the same text finds the same
set -euo pipefail

cd "$(dirname "$0")"
readonly here=$PWD cc=${CC:-gcc}

if [[ ${1:-} == -changed ]] && sha256sum --quiet -c checked; then
	echo "the models are as they were when all checks passed"
	exit
fi

for tool in spin "$cc"; do
	if ! command -v "$tool" >/dev/null; then
		echo "run.sh: $tool not found; on Debian and Ubuntu: apt-get install spin gcc libc6-dev" >&2
		exit 2
	fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# verify OPTIMIZATION MODEL [DEFINE...] leaves the verifier's report on stdout. It is compiled without optimization to search a
# few states: the compiler would take longer than the search.
verify() {
	local optimization=$1 model=$2 folder
	shift 2
	folder=$(mktemp -d "$work/XXXXXX")
	cd "$folder"
	spin -a "${@/#/-D}" "$here/$model.pml" >spin.out || { cat spin.out >&2; return 1; }
	"$cc" "$optimization" -w -DSAFETY -DMEMLIM=2000 -o pan pan.c
	./pan -m100000 -w24 2>&1 || true
	rm -rf "$folder"
}

# holds MODEL [DEFINE...] fails unless the whole state space was searched without an error.
holds() {
	local report states
	report=$(verify -O2 "$@")
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' <<<"$report")
	if grep -q 'errors: 0' <<<"$report" && ! grep -Eq 'not completed|too small|out of memory|exceeds' <<<"$report"; then
		printf 'holds    %-52s %9s states\n' "$*" "$states"
		return
	fi
	printf 'FAILED   %s\n%s\n' "$*" "$report"
	return 1
}

# refuted MODEL [DEFINE...] fails unless an assertion is violated.
refuted() {
	local report violated
	report=$(verify -O0 "$@")
	violated=$(sed -n 's/^pan:1: assertion violated *\(.*\) (at depth.*/\1/p' <<<"$report")
	if [[ -n $violated ]]; then
		printf 'refuted  %-52s %s\n' "$*" "$violated"
		return
	fi
	printf 'MISSED   %s\n%s\n' "$*" "$report"
	return 1
}

export -f verify holds refuted
export here cc work

xargs -P 2 -L 1 bash -euo pipefail -c '"$@"' run <<'CHECKS'
holds ring TAKERS=3 BLOCKS=3 RETIRE ACCOUNTS
holds ring TAKERS=2 BLOCKS=5 RETIRE ACCOUNTS
holds ring TAKERS=2 BLOCKS=4 BATCH RETIRE ACCOUNTS
holds ring TAKERS=2 BLOCKS=4 SHORT BATCH RETIRE ACCOUNTS
holds ring TAKERS=2 BLOCKS=2 SIZE=3 BATCH RETIRE ACCOUNTS
holds ring TAKERS=3 BLOCKS=5 BATCH ACCOUNTS
holds ring TAKERS=4 BLOCKS=3 ACCOUNTS
holds ring TAKERS=2 BLOCKS=3 RETIRE COUNTS ACCOUNTS
holds ring TAKERS=2 BLOCKS=4 BATCH COUNTS ACCOUNTS
refuted ring BLOCKS=3 NO_INDEX
refuted ring BLOCKS=3 NO_EMPTY_CHECK
refuted ring BLOCKS=3 STORE_CURRENT
refuted ring BLOCKS=3 KEEP_NEXT
refuted ring BLOCKS=3 BATCH KEEP_ALL
refuted ring BLOCKS=3 BATCH LEFT_SHORT
refuted ring BLOCKS=3 SLOT_FIRST
refuted ring BLOCKS=3 FREE_EARLY
refuted ring BLOCKS=3 FREE_AHEAD
refuted ring BLOCKS=3 TAKER_FREES
refuted ring BLOCKS=3 RETIRE RETIRE_STORE
refuted ring BLOCKS=3 RETIRE RETIRE_ANY
refuted ring BLOCKS=3 RETIRE ACCOUNTS RETIRE_ANY
refuted ring BLOCKS=3 RETIRE RETIRE_STOPS
refuted ring BLOCKS=3 RETIRE COUNTS COUNT_ANYTIME
holds lanes BLOCKS=3
holds lanes OWNERS=1 BLOCKS=4 RETIREMENTS=2 ENDS=2
refuted lanes BLOCKS=2 CUT_EARLY
refuted lanes BLOCKS=2 NO_WAIT
refuted lanes BLOCKS=2 NO_CUT
refuted lanes BLOCKS=2 KEEP_RING
refuted lanes BLOCKS=2 BELOW_CUT
holds fence INVARIANT SWAPS=4
holds fence INVARIANT LIVES=2 SWAPS=4 TOP=3 REVOKE
holds fence INVARIANT LIVES=2 SWAPS=3 TOP=3 RESTORE
holds fence INVARIANT LIVES=2 SWAPS=4 TOP=3 COPY
refuted fence SWAPS=4 TOP=3 NO_FENCE
refuted fence LIVES=2 SWAPS=3 TOP=3 INCLUSIVE
refuted fence LIVES=2 SWAPS=3 TOP=3 OPTIMIST
refuted fence LIVES=2 SWAPS=3 TOP=3 EARLY
refuted fence LIVES=2 SWAPS=3 TOP=3 ANY_ROW
refuted fence LIVES=2 SWAPS=4 TOP=3 BELOW_USED
refuted fence LIVES=2 SWAPS=4 TOP=3 BELOW_FIRST
refuted fence LIVES=2 SWAPS=4 TOP=3 USED_EARLY
refuted fence LIVES=2 SWAPS=4 TOP=3 GOES_ON
refuted fence INVARIANT LIVES=2 SWAPS=4 TOP=3 COPY UNTRIED
refuted fence LIVES=2 SWAPS=4 TOP=3 COPY COPY_CLOSES
refuted fence INVARIANT LIVES=2 SWAPS=4 TOP=3 RESTORE LOWERS_ANY
refuted fence LIVES=2 SWAPS=3 TOP=3 RESTORE NO_RECOVER
refuted fence LIVES=2 SWAPS=3 TOP=3 RESTORE KEEPS
refuted fence LIVES=2 SWAPS=3 TOP=3 RESTORE LOW_LEAD
refuted fence LIVES=2 SWAPS=3 TOP=3 RESTORE OPEN
holds horizon TOP=2
holds horizon ROWS=1 TOP=4
holds horizon ROWS=1 CALLS=2
holds horizon PROCESSES=3 ROWS=1
holds horizon ROWS=1 TOP=8 LEAD=2
refuted horizon ROWS=1 ROWS_FIRST
refuted horizon ROWS=1 BLIND
refuted horizon ROWS=1 NEWEST
refuted horizon ROWS=1 OWN_OLDEST
refuted horizon ROWS=1 FORGETS
refuted horizon ROWS=1 TOP=4 CHAIN
refuted horizon ROWS=1 RELEASED
refuted horizon ROWS=1 FRESH
refuted horizon ROWS=1 SHORT
refuted horizon ROWS=1 LOWERED
refuted horizon ROWS=1 TOP=8 LEAD=2 EXTENDS
refuted original
refuted original FAILURES
CHECKS

sha256sum ./*.pml run.sh >checked
