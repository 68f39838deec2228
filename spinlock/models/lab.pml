/*
 * The common part of every model: the memory of the lock's words, and the checks of the
 * workers.
 *
 * The memory is the total store order of amd64. A store goes into the buffer of its worker,
 * which empties into memory later, oldest first. A worker's loads find its own newest store,
 * or the value in memory if its buffer has none. A LOCKed instruction waits until its worker's
 * buffer is empty. (Scott Owens, Susmit Sarkar and Peter Sewell, "A Better x86 Memory Model:
 * x86-TSO", TPHOLs 2009, LNCS 5674, pages 391-407.)
 *
 * A model defines before it includes this file
 *
 *	N      the number of workers
 *	WORDS  the number of words that the lock uses, named 0 to WORDS-1
 *
 * A search may define
 *
 *	SC            stores reach memory at once
 *	UNORDERED     a store may overtake the one before it, as plain stores do on a machine
 *	              on which they are no release stores
 *	FULL_WAITS    a store into a full buffer waits; without it that is an error, so the
 *	              size of the buffers does not limit the proof
 *	STARVATION    the property is that worker 0 enters; the workers are equivalent, so it
 *	              holds for all
 */

#define SIZE 4     /* stores in a buffer */
#define DATA WORDS /* the word that the lock guards */

typedef Stores { byte n; byte word[SIZE]; byte value[SIZE] };

byte memory[WORDS + 1];
Stores stores[N];

/* --- operations; mine is the buffer of the worker that executes them ---------- */

#define mine stores[_pid]

/* newest is the value of store i if it is to word w, else older. */
#define newest(i, w, older) (mine.n > i && mine.word[i] == w -> mine.value[i] : older)
#define load(w) newest(3, w, newest(2, w, newest(1, w, newest(0, w, memory[w]))))

/* fenced is the condition under which a LOCKed instruction or a fence completes. */
#define fenced (mine.n == 0)

/* space is the first part of a step that contains a store. */
#ifdef FULL_WAITS
#define space (mine.n < SIZE)
#else
#define space true
#endif

/* put is a store, as a part of a step. */
inline put(w, v) {
#ifdef SC
	memory[w] = v
#else
	assert(mine.n < SIZE);
	mine.word[mine.n] = w;
	mine.value[mine.n] = v;
	mine.n++
#endif
}

#define store(w, v) d_step { space -> put(w, v) }

/* drop removes store i from the buffer of worker b. It sets the unused entry to 0, so that
   states that differ only there are not explored twice. */
inline drop(b, i) {
	memory[stores[b].word[i]] = stores[b].value[i];
	stores[b].n--;
	k = i;
	do
	:: k < stores[b].n ->
		stores[b].word[k] = stores[b].word[k + 1];
		stores[b].value[k] = stores[b].value[k + 1];
		k++
	:: else -> break
	od;
	stores[b].word[k] = 0;
	stores[b].value[k] = 0;
	k = 0
}

#ifdef SC
#define BUFFERS
#else
#define BUFFERS active [N] proctype Buffer() { drain() }
#endif

/* Each buffer is a process, so weak fairness empties every buffer. */
inline drain() {
	byte k;
end:	do
	:: d_step { stores[_pid - N].n > 0 -> drop(_pid - N, 0) }
#ifdef UNORDERED
	:: d_step { stores[_pid - N].n > 1 && stores[_pid - N].word[0] != stores[_pid - N].word[1] -> drop(_pid - N, 1) }
#endif
	od
}

/* --- the checks: steps of a worker that are no operations of the lock -------- */

byte inside;                 /* number of workers that hold the lock */
bit latest;                  /* the value that the last holder wrote to DATA */
chan arrived = [N] of { byte }; /* the workers that have passed the doorway, in order */
bit wants;                   /* worker 0 waits */

#ifdef STARVATION
#define COME d_step { wants = (_pid == 0 -> 1 : wants) } ->
ltl starvation { [] (wants -> <> !wants) }
#else
#define COME
#endif

/* arrive belongs to the step that decides the order. */
inline arrive() { arrived!_pid }

inline enter() {
	assert(inside == 0);
	inside++;
#ifdef STARVATION
	wants = (_pid == 0 -> 0 : wants)
#endif
}

/* enterInOrder is enter for a lock that serves first come, first served. */
inline enterInOrder() {
	enter();
	assert(arrived?[eval(_pid)]);
	arrived?_
}

/* section is the critical section: the holder checks the value of the last holder, and
   changes it by a plain store. */
#define section d_step { space -> assert(load(DATA) == latest); latest = 1 - latest; put(DATA, latest) }

/* leave belongs to the first step of the release. */
inline leave() { inside-- }
