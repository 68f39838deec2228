/*
 * Measures the transfer of a word from one CPU to another. It repeats the experiment
 * core-to-core step by step. Two threads pass a word to each other. A sample is a number of
 * round trips on an unused line. The first samples are short and find the number of round
 * trips that fills the time. An operation is one transfer, so a round trip is two operations.
 */
#include "twin.h"

enum {
	FIRST = 64,          /* round trips of the first sample */
	MEET = 3,            /* round trips before the clock starts */
	TRIES = 100,         /* samples, until one in which no thread was preempted */
	MOST = 1 << 24,      /* round trips of a sample */
	PATIENCE = 1 << 20,  /* failed tries before a thread lets others run */
	LINES = 8192,
};

typedef void hand_over(_Atomic uint64_t *w, uint64_t me, int64_t hops);

/* CAS-spin: try without a load. */
static void hand_by_cas(_Atomic uint64_t *w, uint64_t me, int64_t hops) {
	for (int64_t i = 0; i < hops; i++) {
		uint64_t want = me;
		for (int tries = 0; !atomic_compare_exchange_strong(w, &want, 1 - me); tries++) {
			want = me;
			if (tries == PATIENCE) {
				sched_yield();
				tries = 0;
			}
		}
	}
}

/* Load, then CAS: poll until a try can succeed. */
static void hand_by_load(_Atomic uint64_t *w, uint64_t me, int64_t hops) {
	for (int64_t i = 0; i < hops; i++) {
		uint64_t want = me;
		for (int tries = 0; atomic_load(w) != me || !atomic_compare_exchange_strong(w, &want, 1 - me); tries++) {
			want = me;
			if (tries == PATIENCE) {
				sched_yield();
				tries = 0;
			}
		}
	}
}

struct line {
	alignas(TWIN_LINE) _Atomic uint64_t w;
};

static struct line lines[LINES];
static unsigned used; /* number of used lines */

/* One thread writes each of these before the two meet, and the other reads it after that:
 * the handovers order them. */
static int64_t hops; /* round trips of the next sample, set by the follower; 0 ends the run */
static bool lead_preempted; /* the leader was preempted in the last sample */

static struct line *next_line(unsigned i) {
	return &lines[(used + i) % LINES];
}

static void lead(struct twin_run *run, hand_over *hand) {
	long before = twin_preemptions();
	for (unsigned i = 0;; i++) {
		struct line *line = next_line(i);
		hand(&line->w, 0, MEET);
		if (hops == 0)
			return;
		hand(&line->w, 0, hops);
		run->count[0].ops = hops;
		long now = twin_preemptions();
		lead_preempted = now != before;
		before = now;
	}
}

/* The follower measures the time. When its clock starts, the leader is running. */
static void follow(struct twin_run *run, hand_over *hand) {
	unsigned i = 0;
	int tries = 0;
	bool good = false; /* this thread was not preempted in the last sample */
	int64_t next = FIRST;
	for (;;) {
		struct line *line = next_line(i++);
		hand(&line->w, 1, 1);
		hops = (good && !lead_preempted) || tries == TRIES ? 0 : next;
		hand(&line->w, 1, MEET - 1);
		if (hops == 0)
			break;
		long before = twin_preemptions();
		int64_t from = twin_now();
		hand(&line->w, 1, hops);
		int64_t took = twin_now() - from;
		bool preempted = twin_preemptions() != before;
		run->count[1].ops = hops;
		run->elapsed = took;
		good = took >= run->span / 2 && !preempted;
		tries += took >= run->span / 2;
		/* An interrupted sample may have taken very long. */
		double fill = (double)hops * (double)run->span / (double)(took > 0 ? took : 1);
		double least = hops / 2 > FIRST ? (double)hops / 2 : FIRST;
		next = (int64_t)(fill > MOST ? MOST : fill < least ? least : fill);
	}
	used += i;
}

static void by_cas(struct twin_run *run, int thread) {
	thread == 0 ? lead(run, hand_by_cas) : follow(run, hand_by_cas);
}

static void by_load(struct twin_run *run, int thread) {
	thread == 0 ? lead(run, hand_by_load) : follow(run, hand_by_load);
}

int main(void) {
	static const struct twin_case cases[] = {
		{.name = "cas-spin", .least = 2, .most = 2, .work = by_cas, .times_itself = true},
		{.name = "load-then-cas", .least = 2, .most = 2, .work = by_load, .times_itself = true},
	};
	return twin_serve("core-to-core", cases, sizeof cases / sizeof cases[0]);
}
