/*
 * The spin locks of the textbooks, and the mutex of the C library. An operation is one
 * acquisition with its release. The critical section increments a plain counter. A run fails
 * if the counter is wrong at its end.
 */
#include "twin.h"

#if defined __x86_64__ || defined __i386__
#define HINT() __builtin_ia32_pause()
#elif defined __aarch64__
#define HINT() __asm__ volatile("isb" ::: "memory")
#else
#define HINT() ((void)0)
#endif

enum {
	BATCH = 64, /* operations between two polls of the end of the run */
	MOST = 64,  /* threads */
	POLLS = 1 << 14, /* failed polls before a thread lets others run */
};

#define PADDED alignas(TWIN_LINE)

/* Waits until cond holds. */
#define AWAIT(cond) \
	do { \
		for (int polls = 0; !(cond); polls++) { \
			HINT(); \
			if (polls == POLLS) { \
				sched_yield(); \
				polls = 0; \
			} \
		} \
	} while (0)

static struct {
	PADDED uint64_t counter; /* guarded by the lock of the run */
	PADDED atomic_uint word;
	PADDED atomic_uint next;
	PADDED atomic_uint serving;
	PADDED pthread_mutex_t mutex;
	PADDED char end;
} s;

struct node {
	PADDED _Atomic(struct node *) next;
	atomic_uint word; /* granted, or busy */
};

static struct node nodes[MOST + 1];
static PADDED _Atomic(struct node *) queue_end;

static bool begin(struct twin_run *run) {
	(void)run;
	memset(&s, 0, sizeof s);
	pthread_mutex_init(&s.mutex, NULL);
	memset(nodes, 0, sizeof nodes);
	atomic_store(&queue_end, NULL);
	return true;
}

static bool begin_clh(struct twin_run *run) {
	begin(run);
	atomic_store(&queue_end, &nodes[MOST]);
	return true;
}

static void finish(struct twin_run *run) {
	uint64_t sum = 0;
	for (int i = 0; i < run->threads; i++)
		sum += (uint64_t)run->count[i].ops;
	if (sum != s.counter) {
		fprintf(stderr, "the lock let two threads in: %llu increments, counter %llu\n",
			(unsigned long long)sum, (unsigned long long)s.counter);
		exit(1);
	}
}

#define LOOP(LOCK, UNLOCK) \
	int64_t ops = 0; \
	do { /* at least one batch, even if the thread is late */ \
		for (int i = 0; i < BATCH; i++) { \
			LOCK; \
			*(volatile uint64_t *)&s.counter = s.counter + 1; \
			UNLOCK; \
		} \
		ops += BATCH; \
	} while (!atomic_load_explicit(&run->stop, memory_order_relaxed)); \
	run->count[thread].ops = ops

static inline bool try_cas(void) {
	unsigned want = 0;
	return atomic_compare_exchange_strong(&s.word, &want, 1);
}

static inline void free_word(void) {
	atomic_store_explicit(&s.word, 0, memory_order_release);
}

static void tas(struct twin_run *run, int thread) {
	LOOP(AWAIT(try_cas()), free_word());
}

static void tas_xchg(struct twin_run *run, int thread) {
	LOOP(AWAIT(atomic_exchange(&s.word, 1) == 0), free_word());
}

static void ttas(struct twin_run *run, int thread) {
	LOOP(AWAIT(atomic_load_explicit(&s.word, memory_order_relaxed) == 0 && try_cas()), free_word());
}

static void ticket(struct twin_run *run, int thread) {
	LOOP(unsigned mine = atomic_fetch_add(&s.next, 1);
	     AWAIT(atomic_load_explicit(&s.serving, memory_order_acquire) == mine),
	     atomic_store_explicit(&s.serving, mine + 1, memory_order_release));
}

static inline void mcs_lock(struct node *n) {
	atomic_store_explicit(&n->next, NULL, memory_order_relaxed);
	struct node *pred = atomic_exchange(&queue_end, n);
	if (pred == NULL)
		return;
	atomic_store_explicit(&n->word, 0, memory_order_relaxed);
	atomic_store_explicit(&pred->next, n, memory_order_release);
	AWAIT(atomic_load_explicit(&n->word, memory_order_acquire) != 0);
}

static inline void mcs_unlock(struct node *n) {
	struct node *next = atomic_load_explicit(&n->next, memory_order_acquire);
	if (next == NULL) {
		struct node *want = n;
		if (atomic_compare_exchange_strong(&queue_end, &want, NULL))
			return;
		AWAIT((next = atomic_load_explicit(&n->next, memory_order_acquire)) != NULL);
	}
	atomic_store_explicit(&next->word, 1, memory_order_release);
}

static void mcs(struct twin_run *run, int thread) {
	struct node *n = &nodes[thread];
	LOOP(mcs_lock(n), mcs_unlock(n));
}

static void clh(struct twin_run *run, int thread) {
	struct node *n = &nodes[thread], *pred;
	LOOP(atomic_store_explicit(&n->word, 1, memory_order_relaxed);
	     pred = atomic_exchange(&queue_end, n);
	     AWAIT(atomic_load_explicit(&pred->word, memory_order_acquire) == 0),
	     atomic_store_explicit(&n->word, 0, memory_order_release);
	     n = pred);
}

static void mutex(struct twin_run *run, int thread) {
	LOOP(pthread_mutex_lock(&s.mutex), pthread_mutex_unlock(&s.mutex));
}

static const struct twin_case cases[] = {
	{"tas", 1, MOST, begin, tas, finish, false},
	{"tas-xchg", 1, MOST, begin, tas_xchg, finish, false},
	{"ttas", 1, MOST, begin, ttas, finish, false},
	{"ticket", 1, MOST, begin, ticket, finish, false},
	{"mcs", 1, MOST, begin, mcs, finish, false},
	{"clh", 1, MOST, begin_clh, clh, finish, false},
	{"pthread-mutex", 1, MOST, begin, mutex, finish, false},
};

int main(void) {
	return twin_serve("locks", cases, sizeof cases / sizeof *cases);
}
