package measure

import (
	"sync/atomic"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/result"
)

// A tally is the data that one worker publishes while it runs, and its final data.
type tally struct {
	_    atomics.CacheLinePad
	own  counts // published by the worker; no other one reads it
	pub  published
	left atomic.Bool
	_    atomics.CacheLinePad

	begin, end  int64         // ns since epoch, in the loop
	hold, think harness.Spans // of timed acquisitions
	wait        result.Histogram
	handover    result.Histogram
	slices      slicer
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
	t.slices.add(ops, recorded)
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

// set publishes c. Only one goroutine may call it.
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

// take reads the tallies. It allocates nothing: it is part of the window.
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
