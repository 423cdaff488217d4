/*
 * The horizon of package leasestore: processes that claim rows, issue IDs, renew and release, take
 * rows over from each other, and an observer that calls Horizon.
 *
 * A process may take over a row at any time, also from a live holder. The old holder does not
 * notice, and goes on to issue IDs of its grant until its limit has passed. That is the condition of
 * Horizon on paused holders, and the only place where time counts: time is a delta that grows at any
 * time, and a delta has passed when it is smaller. An observer proposes any delta, and a claim may
 * begin at any delta above the fence, so IDs lie before or ahead of time.
 *
 * A row stores two deltas for Horizon. oldest is the lowest delta of which a holder, present or
 * earlier, may still issue an ID. former is 0 if no earlier holder may issue IDs. Otherwise an
 * earlier holder may issue IDs from oldest up to former until former has passed, and after that
 * IDs above former. The limits of all earlier holders lie at or below the fence that the present
 * holder has found: before. The holder remembers before; a free row has its fence instead, which a
 * release never lowers below before.
 *
 *   claim    If the row is free and has no former, or the fence found has passed, no earlier holder
 *            may issue IDs: oldest becomes the first delta of the grant, and former becomes 0.
 *            Otherwise oldest and former stay until former has passed. Then oldest becomes the
 *            delta after former, and former becomes the fence found.
 *   renewal  If before has passed, the holder stores its own oldest, and former becomes 0. Otherwise
 *            oldest and former stay until former has passed. Then oldest becomes the delta after
 *            former, and former becomes before.
 *   release  oldest and former stay.
 *   Horizon  A row counts if it is held, or if it has a former and its fence has not passed. Its
 *            value is oldest, or the delta after former if former has passed.
 *
 * A step is one operation of the store, or one ID. A delta has any number of IDs.
 *
 * Defined on the command line: PROCESSES, ROWS, CALLS (of Horizon), TOP (the highest delta), and
 *   LEAD        no fence lies more than LEAD ahead of time, and claims begin at the present: the
 *               value of a row is then at most 2 * LEAD old after a claim
 * or one of the mutants, which the checker must refute:
 *   ROWS_FIRST  Horizon reads the rows before it raises the meta row
 *   BLIND       a claim does not read the meta row after its swap
 *   NEWEST      a renewal stores the delta after the one in use
 *   OWN_OLDEST  a takeover stores the first delta of its own grant
 *   FORGETS     a renewal stores its own oldest although former has not passed
 *   RELEASED    a free row does not count although it has a former
 *   CHAIN       a renewal stores its own oldest when former has passed, although before has not
 *   FRESH       a claim of a free row stores its own oldest when former has passed, although the
 *               fence found has not
 *   SHORT       a free row counts until former has passed, not until its fence has
 *   LOWERED     a release lowers the fence below the fence that the claim found
 *   EXTENDS     (with LEAD) each takeover raises former to the fence found, and keeps oldest
 */
#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef ROWS
#define ROWS 2
#endif
#ifndef CALLS
#define CALLS 1
#endif
#ifndef TOP
#define TOP 3
#endif

#define FREE 0

typedef Row { byte holder; byte fence; byte oldest; byte former };

Row row[ROWS];
byte time = 1; /* a delta */
byte horizon;  /* of the meta row */
byte complete; /* the largest result of Horizon: no ID has a smaller delta any more */

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define PASSED(delta) ((delta) < time)
#define VALUE(r) (PASSED(row[r].former) -> MAX(row[r].oldest, row[r].former + 1) : row[r].oldest)

#ifdef LEAD
hidden byte value;
#define START (time - 1)
#define ALLOWED(fence) ((fence) <= time + LEAD)
#else
#define START seen
#define ALLOWED(fence) true
#endif

#ifdef OWN_OLDEST
#define ALONE true
#elif defined(FRESH)
#define ALONE (row[r].holder == FREE && PASSED(row[r].former) || PASSED(row[r].fence))
#else
/* No earlier holder of the row may issue IDs. */
#define ALONE (row[r].holder == FREE && row[r].former == 0 || PASSED(row[r].fence))
#endif

