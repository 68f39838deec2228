/*
 * The spin locks of Concurrency Kit (concurrencykit.org; Debian's libck-dev), as shipped,
 * with the loop of locks.c. So Go is not compared only with our own C.
 */
#include "twin.h"

#include <ck_spinlock.h>

enum {
	BATCH = 64, /* operations between two polls of the end of the run */
	MOST = 64,  /* threads */
};

#define PADDED alignas(TWIN_LINE)

static struct {
	PADDED uint64_t counter; /* guarded by the lock of the run */
	PADDED ck_spinlock_fas_t fas;
	PADDED ck_spinlock_cas_t cas;
	PADDED ck_spinlock_ticket_t ticket;
	PADDED ck_spinlock_mcs_t mcs;
	PADDED ck_spinlock_clh_t *clh;
	PADDED char end;
} s;

static struct {
	PADDED ck_spinlock_mcs_context_t mcs;
	PADDED ck_spinlock_clh_t clh;
} nodes[MOST + 1];

static bool begin(struct twin_run *run) {
	(void)run;
	memset(&s, 0, sizeof s);
	memset(nodes, 0, sizeof nodes);
	ck_spinlock_fas_init(&s.fas);
	ck_spinlock_cas_init(&s.cas);
	ck_spinlock_ticket_init(&s.ticket);
	ck_spinlock_mcs_init(&s.mcs);
	ck_spinlock_clh_init(&s.clh, &nodes[MOST].clh);
	return true;
}

static void finish(struct twin_run *run) {
	uint64_t sum = 0;
	for (int i = 0; i < run->threads; i++)
		sum += (uint64_t)run->count[i].ops;
	if (sum != s.counter) {
		fprintf(stderr, "the lock let two threads in\n");
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

static void fas(struct twin_run *run, int thread) {
	LOOP(ck_spinlock_fas_lock(&s.fas), ck_spinlock_fas_unlock(&s.fas));
}

static void cas(struct twin_run *run, int thread) {
	LOOP(ck_spinlock_cas_lock(&s.cas), ck_spinlock_cas_unlock(&s.cas));
}

static void ticket(struct twin_run *run, int thread) {
	LOOP(ck_spinlock_ticket_lock(&s.ticket), ck_spinlock_ticket_unlock(&s.ticket));
}

static void mcs(struct twin_run *run, int thread) {
	ck_spinlock_mcs_context_t *n = &nodes[thread].mcs;
	LOOP(ck_spinlock_mcs_lock(&s.mcs, n), ck_spinlock_mcs_unlock(&s.mcs, n));
}

static void clh(struct twin_run *run, int thread) {
	ck_spinlock_clh_t *n = &nodes[thread].clh;
	LOOP(ck_spinlock_clh_lock(&s.clh, n), ck_spinlock_clh_unlock(&n));
}

static const struct twin_case cases[] = {
	{"ck-fas", 1, MOST, begin, fas, finish, false},
	{"ck-cas", 1, MOST, begin, cas, finish, false},
	{"ck-ticket", 1, MOST, begin, ticket, finish, false},
	{"ck-mcs", 1, MOST, begin, mcs, finish, false},
	{"ck-clh", 1, MOST, begin, clh, finish, false},
};

int main(void) {
	return twin_serve("concurrency-kit", cases, sizeof cases / sizeof *cases);
}
