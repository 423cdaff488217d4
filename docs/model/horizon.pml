/*
 * The horizon of package leasestore: processes that claim rows, issue IDs, renew and release, and an
 * observer that calls Horizon.
 *
 * Clocks are left out: an observer proposes any delta, and a claim may begin at any delta above the
 * fence. A row belongs to its holder until the holder releases it, which is the condition of Horizon:
 * no holder is left out while it still issues IDs.
 *
 * A step is one operation of the store, or one ID. A delta has any number of IDs.
 *
 * Defined on the command line: PROCESSES, ROWS, CALLS (of Horizon), TOP (the highest delta), or one of
 * the mutants, which the checker must refute:
 *   ROWS_FIRST  Horizon reads the rows before it raises the meta row
 *   BLIND       a claim does not read the meta row after its swap
 *   NEWEST      a renewal stores the delta after the one in use
 */
#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef ROWS
#define ROWS 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef TOP
#define TOP 3
#endif

typedef Row { bool held; byte fence; byte oldest };

Row row[ROWS];
byte horizon;  /* of the meta row */
byte complete; /* the largest result of Horizon: no ID has a smaller delta any more */

#define MAX(a, b) ((a) > (b) -> (a) : (b))

proctype Process() {
	byte r, seen, at, oldest;

	do
	:: seen = horizon; /* LoadMeta */
		select(r : 0 .. ROWS - 1);
		skip;
		if
		:: d_step { !row[r].held && MAX(row[r].fence, seen) < TOP ->
			at = MAX(row[r].fence, seen) + 1;
			row[r].held = true;
			row[r].oldest = at;
			row[r].fence = at }
#ifndef BLIND
			at = MAX(at, horizon + 1); /* LoadMeta again */
#endif
			do
			:: at <= row[r].fence -> assert(at >= complete) /* an ID */
			:: at < row[r].fence -> at++ /* older IDs are used up, or dropped */
			:: row[r].fence < TOP ->
				oldest = at;
#ifdef NEWEST
				oldest = at + 1;
#endif
				d_step { row[r].oldest = MAX(row[r].oldest, oldest); row[r].fence++ }
			:: row[r].held = false; break
			od
		:: true /* another process was faster */
		fi;
		atomic { r = 0; seen = 0; at = 0; oldest = 0 }
	:: break
	od
}

inline read() {
	for (r : 0 .. ROWS - 1) { /* each row at another instant */
		result = (row[r].held && row[r].oldest < result -> row[r].oldest : result)
	}
	r = 0
}

proctype Observer() {
	byte call, r, result, now;

	for (call : 1 .. CALLS) {
		select(result : 1 .. TOP);
#ifdef ROWS_FIRST
		now = result;
		read();
		horizon = MAX(horizon, now - 1);
#else
		horizon = MAX(horizon, result - 1);
		read();
#endif
		complete = MAX(complete, result)
	}
}

init {
	byte p;
	atomic {
		for (p : 1 .. PROCESSES) { run Process() }
		run Observer();
		p = 0
	}
}
