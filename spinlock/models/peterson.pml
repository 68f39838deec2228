/*
 * Peterson's lock for two workers, which needs a fence between the stores and
 * the loads of an entry. No lock of this package is like it: it shows that the
 * buffers of lab.pml lose what the buffers of a CPU lose. The experiments run
 * it on the CPU.
 *
 * G. L. Peterson, "Myths About the Mutual Exclusion Problem", Information
 * Processing Letters 12(3), June 1981, pages 115-116.
 *
 *	NO_FENCE     nothing between the stores and the loads: enough with SC
 *
 * Mutants, besides NO_FENCE without SC:
 *
 *	FENCE_EARLY  the fence is between the two stores
 *	TURN_FIRST   the stores are in the wrong order
 *	NO_TURN      the flags alone decide
 */
#define N 2

#define FLAG(i) (i)
#define TURN    2
#define WORDS   3

#include "lab.pml"

#define me    _pid
#define other (1 - _pid)

active [N] proctype Worker() {
	do
	:: COME
#ifdef TURN_FIRST
		store(TURN, other);
		store(FLAG(me), 1);
#else
		store(FLAG(me), 1);
#ifdef FENCE_EARLY
		fenced;
#endif
#ifndef NO_TURN
		store(TURN, other);
#endif
#endif
#if !defined(NO_FENCE) && !defined(FENCE_EARLY)
		fenced;
#endif
poll:
		if
		:: d_step { load(FLAG(other)) == 0 -> enter() }
		:: load(FLAG(other)) != 0 ->
#ifdef NO_TURN
			goto poll
#else
			if
			:: d_step { load(TURN) == me -> enter() }
			:: load(TURN) != me -> goto poll
			fi
#endif
		fi;
		section;
		d_step { space -> put(FLAG(me), 0); leave() }
	:: break
	od
}

BUFFERS
