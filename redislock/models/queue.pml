/*
 * The protocol of redis-queue: the scripts in ../lua, each one step, and what
 * ../queue.go and ../mailbox.go make of their replies and letters.
 *
 * Time is an order of events. An owner that believes in its lease stops before
 * the key expires, because its deadline is reckoned from before the grant, less
 * drift: so the key may expire at any time when its owner does not believe. A
 * letter may grow old at any time; one that grants the lock does before the
 * key expires. Timers fire at any time, but that of who looks after a hand-over
 * not before the grant is over.
 *
 *	N        processes, each with one waiter and one mailbox
 *	CRASHES  how many of them may die, at any step
 *	TURNS    how often each may come; without it, as often as it likes
 *	AGAIN    waiters also ask when nothing has happened for two leases
 *
 *	LOSS     any reply and any letter may be lost; then who waited for it asks again
 *	CANCEL   how often who waits may give up
 *
 * Processes may stop, and exit, whenever they have no business with the lock. So
 * a waiter that relies on the others to come back is found as a deadlock.
 *
 * Mutants:
 *
 *	NO_GUARD       who hands over does not look whether the new owner has come
 *	NO_PASS        who looks after a hand-over exits without telling anybody
 *	NO_TELL_RENEW  the first waiter is not told of renewals
 *	NO_TELL_TAKE   nor when an owner whose letter was lost or late asks
 *	NO_TELL_LEAVE  nor does the second learn that the first has gone
 *	NO_WAKE        nobody asks when the connection for letters breaks
 *	NO_REASK       who reads an old letter that is not for it does not ask
 *	TRUST          a letter counts however old it is
 *	TAKE_BACK      a release does not ask who the owner is
 *	LEAVE_LAPSED   nor does it hand on a lock whose owner's time is over
 */
#ifndef N
#define N 3
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#define ROOM 2 /* of a mailbox; nobody renews while there is none */
#define NOBODY N

mtype = { grant, news, junk }; /* letters; junk is to a waiter that has gone */

/* The server. */
byte owner = NOBODY;
bit whole;             /* it has a whole lease, not a grant */
byte by = NOBODY;      /* who handed it over */
chan queue = [N] of { byte };

/* A mailbox: letters, and which of them are old: the first old. */
typedef Mailbox { byte n; mtype letter[ROOM]; byte old };
Mailbox box[N];

/* The processes. */
mtype = { away, asking, waiting, inside, leaving, undoing, dead };
mtype at[N] = away;
bit watch[N];    /* it was told until when the lock is taken */
bit guard[N];    /* it looks after its latest hand-over */
bit believes[N];
byte crashes, cancels;

byte i;
byte first;

#ifdef TURNS
byte turns[N];
#define may_come (turns[mine] < TURNS)
#define came turns[mine]++
#else
#define may_come true
#define came skip
#endif

#define mine _pid
#define roomy (box[0].n < ROOM && box[1].n < ROOM && box[N-1].n < ROOM)

/* --- scripts ---------------------------------------------------------------- */

inline post(p, what) {
	if
	:: box[p].n < ROOM -> box[p].letter[box[p].n] = what; box[p].n++
	:: else -> box[p].letter[ROOM-1] = what
	fi
}

inline tell() {
	if
	:: len(queue) > 0 -> queue?<first>; post(first, news)
	:: else
	fi;
	first = 0
}

/* hand gives the lock to the first waiter, or frees it; giver is who looks after
   it. It stops at self, if that is first. */
inline hand(giver, self) {
	owner = NOBODY; whole = 0; by = NOBODY;
	do
	:: len(queue) > 0 && owner == NOBODY ->
		queue?first;
		if
		:: first == self -> owner = self
		:: first != self && box[first].old > 0 /* left out */
		:: else -> owner = first; by = giver; post(first, grant)
		fi
	:: else -> break
	od;
	first = 0
}

inline join(p) {
	if
	:: queue??[eval(p)]
	:: else -> queue!p
	fi
}

/* take is the script of acquire by p. */
inline take(p) {
	if
	:: owner == p ->
		whole = 1; by = NOBODY;
#ifndef NO_TELL_TAKE
		tell()
#endif
	:: owner == NOBODY ->
		hand(NOBODY, p);
		if
		:: owner == NOBODY || owner == p -> owner = p; whole = 1;
#ifndef NO_TELL_TAKE
			tell()
#endif
		:: else ->
			join(p);
			watch[p] = 1
		fi
	:: else ->
		join(p);
		watch[p] = 0;
		if
		:: queue?[eval(p)] -> watch[p] = 1
		:: else
		fi
	fi
}

/* drop is the script of release by p. */
inline drop(p) {
#ifdef TAKE_BACK
	if
	:: owner != NOBODY ->
#else
	if
	:: owner == p ->
#endif
		hand(p, NOBODY); guard[p] = (owner != NOBODY -> 1 : guard[p])
#ifndef LEAVE_LAPSED
	:: owner == NOBODY ->
		if
		:: queue??[eval(p)] -> queue??eval(p)
		:: else
		fi;
		hand(p, NOBODY); guard[p] = (owner != NOBODY -> 1 : guard[p])
#endif
	:: else ->
		if
		:: queue?[eval(p)] -> queue?eval(p);
#ifndef NO_TELL_LEAVE
			tell()
#endif
		:: else ->
			if
			:: queue??[eval(p)] -> queue??eval(p)
			:: else
			fi
		fi
	fi
}

