/*
 * The lanes of package cached: OWNERS lanes that take blocks of two IDs from a ring, a padder that
 * puts blocks and retires stale ones, and an ender: Invalidate, the loss of a lease, or Close. The
 * ring itself is a queue here, each of its operations one step: ring.pml shows that it behaves like
 * one.
 *
 * Every statement that touches a shared word more than once lies in a d_step that stands for one
 * access of the Go code. Locals and what only the assertions read go along with the access beside
 * them.
 *
 * Defined on the command line: OWNERS, BLOCKS (how many are put), RETIREMENTS (how often the padder
 * may retire), ENDS (how often the lease ends), and one of the mutants, which the checker must
 * refute:
 *   CUT_EARLY    the ender raises cut before it waits for a padding pass in progress
 *   NO_WAIT      the ender does not wait for a padding pass at all
 *   NO_CUT       Next does not look at cut
 *   KEEP_RING    the ender leaves its blocks in the ring
 *   BELOW_CUT    a block that ends at cut is not dropped
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
#ifndef ENDS
#define ENDS 1
#endif

#define SIZE     2
#define FIRST(b) ((b) * SIZE)
#define LAST(b)  (FIRST(b) + SIZE - 1)

#ifdef BELOW_CUT
#define RETIRED(id) ((id) < mark)
#else
#define RETIRED(id) ((id) <= mark)
#endif

/* The ring holds the blocks from head up to tail. */
byte head = 1;
byte tail = 1;
byte cut;
bool running;     /* the mutex around a padding pass */
bool held = true; /* whether a lease is current */

/* For the assertions. */
int seen;   /* bit i: ID i has been issued */
byte ended; /* the largest ID whose retirement has returned */

/* The call began when floor was the largest ID whose retirement had returned. */
inline give() {
	last++;
	assert(!(seen & (1 << last)));
	assert(last > mine);
	assert(last > floor);
	seen = seen | (1 << last);
	mine = last
}

inline lock()   { d_step { !running -> running = true } }
inline unlock() { running = false }

/* An owner calls Next while there is something to find, until it drops its lane. */
proctype Owner() {
	byte last, end, mark, mine, floor;

	do
	:: d_step { last < end || head < tail -> floor = ended };
		if
		:: last < end ->
#ifndef NO_CUT
			mark = cut;
#endif
			if
			:: !RETIRED(end) -> d_step { give() }; goto called
			:: else
			fi
		:: else
		fi;
		d_step {
			if
			:: head < tail -> last = FIRST(head) - 1; end = LAST(head); head++; give()
			:: else
			fi
		};
called:
		skip;
		d_step { mark = 0; floor = 0 }
	:: break
	od
}

/* raise and drain make up a retirement, under the mutex. */
inline raise() { d_step { if :: cut < mark -> cut = mark :: else fi } }

inline drain() {
	do
	:: d_step { head < tail && LAST(head) <= mark -> head++ }
	:: d_step { !(head < tail && LAST(head) <= mark) }; break
	od;
	skip
}

inline retire() {
	raise();
#ifdef KEEP_RING
	skip
#else
	drain()
#endif
}

inline returned() { d_step { if :: ended < mark -> ended = mark :: else fi; mark = 0 } }

proctype Padder() {
	byte b, mark, retirements;

	do
	:: tail <= BLOCKS ->
		lock();
		if
		:: held -> tail++
		:: !held
		fi;
		unlock()
	:: retirements < RETIREMENTS && LAST(tail - 1) > cut ->
		lock();
		b = tail - 1;
		do /* any block may be the last to be stale */
		:: b > 1 -> b--
		:: break
		od;
		mark = LAST(b);
		retire();
		unlock();
		returned();
		retirements++
	:: tail > BLOCKS -> break
	od
}

proctype Ender() {
	byte mark, ends;

	do
	:: ends < ENDS ->
		held = false;
#ifdef CUT_EARLY
		mark = LAST(tail - 1);
		raise();
#endif
#ifndef NO_WAIT
		lock();
#endif
#ifdef CUT_EARLY
		mark = LAST(tail - 1);
		drain();
#else
		mark = LAST(tail - 1);
		retire();
#endif
#ifndef NO_WAIT
		unlock();
#endif
		d_step { mark = LAST(tail - 1) };
		returned();
		held = true; /* under the next lease, which begins above */
		ends++
	:: break
	od
}

init {
	byte i;
	atomic {
		do
		:: i < OWNERS -> run Owner(); i++
		:: else -> break
		od;
		run Padder();
		run Ender()
	}
}
