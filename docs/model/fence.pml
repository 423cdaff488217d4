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
 * stay in the network. A delta that a life was ever allowed to use stays its own, since a process
 * may pause before it issues an ID of the delta. Only a release gives deltas back: the holder
 * stops, and then chooses used, the highest delta of which it has issued an ID. It gives back the
 * deltas above used in the step that sends the swap, and has ended with that step, whatever the
 * answer.
 *
 * The swap of a release lowers the fence to used, but not below base, the delta before the grant.
 * If the swap is refused, the holder reads the row again. While the row still has its version and
 * token, it sends the release again from that row. It lowers only a fence that it has proved or
 * tried: another fence is of a copy of the process.
 *
 * With COPY, a process is copied once while it holds the row, by a snapshot of a machine or a fork.
 * The condition is that a copy calls Invalidate before it issues an ID or is closed. A renewal may
 * come before that, so the copy raises the fence. It uses only deltas of swaps that the store has
 * acknowledged to it, and never proposes a fence that the original proposes from the same row. With
 * the same fence both get the same slice, and only the condition on Invalidate prevents that.
 *
 * Every statement that touches a shared word more than once lies in a d_step that stands for one
 * operation of the store. The growth of a limit goes along with the operation that proves it: the
 * assertions compare deltas that were allowed at any time, so a delay changes nothing.
 *
 * Defined on the command line: PROCESSES, LIVES and SWAPS (of all processes together), TOP (the
 * highest fence), and any of
 *   REVOKE     an operator revokes the row once, at any time
 *   RESTORE    the store goes back to any earlier state once, and Recover follows
 *   COPY       a process is copied once while it holds the row
 *   INVARIANT  the invariant of docs/DESIGN.md is asserted as well, not only its consequence
 * or one of the mutants, which the checker must refute:
 *   NO_FENCE     the predicate of a swap compares version and token only
 *   INCLUSIVE    a grant begins with the fence in the predicate, not above it
 *   OPTIMIST     no answer counts as success
 *   BELOW_USED   a release lowers the fence to the delta before used
 *   BELOW_FIRST  a release of a holder that has issued no ID lowers the fence below base
 *   USED_EARLY   used is chosen before the holder stops: it uses one more delta
 *   GOES_ON      the holder goes on after a release without an answer
 *   UNTRIED      (with COPY) a release lowers a fence that it finds, although it has not tried it
 *   COPY_CLOSES  (with COPY) the copy releases the row, having issued no ID
 *   LOWERS_ANY   (with RESTORE) a release is sent again without a look at version and token
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
#ifdef COPY
bool copied;
#endif

/* Swap i replaces the row before[i] by after[i]. */
Row before[SWAPS];
Row after[SWAPS];

/* For the assertions. */
byte highest;        /* the highest fence that the row has had */
byte user[TOP + 1];  /* the life that may use a delta; 0: none */
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

/* changeSlices records that swap i grants the deltas above the fence, or gives deltas back. */
#ifdef INVARIANT
inline changeSlices(i) {
	d = row.fence;
	do
	:: d < after[i].fence -> d++; assert(slice[d] == 0); slice[d] = after[i].token
	:: else -> break
	od;
	do
	:: d > after[i].fence ->
		assert(slice[d] == before[i].token && after[i].token == FREE);
		assert(user[d] == 0); /* it is not in use any more */
		slice[d] = 0;
		d--
	:: else -> break
	od;
	d = 0
}
#else
inline changeSlices(i) { skip }
#endif

/* write is the effect of swap i on the row. */
inline write(i) {
	changeSlices(i);
	row.version = after[i].version;
	row.fence = after[i].fence;
	row.token = after[i].token;
	highest = (row.fence > highest -> row.fence : highest)
}

