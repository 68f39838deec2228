/*
 * The protocol of redis-queue. Each script in ../lua is one step. The other steps are how
 * ../queue.go and ../mailbox.go process replies and notifications.
 *
 * Time is an order of events. The deadline of an owner counts from before the grant, minus
 * drift. So an owner that believes in its lease stops before the key expires, and the key may
 * expire whenever its owner does not believe. A notification may become stale at any time, in
 * a mailbox or in a reply. A notification that grants the lock becomes stale before the key
 * expires. Timers fire at any time. Only the timer of the process that checks a handover
 * waits for the end of the grant.
 *
 * A release is three steps: the client sends the request, the script runs, and the reply
 * arrives. The reply contains the notification to the next waiter if that is in the same
 * process. Any other step can come in between. Other requests are one step with their
 * replies.
 *
 *	N        processes, each with one mailbox
 *	W        waiters of each process, 1 or 2
 *	ALL      waiters of all processes, if the last process has fewer than W
 *	CRASHES  how many processes may die, at any step
 *	TURNS    how often each waiter may come; without it, any number of times
 *
 * The latest reply of a waiter contains the time at which it asks again. That is the end of
 * the owner's time if the owner had a whole lease, or if the waiter was first or handed the
 * lock over itself. Otherwise it is a lease later. All leases have the same length, so the
 * time is not after the end of a whole lease that began later. It may be after the end of a
 * grant. If nothing can happen before that time, a lease passes (see Time).
 *
 *	LOSS     any reply and any notification may be lost; then its waiter asks again, or
 *	         the client library has repeated the request without reporting it
 *	LOSSES   as LOSS, but at most this number of losses
 *	MUTE     how many releases may wait for their reply for ever
 *	CANCEL   how often a waiter may give up
 *	ASK      how often a waiter may ask without a reason, at any time
 *	CLOSE    how many processes may close their client while they use the lock
 *	LEFT     how many waiters that give up may leave their place in the queue, or the lock,
 *	         because the server does not answer; a later grant is given back
 *
 * A process that does not use the lock may stay away for ever, or close its client. So the
 * search finds a waiter that relies on the others to come back. The search stops at a state
 * with more than ROOM notifications in the mailbox of a live process. Identical news to a
 * waiter is written once.
 *
 * Mutants:
 *
 *	NO_GUARD       a handover is not checked
 *	NO_PASS        the process that checks a handover exits without passing that on
 *	NO_LATER       only the first waiter asks at the end of a lease
 *	FORGET         a waiter that asks early forgets the time at which it had to ask
 *	NO_LAPSED      a waiter that hands over an expired lock does not check the handover
 *	NO_WAKE        no waiter asks when the connection for notifications breaks
 *	NO_REASK       a waiter that reads an old notification for another does not ask
 *	TRUST          a stale notification counts
 *	TAKE_BACK      a release does not check which waiter the owner is
 *	GIVE_BACK_ANY  a grant to a waiter that does not wait is given back even if the waiter
 *	               has the lock by then
 *
 * Mutants within a process:
 *
 *	NO_DOUBT       no waiter asks when the reply to a release is lost
 *	NO_ABSENT      no waiter asks when the reply to a waiter that gave up is that there was
 *	               nothing to release: the library has repeated a request after a lost reply
 *	NO_HURRY       no waiter asks while a release has no reply
 *	HURRY_EARLY    only waiters that waited when the release began ask then
 *	FROM_REPLY     the age of a notification in a reply counts from the arrival of the reply
 *	NO_GUARD_LOCAL a handover is not checked
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
#ifndef LEFT
#define LEFT 0
#endif
#ifndef ROOM
#define ROOM (W+1) /* capacity of a mailbox */
#endif
#ifndef ALL
#define ALL (N*W) /* waiters; process p has p*W to p*W + W-1 */
#endif
#define VACANT ALL
#define NONE N /* no process */

mtype = { grant, news, junk }; /* notifications; junk is for a waiter that is gone */

/* The server. */
byte owner = VACANT;
bit whole;           /* the owner has a whole lease, not a grant */
byte by = NONE;      /* the process that handed the lock over */
byte open = VACANT;  /* the waiter that handed the lock over and has no reply yet */
chan queue = [ALL] of { byte };

/* A mailbox: n notifications and their waiters. The first old notifications are stale. */
typedef Mailbox { byte n; mtype what[ROOM]; byte to[ROOM]; byte old };
Mailbox box[N];

/* The reply to a release, and the notification in it. */
typedef Reply { bit owned; bit gave; bit doubt; mtype what; byte to; bit old };
Reply reply[N*W];

