/*
 * The ring of package ringbuffer: two slots, runs of two IDs, one producer, TAKERS takers.
 *
 * Every statement that touches a shared word more than once lies in a d_step that stands for one atomic
 * operation of the Go code: a load, a store, an add, a swap, a compare-and-swap. Between any two of them
 * any other process may run. Locals and the counters that only the final check reads go along with
 * the operation beside them.
 *
 * Defined on the command line: TAKERS, RUNS (how many are put), and any of
 *   BATCH    takers choose between Take and TakeN at every turn
 *   RETIRE   the producer may retire the oldest run at any time
 *   CHANGE   once, it may retire all runs and leave out a run number, as for a new worker ID
 *   COUNT    the accounting is checked at the end; takers may stop at any time, so that IDs remain
 * or one of the mutants, which the checker must refute:
 *   NO_CURSOR_CHECK     the cursor is not read again after the flag
 *   NO_EMPTY_TEST       cursor and tail are not compared
 *   TAIL_BEFORE_CURSOR  a take reads tail first
 *   TAIL_FIRST          Put publishes tail before next and flag
 *   RETIRE_TO_ZERO      Retire swaps 0 into next
 *   KEEP_ANY            a taker keeps what its add returned if the slot's flag, read again, allows it
 *   LATE_OVERSHOT       (with COUNT) Put reads the overshoot before it swaps next
 */
#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef RUNS
#define RUNS 4
#endif

#define RUN       2
#define SLOTS     2
#define START     254 /* indices are bytes and begin just below their wrap */
#define PLACE(i)  ((i) & (SLOTS - 1))
#define RUNOF(id) ((id) / RUN)
#define END(run)  (((run) + 1) * RUN)
#define USED      ((tail - cursor) & 255)

byte next[SLOTS];
byte flag[SLOTS];
byte cursor = START;
byte tail = START;

int seen;               /* bit i: ID i has been returned */
byte top;               /* the largest ID returned */
byte alive = TAKERS + 1;
bool closed;            /* the last run has been put */

byte puts;

#ifdef COUNT
byte failed, overshot, retired;
#define TALLY(counter, n) counter = counter + (n)
#else
#define TALLY(counter, n) skip
#endif

/* An ID is returned by a take that began when floor was the largest ID returned. */
inline give(id) {
	assert(!(seen & (1 << (id))));
	assert((id) > floor);
	seen = seen | (1 << (id));
	top = ((id) > top -> (id) : top)
}

inline forget() { c = 0; mine = 0; x = 0; floor = 0 }

/* Steps 1 and 2 of Take and claim: on leaves, mine is the run that slot c held while cursor was c. */
inline look() {
#ifndef NO_EMPTY_TEST
	if
	:: d_step { c == tail -> forget() }; goto again
	:: else
	fi;
#endif
	mine = flag[PLACE(c)];
#ifndef NO_CURSOR_CHECK
	if
	:: d_step { cursor != c -> forget() }; goto again
	:: else
	fi
#endif
}

/* A compare-and-swap of cursor. */
inline help() {
	d_step {
		if
		:: cursor == c ->
			assert(cursor != tail);
			cursor = c + 1
		:: else
		fi;
		forget()
	}
}

inline add() {
	d_step {
		x = next[PLACE(c)];
		next[PLACE(c)] = x + 1;
#ifdef KEEP_ANY
		mine = flag[PLACE(c)];
#endif
		if
		:: RUNOF(x) == mine -> give(x); forget()
		:: else -> TALLY(failed, 1); x = 0
		fi
	};
	if
	:: mine == 0 /* done: no run has the number 0 */
	:: else -> help()
	fi
}

inline swap() {
	x = next[PLACE(c)];
	if
	:: RUNOF(x) != mine -> help()
	:: d_step { RUNOF(x) == mine && next[PLACE(c)] == x -> /* TakeN of one */
		next[PLACE(c)] = x + 1;
		give(x);
		forget()
	   }
	:: d_step { RUNOF(x) == mine && next[PLACE(c)] == x -> /* of the rest */
		next[PLACE(c)] = END(mine);
		give(x);
		if
		:: x + 1 < END(mine) -> give(x + 1)
		:: else
		fi;
		forget()
	   }
	:: d_step { RUNOF(x) == mine && next[PLACE(c)] != x -> forget() }
	fi
}

