/*
 * The lanes of package cached: OWNERS lanes that take blocks of two IDs from a ring, a padder that
 * puts and retires blocks, and Stats. The ring itself is a queue here, each of its operations one
 * step: ring.pml shows that it behaves like one.
 *
 * Every statement that touches a shared word more than once lies in a d_step that stands for one
 * access of the Go code. Locals and the counters that only the assertions read go along with the
 * access beside them.
 *
 * Defined on the command line: OWNERS, BLOCKS (how many are put), RETIREMENTS (how often the padder
 * may retire), and any of
 *   STATS    Stats reads the lanes LOOKS times
 *   WEAK     (with STATS) a plain store of last reaches Stats late, as from a store buffer
 * or one of the mutants, which the checker must refute:
 *   CUT_FIRST        begin looks at cut before it publishes the limit
 *   RETIRE_FIRST     the padder visits the lanes before it stores cut
 *   NO_CUT           begin does not look at cut
 *   BELOW_CUT        a limit that equals cut is not revoked
 *   INCREMENT_FIRST  (with STATS) Next stores last before it looks at the limit, and undoes that
 *   EAGER            (with STATS) the rest of a retired block counts as retired at once
 *   NO_SEQLOCK       (with STATS) Stats does not look whether the owner changed the lane meanwhile
 */
#ifndef OWNERS
#define OWNERS 2
#endif
#ifndef BLOCKS
#define BLOCKS 3
#endif
#ifndef RETIREMENTS
#define RETIREMENTS 1
#endif
#ifndef LOOKS
#define LOOKS 1
#endif

#define SIZE     2
#define FIRST(b) ((b) * SIZE)
#define LAST(b)  (FIRST(b) + SIZE - 1)

/* The ring holds the blocks from head up to tail. */
byte head = 1;
byte tail = 1;
byte cut;
bool running; /* the mutex around a padding pass */

/* The words of the lanes. */
byte last[OWNERS];
byte limit[OWNERS];
byte end[OWNERS];
byte retired[OWNERS];
byte coming[OWNERS];
byte changes[OWNERS];
#ifdef WEAK
byte seenLast[OWNERS]; /* last as Stats sees it */
#define FLUSH seenLast[me] = last[me]
#define LASTSEEN(i) seenLast[i]
#else
#define FLUSH skip
#define LASTSEEN(i) last[i]
#endif

/* For the assertions. */
int seen;         /* bit i: ID i has been issued */
byte ended;       /* the largest ID whose retirement has returned */
byte ringRetired; /* IDs */
byte issued;      /* IDs */
byte alive = OWNERS + 1;

/* The call began when floor was the largest ID whose retirement had returned. */
inline give(id) {
	assert(!(seen & (1 << (id))));
	assert((id) > mine);
	assert((id) > floor);
	seen = seen | (1 << (id));
	mine = id;
	issued++
}

/*
 * Without STATS, the owner alone reads its words but limit: their stores go along with the store of
 * limit.
 */
#ifdef STATS
/* An atomic store, after which Stats sees the plain stores before it. */
inline publish(word, value) { d_step { FLUSH; word = value } }

inline drop() {
	publish(changes[me], changes[me] + 1);
	publish(limit[me], 0);
	publish(retired[me], retired[me] + end[me] - last[me]);
	publish(last[me], 0);
	publish(end[me], 0);
	publish(changes[me], changes[me] + 1)
}

inline announce(ids) { publish(coming[me], ids) }

inline offer() {
	publish(changes[me], changes[me] + 1);
	publish(coming[me], 0);
	publish(last[me], FIRST(b) - 1);
	publish(end[me], LAST(b));
	publish(limit[me], LAST(b))
}

inline begun() { publish(changes[me], changes[me] + 1) }
#else
inline drop() {
	d_step { limit[me] = 0; retired[me] = retired[me] + end[me] - last[me]; last[me] = 0; end[me] = 0 }
}

inline announce(ids) { skip }
inline offer() { d_step { last[me] = FIRST(b) - 1; end[me] = LAST(b); limit[me] = LAST(b) } }
inline begun() { skip }
#endif

/* begin leaves b as 0 when the lane has begun the block. */
inline begin() {
#ifdef CUT_FIRST
	mark = cut;
	offer();
#else
	offer();
#ifndef NO_CUT
	mark = cut;
#endif
#endif
	if
	:: FIRST(b) <= mark
	:: else -> d_step { last[me] = FIRST(b); give(FIRST(b)); b = 0; FLUSH }
	fi;
	mark = 0;
	begun()
}

inline refill() {
	do
	::	drop();
		announce(SIZE);
		d_step {
			if
			:: head < tail -> b = head; head++
			:: else
			fi
		};
		if
		:: b == 0 -> announce(0); break
		:: else -> begin()
		fi;
		if
		:: b == 0 -> break
		:: else -> b = 0
		fi
	od
}

