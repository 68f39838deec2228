/*
 * The protocol of redis-queue: the scripts in ../lua, each one step, and what
 * ../queue.go and ../mailbox.go make of their replies and letters.
 *
 * Time is an order of events. An owner that believes in its lease stops before
 * the key expires, because its deadline is reckoned from before the grant, less
 * drift: so the key may expire at any time when its owner does not believe. A
 * letter may grow old at any time, in a mailbox or in a reply; one that grants the
 * lock does before the key expires. Timers fire at any time, but that of who looks
 * after a hand-over not before the grant is over.
 *
 * A release is three steps: its request is sent, its script runs, its reply comes,
 * with the letter to the next waiter if that is of the same process. In between
 * everything else can happen. Other requests are one step with their replies.
 *
 *	N        processes, each with one mailbox
 *	W        waiters of each process, 1 or 2
 *	ALL      waiters of all processes, where the last has fewer
 *	CRASHES  how many processes may die, at any step
 *	TURNS    how often each waiter may come; without it, as often as it likes
 *	AGAIN    who waits asks when nothing else can happen, as it does after two leases;
 *	         then it must get the lock or learn when to look
 *
 *	LOSS     any reply and any letter may be lost; then who waited for it asks again,
 *	         or the client library has done so and does not say it
 *	LOSSES   so, but so many
 *	MUTE     how many releases may wait for their reply for ever
 *	CANCEL   how often who waits may give up
 *	ASK      how often who waits may ask for no reason, at any time
 *	CLOSE    how many processes may close their client while they have business
 *
 * Whoever has no business with the lock may stay away for ever, or close its client. So
 * a waiter that relies on the others to come back is found to be stuck. The search goes no
 * further where more than ROOM letters lie in the mailbox of a process that lives; news
 * to a waiter that lies there already is not written twice.
 *
 * Mutants:
 *
 *	NO_GUARD       who hands over does not look whether the new owner has come
 *	NO_PASS        who looks after a hand-over exits without telling anybody
 *	NO_FIRST       who asks does not learn that it is the first, and should watch
 *	NO_TELL_RENEW  the first waiter is not told of renewals
 *	NO_TELL_TAKE   nor when an owner whose letter was lost or late asks
 *	NO_TELL_LEAVE  nor does the second learn that the first has gone
 *	NO_WAKE        nobody asks when the connection for letters breaks
 *	NO_REASK       who reads an old letter that is not for it does not ask
 *	REJOIN         who asks gets the last place
 *	TRUST          a letter counts however old it is
 *	TAKE_BACK      a release does not ask who the owner is
 *	LEAVE_LAPSED   nor does it, or who sent it, mind a lock whose owner's time is over
 *
 * and within a process:
 *
 *	NO_DOUBT       nobody asks when the reply to a release is lost
 *	NO_ABSENT      nor when it says that there was nothing to release, to who gave up:
 *	               then the library has repeated a request whose reply was lost
 *	NO_HURRY       nor while there is no reply
 *	HURRY_EARLY    only those do who waited when the release began
 *	FROM_REPLY     a letter in a reply counts from when the reply came
 *	NO_GUARD_LOCAL nobody looks after a hand-over
 */
#ifndef N
#define N 3
#endif
#ifndef W
#define W 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef ASK
#define ASK 0
#endif
#ifndef MUTE
#define MUTE 0
#endif
#ifndef CLOSE
#define CLOSE 0
#endif
#ifndef ROOM
#define ROOM (W+1) /* of a mailbox */
#endif
#ifndef ALL
#define ALL (N*W) /* waiters: those of process p are p*W to p*W + W-1 */
#endif
#define NOBODY ALL
#define NONE N /* no process */

mtype = { grant, news, junk }; /* letters; junk is to a waiter that has gone */

/* The server. */
byte owner = NOBODY;
bit whole;           /* it has a whole lease, not a grant */
byte by = NONE;      /* the process that handed it over */
byte open = NOBODY;  /* who did, and has no reply yet */
chan queue = [ALL] of { byte };

