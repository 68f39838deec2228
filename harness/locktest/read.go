package locktest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

func isReadWrite(v *harness.Variant) bool { return v.Traits.ReadWrite }

func mustExcludeWriters(h sync.Locker) {
	if _, ok := h.(harness.RWLocker); !ok {
		must(NotApplicable("the lock has no readers that keep writers out"))
	}
}

func mustRead(h sync.Locker) {
	switch h.(type) {
	case harness.RWLocker, harness.OptimisticReader:
		return
	}
	must(NotApplicable("the handles are neither RWLocker nor OptimisticReader, which another rule reports"))
}

// read calls load as a reader of h: once, or until it loads undisturbed.
func read(h sync.Locker, load func()) {
	switch h := h.(type) {
	case harness.RWLocker:
		h.RLock()
		load()
		h.RUnlock()
	case harness.OptimisticReader:
		for {
			v := h.ReadBegin()
			load()
			if !h.ReadRetry(v) {
				return
			}
		}
	}
}

// visit takes h for reading or writing, calls stay, and releases it. It fails after that if
// in shows another worker inside.
func visit(h sync.Locker, in occupancy, i int, reads bool, stay func()) {
	var err error
	if reads {
		rw := h.(harness.RWLocker)
		rw.RLock()
		err = in.read(i, stay)
		rw.RUnlock()
	} else {
		h.Lock()
		err = in.write(i, stay)
		h.Unlock()
	}
	must(err)
}

func contend(ctx context.Context, r *rig, in occupancy, readers bool) {
	r.drive(ctx, func(_ context.Context, i int) {
		visit(r.hs[i], in, i, readers && r.p.reads(i), func() { r.hold(i) })
		r.p.think(i)
	})
}

func mixedAccess(ctx context.Context, r *rig) {
	_, rw := r.hs[0].(harness.RWLocker)
	contend(ctx, r, new(inside), rw)
}

func readExclusion(ctx context.Context, s Subject) {
	sh := shape{workers: atMost(s.Variant, 3), per: 2}
	hs := sh.handles(ctx, s)
	mustExcludeWriters(hs[0])
	for range 3 {
		if sh.workers == 3 {
			within(sh, func() { alternate(ctx, s, hs[0].(harness.RWLocker), hs[2].(harness.RWLocker), hs[1]) })
		}
	}
	eachRound(ctx, s, func(r *rig) { mixedAccess(ctx, r) })
}

func alternate(ctx context.Context, s Subject, first, reader harness.RWLocker, writer sync.Locker) {
	alone(ctx, s, "no writer is inside, but RLock has not returned", func() {
		first.RLock()
		reader.RLock()
		first.RUnlock()
	})
	shutOut(ctx, s, "a writer got the lock while a reader was inside", writer.Lock, reader.RUnlock)
	shutOut(ctx, s, "a reader got the lock while a writer was inside", reader.RLock, writer.Unlock)
	reader.RUnlock()
}

// A pair is two words that every writer sets to one value.
type pair struct {
	a, b  uint64
	load  func(p *uint64) uint64
	store func(p *uint64, v uint64)
}

func (p *pair) write(stay func()) {
	n := p.load(&p.a) + 1
	p.store(&p.a, n)
	stay()
	p.store(&p.b, n)
}

func (p *pair) read(stay func()) (a, b uint64) {
	a = p.load(&p.a)
	stay()
	return a, p.load(&p.b)
}

// newPair returns a pair of plain words, or of atomic ones if readers do not keep writers out.
func newPair(h sync.Locker) *pair {
	if _, ok := h.(harness.RWLocker); ok {
		return &pair{load: func(p *uint64) uint64 { return *p }, store: func(p *uint64, v uint64) { *p = v }}
	}
	return &pair{load: atomic.LoadUint64, store: atomic.StoreUint64}
}

func readSnapshot(ctx context.Context, s Subject) {
	eachShape(ctx, s, func(r *rig) {
		mustRead(r.hs[0])
		alone(ctx, s, isFree, func() { versions(r.hs) })
	})
	eachRound(ctx, s, func(r *rig) { pairAccess(ctx, r) })
}

