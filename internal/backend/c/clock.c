/*
 * A settable wall clock for one process, loaded by LD_PRELOAD. It adds an offset in
 * nanoseconds to the time of the kernel. The offset is in the file LOCKLAB_CLOCK, which
 * another process maps and changes at any time. The monotonic clock is unchanged.
 *
 * It reads the time by a system call and allocates nothing. Allocators read clocks before
 * main, and the lookup of the C library's function would allocate then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#if __SIZEOF_LONG__ != 8
#error "the system call has another form where long has not 64 bits"
#endif

struct cell {
	int64_t offset; /* read by this library */
	int64_t reader; /* written by this library: the id of the last process that mapped the file */
};

static struct cell nothing;
static struct cell *cell = &nothing;

__attribute__((constructor)) static void map(void)
{
	const char *path = getenv("LOCKLAB_CLOCK");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *at = mmap(NULL, sizeof *cell, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return;
	__atomic_store_n(&((struct cell *)at)->reader, getpid(), __ATOMIC_SEQ_CST);
	__atomic_store_n(&cell, at, __ATOMIC_SEQ_CST);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	const int64_t second = 1000000000;
	if (syscall(SYS_clock_gettime, id, ts) != 0)
		return -1;
	if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
		return 0;
	struct cell *c = __atomic_load_n(&cell, __ATOMIC_RELAXED);
	int64_t late = __atomic_load_n(&c->offset, __ATOMIC_RELAXED);
	int64_t nsec = ts->tv_nsec + late % second;
	ts->tv_sec += late / second;
	if (nsec < 0) {
		nsec += second;
		ts->tv_sec--;
	} else if (nsec >= second) {
		nsec -= second;
		ts->tv_sec++;
	}
	ts->tv_nsec = nsec;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;
	(void)zone; /* obsolete; Linux does not set it either */
	if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
		return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec ts;
	if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
		return (time_t)-1;
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}
