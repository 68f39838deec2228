/*
 * The lock zk-rw, as in rw.go: readers and writers that queue by tickets, and writers that
 * hand over. handoff.pml models watches on a broken connection: the code is the same.
 *
 * Mutants:
 *
 *	READER_GIVES      readers hand over as well, to the writer that watches them
 *	DOWNGRADE_GIVES   a writer that continues as a reader with a second ticket hands over
 *	FAR_WRITER        a reader watches the first writer ahead, and believes its release
 *	NO_MARKER         a waiter takes any change of the ticket ahead for its release
 *	OPEN_ACL          others can write to a sealed ticket
 *	DELETED_GIVES     a waiter takes the deletion of the ticket ahead for its release
 *	WITHDRAW_BY_MULTI a waiter that gives up leaves as a writer that had the lock
 *	ABSENT_WAITS      a waiter waits though the ticket ahead was gone when it set the watch
 *	ABSENT_GIVES      a waiter takes the lock if the ticket ahead was gone then
 */
#ifndef N
#define N 3
#endif
#ifndef CRASHES
#define CRASHES 1 /* how often sessions end in total */
#endif
#ifndef WRITES
#define WRITES 1 /* how often a stranger writes in total */
#endif

#define NOBODY 254
#define GONE   255

/* Events. */
#define NOTHING 0
#define CHANGED 1
#define DELETED 2

/* --- the server ---------------------------------------------------------- */

byte queue[N]; /* the owners of the tickets, in order of the numbers */
byte n;
bit w[N];      /* the owner has a writer's ticket there */
bit r[N];      /* the owner has a reader's ticket of the same number */
bit sealed[N]; /* the writer's ticket has the marker, and its ACL */
bit told[N];   /* the session is over; its client has noticed before (handoff.pml) */

/* The watch of a client on the ticket of another: */
byte on[N] = NOBODY; /* owner of the ticket, while no event has come */
bit onW[N];          /* the watch is on the writer's ticket */
byte event[N];

/* --- a client ------------------------------------------------------------ */

byte ahead[N] = NOBODY; /* owner of the ticket ahead in the list; GONE if it has gone since */
bit aheadW[N];          /* that ticket is the writer's */
bit trusts[N];          /* the watch shows a release */
byte holds[N];          /* 0, or READS or WRITES_ON */
#define READS  1
#define WRITER 2

byte readers, writers, crashes, writes;
byte k; /* loop variable, 0 between loops */

#define me _pid

/* tell triggers the watches on a ticket of c. */
inline tell(c, isW, what) {
	do
	:: k < N ->
		if :: on[k] == c && onW[k] == isW -> event[k] = what; on[k] = NOBODY :: else fi;
		k++
	:: else -> break
	od;
	k = 0
}

/* vacate removes the place of c from the queue if c has no ticket there. */
inline vacate(c) {
	if
	:: !w[c] && !r[c] ->
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
		k = 0
	:: else
	fi
}

/* remove deletes one ticket of c. A client that watches it receives the event what. */
inline remove(c, isW, what) {
	tell(c, isW, what);
	do
	:: k < N -> if :: ahead[k] == c && aheadW[k] == isW -> ahead[k] = GONE :: else fi; k++
	:: else -> break
	od;
	k = 0;
	if
	:: isW -> w[c] = 0; sealed[c] = 0
	:: else -> r[c] = 0
	fi;
	vacate(c)
}

inline drop(c) {
	if
	:: holds[c] == READS -> readers--
	:: holds[c] == WRITER -> writers--
	:: else
	fi;
	holds[c] = 0
}

/* forget clears the state of a client about the tickets of others. */
inline forget() {
	on[me] = NOBODY; onW[me] = 0; event[me] = NOTHING;
	ahead[me] = NOBODY; aheadW[me] = 0; trusts[me] = 0
}

inline join(asW, seals, mayLeave) {
	queue[n] = me;
	n++;
	w[me] = asW;
	r[me] = !asW;
	sealed[me] = seals;
	writes_ = asW;
	impatient = mayLeave
}

/* over resets a client that notices the end of its session. */
inline over() { told[me] = 0; forget(); impatient = 0; first = 0; writes_ = 0 }

/* seen(x) fails in the search for a path to state x. */
#ifndef WITNESS
#define WITNESS 0
#endif
#define seen(x) assert(WITNESS != x)

#ifdef READER_GIVES
#define byRelease CHANGED
#else
#define byRelease DELETED
#endif

