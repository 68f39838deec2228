/*
 * The ticket lock of ticket.go. The waiters poll.
 *
 *	TRY    workers may also call TryLock
 *	TURNS  how often each worker comes at most; without it, any number of times
 *
 * Mutants:
 *
 *	DRAW_BY_STORE  a load and a store draw a number
 *	STALE          Unlock adds 1 to the value that Lock read before it waited
 *	BARGE          Lock repeats TryLock, and draws no number while it waits
 *
 * TRY without TURNS fails too, as the lock itself would. A TryLock may stop between its load
 * and its CompareAndSwap while the others draw every number once: 2^32 in the lock, WRAP
 * here. Then it finds the number that it expects, and takes a lock that others hold or wait
 * for.
 */
#ifndef N
#define N 3
#endif

/* The numbers are modulo WRAP. At most WRAP-1 workers may hold or wait. */
#ifndef WRAP
#define WRAP (N + 1)
#endif

#define NEXT    0
#define SERVING 1
#define WORDS   2

#include "lab.pml"

#ifdef TURNS
#define again (turns < TURNS)
#define turn  turns++
#else
#define again true
#define turn  skip
#endif

/* draw is a LOCKed add. */
inline draw() {
	number = memory[NEXT];
	memory[NEXT] = (number + 1) % WRAP;
	arrive()
}

active [N] proctype Worker() {
	byte number;
#ifdef TURNS
	byte turns;
#endif
#ifdef STALE
	byte seen;
#endif
	do
	:: again -> COME
#if defined(BARGE)
		d_step { fenced && memory[NEXT] == load(SERVING) -> draw(); enterInOrder() };
#elif defined(DRAW_BY_STORE)
		d_step { number = load(NEXT); arrive() };
		store(NEXT, (number + 1) % WRAP);
		d_step { load(SERVING) == number -> enterInOrder() };
#else
		d_step { fenced -> draw(); turn };
#ifdef STALE
		seen = load(SERVING);
#endif
		d_step { load(SERVING) == number -> enterInOrder() };
#endif
#ifdef TRY
held:		skip;
#endif
		section;
		d_step { number = load(SERVING); leave() };
#ifdef STALE
		number = seen;
#endif
		d_step { space -> put(SERVING, (number + 1) % WRAP); number = 0 }
#ifdef TRY
	:: again ->
		number = load(SERVING);
		if
		:: d_step { fenced && memory[NEXT] == number -> draw(); turn; enterInOrder() }; goto held
		:: d_step { fenced && memory[NEXT] != number -> number = 0; turn }
		fi
#endif
	:: break
	od
}

BUFFERS
