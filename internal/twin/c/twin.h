/*
 * The common part of all twins: threads bound to CPUs, a common start, a clock, and the line
 * protocol of package twin, described in its doc.go. A twin is one C file that lists its cases
 * and passes them to twin_serve.
 *
 * C11 and POSIX threads. Threads are bound on Linux only.
 */
#ifndef TWIN_H
#define TWIN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
	TWIN_LINE = 128,    /* bytes, the least distance of words with different writers */
	TWIN_THREADS = 256, /* maximum threads of a run */
	TWIN_LONGEST = 60000, /* ms, maximum of a run */
	TWIN_COMMAND = 4096, /* bytes, maximum of a command */
};

struct twin_count {
	alignas(TWIN_LINE) int64_t ops;
	int64_t from, to; /* ns, start and end of the thread's work */
};

/* One run of a case. */
struct twin_run {
	int threads;
	int64_t span;       /* ns, planned duration of the run */
	atomic_bool stop;   /* set when span is over, for work that polls it */
	int64_t elapsed;    /* ns; work sets it if it times itself */
	void *shared;       /* begin may set it, end may free it */
	struct twin_count count[TWIN_THREADS]; /* work sets ops */
};

/* A case is one algorithm. begin and end may be NULL; begin returns false if
 * there is no memory. work runs on each thread, after all have started. */
struct twin_case {
	const char *name; /* has no blanks */
	int least, most;  /* number of threads */
	bool (*begin)(struct twin_run *);
	void (*work)(struct twin_run *, int thread);
	void (*end)(struct twin_run *);
	bool times_itself; /* sets elapsed and does not poll stop */
};

static int64_t twin_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns the number of preemptions of the calling thread, 0 if the system does not report
 * them. Callers discard measurements in which another program had the CPU. */
static inline long twin_preemptions(void) {
#if defined(__linux__) && defined(RUSAGE_THREAD)
	struct rusage usage;
	if (getrusage(RUSAGE_THREAD, &usage) == 0)
		return usage.ru_nivcsw;
#endif
	return 0;
}

/* States of the gate at which the threads of a run wait: all start, or none. */
enum { TWIN_WAIT, TWIN_GO, TWIN_LEAVE };

struct twin_thread {
	struct twin_run *run;
	const struct twin_case *what;
	pthread_t id;
	int index;
	int cpu; /* -1: not bound */
	int error;
	atomic_int *ready, *gate;
};

static int twin_bind(int cpu) {
	if (cpu < 0)
		return 0;
#ifdef __linux__
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	if (set == NULL)
		return ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	int error = sched_setaffinity(0, size, set) == 0 ? 0 : errno;
	CPU_FREE(set);
	return error;
#else
	return ENOTSUP;
#endif
}

static void *twin_work(void *arg) {
	struct twin_thread *t = arg;
	t->error = twin_bind(t->cpu);
	atomic_fetch_add(t->ready, 1);
	int gate;
	while ((gate = atomic_load(t->gate)) == TWIN_WAIT)
		sched_yield();
	if (gate == TWIN_GO) {
		struct twin_count *c = &t->run->count[t->index];
		c->from = twin_now();
		t->what->work(t->run, t->index);
		c->to = twin_now();
	}
	return NULL;
}

/* Runs c on n threads and returns NULL, or a description of the error. */
static const char *twin_start(const struct twin_case *c, struct twin_run *run, const int *cpus, int n) {
	static char text[200];
	static struct twin_thread threads[TWIN_THREADS];
	atomic_int ready = 0, gate = TWIN_WAIT;
	int started = 0, error = 0;
	for (; started < n; started++) {
		threads[started] = (struct twin_thread){.run = run, .what = c, .index = started, .cpu = cpus[started], .ready = &ready, .gate = &gate};
		error = pthread_create(&threads[started].id, NULL, twin_work, &threads[started]);
		if (error != 0) {
			snprintf(text, sizeof text, "cannot start thread %d: %s", started, strerror(error));
			break;
		}
	}
	while (atomic_load(&ready) < started)
		sched_yield();
	for (int i = 0; i < started && error == 0; i++) {
		error = threads[i].error;
		if (error != 0)
			snprintf(text, sizeof text, "cannot bind a thread to CPU %d: %s", threads[i].cpu, strerror(error));
	}
	atomic_store(&gate, error == 0 ? TWIN_GO : TWIN_LEAVE);
	if (error == 0 && !c->times_itself) { /* otherwise a waking thread would only disturb */
		struct timespec span = {.tv_sec = run->span / 1000000000, .tv_nsec = run->span % 1000000000};
		while (nanosleep(&span, &span) != 0 && errno == EINTR)
			;
		atomic_store(&run->stop, true);
	}
	for (int i = 0; i < started; i++)
		pthread_join(threads[i].id, NULL);
	return error == 0 ? NULL : text;
}

