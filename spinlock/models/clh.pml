/*
 * The queue lock of Craig and of Landin and Hagersten, as in clh.go. The waiters poll.
 *
 * Mutants:
 *
 *	KEEP_NODE      a worker reuses the node that it left to its successor
 *	BUSY_LATE      a node is marked busy only after it joins the queue
 *	SWAP_BY_STORE  a load and a store exchange the tail
 */
#ifndef N
#define N 3
#endif

/* Node 0 is the tail of the free lock; worker p begins with node p+1. */
#define BUSY(i) (i)
#define TAIL    (N + 1)
#define WORDS   (N + 2)

#include "lab.pml"

active [N] proctype Worker() {
	byte own = _pid + 1;
	byte pred; /* the node before this worker's */
	do
	:: COME
#ifndef BUSY_LATE
		store(BUSY(own), 1);
#endif
#ifdef SWAP_BY_STORE
		d_step { pred = load(TAIL); arrive() };
		store(TAIL, own);
#else
		d_step { fenced -> pred = memory[TAIL]; memory[TAIL] = own; arrive() };
#endif
#ifdef BUSY_LATE
		store(BUSY(own), 1);
#endif
		d_step { load(BUSY(pred)) == 0 -> enterInOrder() };
		section;
		d_step {
			space -> put(BUSY(own), 0);
			leave();
#ifndef KEEP_NODE
			own = pred;
#endif
			pred = 0
		}
	:: break
	od
}

BUFFERS
