/*
 * The protocol of Reentrant and PubSubMutex: one key, and a channel that wakes waiters. Each
 * script in ../lua is one step. The other steps are in ../subscription.go and
 * ../broadcast.go.
 *
 * The only effect of a message is that a waiter asks for the lock. A waiter without a message
 * asks at the end of the lease in its latest reply (see Time). That may only be necessary if
 * a holder was lost.
 *
 *	N        processes, each with one subscription
 *	W        waiters of each process
 *	HERD     a message wakes all waiters of a process (PubSubMutex), otherwise one
 *	TURNS    how often each waiter may come
 *	CRASHES  how many processes may die, at any step
 *	CANCEL   how often a waiter may give up
 *	BREAKS   how often the connection of a subscription may break, with the messages in it
 *
 * Mutants:
 *
 *	TRUST       a waiter takes a message for the lock
 *	NO_CONFIRM  no waiter asks when a subscription begins or is renewed
 *	NO_PASS_ON  a waiter that gives up does not wake another one
 *	NO_MESSAGE  a release is not published
 */
#ifndef N
#define N 2
#endif
#ifndef W
#define W 2
#endif
#ifndef TURNS
#define TURNS 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#define ALL (N*W) /* waiters; process p has p*W to p*W + W-1 */
#define VACANT ALL
#define process(w) ((w)/W)

byte owner = VACANT; /* of the key */

mtype = { none, begun, live }; /* a subscription */
mtype sub[N] = none;
byte messages[N]; /* in transit */

mtype = { away, asking, waiting, inside, dead };
mtype at[ALL] = away;
bit woken[ALL];
bit believes[ALL];
byte turns[ALL];
bit over;   /* no more waiters arrive */
bit excuse; /* a holder was lost: waiters have to wait for the end of its lease */
byte crashes, cancels, breaks;
byte i;

inline enter(w) {
	for (i : 0 .. ALL-1) {
		assert(!believes[i])
	}
	i = 0;
	believes[w] = 1; at[w] = inside; excuse = 0
}

inline publish() {
	for (i : 0 .. N-1) {
		if
		:: sub[i] == live -> messages[i]++
		:: else
		fi
	}
	i = 0
}

inline wake_all(p) {
	for (i : (p)*W .. (p)*W+W-1) {
		woken[i] = (at[i] == waiting || at[i] == asking || woken[i])
	}
	i = 0
}

/* wake_one wakes the first waiter that is not awake. */
inline wake_one(p) {
	i = (p)*W;
	do
	:: i < (p)*W+W && (woken[i] || at[i] != waiting && at[i] != asking) -> i++
	:: else -> break
	od;
	if
	:: i < (p)*W+W -> woken[i] = 1
	:: else
	fi;
	i = 0
}

#define me _pid

active [ALL] proctype Waiter() {
end:	do
	:: d_step { at[me] == away && turns[me] < TURNS && !over -> turns[me]++; at[me] = asking }
	:: d_step { at[me] == asking ->
		if
		:: owner == VACANT -> owner = me; enter(me)
		:: else ->
			at[me] = waiting;
			sub[process(me)] = (sub[process(me)] == none -> begun : sub[process(me)])
		fi }
#ifdef TRUST
	:: d_step { at[me] == waiting && woken[me] -> woken[me] = 0; enter(me) }
#else
	:: d_step { at[me] == waiting && woken[me] -> woken[me] = 0; at[me] = asking }
#endif
	:: d_step { at[me] == waiting && cancels < CANCEL -> cancels++; at[me] = away; woken[me] = 0;
#ifndef NO_PASS_ON
		wake_one(process(me))
#endif
		}
	:: d_step { at[me] == inside && believes[me] -> believes[me] = 0 } /* the deadline */
	:: d_step { at[me] == inside -> /* the release */
		believes[me] = 0; at[me] = away; woken[me] = 0;
		if
		:: owner == me ->
			owner = VACANT;
#ifndef NO_MESSAGE
			publish()
#endif
		:: else
		fi }
	od
}

#define here (_pid - ALL)
#define idle (at[here*W] == away && at[here*W+W-1] == away)

active [N] proctype Process() {
end:	do
	:: d_step { sub[here] == begun -> sub[here] = live;
#ifndef NO_CONFIRM
		wake_all(here)
#endif
		}
	:: d_step { messages[here] > 0 -> messages[here]--;
#ifdef HERD
		wake_all(here)
#else
		wake_one(here)
#endif
		}
	:: d_step { sub[here] == live && breaks < BREAKS -> breaks++; sub[here] = begun; messages[here] = 0 }
	:: d_step { sub[here] == live && idle -> sub[here] = none; messages[here] = 0 }
	:: d_step { at[here*W] != dead && crashes < CRASHES -> crashes++;
		for (i : here*W .. here*W+W-1) {
			at[i] = dead; believes[i] = 0; woken[i] = 0
		}
		i = 0; sub[here] = none; messages[here] = 0 }
	od
}

inline look(w) { at[w] = (at[w] == waiting -> asking : at[w]) }

active proctype Time() {
end:	do
	:: d_step { !over -> over = 1 }
	:: d_step { owner != VACANT && !believes[owner] -> owner = VACANT; excuse = 1 }
	:: d_step { timeout && (at[0] == waiting || at[W-1] == waiting || at[ALL-W] == waiting || at[ALL-1] == waiting) ->
		assert(excuse);
		for (i : 0 .. ALL-1) {
			look(i)
		}
		i = 0 }
	od
}
