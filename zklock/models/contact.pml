/*
 * The length of a lease, as in contact.go and wire.Proof. The model has a client, its server,
 * which follows or leads, the majority of the other servers, and time.
 * docs/decisions/0009-zk-contact.md has the argument.
 *
 * Mutants:
 *
 *	PING_COUNTS      the answer to a ping by any server is a proof
 *	SYNC_COUNTS      the answer to a sync is a proof
 *	HANDSHAKE_COUNTS a handshake that resumes the session is a proof
 *	TOUCH_COUNTS     a write that succeeds proves itself, not the touches that the leader
 *	                 received before
 *	SHORT_LAG        a write proves packets that were sent less than a ping before it
 *	EVENT_COUNTS     a waiter takes the lock by an event, even without proof of its session
 *	NO_GRACE         not a mutant of the client: a new leader ends sessions without a touch
 */
#ifndef T
#define T 6 /* the session timeout; the margin is 0 */
#endif
#define H 1 /* a follower answers a ping of its leader at least this often */
#ifdef SHORT_LAG
#define LAG H
#else
#define LAG (H + 1)
#endif
#ifndef CUTS
#define CUTS 2 /* how often the client's server is cut off */
#endif

#define NONE (T + 1)

/* The messages from the follower to its leader. */
#define QUIET 0 /* the answer to a ping: no touch since the last */
#define TOUCH 1 /* a touch */
#define WRITE 2

#ifndef WITNESS
#define WITNESS 0
#endif
#define seen(x) assert(WITNESS != x)

/* --- the servers --------------------------------------------------------- */

byte expires = T; /* time until the leader of the majority may end the session */
bit over;         /* the leader has ended the session */
bit leads;        /* the client's server is the leader, or was */
bit cut;          /* the client's server is cut off from the others */
bit elected;      /* if the client's server is the leader: the others have another leader */
bit touched;      /* if the client's server follows: a packet has come since the last ping */
byte pinged;      /* if the client's server follows: the time since the last ping */
byte cuts;
chan up = [2] of { byte };

/* --- the client ---------------------------------------------------------- */

byte left = T;     /* time that the client has proof of: the lease */
byte touch = 0;    /* the age of an answered packet, or NONE */
byte ready = 0;    /* time until a write may prove that packet */
bit asked;         /* a write is in transit */
bit done;          /* the answer to the write is in transit */
byte proves = NONE;/* the age of the packet that the write will prove */
bit event;         /* the event that the client is next is in transit */
bit waits = 1;
bit holds;

byte inside; /* holders, this client and the next one */

#define majority (!cut || !leads || elected)

inline proof(age) {
	if
	:: age < NONE && T - age > left -> left = T - age
	:: else
	fi
}

/* heard is a packet that the server receives and answers at once. If that takes longer, the
   client counts from an earlier time. The client remembers this packet or the one before. */
inline heard() {
	if
	:: !leads -> touched = 1
	:: leads && !cut && !over -> expires = T
	:: else
	fi;
	if
	:: touch = 0; ready = LAG
	:: touch < NONE
	fi
}

/* taken is the execution of a write by the leader of the majority. */
inline taken() {
	if
	:: !over -> done = 1
	:: else
	fi
}

/* forget drops the state of the old connection when a new one begins. */
inline forget() {
	asked = 0; done = 0; proves = NONE; touch = NONE; ready = 0; touched = 0; pinged = 0;
	do
	:: nempty(up) -> up?_
	:: empty(up) -> break
	od
}

active proctype Client() {
end:	do
	:: atomic { !over -> /* a ping, or a read */
		heard();
#ifdef PING_COUNTS
		proof(0)
#endif
	}
#ifdef SYNC_COUNTS
	:: d_step { leads -> proof(0) }
#endif
	:: atomic { !asked && !done -> /* a write */
		if
		:: touch < NONE && ready == 0 -> proves = touch
		:: else -> proves = NONE
		fi;
#ifdef TOUCH_COUNTS
		proves = 0;
#endif
		heard();
		if
		:: leads && !cut -> taken()
		:: !leads && !cut && nfull(up) -> asked = 1; up!WRITE
		:: !leads && !cut && full(up) -> proves = NONE /* it arrives later */
		:: cut -> asked = 1 /* it never arrives */
		fi
	}
	:: d_step { done -> /* the answer to the write arrives */
		if
		:: !leads && proves < NONE && T - proves > left -> seen(1)
		:: leads && proves < NONE && T - proves > left && cuts > 0 -> seen(2)
		:: else
		fi;
		proof(proves);
		asked = 0; done = 0; proves = NONE
	}
	:: d_step { waits && !event && !over && !cut -> event = 1 }
#ifdef EVENT_COUNTS
	:: d_step { waits && event -> left = T;
#else
	:: d_step { waits && event && left > 0 ->
#endif
		waits = 0; event = 0;
		seen(3);
		assert(inside == 0);
		inside++;
		holds = 1
	}
	/* The client connects to another server, which follows or leads the majority. */
	:: atomic { cut && majority && !over ->
		forget();
		cut = 0; elected = 0;
		expires = T; /* the leader is asked */
		touch = 0;
		if
		:: leads = 0
		:: leads = 1
		fi;
		if :: holds -> seen(4) :: else fi;
#ifdef HANDSHAKE_COUNTS
		proof(0)
#endif
	}
	/* The client connects to the same server, which has led. */
	:: atomic { cut && leads ->
		forget();
		touch = 0;
#ifdef HANDSHAKE_COUNTS
		proof(0)
#endif
	}
	od
}

active proctype Servers() {
	byte m;
end:	do
	:: d_step { !cut && !leads && nfull(up) -> /* the follower answers a ping of the leader */
		up!touched;
		touched = 0;
		pinged = 0
	}
	:: atomic { nempty(up) -> /* the leader executes a message, also one that was sent before a cut */
		up?m;
		if
		:: m == TOUCH && !over -> expires = T
		:: m == WRITE -> taken()
		:: else
		fi;
		m = 0
	}
	:: atomic { cut && nempty(up) -> /* or the messages are lost */
		do
		:: nempty(up) -> up?_
		:: empty(up) -> break
		od
	}
	:: d_step { cut && done -> done = 0 } /* the answer is lost */
	:: d_step { !cut && !over && cuts < CUTS -> cut = 1; cuts++; elected = 0 }
	:: d_step { cut && leads && !elected -> elected = 1;
#ifdef NO_GRACE
		expires = 0
#else
		expires = T
#endif
	}
	:: d_step { !over && majority && expires == 0 -> /* the next client enters */
		over = 1;
		if :: !holds && !waits -> seen(5) :: else fi;
		assert(inside == 0);
		inside++
	}
	od
}

#define older(age) if :: age < NONE -> age++ :: else fi

active proctype Time() {
end:	do
	:: d_step { left + expires > 0 && (cut || leads || pinged < H) ->
		if :: left > 0 -> left-- :: else fi;
		if :: left == 0 && holds -> holds = 0; inside-- :: else fi;
		if :: expires > 0 -> expires-- :: else fi;
		if :: ready > 0 -> ready-- :: else fi;
		if :: !cut && !leads -> pinged++ :: else fi;
		older(touch);
		older(proves)
	}
	od
}

init {
	if
	:: leads = 0
	:: leads = 1
	fi
}
