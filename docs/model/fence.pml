/*
 * The fence of package assigner: the row of one worker ID in a store, processes that claim, renew
 * and release it, an operator who revokes it, and a restore from a backup with Recover.
 *
 * Time is left out. No row expires and no row protects its holder: any process may claim it at any
 * time, after any pause. So the model covers all clocks, and uniqueness does not rest on expiry.
 *
 * The network keeps every swap that was ever sent. It applies a swap at any time, any number of
 * times, in any order, or never. The sender gets an answer of the store or none; then it reads the
 * row, or fails to. An answer may say that a swap failed though an earlier copy of it took effect.
 * It never says that a swap succeeded when it did not: the contract of Store.
 *
 * A process lives several times. Each life draws a token of its own, and the swaps of earlier lives
 * stay in the network. A delta that a life was ever allowed to use is its own for good, since a
 * process may pause before it uses a delta.
 *
 * Every statement that touches a shared word more than once lies in a d_step that stands for one
 * operation of the store. The growth of a limit goes along with the operation that proves it: the
 * assertions compare deltas that were allowed at any time, so a delay changes nothing.
 *
 * Defined on the command line: PROCESSES, LIVES and SWAPS (of all processes together), TOP (the
 * highest fence), and any of
 *   REVOKE     an operator revokes the row once, at any time
 *   RESTORE    the store goes back to any earlier state once, and Recover follows
 *   INVARIANT  the invariant of docs/DESIGN.md is asserted as well, not only its consequence
 * or one of the mutants, which the checker must refute:
 *   NO_FENCE     the predicate of a swap compares version and token only
 *   INCLUSIVE    a grant begins with the fence in the predicate, not above it
 *   OPTIMIST     no answer counts as success
 *   LOWERED      a release lowers the fence
 *   EARLY        a renewal raises the limit before its proof
 *   ANY_ROW      a read proves the fence that it shows, without a look at version and token
 *   NO_RECOVER   (with RESTORE) a restore without Recover
 *   KEEPS        (with RESTORE) Recover keeps version and token
 *   LOW_LEAD     (with RESTORE) Recover raises the fence to less than the store has granted
 *   OPEN         (with RESTORE) renewals reach the store between the restore and Recover
 */
#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef LIVES
#define LIVES 3
#endif
#ifndef SWAPS
#define SWAPS 5
#endif
#ifndef TOP
#define TOP 4
#endif

#define FREE      0
#define REVOKED   100
#define RECOVERED 101

typedef Row { byte version; byte fence; byte token };

Row row;     /* version 0: there is none yet */
byte lives;  /* the token that was drawn last */
byte swaps;  /* sent so far */
bool closed; /* the network between the restore and Recover */

/* Swap i replaces the row before[i] by after[i]. */
Row before[SWAPS];
Row after[SWAPS];

/* For the assertions. */
byte highest;        /* the highest fence that the row has had */
byte user[TOP + 1];  /* the life that was allowed to use a delta; 0: none */
#ifdef INVARIANT
byte slice[TOP + 1]; /* the token of the swap that granted a delta; 0: none */
#endif

#ifdef NO_FENCE
#define EQUALFENCE(i) true
#else
#define EQUALFENCE(i) (row.fence == before[i].fence)
#endif
#ifdef OPEN
#define PASSES(i) (!closed || before[i].version == after[i].version)
#else
#define PASSES(i) !closed
#endif
#define MATCHES(i) (i < swaps && PASSES(i) && row.version == before[i].version && \
	row.token == before[i].token && EQUALFENCE(i))

/* grantSlice records that a swap grants the deltas above the fence up to high. */
#ifdef INVARIANT
inline grantSlice(high, owner) {
	assert(high >= row.fence);
	d = row.fence;
	do
	:: d < high -> d++; assert(slice[d] == 0); slice[d] = owner
	:: else -> break
	od;
	d = 0
}
#else
inline grantSlice(high, owner) { skip }
#endif

/* write is the effect of swap i on the row. */
inline write(i) {
	grantSlice(after[i].fence, after[i].token);
	row.version = after[i].version;
	row.fence = after[i].fence;
	row.token = after[i].token;
	highest = (row.fence > highest -> row.fence : highest)
}

/* allow raises the limit: this life may use the deltas above low up to high. */
inline allow(low, high) {
	d = low;
	do
	:: d < high ->
		d++;
		assert(user[d] == 0 || user[d] == me); /* no other life may use it */
#ifdef INVARIANT
		assert(slice[d] == me);
#endif
		user[d] = me
	:: else -> break
	od;
	d = 0
}

/* send hands a swap to the network. */
inline send(oldVersion, oldFence, oldToken, newVersion, newFence, newToken) {
	i = swaps;
	before[i].version = oldVersion;
	before[i].fence = oldFence;
	before[i].token = oldToken;
	after[i].version = newVersion;
	after[i].fence = newFence;
	after[i].token = newToken;
	swaps++
}

#ifdef INCLUSIVE
#define BELOW (fence - (fence > 0))
#else
#define BELOW fence
#endif

/* hold is the end of a claim that succeeded. */
inline hold() {
	allow(BELOW, next);
	version++;
	fence = next;
	token = me
}

