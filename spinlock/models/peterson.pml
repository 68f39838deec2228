/*
 * Peterson's lock for two workers, which needs a fence between the stores and the loads of an
 * entry. No lock of this package is like it. The model shows that the buffers of lab.pml
 * reorder as the buffers of a CPU do. The experiments run this lock on the CPU.
 *
 * G. L. Peterson, "Myths About the Mutual Exclusion Problem", Information
 * Processing Letters 12(3), June 1981, pages 115-116.
 *
 *	NO_FENCE     no fence between the stores and the loads; correct with SC
 *
 * Mutants, in addition to NO_FENCE without SC:
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