/* A mailbox: letters, to whom, and which of them are old: the first old. */
typedef Mailbox { byte n; mtype what[ROOM]; byte to[ROOM]; byte old };
Mailbox box[N];

/* The reply to a release, and the letter in it. */
typedef Reply { bit owned; bit gave; bit doubt; mtype what; byte to; bit old };
Reply reply[N*W];

/* The waiters, and what their processes know. */
mtype = { away, asking, waiting, inside, leaving, undoing, hearing, mute, dead };
mtype at[N*W] = away;
bit watch[N*W];    /* it was told until when the lock is taken */
bit believes[N*W];
bit hurry[N*W];    /* who waits will ask because its release takes long */
bit again[N*W];    /* it repeats a release */
bit guard[N];      /* it looks after its latest hand-over */
bit closed[N];
bit over;          /* nobody comes any more */
byte crashes, cancels, asks, mutes, closes;

bit packed; /* a mailbox: the search goes no further */

byte i, j, k;
byte first;
byte sender = NOBODY; /* of the release whose script runs: letters to its process go with the reply */

#ifdef TURNS
byte turns[N*W];
/* who is alike comes in order */
#define may_come (turns[me] < TURNS && (me%W != 0 || ALL < N*W || me == 0 || turns[me-W] > 0) && (me%W == 0 || turns[me-1] > 0))
#define came turns[me]++
#else
#define may_come true
#define came skip
#endif

#if defined(LOSS)
#define may_lose true
#define lost skip
#elif LOSSES > 0
byte losses;
#define may_lose (losses < LOSSES)
#define lost losses++
#endif

#define process(w) ((w)/W)

/* --- scripts ---------------------------------------------------------------- */

#define local_to(w) (sender != NOBODY && process(w) == process(sender))

#define unread(w, k) (box[process(w)].what[k] == news && box[process(w)].to[k] == w)
#define reads(p) (at[(p)*W] != dead && !closed[p])

inline post(w, kind) {
	if
	:: local_to(w) -> reply[sender].what = kind; reply[sender].to = w
	:: else ->
		if
		:: kind == news && (unread(w, 0) || unread(w, 1) || unread(w, ROOM-1))
		:: else ->
			if
			:: box[process(w)].n < ROOM ->
				box[process(w)].what[box[process(w)].n] = kind;
				box[process(w)].to[box[process(w)].n] = w;
				box[process(w)].n++
			:: else -> packed = reads(process(w))
			fi
		fi
	fi
}

inline tell() {
	if
	:: len(queue) > 0 -> queue?<first>; post(first, news)
	:: else
	fi;
	first = 0
}

/* hand gives the lock to the first waiter, or frees it; giver is the process that
   looks after it. It stops at self, if that is first. */
inline hand(giver, self) {
	owner = NOBODY; whole = 0; by = NONE; open = NOBODY;
	do
	:: len(queue) > 0 && owner == NOBODY ->
		queue?first;
		if
		:: first == self -> owner = self
		:: first != self && !local_to(first) && box[process(first)].old > 0 /* left out */
		:: else -> owner = first; by = giver; open = sender; post(first, grant)
		fi
	:: else -> break
	od;
	first = 0
}

inline join(w) {
	if
#ifdef REJOIN
	:: queue??[eval(w)] -> queue??eval(w); queue!w
#else
	:: queue??[eval(w)]
#endif
	:: else -> queue!w
	fi
}

/* take is the script of acquire by w. */
inline take(w) {
	if
	:: owner == w ->
		whole = 1; by = NONE; open = NOBODY;
#ifndef NO_TELL_TAKE
		tell()
#endif
	:: owner == NOBODY ->
		hand(NONE, w);
		if
		:: owner == NOBODY || owner == w -> owner = w; whole = 1;
#ifndef NO_TELL_TAKE
			tell()
#endif
		:: else ->
			join(w);
			watch[w] = 1
		fi
	:: else ->
		join(w);
		watch[w] = 0;
		if
#ifndef NO_FIRST
		:: queue?[eval(w)] -> watch[w] = 1
#endif
		:: else
		fi
	fi
}

