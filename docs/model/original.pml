/*
 * The ring of Baidu's UidGenerator: one ID and one flag per slot, one producer, two takers. The checker must
 * refute it. By default it is asked for an ID handed out twice; with FAILURES for a take that finds the slot it
 * claimed not ready, which the original holds to be impossible and answers with an exception.
 */
#ifndef IDS
#define IDS 4
#endif

#define TAKERS   2
#define SLOTS    2
#define PLACE(i) ((i) & (SLOTS - 1))
#define ZERO     2 /* stands for index 0 */
#define START    1 /* cursor and tail begin at -1 */

byte slot[SLOTS];
bool canTake[SLOTS];
byte cursor = START;
byte tail = START;

byte seen; /* bit i: ID i has been returned */
bool closed;

proctype Taker() {
	byte current, claimed, id;

	do
	:: current = cursor;
		d_step {
			if
			:: cursor != tail -> cursor = cursor + 1
			:: else
			fi;
			claimed = cursor
		};
		if
		:: claimed == current /* the ring is empty, it concludes */
		:: else ->
			if
			:: !canTake[PLACE(claimed)] ->
#ifdef FAILURES
				assert(false)
#else
				skip
#endif
			:: else ->
				id = slot[PLACE(claimed)];
				canTake[PLACE(claimed)] = false;
				d_step {
					assert(!(seen & (1 << id)));
					seen = seen | (1 << id)
				}
			fi
		fi
	:: closed && cursor == tail -> break
	od
}

proctype Producer() {
	byte id = 1;

	do
	:: id <= IDS && !canTake[PLACE(tail + 1)] &&
	   (cursor == START -> tail - ZERO : tail - cursor) != SLOTS - 1 ->
		slot[PLACE(tail + 1)] = id;
		canTake[PLACE(tail + 1)] = true;
		tail = tail + 1;
		id++
	:: id > IDS -> break
	od;
	closed = true
}

init {
	atomic {
		run Taker();
		run Taker();
		run Producer()
	}
}