/* The state of the waiters in their processes. */
mtype = { away, asking, waiting, inside, leaving, undoing, hearing, mute, gone, dead };
mtype at[N*W] = away;
bit watch[N*W];    /* the waiter asks again by the end of the owner's time */
bit believes[N*W];
bit hurry[N*W];    /* the waiter will ask because its release takes long */
bit again[N*W];    /* the waiter repeats a release */
bit guard[N];      /* the process checks its latest handover */
bit closed[N];
bit over;          /* no more waiters arrive */
byte crashes, cancels, asks, mutes, closes, lefts;

/* The waiting time since a waiter was served, or since the latest death. */
byte leases; /* leases that have passed */
bit excuse;  /* the process that would have checked a grant has died */

bit packed; /* a mailbox is full: the search stops */

byte i, j, k, v;
byte first;
byte sender = VACANT; /* runs the script of its release: the reply has the notifications to its process */

#ifdef TURNS
byte turns[N*W];
/* Equivalent waiters come in order. */
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

#define local_to(w) (sender != VACANT && process(w) == process(sender))

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

/* look sets the watch of all waiters that wait or are about to ask. */
inline look(on) {
	for (v : 0 .. ALL-1) {
		if
#ifdef NO_LATER
		:: (at[v] == waiting || at[v] == asking) && (!(on) || queue?[eval(v)]) -> watch[v] = on
#else
		:: (at[v] == waiting || at[v] == asking) -> watch[v] = on
#endif
		:: else
		fi
	}
	v = 0
}

/* served starts a whole lease of the owner. */
inline served() {
	whole = 1; by = NONE; open = VACANT;
	leases = 0; excuse = 0;
	look(1)
}

/* hand gives the lock to the first waiter, or frees it. The process giver checks the
   handover. hand stops at self if that is first. */
inline hand(giver, self) {
	owner = VACANT; whole = 0; by = NONE; open = VACANT;
	do
	:: len(queue) > 0 && owner == VACANT ->
		queue?first;
		if
		:: first == self -> owner = self
		:: first != self && !local_to(first) && box[process(first)].old > 0 /* skipped */
		:: else -> owner = first; by = giver; open = sender; post(first, grant); excuse = 0; look(0)
		fi
	:: else -> break
	od;
	first = 0
}

inline join(w) {
	if
	:: queue??[eval(w)]
	:: else -> queue!w
	fi
}

/* take is the script of an acquire by w. */
inline take(w) {
	if
	:: owner == w -> served()
	:: owner == VACANT ->
		hand(NONE, w);
		if
		:: owner == VACANT || owner == w -> owner = w; served()
		:: else ->
			join(w);
#ifdef NO_LAPSED
			watch[w] = 0
#else
			watch[w] = 1
#endif
		fi
	:: else ->
		join(w);
		if
#ifdef FORGET
		:: !whole -> watch[w] = 0
#endif
#ifdef NO_LATER
		:: queue?[eval(w)] -> watch[w] = 1
#else
		:: whole || queue?[eval(w)] -> watch[w] = 1
#endif
		:: else
		fi
	fi
}

#define handed (owner != VACANT)

/* drop is the script of a release by w, and its reply. */
inline drop(w) {
	sender = w;
	if
#ifdef TAKE_BACK
	:: owner != VACANT ->
#else
	:: owner == w ->
#endif
		hand(process(w), VACANT); reply[w].gave = handed
	:: else ->
		reply[w].doubt = reply[w].owned || again[w];
		if
		:: queue??[eval(w)] -> queue??eval(w)
#ifdef NO_ABSENT
		:: else
#else
		:: else -> reply[w].doubt = 1
#endif
		fi;
		if
		:: owner == VACANT -> hand(process(w), VACANT); reply[w].gave = handed
		:: else
		fi
	fi;
	sender = VACANT
}

/* pass is the script of a process that stops checking a handover. */
inline pass(p) {
	guard[p] = 0;
#ifndef NO_PASS
	if
	:: owner == VACANT -> hand(NONE, VACANT)
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
	leases = 0;
	watch[w] = 0;
	at[w] = inside
}

/* forget turns the remaining notifications to w into junk, because the next waiter has a new
   name. */
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

