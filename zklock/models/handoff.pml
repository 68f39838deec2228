/*
 * The lock zk-handoff, as in handoff.go: clients that queue by tickets, a server that keeps
 * the queue and sends events, and their failures.
 *
 *	TRUST_CUT         a waiter believes its watch even after a reconnect
 *
 * Mutants:
 *
 *	NO_MARKER         a waiter takes any change of the ticket ahead for its release
 *	OPEN_ACL          others can write to a sealed ticket
 *	DELETED_GIVES     a waiter takes the deletion of the ticket ahead for its release
 *	WITHDRAW_BY_MULTI a waiter that gives up leaves as a holder does
 *	ABSENT_WAITS      a waiter waits though the ticket ahead was gone when it set the watch
 *	ABSENT_GIVES      a waiter takes the lock if the ticket ahead was gone then, even if
 *	                  there are other tickets ahead
 *	NO_CLOCK          a holder does not notice that no server answers
 *	NO_LOOK           a waiter whose ticket was created as the first takes the lock without
 *	                  reading the queue, even if its session is a new one by then
 *	OPERATOR          the ticket of a waiter is deleted by hand: not a bug of the lock, but
 *	                  its limit, while the ticket is not guarded (guard.go)
 */
#ifndef N
#define N 3
#endif
#ifndef CUTS
#define CUTS 2 /* how often connections break in total */
#endif
#ifndef WRITES
#define WRITES 2 /* how often a stranger writes in total */
#endif

/* The clients are equivalent: a single failure may be assumed to be of client 0. */
#ifndef CUT
#define CUT N /* number of clients whose connections may break */
#endif
#ifndef WRITTEN
#define WRITTEN N /* number of clients to whose tickets a stranger may write */
#endif

#define NOBODY 254
#define GONE   255

/* Events. */
#define NOTHING 0
#define CHANGED 1
#define DELETED 2

/* --- the server ---------------------------------------------------------- */

byte queue[N]; /* the owners of the tickets, in order */
byte n;
bit ticket[N];
bit sealed[N]; /* the ticket has the marker, and its ACL */

/* The session of a client: */
bit up[N] = 1;  /* connected */
bit over[N];    /* expired, and the client has not noticed */
bit told[N];    /* expired, and the client has noticed and has a new session */

/* The watch of a client on the ticket of another: */
byte on[N] = NOBODY; /* owner of the ticket, while no event has come */
byte missed[N];      /* change of that ticket while there was no connection */
byte event[N];       /* the event that has come */
byte from[N];        /* owner of the ticket in the event */
bit gone[N];         /* that ticket is gone now */

/* --- a client --------------------------------------------------------------- */

bit clock[N] = 1;       /* by the client's clock the session is alive */
bit holds[N];
bit trusts[N];          /* the watch shows a release */
byte ahead[N] = NOBODY; /* owner of the ticket ahead in the list; GONE if it has gone since */
bit only[N];            /* the list had no other ticket ahead */

byte inside, cuts, writes;
byte k; /* loop variable, 0 between loops */

#define me _pid
#define connected (up[me] && !told[me])

