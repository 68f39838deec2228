/*
 * The plain tickets of zk-handoff, as in plain.go. Their names are only numbers, which restart
 * when the node of the lock is deleted and recreated. Here a name is an index, and a later
 * ticket may have the same index. handoff.pml models everything that does not depend on
 * names, such as watches.
 *
 * Processes are goroutines that contend for the lock. The first SAME of them belong to one
 * client, with one session. A request is executed when its client is connected, even if the
 * session is a new one by then, as in the client library.
 *
 *	REMOVED         an operator deletes all tickets and the node of the lock, once: then two
 *	                may hold the lock, but neither deletes the ticket of another or takes it
 *	                for its own
 *
 * Mutants:
 *
 *	DELETE_BY_NAME  a waiter that gives up deletes any ticket with the name of its own
 *	STALE_SESSION   it checks first that the ticket is its own, maybe in the last session
 *	NOAUTH_DELETES  a holder whose release is refused deletes any ticket with that name
 *	TWO_PLAIN       a client has two plain tickets at the same time
 *	LIST_BY_NAME    a client takes any ticket with that name in the list for its own
 *	NO_CZXID        a client takes the ticket with the number before for the one ahead, of
 *	                any age
 *	NO_WATCH        a client that had the last number takes the lock, even if the node of the
 *	                lock is another
 *	NOT_HELD        a client does so even if it gave up its last ticket while it waited
 *	OLD_REPLY       the reply that created the ticket counts even in a later session
 */
#ifndef N
#define N 2
#endif
#ifndef SAME
#define SAME 1
#endif
#ifndef CREATES
#define CREATES 4 /* tickets in total */
#endif
#ifndef CUTS
#define CUTS 1 /* how often connections break in total */
#endif

#define NONE 255

#define NOTHING 0
#define CHANGED 1
#define DELETED 2

/* --- the server ---------------------------------------------------------- */

byte owner[CREATES] = NONE; /* by name: the process */
byte stamp[CREATES];        /* czxid */
bit plain[CREATES];         /* otherwise its name has a unique part */
byte next;                  /* next number */
byte zxid = 1;
byte since;                 /* czxid of the node of the lock */
byte count;                 /* number of tickets */
bit gone;                   /* an operator has deleted everything */

/* --- clients, by their first process ------------------------------------------ */

#define client(p) (p < SAME -> 0 : p)

bit up[N] = 1;
bit clock[N] = 1;     /* by the client's clock its session is alive */
bit over[N];          /* expired, and the client has not noticed */
byte epoch[N];        /* number of expired sessions that it has noticed */
byte moment[N];       /* epoch plus the number of broken connections */
bit taken[N];         /* the client has a plain ticket */
byte last[N] = NONE;  /* the number of its latest ticket that held the lock */
byte lastStamp[N];
byte watched[N];      /* the node of the lock that the client watches */

/* --- processes -------------------------------------------------------------- */

byte on[N] = NONE;    /* the name that the process watches */
byte event[N];
bit holds[N];
byte inside, cuts, leaving;
byte k;

#define me _pid
#define c client(me)
#define is (owner[number] != NONE && stamp[number] == mine)
#define room (next < CREATES && zxid <= CREATES)

inline tell(name, what) {
	do
	:: k < N -> if :: on[k] == name -> event[k] = what; on[k] = NONE :: else fi; k++
	:: else -> break
	od;
	k = 0
}

inline remove(name, what) {
	tell(name, what);
	owner[name] = NONE; stamp[name] = 0; plain[name] = 0;
	count--
}

inline drop(p) { if :: holds[p] -> holds[p] = 0; inside-- :: else fi }

inline made() { number = next; mine = zxid; owner[next] = me; stamp[next] = zxid; plain[next] = named; next++; zxid++; count++ }

#ifndef WITNESS
#define WITNESS 0
#endif
#define seen(x) assert(WITNESS != x)

#ifdef NO_CZXID
#define older(name) true
#else
#define older(name) (stamp[name] < mine)
#endif

#ifdef REMOVED
#define alone true
#else
#define alone (inside == 0)
#endif