/* allow raises the limit of a life, or of a copy: it may use the deltas above low up to high. */
inline allow(life, low, high) {
	d = low;
	do
	:: d < high ->
		d++;
		assert(user[d] == 0 || user[d] == life); /* no other life may use it */
#ifdef INVARIANT
		assert(slice[d] == me);
#endif
		user[d] = life
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
	base = BELOW;
	allow(me, base, next);
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
		allow(me, fence, row.fence);
		fence = row.fence;
		tried = 0 }
	:: d_step { !MINE || row.fence < fence || (row.fence > fence && !TRIED(row.fence)) -> token = 0 }
	:: true /* unchanged, or not read */
	fi
}

inline renew() {
	if
	:: next = fence + 1
#ifndef COPY
	:: fence < TOP - 1 -> next = fence + 2
#endif
	fi;
endRenew:
	d_step {
		swaps < SWAPS -> send(version, fence, me, version, next, me);
#ifdef EARLY
		allow(me, fence, next)
#endif
	};
	if
	:: d_step { MATCHES(i) -> write(i); allow(me, fence, next); fence = next; tried = 0 }
	:: d_step { !MATCHES(i) -> i = 0 }; look()
#ifdef OPTIMIST
	:: d_step { true -> allow(me, fence, next); fence = next }
#else
	:: d_step { true -> tried = tried | (1 << next); i = 0 }; look()
#endif
	fi;
	i = 0;
	next = 0
}

/* giveBack ends the use of the deltas above high. */
inline giveBack(high) {
	d = high;
	do
	:: d < TOP -> d++; user[d] = (user[d] == me -> 0 : user[d])
	:: else -> break
	od;
	d = 0
}

#ifdef UNTRIED
#define LOWERS true
#else
#define LOWERS (row.fence == fence || TRIED(row.fence))
#endif
#ifdef LOWERS_ANY
#define AGAIN (row.token != FREE && (row.token != me || row.fence != next))
#else
#define AGAIN (row.version == version && row.token == me && row.fence != next)
#endif

inline release() {
	used = base; /* it has issued no ID */
endRelease:
	atomic {
		swaps < SWAPS ->
		do
		:: used < fence -> used++
		:: break
		od;
#ifdef USED_EARLY
		giveBack(used + 1);
#elif !defined(GOES_ON)
		giveBack(used);
#endif
#ifdef BELOW_USED
		used = (used > base -> used - 1 : used);
#elif defined(BELOW_FIRST)
		used = (used > base -> used : 0);
#endif
		next = fence;
		send(version, fence, me, version, used, FREE)
	};
	do
	:: d_step { MATCHES(i) ->
#ifdef GOES_ON
		giveBack(used);
#endif
		write(i) };
		break
	:: d_step { AGAIN && swaps < SWAPS ->
		next = row.fence;
		d = (LOWERS && used < next -> used : next);
		send(row.version, next, row.token, row.version, d, FREE);
		d = 0 }
	:: break /* no answer, and the read shows another row or fails */
	od
}

proctype Process() {
	byte me, version, base, fence, token, next, tried, used, i, d;

	do
	:: lives < LIVES && swaps < SWAPS ->
		claim();
		do
		:: token == me && fence < TOP && swaps < SWAPS -> renew()
		:: token == me && swaps < SWAPS ->
			release();
			break
#ifdef COPY
		:: atomic { token == me && !copied -> copied = true; run Copy(me, version, base, fence) }
#endif
		:: break /* it ends, with or without the row */
		od;
		atomic {
			me = 0; version = 0; base = 0; fence = 0; token = 0;
			next = 0; tried = 0; used = 0; i = 0
		}
	:: break
	od
}

#ifdef COPY
proctype Copy(byte me; byte version; byte base; byte fence) {
	byte next, i, d;

#ifdef COPY_CLOSES
endClose:
	d_step { swaps < SWAPS -> send(version, fence, me, version, base, FREE); i = 0 }
#else
	do
	:: fence < TOP - 1 && swaps < SWAPS ->
		next = fence + 2;
endCopy:	d_step { swaps < SWAPS -> send(version, fence, me, version, next, me) };
		if
		:: d_step { MATCHES(i) -> write(i); allow(me + LIVES, fence, next); fence = next }
		:: break /* no answer */
		fi
	:: break
	od
#endif
}
#endif

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