active [N] proctype Client() {
	bit impatient, writes_, first;
enter:
	if
	:: d_step { !told[me] -> join(1, 1, 0) }
	:: d_step { !told[me] -> join(1, 1, 1) }
	:: d_step { !told[me] -> join(1, 0, 0) } /* by a client that cannot seal */
	:: d_step { !told[me] -> join(0, 0, 0) }
	:: d_step { !told[me] -> join(0, 0, 1) }
	:: d_step { told[me] -> over() }; goto enter
	fi;
look:
	if :: first = 0 :: first = 1 fi; /* two tickets with the same number come in either order */
	if
	:: d_step { !told[me] ->
		/* k becomes one more than the place of the ticket to watch, 0 if there is none */
		do
		:: queue[k] != me -> k++
		:: else -> break
		od;
#ifdef FAR_WRITER
		if
		:: !writes_ && k > 0 ->
			ahead[me] = k; /* temporarily its own place */
			k = 1;
			do
			:: k <= ahead[me] && !w[queue[k - 1]] -> k++
			:: else -> break
			od;
			if :: k > ahead[me] -> k = 0 :: else fi;
			ahead[me] = NOBODY
		:: else
		fi;
#endif
		do
		:: k > 0 && !writes_ && !w[queue[k - 1]] -> k-- /* another reader */
		:: else -> break
		od;
		if
		:: k > 0 ->
			ahead[me] = queue[k - 1];
			aheadW[me] = w[ahead[me]] && (!writes_ || !r[ahead[me]] || first)
		:: else
		fi;
		k = 0;
		first = 0
	}
	:: d_step { told[me] -> over() }; goto enter
	fi;
	if
	:: ahead[me] == NOBODY -> goto grant
	:: d_step { ahead[me] != NOBODY && ahead[me] != GONE && !told[me] ->
		on[me] = ahead[me];
		onW[me] = aheadW[me];
		trusts[me] = (aheadW[me] && sealed[ahead[me]]);
#ifdef READER_GIVES
		trusts[me] = (trusts[me] || !aheadW[me]);
#endif
#ifdef NO_MARKER
		trusts[me] = 1;
#endif
		ahead[me] = NOBODY;
		aheadW[me] = 0
	}
#if defined(ABSENT_WAITS)
	:: ahead[me] == GONE
#elif defined(ABSENT_GIVES)
	:: ahead[me] == GONE -> goto grant
#else
	:: d_step { ahead[me] == GONE && !told[me] -> seen(1); forget() }; goto look
#endif
	:: d_step { told[me] -> over() }; goto enter
	fi;
wait:
	if
#ifdef DELETED_GIVES
	:: d_step { event[me] == DELETED && !told[me] -> event[me] = NOTHING }; goto grant
#else
	:: d_step { event[me] == DELETED && !told[me] -> event[me] = NOTHING; trusts[me] = 0 }; goto look
#endif
	:: d_step { event[me] == CHANGED && !trusts[me] && !told[me] -> seen(2); event[me] = NOTHING }; goto look
	:: d_step { event[me] == CHANGED && trusts[me] && !told[me] && writes_ -> seen(3); event[me] = NOTHING }; goto grant
	:: d_step { event[me] == CHANGED && trusts[me] && !told[me] && !writes_ -> seen(4); event[me] = NOTHING }; goto grant
	:: d_step { impatient && !told[me] ->
		forget();
#ifdef WITHDRAW_BY_MULTI
		remove(me, writes_, CHANGED);
#else
		remove(me, writes_, DELETED);
#endif
		impatient = 0; writes_ = 0
	   }; goto enter
	:: d_step { told[me] -> over() }; goto enter
	fi;

grant:
	if
	:: d_step { !told[me] && writes_ ->
		forget();
		assert(writers == 0 && readers == 0);
		writers++;
		holds[me] = WRITER
	}
	:: d_step { !told[me] && !writes_ ->
		forget();
		assert(writers == 0);
		readers++;
		if :: readers > 1 -> seen(5) :: else fi;
		holds[me] = READS
	}
	:: d_step { told[me] -> over() }; goto enter
	fi;
	if
	:: d_step { !told[me] && writes_ -> r[me] = 1 } /* the writer also creates a reader's ticket */
	:: d_step { !told[me] && writes_ ->
		drop(me);
		if
		:: sealed[me] -> remove(me, 1, CHANGED)
		:: else -> remove(me, 1, DELETED)
		fi;
		impatient = 0; writes_ = 0
	   }; goto enter
	:: !writes_ -> goto reads
	:: d_step { told[me] -> over() }; goto enter
	fi;
	if
	:: d_step { !told[me] ->
		drop(me); /* it stops writing */
		readers++;
		holds[me] = READS;
		if
#ifdef DOWNGRADE_GIVES
		:: sealed[me] -> remove(me, 1, CHANGED)
#endif
		:: else -> remove(me, 1, DELETED)
		fi
	}
	:: d_step { told[me] -> over() }; goto enter
	fi;
reads:
	if
	:: d_step { !told[me] -> drop(me); remove(me, 0, byRelease); impatient = 0; writes_ = 0 }; goto enter
	:: d_step { told[me] -> over() }; goto enter
	fi
}

/* The sessions of client c, and a stranger that writes to its tickets. */
proctype World(byte c) {
end:	do
	:: d_step { crashes < CRASHES && !told[c] ->
		crashes++;
		drop(c);
		if :: w[c] -> remove(c, 1, DELETED) :: else fi;
		if :: r[c] -> remove(c, 0, DELETED) :: else fi;
		told[c] = 1
	}
#ifdef OPEN_ACL
	:: d_step { writes < WRITES && w[c] -> writes++; tell(c, 1, CHANGED) }
#else
	:: d_step { writes < WRITES && w[c] && !sealed[c] -> writes++; tell(c, 1, CHANGED) }
#endif
	:: d_step { writes < WRITES && r[c] -> writes++; tell(c, 0, CHANGED) }
	od
}

init {
	byte c;
	atomic {
		do
		:: c < N -> run World(c); c++
		:: else -> break
		od
	}
}
