/*
 * The queue lock of Mellor-Crummey and Scott, as in mcs.go.
 *
 *	TRY            workers may also call TryLock
 *	SLEEP          a waiter may sleep, and a grant also checks for a sleeper
 *	GIVE_BY_STORE  a grant is a release store, not a Swap, as in mcs.go if no waiter sleeps
 *
 * Mutants:
 *
 *	NO_WAIT        Unlock does not wait for a successor that is about to link
 *	FREE_BY_STORE  Unlock frees the lock by a load and a store, not a CompareAndSwap
 *	FORGET         Unlock does not clear the link
 *	ARM_LATE       a waiter resets its grant after it has linked its node, not before
 *	ARM_NEVER      a waiter does not reset its grant
 *	CHECK_FIRST    with SLEEP: a grant checks for the sleeper by a load, then stores
 *	BARGE          Lock repeats TryLock
 */
#ifndef N
#define N 3
#endif

/* 0 means no node; the node of worker p is p+1. */
#define TAIL     0
#define NEXT(i)  (i)
#define GRANT(i) (N + (i))
#define WORDS    (2 * N + 1)

/* The states of a grant. */
#define AWAITED 0
#define GIVEN   1
#define ASLEEP  2

#include "lab.pml"

#define me (_pid + 1)

#ifdef SLEEP
bit token[N + 1]; /* of a Parker: it was woken and has not slept since */
#endif

/* await waits for the grant. */
inline await() {
#ifdef SLEEP
	if
	:: d_step { load(GRANT(me)) == GIVEN -> enterInOrder() }
	:: d_step { fenced && memory[GRANT(me)] == AWAITED -> memory[GRANT(me)] = ASLEEP };
		d_step { token[me] -> token[me] = 0; enterInOrder() }
	fi;
#else
	d_step { load(GRANT(me)) == GIVEN -> enterInOrder() };
#endif
}

inline give() {
#if defined(CHECK_FIRST)
	was = load(GRANT(other));
	store(GRANT(other), GIVEN);
#elif defined(GIVE_BY_STORE)
	store(GRANT(other), GIVEN);
#else
	d_step {
		fenced ->
#ifdef SLEEP
		was = memory[GRANT(other)];
#endif
		memory[GRANT(other)] = GIVEN
	};
#endif
#ifdef SLEEP
	d_step {
		if
		:: was == ASLEEP -> token[other] = 1
		:: else
		fi;
		was = 0
	}
#endif
}

/* takeFree is the CompareAndSwap of a TryLock that succeeds. */
inline takeFree() {
	memory[TAIL] = me;
	arrive();
	enterInOrder()
}

active [N] proctype Worker() {
	byte other; /* the predecessor or successor of this worker */
#ifdef SLEEP
	byte was;
#endif
	do
	:: COME
#ifdef BARGE
		d_step { fenced && memory[TAIL] == 0 -> takeFree() };
#else
		d_step { fenced -> other = memory[TAIL]; memory[TAIL] = me; arrive() };
		if
		:: d_step { other == 0 -> enterInOrder() }
		:: other != 0 ->
#if !defined(ARM_LATE) && !defined(ARM_NEVER)
			store(GRANT(me), AWAITED);
#endif
			d_step { space -> put(NEXT(other), me); other = 0 };
#ifdef ARM_LATE
			store(GRANT(me), AWAITED);
#endif
			await()
		fi;
#endif
#ifdef TRY
held:		skip;
#endif
		section;
		d_step { other = load(NEXT(me)); leave() };
		if
		:: other != 0
		:: other == 0 ->
#ifdef FREE_BY_STORE
			other = load(TAIL);
			if
			:: other == me -> d_step { space -> put(TAIL, 0); other = 0 }; goto released
			:: other != me
			fi;
#else
			if
			:: d_step { fenced && memory[TAIL] == me -> memory[TAIL] = 0 }; goto released
			:: fenced && memory[TAIL] != me
			fi;
#endif
#ifdef NO_WAIT
			goto released;
#endif
			d_step { load(NEXT(me)) != 0 -> other = load(NEXT(me)) }
		fi;
		give();
#ifndef FORGET
		store(NEXT(me), 0);
#endif
		other = 0;
released:
		skip
#ifdef TRY
	:: d_step { fenced && memory[TAIL] == 0 -> takeFree() }; goto held
	:: fenced && memory[TAIL] != 0
#endif
	:: break
	od
}

BUFFERS