#ifdef FORGETS
#define STORES true
#elif defined(CHAIN)
#define STORES PASSED(row[r].former)
#else
#define STORES PASSED(before)
#endif

/* follow keeps oldest and former until former has passed. */
inline follow() {
	if
	:: PASSED(row[r].former) -> row[r].oldest = VALUE(r); row[r].former = before
#ifdef EXTENDS
	:: else -> row[r].former = before
#else
	:: else
#endif
	fi
}

/* claim takes the row from at on, with one delta. */
inline claim() {
	if
	:: ALONE -> row[r].oldest = at; row[r].former = 0
	:: else -> before = row[r].fence; follow()
	fi;
#ifdef LEAD
	value = VALUE(r);
	assert(value + 2 * LEAD >= time);
#endif
	row[r].holder = _pid;
	row[r].fence = at;
	limit = at
}

inline renew() {
#ifdef LEAD
	at = MAX(at, time);
	limit = MAX(limit, time - 1);
#endif
	if
	:: STORES ->
#ifdef NEWEST
		row[r].oldest = MAX(row[r].oldest, at + 1);
#else
		row[r].oldest = MAX(row[r].oldest, at);
#endif
		row[r].former = 0;
		before = 0
	:: else -> follow()
	fi;
	limit++;
	row[r].fence = limit
}

/* release lowers the fence to the delta before at, unless that is higher, or leaves it. */
inline release() {
	row[r].holder = FREE;
	if
	:: at <= limit -> row[r].fence = at - 1
	:: true
#ifdef LOWERED
	:: before > 0 -> row[r].fence = before - 1
#endif
	fi
}

#define HOLDS (row[r].holder == _pid)

proctype Process() {
	byte r, seen, at, limit, before;

	do
	:: atomic { true ->
			seen = horizon; /* LoadMeta */
			select(r : 0 .. ROWS - 1) };
		if
		:: d_step { MAX(row[r].fence, START) < TOP && ALLOWED(MAX(row[r].fence, START) + 1) ->
			at = MAX(row[r].fence, START) + 1;
			seen = 0;
			claim() };
#ifndef BLIND
			at = MAX(at, horizon + 1); /* LoadMeta again */
#endif
			do
			:: d_step { at <= limit && (HOLDS || !PASSED(limit)) -> assert(at >= complete) } /* an ID */
			:: at < limit -> at++ /* older IDs are used up, or dropped */
			:: d_step { HOLDS && limit < TOP && ALLOWED(limit + 1) -> renew() }
			:: atomic { HOLDS -> release() }; break
			:: break /* a crash */
			od
		:: true /* another process was faster */
		fi;
		atomic { r = 0; seen = 0; at = 0; limit = 0; before = 0 }
	:: break
	od
}

#ifdef RELEASED
#define COUNTS(r) (row[r].holder != FREE)
#elif defined(SHORT)
#define COUNTS(r) (row[r].holder != FREE || !PASSED(row[r].former))
#else
#define COUNTS(r) (row[r].holder != FREE || row[r].former > 0 && !PASSED(row[r].fence))
#endif

inline read() {
	r = 0;
	do
	:: d_step { r < ROWS ->
		result = (COUNTS(r) && VALUE(r) < result -> VALUE(r) : result);
		r++ } /* each row at another instant */
	:: else -> break
	od;
	r = 0
}

proctype Observer() {
	byte call, r, result, now;

	do
	:: atomic { call < CALLS -> call++; select(result : 1 .. TOP) };
#ifdef ROWS_FIRST
		now = result;
		read();
		horizon = MAX(horizon, now - 1);
#else
		horizon = MAX(horizon, result - 1);
		read();
#endif
		d_step { complete = MAX(complete, result); result = 0; now = 0 }
	:: else -> break
	od
}

proctype Clock() {
	do
	:: time <= TOP -> time++
	:: else -> break
	od
}

init {
	byte p;
	atomic {
		for (p : 1 .. PROCESSES) { run Process() }
#ifndef LEAD
		run Observer();
#endif
		run Clock();
		p = 0
	}
}