/* Parses "0,3,-" into cpus and returns their number, or -1. */
static int twin_cpus(char *list, int *cpus) {
	int n = 0;
	char *rest = NULL;
	for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
		char *end;
		long cpu = -1;
		if (strcmp(word, "-") != 0) {
			cpu = strtol(word, &end, 10);
			if (*end != 0 || cpu < 0 || cpu > 1 << 20)
				return -1;
		}
		if (n == TWIN_THREADS)
			return -1;
		cpus[n++] = (int)cpu;
	}
	return n;
}

/* Answers "run NAME CPUS MILLISECONDS". */
static void twin_run(char *name, char *list, char *span, const struct twin_case *cases, int n) {
	static struct twin_run run;
	static int cpus[TWIN_THREADS];
	const struct twin_case *c = NULL;
	for (int i = 0; i < n && name != NULL; i++)
		if (strcmp(cases[i].name, name) == 0)
			c = &cases[i];
	if (c == NULL) {
		printf("error there is no case %s\n", name != NULL ? name : "without a name");
		return;
	}
	memset(&run, 0, sizeof run);
	run.threads = list != NULL ? twin_cpus(list, cpus) : -1;
	if (run.threads < c->least || run.threads > c->most) {
		printf("error %s needs a list of %d to %d CPUs such as 0,1\n", c->name, c->least, c->most);
		return;
	}
	char *end = span;
	long ms = span != NULL ? strtol(span, &end, 10) : 0;
	if (ms < 1 || ms > TWIN_LONGEST || *end != 0) {
		printf("error the time must be 1 to %d milliseconds\n", TWIN_LONGEST);
		return;
	}
	run.span = ms * 1000000;
	if (c->begin != NULL && !c->begin(&run)) {
		printf("error no memory\n");
		return;
	}
	const char *wrong = twin_start(c, &run, cpus, run.threads);
	if (c->end != NULL)
		c->end(&run);
	if (wrong != NULL) {
		printf("error %s\n", wrong);
		return;
	}
	int64_t from = run.count[0].from, to = run.count[0].to;
	for (int i = 1; i < run.threads; i++) {
		from = run.count[i].from < from ? run.count[i].from : from;
		to = run.count[i].to > to ? run.count[i].to : to;
	}
	printf("ok %lld", (long long)(run.elapsed > 0 ? run.elapsed : to - from));
	for (int i = 0; i < run.threads; i++)
		printf(" %lld", (long long)run.count[i].ops);
	printf("\n");
}

/* Answers commands until the input ends. Returns the exit status. */
static int twin_serve(const char *topic, const struct twin_case *cases, int n) {
	static char command[TWIN_COMMAND];
	printf("twin 1 %s", topic);
	for (int i = 0; i < n; i++)
		printf(" %s", cases[i].name);
	printf("\n");
	while (fflush(stdout) == 0 && fgets(command, sizeof command, stdin) != NULL) {
		char *rest = NULL;
		const char *blank = " \r\n";
		char *verb = strtok_r(command, blank, &rest);
		if (verb != NULL && strcmp(verb, "run") == 0) {
			char *name = strtok_r(NULL, blank, &rest);
			char *list = strtok_r(NULL, blank, &rest);
			twin_run(name, list, strtok_r(NULL, blank, &rest), cases, n);
		} else {
			printf("error the only command is run\n");
		}
	}
	return 0;
}

#endif