func versions(hs []sync.Locker) {
	reader, ok := hs[0].(harness.OptimisticReader)
	if !ok {
		return
	}
	writer := hs[len(hs)-1]
	for range 3 {
		if v := reader.ReadBegin(); reader.ReadRetry(v) {
			fail("ReadRetry told a reader to begin again although no worker had written")
		}
		v := reader.ReadBegin()
		writer.Lock()
		early := reader.ReadRetry(v)
		writer.Unlock()
		if late := reader.ReadRetry(v); !early || !late {
			fail("ReadRetry: got %t while a writer was inside and %t after it, want true: a writer came between", early, late)
		}
	}
	for k := range 18 { // writers, as many as a counter of k bits counts or half of them
		v := reader.ReadBegin()
		for range 1 << k {
			acquireRelease(writer, false)
		}
		if !reader.ReadRetry(v) {
			fail("ReadRetry returned false after %d writers", 1<<k)
		}
	}
}

func pairAccess(ctx context.Context, r *rig) {
	p := newPair(r.hs[0])
	writes := make([]struct {
		n uint64
		_ [120]byte
	}, len(r.hs))
	r.drive(ctx, func(_ context.Context, i int) {
		stay := func() { r.p.hold(i) }
		if !r.p.reads(i) {
			r.hs[i].Lock()
			p.write(stay)
			r.hs[i].Unlock()
			writes[i].n++
			r.p.think(i)
			return
		}
		var a, b uint64
		read(r.hs[i], func() { a, b = p.read(stay) })
		r.p.think(i)
		if a != b {
			fail("worker %d read a pair half-way between two writes: %d and %d", i, a, b)
		}
	})
	var want uint64
	for i := range writes {
		want += writes[i].n
	}
	if got, _ := p.read(func() {}); got != want {
		fail("%d writes left the number %d: %d are lost", want, got, int64(want-got))
	}
}

func readersShare(ctx context.Context, s Subject) {
	eachShape(ctx, s, func(r *rig) {
		mustRead(r.hs[0])
		alone(ctx, s, "only readers are inside, but the next one waits", func() { nested(r.hs) })
	})
}

func nested(hs []sync.Locker) {
	if len(hs) > 0 {
		read(hs[0], func() { nested(hs[1:]) })
	}
}

const (
	throng       = 5 // workers: a writer and four readers
	throngWrites = 3 // acquisitions of the writer
)

// writersReaders returns the number of workers of a check that needs a writer and two readers.
func writersReaders(s Subject) int {
	n := atMost(s.Variant, throng)
	if n < 3 {
		must(NotApplicable(fmt.Sprintf("readers cannot follow each other: the lock serves at most %d workers", n)))
	}
	return n
}

// writerProgress makes readers overlap without a gap, up to a time long enough to show that a
// writer keeps others out. A writer must get in.
func writerProgress(ctx context.Context, s Subject) {
	n := writersReaders(s)
	hs := shape{workers: n, per: 2}.handles(ctx, s)
	mustRead(hs[0])
	long, pause := min(s.patience()/4, 20*time.Millisecond), runtime.Gosched
	if isRemote(s.Variant) {
		long, pause = min(s.patience()/4, soon), func() { time.Sleep(100 * time.Microsecond) }
	}
	lim := s.limits(1)
	lim.patience *= throngWrites
	var entries atomic.Uint64
	var over atomic.Bool
	defer over.Store(true) // ends the readers if the writer is stuck
	notStuck("readers came and went without a gap, and a writer has waited", func() {
		drive(ctx, n, lim, func(ctx context.Context, i int) {
			if i > 0 {
				for !over.Load() {
					read(hs[i], func() { relay(&entries, &over, long, pause) })
				}
				return
			}
			for range throngWrites {
				for seen := entries.Load(); entries.Load() < seen+uint64(n); {
					must(ctx.Err())
					pause() // until readers follow each other
				}
				acquireRelease(hs[0], false)
			}
			over.Store(true)
		})
	})
}

func relay(entries *atomic.Uint64, over *atomic.Bool, long time.Duration, pause func()) {
	mine := entries.Add(1)
	for start := time.Now(); entries.Load() == mine && !over.Load() && time.Since(start) < long; {
		pause()
	}
}