#define handed (owner != NOBODY)

/* drop is the script of release by w, and its reply. */
inline drop(w) {
	sender = w;
	if
#ifdef TAKE_BACK
	:: owner != NOBODY ->
#else
	:: owner == w ->
#endif
		hand(process(w), NOBODY); reply[w].gave = handed
	:: else ->
#ifdef LEAVE_LAPSED
		reply[w].doubt = again[w];
#else
		reply[w].doubt = reply[w].owned || again[w];
#endif
		if
		:: queue?[eval(w)] -> queue?eval(w); first = 1
		:: else ->
			if
			:: queue??[eval(w)] -> queue??eval(w)
#if defined(NO_ABSENT) || defined(LEAVE_LAPSED)
			:: else
#else
			:: else -> reply[w].doubt = 1
#endif
			fi
		fi;
		if
#ifndef LEAVE_LAPSED
		:: owner == NOBODY ->
			hand(process(w), NOBODY); reply[w].gave = handed
#endif
#ifndef NO_TELL_LEAVE
		:: owner != NOBODY && first == 1 -> tell()
#endif
		:: else
		fi
	fi;
	first = 0; sender = NOBODY
}

/* pass is the script of who does not look after a hand-over any more. */
inline pass(p) {
	guard[p] = 0;
#ifndef NO_PASS
	if
	:: owner == NOBODY -> hand(NONE, NOBODY)
	:: else
	fi;
	tell()
#endif
}

/* --- a process -------------------------------------------------------------- */

inline enter(w) {
	for (i : 0 .. ALL-1) {
		assert(!believes[i])
	}
	i = 0;
	believes[w] = 1;
	watch[w] = 0;
	at[w] = inside;
	forget(w)
}

/* forget makes junk of the letters to w that are left: the next waiter has a name
   of its own. */
inline forget(w) {
	for (j : 0 .. ROOM-1) {
		if
		:: j < box[process(w)].n && box[process(w)].to[j] == w -> box[process(w)].what[j] = junk; box[process(w)].to[j] = 0
		:: else
		fi
	}
	for (j : 0 .. W-1) {
		if
		:: reply[process(w)*W+j].what != 0 && reply[process(w)*W+j].to == w ->
			reply[process(w)*W+j].what = junk; reply[process(w)*W+j].to = 0
		:: else
		fi
	}
	j = 0
}

/* rouse lets all waiters of p ask. */
inline rouse(p) {
	for (k : (p)*W .. (p)*W+W-1) {
		if
		:: at[k] == waiting -> watch[k] = 0; at[k] = asking
		:: else
		fi
	}
	k = 0
}

mtype got;
byte to;
bit old;

inline unbox(p) {
	got = box[p].what[0];
	to = box[p].to[0];
	old = box[p].old > 0;
	box[p].old = (old -> box[p].old - 1 : 0);
	box[p].n--;
	for (j : 0 .. ROOM-2) {
		box[p].what[j] = box[p].what[j+1];
		box[p].to[j] = box[p].to[j+1]
	}
	box[p].what[ROOM-1] = 0; box[p].to[ROOM-1] = 0;
	j = 0
}

#define releases(w) (at[w] == leaving || at[w] == undoing || at[w] == hearing || at[w] == mute && hurry[w])