/* claim tries once. A claim without deltas is that of a quarantine: a renewal follows. */
inline claim() {
	d_step {
		lives++;
		me = lives;
		version = row.version;
		fence = row.fence;
		token = row.token
	};
	if
	:: next = fence
	:: fence < TOP -> next = fence + 1
	:: fence < TOP - 1 -> next = fence + 2
	fi;
endClaim: /* there may be no swap left to send */
	d_step { swaps < SWAPS -> send(version, fence, token, version + 1, next, me) };
	if
	:: d_step { MATCHES(i) -> write(i); hold() }
	:: !MATCHES(i)
#ifdef OPTIMIST
	:: d_step { true -> hold() }
#else
	:: d_step { row.version == version + 1 && row.fence == next && row.token == me -> hold() }
#endif
	:: true /* no answer, and the read shows another row or fails */
	fi;
	i = 0;
	next = 0
}

#ifdef ANY_ROW
#define MINE true
#else
#define MINE (row.version == version && row.token == me)
#endif
#define TRIED(f) (tried & (1 << (f)))

/* look reads the row after a renewal without an acknowledgement, or fails to. */
inline look() {
	if
	:: d_step { MINE && row.fence > fence && TRIED(row.fence) ->
		allow(fence, row.fence);
		fence = row.fence;
		tried = 0 }
	:: d_step { !MINE || row.fence < fence || (row.fence > fence && !TRIED(row.fence)) -> token = 0 }
	:: true /* unchanged, or not read */
	fi
}

inline renew() {
	if
	:: next = fence + 1
	:: fence < TOP - 1 -> next = fence + 2
	fi;
endRenew:
	d_step {
		swaps < SWAPS -> send(version, fence, me, version, next, me);
#ifdef EARLY
		allow(fence, next)
#endif
	};
	if
	:: d_step { MATCHES(i) -> write(i); allow(fence, next); fence = next; tried = 0 }
	:: d_step { !MATCHES(i) -> i = 0 }; look()
#ifdef OPTIMIST
	:: d_step { true -> allow(fence, next); fence = next }
#else
	:: d_step { true -> tried = tried | (1 << next); i = 0 }; look()
#endif
	fi;
	i = 0;
	next = 0
}

#ifdef LOWERED
#define LEFT (fence - 1)
#else
#define LEFT fence
#endif

inline release() {
	if
	:: d_step { swaps < SWAPS -> send(version, fence, me, version, LEFT, FREE); i = 0 }
	:: swaps == SWAPS
	fi
}

proctype Process() {
	byte me, version, fence, token, next, tried, i, d;

	do
	:: lives < LIVES && swaps < SWAPS ->
		claim();
		do
		:: token == me && fence < TOP && swaps < SWAPS -> renew()
		:: token == me && fence > 0 && swaps < SWAPS ->
			release();
			break
		:: break /* it ends, with or without the row */
		od;
		atomic { me = 0; version = 0; fence = 0; token = 0; tried = 0 }
	:: break
	od
}

/* A copy of a swap takes effect; its sender gets no answer. */
proctype Network() {
	byte d;

end:	do
	:: d_step { MATCHES(0) -> write(0) }
#if SWAPS > 1
	:: d_step { MATCHES(1) -> write(1) }
#endif
#if SWAPS > 2
	:: d_step { MATCHES(2) -> write(2) }
#endif
#if SWAPS > 3
	:: d_step { MATCHES(3) -> write(3) }
#endif
#if SWAPS > 4
	:: d_step { MATCHES(4) -> write(4) }
#endif
#if SWAPS > 5
	:: d_step { MATCHES(5) -> write(5) }
#endif
#if SWAPS > 6
#error more swaps than the network knows
#endif
	od
}

#ifdef REVOKE
proctype Operator() {
	byte version, fence, token, i;

	d_step { version = row.version; fence = row.fence; token = row.token };
	if
	:: token != FREE && token != RECOVERED ->
endRevoke:	d_step { swaps < SWAPS -> send(version, fence, token, version + 1, fence, REVOKED); i = 0 }
	:: else
	fi
}
#endif

#ifdef RESTORE
inline recover(raised) {
#ifndef KEEPS
	row.version = row.version + 1;
	row.token = RECOVERED;
#endif
	row.fence = (raised > row.fence -> raised : row.fence);
	closed = false
}

proctype Backup() {
	Row old;

	d_step { old.version = row.version; old.fence = row.fence; old.token = row.token };
	d_step { row.version = old.version; row.fence = old.fence; row.token = old.token; closed = true };
#ifdef NO_RECOVER
	closed = false
#elif defined(LOW_LEAD)
	d_step { recover(highest - 1) }
#else
	if
	:: d_step { recover(highest) }
	:: d_step { highest < TOP -> recover(highest + 1) }
	fi
#endif
}
#endif

init {
	byte p;
	atomic {
		do
		:: p < PROCESSES -> run Process(); p++
		:: else -> break
		od;
		run Network();
#ifdef REVOKE
		run Operator();
#endif
#ifdef RESTORE
		run Backup();
#endif
		p = 0
	}
}
