/*
 * The ring of package ringbuffer: two slots, blocks of one to three IDs, one producer, TAKERS
 * takers.
 *
 * Every statement that touches a shared word more than once lies in a d_step that stands for one
 * atomic operation of the Go code: a load, a store, an add, a compare-and-swap. Between any two of
 * them any other process may run. Locals, and the words that only assertions read, go along with
 * the operation beside them.
 *
 * A block is its number: 1 for the first one that is put, index 0 in Go, and 0 for the used-up
 * block that startAt makes. A number is never used again, like the pointer it stands for; last,
 * index and total follow from it. next stops at last + 1, since the Go code treats all values above
 * last alike. A slot that holds 0 is nil.
 *
 * Defined on the command line: TAKERS, BLOCKS (how many are put), and any of
 *   SIZE      blocks of SIZE IDs, instead of two and one in turn
 *   SHORT     blocks of one ID and two in turn
 *   BATCH     takers choose between Take and TakeBlock at every turn
 *   RETIRE    the producer may retire at any time, up to any ID
 *   ACCOUNTS  put = issued + retired + remaining is asserted after every step
 *   COUNTS    a process calls Counts at any time, except during a Retire
 * or one of the mutants, which the checker must refute:
 *   NO_INDEX        advance takes the block in the slot without a look at its index
 *   NO_EMPTY_CHECK  advance reports an empty ring without a second look at current
 *   STORE_CURRENT   advance stores current instead of swapping it
 *   KEEP_NEXT       Take keeps last + 1
 *   KEEP_ALL        (with BATCH) TakeBlock keeps the IDs of its add that are above last
 *   LEFT_SHORT      (with BATCH) TakeBlock takes a block of one ID for used up
 *   SLOT_FIRST      Put stores the block in its slot before it sets next
 *   FREE_EARLY      Free counts the slot of the current block as free though the block has IDs
 *   FREE_AHEAD      Free counts the slot of the block after a used-up current one as free
 *   TAKER_FREES     each slot has a flag, which the taker of a block's last ID clears
 *   RETIRE_STORE    (with RETIRE) Retire loads next and stores it in two steps
 *   RETIRE_ANY      (with RETIRE) Retire drops IDs of all blocks and leaves current alone
 *   RETIRE_STOPS    (with RETIRE) Retire does not go on with the next block
 *   COUNT_ANYTIME   (with COUNTS and RETIRE) Counts runs during a Retire, too
 */
#ifndef TAKERS
#define TAKERS 2
#endif
#ifndef BLOCKS
#define BLOCKS 4
#endif

#define SLOTS     2
#define PLACE(b)  ((b) & (SLOTS - 1))
#if defined(SIZE)
#define LAST(b)   ((b) * SIZE)
#elif defined(SHORT)
#define LAST(b)   ((b) + (b) / 2)
#else
#define LAST(b)   ((b) + ((b) + 1) / 2)
#endif
#define FIRST(b)  (LAST((b) - 1) + 1)
#define TOTAL(b)  LAST(b) /* the IDs begin with 1 and have no gaps */
#define LEFT(b)   (LAST(b) + 1 - next[b])
#define USEDUP(b) (next[b] > LAST(b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* The words of the ring. */
byte next[BLOCKS + 1];
byte slot[SLOTS];
byte current;
byte tail;    /* blocks */
byte put;     /* IDs */
byte retired; /* IDs */
#ifdef TAKER_FREES
bool taken[SLOTS];
#endif

/* For the assertions. */
short seen = 1; /* bit i: ID i has been returned; there is no ID 0 */
byte issued;    /* IDs returned */
byte dropped;   /* IDs that Retire has yet to add to retired */
byte ended;     /* the largest ID up to which a Retire has returned */
byte filled;    /* the block that was stored in a slot last */

/* Bit i: the ring was empty at an instant of the turn of taker i. It is set between turns. */
#define ALL ((1 << TAKERS) - 1)
byte sawEmpty = ALL;