/* deliver gives a letter to the waiter it is for. */
inline deliver(p, counts) {
	if
	:: got == grant && at[to] == waiting ->
		if
		:: counts -> enter(to)
		:: else -> watch[to] = 0; at[to] = asking
		fi
	:: got == news && at[to] == waiting -> watch[to] = 1
	:: else
	fi;
#ifndef NO_REASK
	if
	:: old -> rouse(p)
	:: else
	fi;
#endif
	/* Who waits is in the queue, has the lock, or will ask: there is an old letter. */
	if
	:: !releases((p)*W) && !releases((p)*W+W-1) ->
		for (i : (p)*W .. (p)*W+W-1) {
			assert(at[i] != waiting || owner == i || box[p].old > 0 || queue??[eval(i)])
		}
	:: else
	fi;
	i = 0;
	got = 0; to = 0; old = 0
}

#ifdef TRUST
#define in_time true
#else
#define in_time (!old)
#endif
#ifdef FROM_REPLY
#define soon true
#else
#define soon in_time
#endif

/* heard is what a release makes of its reply but for the letter. */
inline heard(w, given, unsure) {
	open = (open == w -> NOBODY : open);
	if
#ifdef NO_GUARD_LOCAL
	:: given && reply[w].what != grant || unsure -> guard[process(w)] = 1
#else
	:: given || unsure -> guard[process(w)] = 1
#endif
	:: else
	fi;
	if
#ifndef NO_DOUBT
	:: unsure -> rouse(process(w))
#endif
	:: else
	fi
}

inline clear(w) {
	reply[w].owned = 0; reply[w].gave = 0; reply[w].doubt = 0;
	reply[w].what = 0; reply[w].to = 0; reply[w].old = 0
}

/* start begins a release: whoever waits then asks from time to time until it ends. */
#define waits(w) (at[w] == asking || at[w] == waiting || at[w] == undoing)

inline start(w) {
#if MUTE > 0 && !defined(NO_HURRY)
#ifdef HURRY_EARLY
	hurry[w] = waits(process(w)*W) || waits(process(w)*W+W-1)
#else
	hurry[w] = 1
#endif
#else
	skip
#endif
}

#define me _pid

active [ALL] proctype Waiter() provided (!packed) {
end:	do
	:: d_step { at[me] == away && may_come && !over && !closed[process(me)] -> at[me] = asking; came }
	:: d_step { at[me] == asking -> /* and gets the reply */
		take(me);
		if
		:: owner == me -> enter(me)
		:: else -> at[me] = waiting
		fi }
#ifdef lost
	:: d_step { at[me] == asking && may_lose -> lost; take(me) } /* and does not */
#endif
	:: d_step { (at[me] == asking || at[me] == waiting) && cancels < CANCEL -> cancels++; at[me] = undoing; watch[me] = 0; start(me) }
	:: d_step { at[me] == waiting && watch[me] -> watch[me] = 0; at[me] = asking }
	:: d_step { at[me] == waiting && asks < ASK -> asks++; watch[me] = 0; at[me] = asking }
#ifdef AGAIN
	:: d_step { at[me] == waiting && timeout -> /* asking again helps */
		take(me);
		assert(owner == me || watch[me]);
		if
		:: owner == me -> enter(me)
		:: else
		fi }
#endif
	:: d_step { at[me] == inside && believes[me] && owner == me ->
		whole = 1; by = NONE; open = NOBODY;
#ifndef NO_TELL_RENEW
		tell()
#endif
		}
	:: d_step { at[me] == inside && believes[me] -> believes[me] = 0 } /* the deadline */
	:: d_step { at[me] == inside -> believes[me] = 0; at[me] = leaving; start(me) }
	:: d_step { at[me] == leaving || at[me] == undoing ->
		reply[me].owned = (at[me] == leaving);
		drop(me);
		at[me] = hearing }
	:: d_step { at[me] == hearing -> /* the reply */
		heard(me, reply[me].gave, reply[me].doubt);
		got = reply[me].what; to = reply[me].to; old = reply[me].old;
		clear(me);
		at[me] = away; again[me] = 0; hurry[me] = 0;
		deliver(process(me), soon);
		forget(me) }
#if MUTE > 0
	:: d_step { at[me] == hearing && mutes < MUTE -> mutes++; at[me] = mute; clear(me); again[me] = 0 }
	:: d_step { at[me] == mute && hurry[me] -> hurry[me] = 0; rouse(process(me)) }
#endif
	:: d_step { reply[me].what != 0 && !reply[me].old -> reply[me].old = 1 }
#ifdef lost
	:: d_step { at[me] == hearing && may_lose -> lost; /* the reply */
		heard(me, 0, 1);
		at[me] = (reply[me].owned -> leaving : undoing); again[me] = 1;
		clear(me) }
	:: d_step { at[me] == hearing && may_lose -> lost; /* so, and the library repeats the request */
		at[me] = (reply[me].owned -> leaving : undoing);
		clear(me) }
#endif
	od
}