/* wake_all makes all waiters of p ask. */
inline wake_all(p) {
	for (k : (p)*W .. (p)*W+W-1) {
		if
		:: at[k] == waiting -> at[k] = asking
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

/* start begins a release. Every waiter then asks from time to time until the release ends. */
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

#define releases(w) (at[w] == leaving || at[w] == undoing || at[w] == hearing || at[w] == mute && hurry[w])

/* deliver passes a notification to its waiter. */
inline deliver(p, counts) {
	if
	:: got == grant && at[to] == waiting ->
		if
		:: counts -> enter(to)
		:: else -> at[to] = asking
		fi
	:: got == news && at[to] == waiting -> watch[to] = 1
	:: got == grant && at[to] == gone -> at[to] = undoing; start(to)
#ifdef GIVE_BACK_ANY
	:: got == grant && at[to] == inside && owner == to -> hand(process(to), VACANT)
#endif
	:: else
	fi;
#ifndef NO_REASK
	if
	:: old -> wake_all(p)
	:: else
	fi;
#endif
	/* A waiter is in the queue, has the lock, or will ask because of a stale notification. */
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

/* heard processes the reply to a release, without the notification. */
inline heard(w, given, unsure) {
	open = (open == w -> VACANT : open);
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
	:: unsure -> wake_all(process(w))
#endif
	:: else
	fi
}

inline clear(w) {
	reply[w].owned = 0; reply[w].gave = 0; reply[w].doubt = 0;
	reply[w].what = 0; reply[w].to = 0; reply[w].old = 0
}

#define me _pid

active [ALL] proctype Waiter() provided (!packed) {
end:	do
	:: d_step { at[me] == away && may_come && !over && !closed[process(me)] -> at[me] = asking; came }
	:: d_step { at[me] == asking -> /* and receives the reply */
		take(me);
		if
		:: owner == me -> enter(me)
		:: else -> at[me] = waiting
		fi }
#ifdef lost
	:: d_step { at[me] == asking && may_lose -> lost; take(me) } /* and loses the reply */
#endif
	:: d_step { (at[me] == asking || at[me] == waiting) && cancels < CANCEL -> cancels++; at[me] = undoing; watch[me] = 0; start(me) }
	:: d_step { at[me] == waiting && watch[me] -> at[me] = asking }
	:: d_step { at[me] == waiting && asks < ASK -> asks++; at[me] = asking }
	:: d_step { at[me] == inside && believes[me] && owner == me ->
		served() }
	:: d_step { at[me] == inside && believes[me] -> believes[me] = 0 } /* the deadline */
	:: d_step { at[me] == inside -> believes[me] = 0; at[me] = leaving; start(me) }
#if LEFT > 0
	:: d_step { at[me] == undoing && lefts < LEFT -> lefts++; at[me] = gone; again[me] = 0; hurry[me] = 0 }
#endif
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
	:: d_step { at[me] == mute && hurry[me] -> hurry[me] = 0; wake_all(process(me)) }
#endif
	:: d_step { reply[me].what != 0 && !reply[me].old -> reply[me].old = 1 }
#ifdef lost
	:: d_step { at[me] == hearing && may_lose -> lost; /* the reply is lost */
		heard(me, 0, 1);
		at[me] = (reply[me].owned -> leaving : undoing); again[me] = 1;
		clear(me) }
	:: d_step { at[me] == hearing && may_lose -> lost; /* the reply is lost, and the library repeats the request */
		at[me] = (reply[me].owned -> leaving : undoing);
		clear(me) }
#endif
	od
}

#define all_away (at[here*W] == away && at[here*W+W-1] == away)
#define here (_pid - ALL)
#define busy(w) (releases(w) || at[w] == gone)

active [N] proctype Process() provided (!packed) {
end:	do
	:: d_step { reads(here) && box[here].n > 0 -> unbox(here); deliver(here, in_time) }
#ifdef lost
	:: d_step { reads(here) && box[here].n > 0 && may_lose -> lost; /* the connection breaks */
		unbox(here); got = 0; to = 0; old = 0;
#ifndef NO_WAKE
		wake_all(here)
#endif
		}
#endif
#ifndef NO_GUARD
	:: d_step { at[here*W] != dead && !closed[here] && guard[here] && !(owner != VACANT && !whole && by == here && open == VACANT) ->
		guard[here] = 0;
		if
		:: owner == VACANT -> hand(here, VACANT); guard[here] = handed
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
		leases = 0;
		excuse = excuse || guard[here] || busy(here*W) || busy(here*W+W-1);
		for (i : here*W .. here*W+W-1) {
			at[i] = dead; believes[i] = 0; watch[i] = 0; again[i] = 0; hurry[i] = 0;
			clear(i);
			open = (open == i -> VACANT : open)
		}
		i = 0;
		guard[here] = 0; closed[here] = 0 }
	od
}

#if ALL > 3
#define fourth at[3]
#else
#define fourth away
#endif
#if ALL > 2
#define third at[2]
#else
#define third away
#endif
#define awaited (at[0] == waiting || at[1] == waiting || third == waiting || fourth == waiting)

/* --- time ------------------------------------------------------------------- */

/* A grant to the owner that it can still read in time. */
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
	:: d_step { owner != VACANT && !believes[owner] && !fresh ->
		leases = (whole -> leases + 1 : leases);
		assert(leases < 2 || !awaited);
		owner = VACANT; whole = 0; by = NONE; open = VACANT }
	:: d_step { timeout && awaited -> /* until the other waiters ask */
		leases++;
		assert(leases < 2 && excuse);
		look(1) }
	od
}