/* check goes along with every change of next and of current. */
inline check() {
	if
	:: USEDUP(filled) -> sawEmpty = ALL
	:: else
	fi;
#ifdef ACCOUNTS
	assert(issued + retired + dropped == TOTAL(current) - LEFT(current)) /* the accounts */
#endif
}

#if defined(KEEP_NEXT)
#define KEPT (next[c] <= LAST(c) + 1)
#elif defined(KEEP_ALL)
#define KEPT (!USEDUP(c) || n > 1)
#else
#define KEPT (!USEDUP(c))
#endif

/*
 * An add of n to next of block c. The IDs up to last are the taker's; they must be above all IDs of
 * earlier adds, whichever take began first.
 */
inline give() {
	do
	:: n > 0 && KEPT ->
		assert(!(seen & (1 << next[c]))); /* no ID twice */
		assert(!(seen >> next[c]));       /* order */
		assert(next[c] > ended);          /* no retired ID */
		seen = seen | (1 << next[c]);
		issued++;
		next[c] = next[c] + 1;
		n--
	:: else -> break
	od;
	n = 0;
	check()
}

#ifdef NO_INDEX
#define FOUND (slot[PLACE(c + 1)] != 0)
#else
#define FOUND (slot[PLACE(c + 1)] == c + 1)
#endif

/* The compare-and-swap of current in advance, from block c to block m. */
inline swapCurrent() {
	if
#ifdef STORE_CURRENT
	:: true ->
#else
	:: current == c ->
#endif
		assert(m >= current); /* current never goes back */
		assert(tail >= c);    /* handover gets tail - c */
		current = m;
		check()
	:: else
	fi
}

inline endTurn() { c = 0; n = 0; m = 0; sawEmpty = sawEmpty | (1 << me) }

#ifdef TAKER_FREES
inline took() { n = USEDUP(c) }
inline free() {
	if
	:: d_step { n > 0 -> taken[PLACE(c)] = false; endTurn() }
	:: d_step { n == 0 -> endTurn() }
	fi
}
#else
inline took() { endTurn() }
inline free() { goto again }
#endif

inline advance() {
	if
	:: d_step { FOUND -> m = slot[PLACE(c + 1)] };
		d_step {
			swapCurrent();
			assert(current != c); /* a take goes on only after current has moved */
			endTurn()
		}
	:: !FOUND ->
		if
#ifdef NO_EMPTY_CHECK
		:: d_step { assert(sawEmpty & (1 << me)); endTurn() }
#else
		:: d_step { current == c -> assert(sawEmpty & (1 << me)); endTurn() } /* empty */
		:: d_step { current != c -> endTurn() }
#endif
		fi
	fi
}

inline add() {
	if
	:: d_step { KEPT -> give(); took() }; free()
	:: d_step { !KEPT -> n = 0 }; advance()
	fi
}

/*
 * A turn is one round of the loop in Take or TakeBlock. The model takes each round for a call of
 * its own, which makes the assertions stricter. Takers never stop.
 */
proctype Taker(byte me) {
	byte c, n, m;

again:
	do
	::	d_step {
			c = current;
			if
			:: USEDUP(filled)
			:: else -> sawEmpty = sawEmpty & ~(1 << me)
			fi
		};
		if
		:: d_step { KEPT -> n = 1; give(); took() }; free() /* Take: add */
		:: USEDUP(c) -> advance() /* Take: add; TakeBlock: load next */
#ifdef LEFT_SHORT
		:: next[c] >= LAST(c) -> advance()
#endif
#ifdef BATCH
		:: d_step { !USEDUP(c) -> n = 1 }; add()        /* TakeBlock: load next; of one ID */
		:: d_step { LEFT(c) > 1 -> n = LEFT(c) }; add() /* of as many as are left */
#endif
		fi
	od
}

#if defined(FREE_EARLY)
#define USED (tail - c)
#elif defined(FREE_AHEAD)
#define USED (tail - c + (USEDUP(c) -> -1 : 1))
#else
#define USED (tail - c + (USEDUP(c) -> 0 : 1))
#endif

#ifdef TAKER_FREES
#define FREE (!taken[PLACE(tail + 1)])
#else
#define FREE (USED < SLOTS)
#endif