#define all_away (at[here*W] == away && at[here*W+W-1] == away)
#define here (_pid - ALL)

active [N] proctype Process() provided (!packed) {
end:	do
	:: d_step { reads(here) && box[here].n > 0 -> unbox(here); deliver(here, in_time) }
#ifdef lost
	:: d_step { reads(here) && box[here].n > 0 && may_lose -> lost; /* the connection breaks */
		unbox(here); got = 0; to = 0; old = 0;
#ifndef NO_WAKE
		rouse(here)
#endif
		}
#endif
#ifndef NO_GUARD
	:: d_step { at[here*W] != dead && !closed[here] && guard[here] && !(owner != NOBODY && !whole && by == here && open == NOBODY) ->
		guard[here] = 0;
		if
		:: owner == NOBODY -> hand(here, NOBODY); guard[here] = handed
		:: else
		fi }
#endif
	:: d_step { at[here*W] != dead && closed[here] && guard[here] -> pass(here) }
	:: d_step { at[here*W] != dead && !closed[here] && (all_away && guard[here] || !all_away && closes < CLOSE) ->
		closed[here] = 1;
		closes = (all_away -> closes : closes + 1);
		for (i : here*W .. here*W+W-1) {
			if
			:: at[i] == inside -> believes[i] = 0; at[i] = away
			:: at[i] == asking || at[i] == waiting -> watch[i] = 0; at[i] = undoing
			:: else
			fi
		}
		i = 0 }
	:: d_step { at[here*W] != dead && crashes < CRASHES && (!all_away || guard[here]) ->
		crashes++;
		for (i : here*W .. here*W+W-1) {
			at[i] = dead; believes[i] = 0; watch[i] = 0; again[i] = 0; hurry[i] = 0;
			clear(i);
			open = (open == i -> NOBODY : open)
		}
		i = 0;
		guard[here] = 0; closed[here] = 0 }
	od
}

/* --- time ------------------------------------------------------------------- */

/* A grant to the owner that can still be read in time. */
#define its process(owner)
#define in_box(k) (box[its].n > k && box[its].old <= k && box[its].what[k] == grant && box[its].to[k] == owner)
#define in_reply(k) (reply[its*W+k].what == grant && reply[its*W+k].to == owner && !reply[its*W+k].old)
#define fresh (in_box(0) || in_box(1) || in_box(ROOM-2) || in_box(ROOM-1) || in_reply(0) || in_reply(W-1))

active proctype Time() provided (!packed) {
end:	do
	:: d_step { !over -> over = 1 }
	:: d_step { box[0].old < box[0].n -> box[0].old++ }
	:: d_step { box[1].old < box[1].n -> box[1].old++ }
#if N > 2
	:: d_step { box[2].old < box[2].n -> box[2].old++ }
#endif
	:: d_step { owner != NOBODY && !believes[owner] && !fresh -> owner = NOBODY; whole = 0; by = NONE; open = NOBODY }
#ifndef AGAIN
	:: timeout ->
		for (i : 0 .. ALL-1) {
			assert(at[i] != waiting) /* for ever */
		}
		i = 0; break
#endif
	od
}

