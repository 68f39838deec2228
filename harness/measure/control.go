package measure

import (
	"sync/atomic"
	"time"

	"locklab/atomics"
	"locklab/harness/result"
)

// A Limit ends a drive: either a time, or a number of acquisitions of all workers.
type Limit struct {
	Window time.Duration
	Ops    int64
	Steady time.Duration // greatest delay of the window until each worker has had the lock

	together *checkpoints // the window begins with it; nil without other ranks
	closed   bool         // the workers of an open loop ask again at once
}

// The phases of a drive that is limited by time.
const (
	ramp    uint32 = iota // workers run, nothing is recorded
	measure               // everything counts
	stop                  // workers finish the current batch and leave
)

// A control connects a drive's coordinator and workers, which load it once per batch.
type control struct {
	epoch   time.Time // origin of all times of the drive, which are in ns
	limit   Limit
	batch   int64 // most acquisitions between two loads of the phase
	start   chan struct{}
	all     chan struct{} // has a value when all workers have begun
	entered atomic.Int64  // workers that have begun
	opened  uint64        // clock when the window began; read it in another phase than ramp
	_       atomics.CacheLinePad
	phase   atomic.Uint32
	budget  atomic.Int64 // acquisitions left to hand out, if limited by Ops
	_       atomics.CacheLinePad
}

func newControl(limit Limit, batch int64) *control {
	c := &control{epoch: time.Now(), limit: limit, batch: batch, start: make(chan struct{}), all: make(chan struct{}, 1)}
	c.budget.Store(limit.Ops)
	return c
}

func (c *control) now() int64 { return int64(time.Since(c.epoch)) }

func (c *control) over() bool { return c.phase.Load() == stop }

// next returns a worker's next batch after one of last acquisitions, 0 at the end, and whether
// it is recorded. An acquisition may take nanoseconds or a second, so a batch is at most twice
// the previous one.
func (c *control) next(last int64) (n int64, recorded bool) {
	phase := c.phase.Load()
	if phase == stop {
		return 0, false
	}
	if c.limit.Ops == 0 {
		return min(c.batch, max(1, 2*last)), phase == measure
	}
	left := c.budget.Add(-c.batch) + c.batch
	return max(0, min(c.batch, left)), true
}

// A tally is the data that one worker publishes while it runs, and its final data. Pointers come
// first: the garbage collector looks no further.
type tally struct {
	activity
	wait, handover result.Recorder
	_              atomics.CacheLinePad
}

type activity struct {
	_    atomics.CacheLinePad
	own  counts // published by the worker; no other one reads it
	pub  published
	left atomic.Bool
	_    atomics.CacheLinePad

	begin, end  int64        // ns since epoch, in the loop
	hold, think result.Spans // of timed acquisitions
	buckets     bucketCounter
}

// counts are the totals of a worker so far.
type counts struct {
	ops       uint64 // acquisitions
	handovers uint64 // those whose predecessor was another worker
}

func (t *tally) publish(ops, handovers uint64) {
	t.own.ops += ops
	t.own.handovers += handovers
	t.pub.set(t.own)
}

// done must be called after each batch; recorded: it began in the window.
func (t *tally) done(ops, handovers uint64, recorded bool) {
	t.publish(ops, handovers)
	t.buckets.add(ops, recorded)
}

func (t *tally) counts() counts { return t.pub.get() }

// published is a record of two words that one goroutine writes and others read consistently: a
// sequence lock whose writer writes a second record and leaves the one being read. So a reader
// waits for no writer without a processor, and retries only after a whole publication.
//
// Memory ordering: the version is released after the words, and the next record's words after
// the version. A reader with an unchanged version has read words that no later store replaced.
type published struct {
	version atomics.Uint64 // its parity selects the newest record
	records [2]struct{ ops, handovers atomics.Uint64 }
}

// set may be called by one goroutine only.
func (p *published) set(c counts) {
	next := p.version.Load() + 1
	r := &p.records[next&1]
	r.ops.StoreRelease(c.ops)
	r.handovers.StoreRelease(c.handovers)
	p.version.StoreRelease(next)
}

func (p *published) get() counts {
	for {
		version := p.version.Load()
		r := &p.records[version&1]
		c := counts{r.ops.Load(), r.handovers.Load()}
		if p.version.Load() == version {
			return c
		}
	}
}

// A snapshot is the tallies at one time.
type snapshot struct {
	at      int64 // ns since epoch
	workers []counts
}

func newSnapshot(n int) snapshot { return snapshot{workers: make([]counts, n)} }

// take allocates nothing: it is part of the window.
func (s *snapshot) take(c *control, ts []*tally) {
	s.at = c.now()
	for i, t := range ts {
		s.workers[i] = t.counts()
	}
}

func (s *snapshot) acquisitions() (total uint64) {
	for _, c := range s.workers {
		total += c.ops
	}
	return total
}

func acquisitions(ts []*tally) (total uint64) {
	for _, t := range ts {
		total += t.counts().ops
	}
	return total
}