active [N] proctype Process() {
	byte number, mine, at, session, ahead;
	bit named, trusts, blind, impatient;
end:	/* all tickets are used up, or the process stops */
enter:
	skip;
	if
	:: d_step {
		room && up[c] ->
		at = moment[c]; session = epoch[c]; blind = 0; impatient = 0; trusts = 0; event[me] = NOTHING; on[me] = NONE;
#ifdef TWO_PLAIN
		named = 1;
#else
		named = !taken[c];
		if :: named -> taken[c] = 1 :: else fi
#endif
	}
	fi;
	if
	:: d_step { room && up[c] -> made() }
	:: d_step { room && up[c] && cuts < CUTS -> made(); up[c] = 0; cuts++; moment[c]++ } /* the reply is lost, and the client finds its ticket */
	:: d_step { !room -> if :: named -> taken[c] = 0 :: else fi }; goto enter
	fi;
	if
	:: true
	:: impatient = 1
	fi;
#ifdef OLD_REPLY
	session = epoch[c]; at = moment[c];
#endif
	/* follows */
	d_step {
		ahead = NONE;
		if
#ifdef NO_WATCH
		:: named && at == moment[c] && last[c] != NONE && last[c] + 1 == number -> blind = 1; ahead = number
#else
		:: named && at == moment[c] && last[c] != NONE && last[c] + 1 == number && watched[c] == since + 1 && since < lastStamp[c] -> seen(1); blind = 1; ahead = number
#endif
		:: else
		fi;
		if :: named -> last[c] = NONE :: else fi
	}
	if
	:: ahead == number -> goto grant
	:: else
	fi;
	/* short */
	if
	:: d_step {
		up[c] && named && number > 0 && at == moment[c] && owner[number - 1] != NONE && plain[number - 1] && older(number - 1) ->
		seen(2); assert(is); on[me] = number - 1; trusts = 1; blind = 1 }
		goto wait
	:: up[c]
	fi;
look:
	skip;
	if
	:: d_step {
		up[c] ->
		if
#ifdef LIST_BY_NAME
		:: named && owner[number] == NONE -> ahead = number
		:: !named && !is -> ahead = number
#else
		:: !is -> seen(3); ahead = number
#endif
		:: else ->
			assert(is);
			blind = 0;
			ahead = NONE;
			do
			:: k < number -> if :: owner[k] != NONE -> ahead = k :: else fi; k++
			:: else -> break
			od;
			k = 0
		fi
	}
	fi;
	if
	:: ahead == number -> goto away
	:: ahead == NONE -> goto grant
	:: else
	fi;
	if
	:: d_step { up[c] && owner[ahead] != NONE -> on[me] = ahead; trusts = (stamp[ahead] < mine && session == epoch[c]) }
	:: up[c] && owner[ahead] == NONE -> goto look
	fi;
wait:
	if
	:: d_step { event[me] == CHANGED && trusts -> event[me] = NOTHING }; goto grant
	:: d_step { event[me] != NOTHING && !(event[me] == CHANGED && trusts) -> event[me] = NOTHING }; goto look
	:: impatient -> goto withdraw
	:: session != epoch[c] -> goto look
	fi;

grant:
	if
	:: d_step {
		clock[c] && session == epoch[c] && (!blind || at == moment[c]) ->
		assert(alone);
		inside++;
		holds[me] = 1
	}
	:: d_step { session != epoch[c] || blind && at != moment[c] -> seen(4); blind = 0 }; goto look
	fi;
	/* the process pauses for any time; by its clock it has lost the lock or not */
	d_step { drop(me) };
	if
	:: session != epoch[c] -> goto away
	:: session == epoch[c]
	fi;
	/* The request may be sent in the next session. */
	if
	:: d_step {
		up[c] && owner[number] != NONE && (client(owner[number]) == c || !plain[number]) && (plain[number] == named) ->
		assert(!named || is); /* not the other ticket of this client */
		if
		:: is -> remove(number, CHANGED); if :: named -> last[c] = number; lastStamp[c] = mine; watched[c] = since + 1 :: else fi
		:: else
		fi
	}
	:: d_step { up[c] && (owner[number] == NONE || plain[number] != named) }
	:: d_step { up[c] && owner[number] != NONE && plain[number] && named && client(owner[number]) != c -> seen(5);
#ifdef NOAUTH_DELETES
		assert(!named || is); remove(number, DELETED)
#endif
	}
	fi;
	goto away;

withdraw:
	if
	:: session != epoch[c] -> goto away
	:: session == epoch[c]
	fi;
	d_step { leaving++; on[me] = NONE; at = moment[c] };
#ifndef DELETE_BY_NAME
	if
	:: d_step { up[c] && is && at == moment[c] }
	:: d_step { up[c] && !is -> leaving-- }; goto away
	:: d_step { up[c] && at != moment[c] -> leaving-- }; goto withdraw
	fi;
#endif
	if
#if defined(STALE_SESSION) || defined(DELETE_BY_NAME)
	:: d_step { up[c] && owner[number] != NONE && plain[number] == named ->
#else
	:: d_step { up[c] && at != moment[c] -> seen(6); leaving-- }; goto withdraw
	:: d_step { up[c] && at == moment[c] && owner[number] != NONE && plain[number] == named ->
#endif
		assert(!named || is);
		leaving--;
#ifdef NOT_HELD
		if :: named -> last[c] = number; lastStamp[c] = mine; watched[c] = since + 1 :: else fi;
#endif
		if :: is -> remove(number, DELETED) :: else fi
	}
	:: d_step { up[c] && (owner[number] == NONE || plain[number] != named) -> leaving-- }
	fi;
away:
	skip;
	d_step {
		on[me] = NONE; event[me] = NOTHING;
		if :: named -> taken[c] = 0 :: else fi;
		number = 0; mine = 0; at = 0; session = 0; ahead = 0; named = 0; trusts = 0; blind = 0; impatient = 0
	}
	goto enter
}

/* The network, the clock and the sessions of client x. */
proctype World(byte x) {
end:	do
	:: d_step { up[x] && cuts < CUTS -> cuts++; up[x] = 0; moment[x]++;
		do
		:: k < N -> if :: client(k) == x && on[k] != NONE -> on[k] = NONE; event[k] = DELETED :: else fi; k++
		:: else -> break
		od;
		k = 0
	}
	:: d_step { !up[x] && clock[x] -> clock[x] = 0;
		do
		:: k < N -> if :: client(k) == x -> drop(k) :: else fi; k++
		:: else -> break
		od;
		k = 0
	}
	:: d_step { !up[x] && !clock[x] && !over[x] -> over[x] = 1 }
	:: d_step { !up[x] -> up[x] = 1; clock[x] = 1; watched[x] = 0;
		if
		:: over[x] -> over[x] = 0; epoch[x]++; moment[x]++
		:: else
		fi
	}
	od
}

/* The servers delete the tickets of expired sessions, and the node of the lock when it is
   empty. */
active proctype Servers() {
	byte name;
end:	do
	:: d_step { k == 0 ->
		name = 0;
		do
		:: name < CREATES && owner[name] != NONE && over[client(owner[name])] -> break
		:: name < CREATES && !(owner[name] != NONE && over[client(owner[name])]) -> name++
		:: name == CREATES -> break
		od;
		if :: name < CREATES -> remove(name, DELETED) :: else fi;
		name = 0
	}
	:: d_step { count == 0 && next > 0 && zxid <= CREATES -> next = 0; since = zxid - 1;
		do
		:: k < N -> watched[k] = 0; k++
		:: else -> break
		od;
		k = 0
	}
#ifdef REMOVED
	:: d_step { !gone && leaving == 0 && next > 0 && zxid <= CREATES -> gone = 1;
		name = 0;
		do
		:: name < CREATES -> if :: owner[name] != NONE -> remove(name, DELETED) :: else fi; name++
		:: else -> break
		od;
		name = 0; next = 0; since = zxid - 1;
		do
		:: k < N -> watched[k] = 0; k++
		:: else -> break
		od;
		k = 0
	}
#endif
	od
}

init {
	byte x;
	atomic {
		do
		:: x < N -> if :: client(x) == x -> run World(x) :: else fi; x++
		:: else -> break
		od
	}
}