/*
 * A turn of the loop in Take or in claim that failed and the one after it are modelled as two takes, which
 * makes the order that is asserted stricter. A take that finds the ring empty does nothing; hence a
 * turn begins when there is something to find.
 */
proctype Taker() {
	byte c, mine, x, floor;

again:
	do
	::	if
#ifdef TAIL_BEFORE_CURSOR
		:: d_step { cursor != tail -> x = tail; floor = top };
			c = cursor;
			if
			:: d_step { c == x -> forget() }; goto again
			:: else -> x = 0
			fi;
			mine = flag[PLACE(c)];
			if
			:: d_step { cursor != c -> forget() }; goto again
			:: else
			fi
#else
#ifdef NO_EMPTY_TEST
		:: d_step { !closed || cursor != tail -> c = cursor; floor = top };
#else
		:: d_step { cursor != tail -> c = cursor; floor = top };
#endif
			look()
#endif
		:: closed && cursor == tail -> break
#ifdef COUNT
		:: break
#endif
		fi;
		if
		:: add()
#ifdef BATCH
		:: swap()
#endif
		fi
	od;
	alive-- /* the locals are 0 here */
}

inline retireOldest() {
	d_step { cursor != tail -> c = cursor; mine = flag[PLACE(c)] };
	d_step {
		old = next[PLACE(c)];
#ifdef RETIRE_TO_ZERO
		next[PLACE(c)] = 0;
#else
		next[PLACE(c)] = END(mine);
#endif
		if
		:: old < END(mine) -> TALLY(retired, END(mine) - old)
		:: else -> TALLY(overshot, old - END(mine))
		fi;
		old = 0
	};
	d_step {
		if
		:: cursor == c ->
			assert(cursor != tail);
			cursor = c + 1
		:: else
		fi;
		c = 0; mine = 0
	}
}

inline publishTail() { d_step { tail = tail + 1; assert(USED <= SLOTS) } }

/* A slot that Put has seen to be free stays free: takers only ever move cursor on. */
proctype Producer() {
	byte number = 1, c, mine, old;
	bool changed;

	do
	:: puts < RUNS && USED < SLOTS ->
#ifdef TAIL_FIRST
		publishTail();
		d_step {
			c = PLACE(tail - 1);
#else
		d_step {
			c = PLACE(tail);
#endif
			old = next[c];
#ifdef LATE_OVERSHOT
		};
		d_step {
#endif
			next[c] = number * RUN;
			mine = flag[c];
			if
			:: mine != 0 -> TALLY(overshot, old - END(mine))
			:: else
			fi;
			old = 0; mine = 0
		};
		flag[c] = number;
		c = 0;
#ifndef TAIL_FIRST
		publishTail();
#endif
		d_step { puts++; number++ }
#ifdef RETIRE
	:: retireOldest()
#endif
#ifdef CHANGE
	:: !changed && puts > 0 && puts < RUNS ->
		do
		:: retireOldest()
		:: cursor == tail -> break
		od;
		changed = true;
		number++
#endif
	:: puts == RUNS -> break
#ifdef COUNT
	:: alive == 1 -> break /* nobody is left to take */
#endif
	od;
	closed = true;
	alive--
}

#ifdef COUNT
/* The sums of Counts, when nothing else runs. */
proctype Accountant() {
	byte i, issued, remaining;

	atomic {
		alive == 0;
		i = 0;
		do
		:: i < 32 -> issued = issued + ((seen >> i) & 1); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < SLOTS ->
			if
			:: flag[i] != 0 && next[i] > END(flag[i]) -> overshot = overshot + next[i] - END(flag[i])
			:: else
			fi;
			i++
		:: else -> break
		od;
		do
		:: cursor != tail ->
			i = PLACE(cursor);
			if
			:: RUNOF(next[i]) == flag[i] -> remaining = remaining + END(flag[i]) - next[i]
			:: else
			fi;
			cursor = cursor + 1
		:: else -> break
		od;
		assert(failed >= overshot);
		assert(puts * RUN == issued + (failed - overshot) + retired + remaining)
	}
}
#endif

init {
	byte i;
	atomic {
		do
		:: i < TAKERS -> run Taker(); i++
		:: else -> break
		od;
		run Producer();
#ifdef COUNT
		run Accountant()
#endif
	}
}