/* tell triggers the watches on the ticket of c. */
inline tell(c, what) {
	do
	:: k < N ->
		if
		:: on[k] == c && up[k] -> event[k] = what; from[k] = c; gone[k] = 0; on[k] = NOBODY
		:: on[k] == c && !up[k] -> if :: missed[k] == NOTHING -> missed[k] = what :: else fi
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

/* remove deletes the ticket of c, if there is one, from the queue. A client that watches it
   receives the event what. A client that was cut off finds the ticket gone. */
inline remove(c, what) {
	tell(c, what);
	do
	:: k < N ->
		if :: on[k] == c -> missed[k] = DELETED :: else fi;
		if :: event[k] != NOTHING && from[k] == c -> gone[k] = 1 :: else fi;
		if :: ahead[k] == c -> ahead[k] = GONE :: else fi;
		k++
	:: else -> break
	od;
	k = 0;
	if
	:: ticket[c] ->
		do
		:: queue[k] != c -> k++
		:: else -> break
		od;
		n--;
		do
		:: k < n -> queue[k] = queue[k + 1]; k++
		:: else -> break
		od;
		queue[k] = 0;
		ticket[c] = 0;
		sealed[c] = 0;
		k = 0
	:: else
	fi
}

inline cut(c) {
	up[c] = 0;
	cuts++;
#ifndef TRUST_CUT
	trusts[c] = 0
#endif
}

/* forget clears the state of a client about a ticket that is gone. */
inline forget() {
	on[me] = NOBODY; missed[me] = NOTHING; event[me] = NOTHING; from[me] = 0; gone[me] = 0;
	ahead[me] = NOBODY; only[me] = 0; trusts[me] = 0
}

inline join(seals, mayLeave) {
	queue[n] = me;
	n++;
	ticket[me] = 1;
	sealed[me] = seals;
	impatient = mayLeave
}

inline drop(c) {
	if :: holds[c] -> holds[c] = 0; inside-- :: else fi
}

/* heard consumes the event. */
inline heard() { event[me] = NOTHING; from[me] = 0; gone[me] = 0 }

/* leave is the request of a holder to leave, if its ticket still exists. */
inline leave() {
	if
	:: sealed[me] -> remove(me, CHANGED)
	:: else -> remove(me, DELETED)
	fi
}

/* seen(x) fails in the search for a path to state x. */
#ifndef WITNESS
#define WITNESS 0
#endif
#define seen(x) assert(WITNESS != x)

/* Each write is executed or not. Its reply arrives, or the connection breaks. */
#define canCut (cuts < CUTS && me < CUT)

active [N] proctype Client() {
	bit impatient;
enter:
	if
#ifdef NO_LOOK
	:: d_step { connected && n == 0 -> join(1, 0) };
		if
		:: d_step { told[me] -> told[me] = 0; forget() }
		:: true
		fi;
		goto grant
#endif
	:: d_step { connected -> join(1, 0) }
	:: d_step { connected -> join(1, 1) }
	:: d_step { connected -> join(0, 0) } /* by a client that cannot seal */
	:: d_step { connected && canCut -> join(1, 0); cut(me) }; goto doubt
	:: d_step { connected && canCut -> cut(me) }; goto doubt
	:: d_step { told[me] -> told[me] = 0 }; goto enter
	fi;
look:
	if
#ifdef OPERATOR
	:: d_step { connected && !ticket[me] -> forget() }; goto enter
	:: d_step { connected && ticket[me] && queue[0] == me -> forget() }; goto grant
	:: d_step { connected && ticket[me] && queue[0] != me ->
#else
	:: d_step { connected && queue[0] == me -> forget() }; goto grant
	:: d_step { connected && queue[0] != me ->
#endif
		do
		:: queue[k + 1] != me -> k++
		:: else -> break
		od;
		ahead[me] = queue[k];
		only[me] = (k == 0);
		k = 0
	}
	:: d_step { told[me] -> told[me] = 0; forget() }; goto enter
	fi;
	if
	:: d_step {
		connected && ahead[me] != GONE ->
		on[me] = ahead[me];
		missed[me] = NOTHING;
		trusts[me] = sealed[ahead[me]];
#ifdef NO_MARKER
		trusts[me] = 1;
#endif
		ahead[me] = NOBODY;
		only[me] = 0
	}
#if defined(ABSENT_WAITS)
	:: connected && ahead[me] == GONE
#elif defined(ABSENT_GIVES)
	:: connected && ahead[me] == GONE -> goto grant
#else
	:: d_step { connected && ahead[me] == GONE && only[me] -> seen(1); forget() }; goto grant
	:: d_step { connected && ahead[me] == GONE && !only[me] -> seen(2); forget() }; goto look
#endif
	:: d_step { told[me] -> told[me] = 0; forget() }; goto enter
	fi;
wait:
	if
#ifdef DELETED_GIVES
	:: d_step { event[me] == DELETED -> heard() }; goto grant
#else
	:: d_step { event[me] == DELETED -> heard() }; goto look
#endif
	:: d_step { event[me] == CHANGED && !trusts[me] -> seen(3); heard() }; goto look
	:: d_step { event[me] == CHANGED && trusts[me] -> seen(4); heard() }; goto grant
	:: impatient -> goto withdraw
	:: d_step { told[me] -> seen(5); told[me] = 0; forget() }; goto enter
	fi;

doubt:	/* was the ticket created? */
	if
	:: d_step { connected && ticket[me] -> seen(6) }; goto look
	:: d_step { connected && !ticket[me] -> seen(7) }; goto enter
	:: d_step { told[me] -> told[me] = 0 }; goto enter
	fi;

grant:
	if
	:: d_step {
		clock[me] && !told[me] ->
		forget();
		assert(inside == 0);
		inside++;
		holds[me] = 1;
#if !defined(NO_CLOCK) && !defined(OPERATOR)
		assert(queue[0] == me);
#endif
	}
	:: d_step { told[me] -> seen(8); told[me] = 0; forget() }; goto enter
	fi;
	d_step { drop(me) }; /* the holder calls Unlock, or was notified before that it has lost the lock */
release:
	if
	:: d_step { connected -> leave(); forget(); impatient = 0 }; goto enter
	:: d_step { connected && canCut && ticket[me] -> leave(); cut(me) }; goto release /* then the ticket is gone */
	:: d_step { connected && canCut -> cut(me) }; goto release
	:: d_step { told[me] -> seen(9); told[me] = 0; forget(); impatient = 0 }; goto enter
	fi;

withdraw:
	if
#ifdef WITHDRAW_BY_MULTI
	:: d_step { connected -> remove(me, CHANGED); forget(); impatient = 0 }; goto enter
#else
	:: d_step { connected -> remove(me, DELETED); forget(); impatient = 0 }; goto enter
#endif
	:: d_step { connected && canCut && ticket[me] -> remove(me, DELETED); cut(me) }; goto withdraw
	:: d_step { connected && canCut -> cut(me) }; goto withdraw
	:: d_step { told[me] -> told[me] = 0; forget(); impatient = 0 }; goto enter
	fi
}

/* The network and the clocks of client c. A server ends a session only after its end by the
   client's clock, because the client counts from an earlier time. */
proctype World(byte c) {
end:	do
	:: d_step { up[c] && cuts < CUTS -> cut(c) }
	:: d_step { up[c] && cuts < CUTS && event[c] != NOTHING -> /* the event is lost with the connection */
		on[c] = from[c];
		seen(10);
		missed[c] = (gone[c] -> DELETED : event[c]);
		event[c] = NOTHING;
		from[c] = 0;
		gone[c] = 0;
		cut(c)
	}
#ifdef NO_CLOCK
	:: d_step { !up[c] && !over[c] && !told[c] -> over[c] = 1; remove(c, DELETED) }
#else
	:: d_step { !up[c] && clock[c] -> clock[c] = 0; drop(c) }
	:: d_step { !up[c] && !clock[c] && !over[c] && !told[c] -> over[c] = 1; remove(c, DELETED) }
#endif
	:: d_step { !up[c] ->
		up[c] = 1;
		clock[c] = 1;
		if
		:: over[c] -> over[c] = 0; told[c] = 1
		:: !over[c] && on[c] == NOBODY
		:: else -> /* SetWatches: the ticket is gone, has changed, or is watched again */
			if
			:: missed[c] != NOTHING ->
				event[c] = missed[c];
				from[c] = on[c];
				gone[c] = (missed[c] == DELETED);
				missed[c] = NOTHING;
				on[c] = NOBODY
			:: else
			fi
		fi
	}
	od
}

/* A stranger, such as Curator's Revoker, writes to the ticket of a holder. Only writes that
   succeed are steps: a step that changes nothing would hide a deadlock. */
proctype Stranger(byte c) {
end:	do
#ifdef OPEN_ACL
	:: d_step { writes < WRITES && ticket[c] -> writes++; tell(c, CHANGED) }
#else
	:: d_step { writes < WRITES && ticket[c] && !sealed[c] -> writes++; tell(c, CHANGED) }
#endif
#ifdef OPERATOR
	:: d_step { n > 1 && queue[1] == c && writes < WRITES -> writes++; remove(c, DELETED) }
#endif
	od
}

init {
	byte c;
	atomic {
		do
		:: c < CUT -> run World(c); c++
		:: else -> break
		od;
		c = 0;
		do
		:: c < WRITTEN -> run Stranger(c); c++
		:: else -> break
		od
	}
}