#define HASIDS(b) ((b) > 0 && !USEDUP(b))

/* The store of block tail + 1 in its slot. */
inline fill() {
	m = slot[PLACE(tail + 1)];
	assert(!HASIDS(m));   /* the block that is replaced has no IDs */
	assert(m <= current); /* and takers have found it */
	m = 0;
	slot[PLACE(tail + 1)] = tail + 1;
	filled = tail + 1;
#ifdef TAKER_FREES
	taken[PLACE(filled)] = true
#endif
}

inline tryPut() {
	d_step {
		c = current;
		isFull = filled >= SLOTS && HASIDS(filled) && HASIDS(filled - 1)
	};
	if
	:: d_step { !FREE -> assert(isFull); c = 0; isFull = false } /* refused only if full */
	:: d_step { FREE -> c = 0; isFull = false };
#ifdef COUNTS
		put = LAST(tail + 1);
#endif
#ifdef SLOT_FIRST
		d_step { fill() };
		next[filled] = FIRST(filled);
#else
		d_step { next[tail + 1] = FIRST(tail + 1); fill() };
#endif
		tail = filled
	fi
}

#define END (MIN(LAST(c), to) + 1)

#ifdef RETIRE_STORE
#define UNCHANGED true
#else
#define UNCHANGED (next[c] == x)
#endif

/* Block.retire swaps next from x to END. */
inline retireBlock() {
	do
	:: next[c] >= END -> break
	:: d_step { next[c] < END -> x = next[c] };
		if
		:: d_step { UNCHANGED -> dropped = END - x; next[c] = END; x = 0; check() };
			d_step { retired = retired + dropped; dropped = 0 };
			break
		:: d_step { !UNCHANGED -> x = 0 }
		fi
	od
}

#ifdef RETIRE_ANY
inline retire() {
	c = current;
	do
	::	retireBlock();
		if
		:: c < filled -> c++
		:: c == filled -> break
		fi
	od
}
#else
inline retire() {
	do
	::	c = current;
		retireBlock();
		if
		:: !USEDUP(c) -> break
#ifdef RETIRE_STOPS
		:: USEDUP(c) -> break
#else
		:: USEDUP(c) ->
			if
			:: d_step { FOUND -> m = slot[PLACE(c + 1)] };
				d_step { swapCurrent(); c = 0; m = 0 }
			:: !FOUND ->
				if
				:: current == c -> break
				:: d_step { current != c -> c = 0 }
				fi
			fi
#endif
		fi
	od
}
#endif

#if defined(COUNTS) && !defined(COUNT_ANYTIME)
bool locked; /* keeps Counts and Retire apart */
inline lock()   { d_step { !locked -> locked = true } }
inline unlock() { locked = false }
#else
inline lock()   { skip }
inline unlock() { skip }
#endif

proctype Producer() {
	byte c, m, x, to;
	bool isFull;

end:
	do
	:: tail < BLOCKS -> tryPut()
#ifdef RETIRE
	:: d_step { tail > 0 -> to = LAST(tail) };
		do
		:: to > ended + 1 -> to--
		:: break
		od;
		lock();
		retire();
		c = 0;
		d_step { ended = MAX(ended, to); to = 0 };
		unlock()
#endif
	od
}

#ifdef COUNTS
proctype Counter() {
	byte b, p, r, taken, before;

end:
	do
	::	lock();
		d_step { p = put; before = issued };
		r = retired;
		b = current;
		taken = MIN(TOTAL(b) - LEFT(b), p);
		b = 0;
		d_step {
			taken = MAX(taken, r) - r;
			assert(before <= taken); /* Issued is not too low */
			assert(taken <= issued); /* nor too high */
			p = 0; r = 0; taken = 0; before = 0
		};
		unlock()
	od
}
#endif

init {
	byte i;
	atomic {
		next[0] = 1;
		do
		:: i < TAKERS -> run Taker(i); i++
		:: else -> break
		od;
		run Producer();
#ifdef COUNTS
		run Counter()
#endif
	}
}