/* An owner calls Next while there is something to find, and closes its lane at any time. */
proctype Owner(byte me) {
	byte b, mark, mine, floor;

	do
	:: d_step { end[me] != 0 || head < tail -> floor = ended };
#ifdef INCREMENT_FIRST
		last[me] = last[me] + 1;
		if
		:: d_step { last[me] <= limit[me] -> give(last[me]) }
		:: d_step { last[me] > limit[me] -> last[me] = last[me] - 1 }; refill()
		fi;
#else
		if
		:: last[me] < limit[me] -> d_step { last[me] = last[me] + 1; give(last[me]) }
		:: last[me] >= limit[me] -> refill()
		fi;
#endif
		floor = 0
	:: break
	od;
	drop();
	d_step { alive--; mine = 0 }
}

inline revoke() {
	me = 0;
	do
	:: me < OWNERS ->
		old = limit[me];
		if
#ifdef BELOW_CUT
		:: old != 0 && old < mark ->
#else
		:: old != 0 && old <= mark ->
#endif
			d_step { /* a compare-and-swap */
				if
				:: limit[me] == old -> limit[me] = 0
				:: else
				fi
			}
		:: else
		fi;
		d_step { old = 0; me++ }
	:: else -> break
	od;
	me = 0
}

/* retire retires every block up to mark. When it returns, calls that begin get no ID up to mark. */
inline retire() {
#ifdef RETIRE_FIRST
	revoke();
	cut = mark;
#else
	cut = mark;
	revoke();
#endif
	do
	:: d_step { head < tail && LAST(head) <= mark -> head++; ringRetired = ringRetired + SIZE }
	:: d_step { !(head < tail && LAST(head) <= mark) -> ended = mark }; break
	od
}

#ifdef STATS
inline lock()   { d_step { !running -> running = true } }
inline unlock() { running = false }
#else /* the padder is alone */
inline lock()   { skip }
inline unlock() { skip }
#endif

proctype Padder() {
	byte me, b, mark, old, retirements;

	do
	:: tail <= BLOCKS -> lock(); tail++; unlock()
	:: retirements < RETIREMENTS && LAST(tail - 1) > cut ->
		lock();
		b = tail - 1;
		do /* any block that is above cut may be the last to retire */
		:: b > 1 && LAST(b - 1) > cut -> b--
		:: break
		od;
		mark = LAST(b);
		b = 0;
		retire();
		mark = 0;
		retirements++;
		unlock()
	:: tail > BLOCKS -> break
	od;
	retirements = 0;
	alive--
}

#ifdef STATS
byte shownIssued, shownRetired;

/* count reads lane i, and reads it again if its owner changed it meanwhile. */
inline count(i) {
	do
	::	before = changes[i];
		lim = limit[i];
		e = end[i];
		l = LASTSEEN(i);
		r = retired[i];
		c = coming[i];
#ifdef NO_SEQLOCK
		break
#else
		if
		:: before % 2 == 0 && changes[i] == before -> break
		:: else
		fi
#endif
	od;
	before = 0;
	d_step {
		taken = taken - (c + r + e - l);
		gone = gone + r;
#ifdef EAGER
		if
		:: lim == 0 -> gone = gone + e - l
		:: else
		fi;
#endif
		lim = 0; e = 0; l = 0; r = 0; c = 0
	}
}

proctype Stats() {
	byte i, before, lim, e, l, r, c, looks;
	short taken, gone;

	do
	:: looks < LOOKS ->
		lock();
		d_step { taken = (head - 1) * SIZE - ringRetired; gone = ringRetired };
		do
		:: i < OWNERS -> count(i); i++
		:: else -> break
		od;
		i = 0;
		d_step {
			shownIssued = (taken > shownIssued -> taken : shownIssued);
			shownRetired = (gone > shownRetired -> gone : shownRetired);
			taken = 0; gone = 0;
			looks++
		};
		unlock()
	:: break
	od
}
#endif

#ifdef WEAK
/* The store buffers: plain stores of last become visible one after the other. */
proctype Buffer() {
	do
	:: d_step { seenLast[0] < last[0] -> seenLast[0] = seenLast[0] + 1 }
#if OWNERS > 1
	:: d_step { seenLast[1] < last[1] -> seenLast[1] = seenLast[1] + 1 }
#endif
	:: alive == 0 -> break
	od
}
#endif

/* The books, when every lane is closed. */
proctype Accountant() {
	byte i, gone;

	atomic {
		alive == 0;
		gone = ringRetired;
		do
		:: i < OWNERS -> assert(end[i] == 0 && coming[i] == 0); gone = gone + retired[i]; i++
		:: else -> break
		od;
		assert((tail - 1) * SIZE == issued + gone + (tail - head) * SIZE);
#ifdef STATS
		assert(shownIssued <= issued);
		assert(shownRetired <= gone)
#endif
	}
}

init {
	byte i;
	atomic {
		do
		:: i < OWNERS -> run Owner(i); i++
		:: else -> break
		od;
		run Padder();
#ifdef STATS
		run Stats();
#endif
#ifdef WEAK
		run Buffer();
#endif
		run Accountant()
	}
}
