/*
 * Mutex, as in mutex.go. Every change of its state is a read-modify-write instruction, so the
 * model assumes one order of all steps. The model has no clock: a handover may be due at
 * any acquisition while others wait.
 *
 *	TRY         workers may also call TryLock
 *	GIVE_UP=1   a waiter, but not worker 0, may give up at any time
 *	DUE         a handover is due at each acquisition while others wait
 *	STARVATION  the property is that worker 0 enters; the workers are equivalent
 *
 * Mutants:
 *
 *	TAKE_HANDOVER  a goroutine takes the lock between the release and the handover
 *	GIVE_FREE      a handover does not keep the lock held
 *	GIVE_NONE      a handover without waiters does not free the lock
 *	GIVE_TWICE     a handover to a woken waiter gives it a second permit
 *	GIVE_WOKEN     a handover to a woken waiter leaves the woken bit set
 *	JOIN_FREE      a waiter joins the list although the lock is free
 *	KEEP_WOKEN     a woken waiter that sleeps again leaves the woken bit set
 *	LEAVE_WOKEN    a woken waiter that gives up leaves the list at once
 *	DROP_PERMIT    a waiter that gives up ignores the lock that it was given
 *	NO_QUEUE       a waiter that gives up changes the list without the queue bit
 *	LOOK_ONCE      a release does not check again after it waited for the queue bit
 */
#ifndef N
#define N 3
#endif

bit held, woken, queue, handover;
byte waiting;         /* the number of waiters in the state */
byte list[N], length; /* their numbers, the longest waiter first */
bit permit[N];        /* of the worker's parker */
byte inside;          /* workers that hold the lock */

#ifdef STARVATION
bit wants; /* worker 0 waits */
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

/* busy is the condition under which a waiter may join. */
#ifdef JOIN_FREE
#define busy true
#else
#define busy (!free)
#endif

inline enter() {
	assert(inside == 0);
	inside++;
#ifdef STARVATION
	wants = (_pid == 0 -> 0 : wants);
#endif
}

/* take is a CompareAndSwap that succeeds and takes the lock. */
inline take() {
	held = 1;
	due = waiting > 0;
	enter()
}

/* insert appends the worker to the list. */
inline insert() {
	assert(length < N);
	list[length] = _pid;
	length++
}

/* drop removes waiter p from the list. It sets the unused entry to 0, so that states that
   differ only there are not explored twice. */
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
	bit due, hand, found, quits;
	do
	:: COME;
		if
		:: d_step { !held && !woken && !queue && !handover && waiting == 0 -> take() }; goto locked
		:: skip
		fi;
		if
		:: d_step { free -> take() }; goto taken
		:: d_step { busy && !queue -> queue = 1; waiting++ }
		fi;
		d_step { insert() };
		queue = 0;
sleep:
		if
		:: d_step { permit[_pid] -> permit[_pid] = 0 }
#ifdef GIVE_UP
		:: _pid >= GIVE_UP || quits;
			quits = 1;
#ifndef NO_QUEUE
			d_step { !queue -> queue = 1 };
#endif
#ifdef LEAVE_WOKEN
			d_step { drop(_pid) };
#else
			d_step {
				if
				:: !woken || list[0] != _pid -> drop(_pid)
				:: else
				fi
			};
#endif
			if
			:: found -> d_step { found = 0; quits = 0; queue = 0; waiting-- }; goto left
			:: else -> queue = 0
			fi;
			d_step { permit[_pid] -> permit[_pid] = 0 };
#ifdef DROP_PERMIT
			if
			:: !woken -> quits = 0; goto left
			:: else
			fi
#endif
#endif
		fi;
		if
		:: d_step { !woken -> enter() }; quits = 0; goto locked
		:: d_step { woken && !queue && free -> held = 1; queue = 1; enter() };
			d_step { drop(_pid); assert(found); found = 0 };
			d_step { queue = 0; waiting--; woken = 0; quits = 0 };
			goto locked
#ifdef KEEP_WOKEN
		:: woken && !queue && !free; goto sleep
#else
		:: d_step { woken && !queue && !free -> woken = 0 }; goto sleep
#endif
		fi;
taken:
		if
		:: due -> handover = 1
#ifdef DUE
		:: !due
#else
		:: skip
#endif
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
				hand = woken;
				d_step { first = list[0]; drop(first); found = 0 };
#ifdef GIVE_WOKEN
				d_step { queue = 0; waiting-- };
#else
				d_step { queue = 0; waiting--; woken = 0 };
#endif
				if
#ifndef GIVE_TWICE
				:: hand -> d_step { hand = 0; first = 0 }
				:: else ->
#else
				:: true -> hand = 0;
#endif
					wake()
				fi
			fi
		:: d_step { !hand && due -> due = 0 };
			if
			:: d_step { toWake && !queue -> woken = 1; queue = 1 };
				d_step { first = list[0]; queue = 0 };
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
	:: d_step { free -> take() }; goto taken
	:: !free
#endif
	:: break
	od
}
