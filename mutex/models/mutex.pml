/*
 * Mutex, as in mutex.go. Every change of its state is a read-modify-write instruction, so
 * one order of all steps is assumed. A waiter's clock and the lock's are any: a handover
 * may be due at each acquisition, and a woken waiter may be late or not.
 *
 *	TRY         workers may also call TryLock
 *	GIVE_UP=1   a waiter, but not worker 0, may give up at any time
 *	LATE        a waiter that was woken without getting the lock is always late
 *	STARVATION  the property is that worker 0 gets in; the workers are alike
 *
 * Mutants:
 *
 *	TAKE_HANDOVER  a goroutine takes the lock between the release and the handover
 *	GIVE_FREE      a handover does not keep the lock held
 *	GIVE_NONE      a handover without waiters does not free the lock
 *	JOIN_FREE      a waiter joins the list although the lock is free
 *	KEEP_WOKEN     a woken waiter that joins again leaves the woken bit set
 *	NO_PASS        a woken waiter that gives up leaves the woken bit set
 *	DROP_PERMIT    a waiter that gives up ignores the lock that it was given
 *	NO_QUEUE       a waiter that gives up changes the list without the queue bit
 *	LOOK_ONCE      a release does not look again after it waited for the queue bit
 */
#ifndef N
#define N 3
#endif

bit held, woken, queue, handover;
byte waiting;         /* the waiters that the state counts */
byte list[N], length; /* their numbers, the longest waiter first */
bit permit[N];        /* of a parker */
bit granted[N];
byte inside;          /* workers that hold the lock */

#ifdef STARVATION
bit wants; /* worker 0 has come and is not in */
#define COME d_step { wants = (_pid == 0 -> 1 : wants) }
ltl starvation { [] (wants -> <> !wants) }
#else
#define COME skip
#endif

#ifdef TAKE_HANDOVER
#define free (!held)
#else
#define free (!held && !handover)
#endif
#define toWake (waiting > 0 && free && !handover && !woken)

/* busy is when a waiter may join. late is when it must ask for a handover. */
#ifdef JOIN_FREE
#define busy true
#else
#define busy (!free)
#endif
#ifdef LATE
#define late turn
#else
#define late false
#endif

inline enter() {
	assert(inside == 0);
	inside++;
#ifdef STARVATION
	wants = (_pid == 0 -> 0 : wants);
#endif
}

/* take is the CompareAndSwap of a take that succeeds. */
inline take() {
	held = 1;
	woken = (turn -> 0 : woken);
	turn = 0;
	due = waiting > 0;
	enter()
}

/* join is the CompareAndSwap of a join, before the change of the list. */
inline join() {
	queue = 1;
	waiting++;
#ifndef KEEP_WOKEN
	woken = (turn -> 0 : woken)
#endif
}

/* insert puts the worker at the end of the list, or at its front. */
inline insert(front) {
	assert(length < N);
	k = length;
	do
	:: front && k > 0 -> list[k] = list[k - 1]; k--
	:: else -> break
	od;
	list[k] = _pid;
	length++;
	k = 0
}

/* drop takes waiter p out of the list. What is left behind is set to 0: states
   that differ there alone would be explored twice. */
inline drop(p) {
	k = 0;
	do
	:: k < length && list[k] != p -> k++
	:: else -> break
	od;
	found = k < length;
	do
	:: found && k + 1 < length -> list[k] = list[k + 1]; k++
	:: else -> break
	od;
	if
	:: found -> length--; list[length] = 0
	:: else
	fi;
	k = 0
}

inline wake() {
	d_step { assert(!permit[first]); permit[first] = 1; first = 0 }
}

active [N] proctype Worker() {
	byte k, first;
	bit turn; /* it is the woken waiter */
	bit due, hand, found;
	do
	:: COME;
		if
		:: d_step { !held && !woken && !queue && !handover && waiting == 0 -> take() }; goto locked
		:: skip
		fi;
again:
		if
		:: d_step { free -> take() }; goto taken
		:: d_step { busy && !queue && !late -> join() }
		:: d_step { busy && !queue && turn -> join(); handover = 1 }
		fi;
		d_step { granted[_pid] = 0; insert(turn); turn = 0 };
		queue = 0;
		if
		:: d_step { permit[_pid] -> permit[_pid] = 0; turn = !granted[_pid] };
			if
			:: d_step { !turn -> enter() }; goto locked
			:: turn -> goto again
			fi
#ifdef GIVE_UP
		:: _pid >= GIVE_UP;
#ifndef NO_QUEUE
			d_step { !queue -> queue = 1 };
#endif
			d_step { drop(_pid) };
			if
			:: found -> d_step { found = 0; queue = 0; waiting-- }; goto left
			:: else -> queue = 0
			fi;
			d_step { permit[_pid] -> permit[_pid] = 0; turn = !granted[_pid] };
			if
#ifdef DROP_PERMIT
			:: !turn -> goto left
#else
			:: d_step { !turn -> enter() }; goto locked
#endif
			:: turn ->
				if
				:: d_step { free -> take() }; goto taken
#ifdef NO_PASS
				:: d_step { !free -> turn = 0 }; goto left
#else
				:: d_step { !free -> turn = 0; woken = 0 }; goto left
#endif
				fi
			fi
#endif
		fi;
taken:
		if
		:: due -> handover = 1
		:: skip
		fi;
		due = 0;
locked:
		skip; /* the critical section */
		d_step {
			inside--;
			held = 0;
			due = toWake;
			hand = handover
		};
		if
		:: d_step { hand -> hand = 0; due = 0 };
			if
#ifdef GIVE_NONE
			:: waiting == 0
#else
			:: d_step { waiting == 0 -> handover = 0 }
#endif
			:: d_step { waiting > 0 && !queue ->
					queue = 1;
					handover = 0;
#ifndef GIVE_FREE
					held = 1
#endif
				};
				d_step { first = list[0]; granted[first] = 1; drop(first); found = 0 };
				d_step { queue = 0; waiting-- };
				wake()
			fi
		:: d_step { !hand && due -> due = 0 };
			if
			:: d_step { toWake && !queue -> woken = 1; queue = 1 };
				d_step { first = list[0]; drop(first); found = 0 };
				d_step { queue = 0; waiting-- };
				wake()
			:: !toWake
#ifdef LOOK_ONCE
			:: queue
#endif
			fi
		:: !hand && !due
		fi;
#ifdef GIVE_UP
left:		skip
#endif
#ifdef TRY
	:: d_step { free -> turn = 0; take() }; goto taken
	:: !free
#endif
	:: break
	od
}