/* --- a process -------------------------------------------------------------- */

inline enter() {
	for (i : 0 .. N-1) {
		assert(!believes[i])
	}
	i = 0;
	believes[mine] = 1;
	watch[mine] = 0;
	at[mine] = inside;
	forget()
}

/* forget makes junk of the letters that are left: the next waiter has a name of
   its own. */
inline forget() {
	for (i : 0 .. ROOM-1) {
		if
		:: i < box[mine].n -> box[mine].letter[i] = junk
		:: else
		fi
	}
	i = 0
}

mtype got;
bit old;

inline unbox() {
	got = box[mine].letter[0];
	old = box[mine].old > 0;
	box[mine].old = (old -> box[mine].old - 1 : 0);
	box[mine].n--;
	for (i : 0 .. ROOM-2) {
		box[mine].letter[i] = box[mine].letter[i+1]
	}
	box[mine].letter[ROOM-1] = 0;
	i = 0
}

inline read() {
	unbox();
	if
	:: at[mine] != waiting
	:: else ->
		if
#ifdef TRUST
		:: got == grant -> enter()
#else
		:: got == grant && !old -> enter()
		:: got == grant && old -> at[mine] = asking
#endif
#ifdef NO_REASK
		:: got != grant -> watch[mine] = (got == news -> 1 : watch[mine])
#else
		:: got != grant && old -> at[mine] = asking
		:: got == news && !old -> watch[mine] = 1
		:: got == junk && !old
#endif
		fi
	fi;
	/* Who waits is in the queue, has the lock, or will ask. */
	assert(at[mine] != waiting || owner == mine || box[mine].old > 0 || queue??[eval(mine)]);
	got = 0; old = 0
}

active [N] proctype Process() {
	do
	:: d_step { at[mine] == away && may_come -> at[mine] = asking; came }
	:: d_step { at[mine] == asking -> /* and gets the reply */
		take(mine);
		if
		:: owner == mine -> enter()
		:: else -> at[mine] = waiting
		fi }
#ifdef LOSS
	:: d_step { at[mine] == asking -> take(mine) } /* and does not */
#endif
	:: d_step { (at[mine] == asking || at[mine] == waiting) && cancels < CANCEL -> cancels++; at[mine] = undoing; watch[mine] = 0 }
	:: d_step { at[mine] == waiting && watch[mine] -> watch[mine] = 0; at[mine] = asking }
#ifdef AGAIN
	:: d_step { at[mine] == waiting && crashes > 1 -> watch[mine] = 0; at[mine] = asking }
#endif
	:: d_step { at[mine] != dead && box[mine].n > 0 -> read() }
#ifdef LOSS
	:: d_step { at[mine] != dead && box[mine].n > 0 -> /* the connection breaks */
		unbox(); got = 0; old = 0;
#ifndef NO_WAKE
		if
		:: at[mine] == waiting -> watch[mine] = 0; at[mine] = asking
		:: else
		fi
#endif
		}
#endif
	:: d_step { at[mine] == inside && believes[mine] && owner == mine && roomy ->
		whole = 1; by = NOBODY;
#ifndef NO_TELL_RENEW
		tell()
#endif
		}
	:: d_step { at[mine] == inside && believes[mine] -> believes[mine] = 0 } /* the deadline */
	:: d_step { at[mine] == inside -> believes[mine] = 0; at[mine] = leaving }
	:: d_step { at[mine] == leaving || at[mine] == undoing -> drop(mine); at[mine] = away; forget() }
#ifndef NO_GUARD
	:: d_step { at[mine] != dead && guard[mine] && !(owner != NOBODY && !whole && by == mine) ->
		guard[mine] = 0;
		if
		:: owner == NOBODY -> hand(mine, NOBODY); guard[mine] = (owner != NOBODY)
		:: else
		fi }
#endif
	:: d_step { at[mine] == away -> at[mine] = dead; /* it exits */
		if
		:: guard[mine] -> guard[mine] = 0;
#ifndef NO_PASS
			if
			:: owner == NOBODY -> hand(NOBODY, NOBODY)
			:: else
			fi;
			tell()
#endif
		:: else
		fi }
	:: d_step { at[mine] != dead && at[mine] != away && crashes < CRASHES ->
		crashes++; at[mine] = dead; believes[mine] = 0; guard[mine] = 0; watch[mine] = 0 }
	:: atomic { at[mine] == dead -> break }
	od
}

/* --- time ------------------------------------------------------------------- */

/* A grant that can still be read in time, in the mailbox of p. */
#define fresh(p, k) (box[p].n > k && box[p].old <= k && box[p].letter[k] == grant)

active proctype Time() {
end:	do
	:: d_step { box[0].old < box[0].n -> box[0].old++ }
	:: d_step { box[1].old < box[1].n -> box[1].old++ }
#if N > 2
	:: d_step { box[2].old < box[2].n -> box[2].old++ }
#endif
	:: d_step { owner != NOBODY && !believes[owner] && !fresh(owner, 0) && !fresh(owner, 1) ->
		owner = NOBODY; whole = 0; by = NOBODY }
	od
}
