package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

func isReadWrite(v *harness.Variant) bool { return v.Traits.ReadWrite }

func hasReaders(h sync.Locker) bool {
	switch h.(type) {
	case harness.RWLocker, harness.OptimisticReader:
		return true
	}
	return false
}

const noReaders = NotApplicable("the handles are neither RWLocker nor OptimisticReader, which another rule reports")

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

// An rwInside records the writers inside, like inside, and the number of readers.
type rwInside struct {
	inside
	readers atomic.Int32
	_       [128]byte
}

func (a *rwInside) write(i int, stay func()) error {
	return errors.Join(a.visit(i, func() { stay() }), a.noReaders(i))
}

func (a *rwInside) noReaders(i int) error {
	if n := a.readers.Load(); n != 0 {
		return fmt.Errorf("worker %d had the lock for writing while %d readers were inside", i, n)
	}
	return nil
}

func (a *rwInside) read(i int, stay func()) error {
	a.readers.Add(1)
	defer a.readers.Add(-1)
	if w := a.owner.Load(); w != 0 {
		return fmt.Errorf("worker %d got the lock for reading while writer %d was inside", i, w-1)
	}
	stay()
	if w := a.owner.Load(); w != 0 {
		return fmt.Errorf("worker %d had the lock for reading, and meanwhile writer %d was inside", i, w-1)
	}
	return nil
}

// mixedAccess makes workers write every fourth time, or always without excluding readers.
func mixedAccess(ctx context.Context, r *rig) error {
	var a rwInside
	_, err := r.drive(ctx, func(i int) (err error) {
		stay := func() { r.p.hold(i) }
		if rw, ok := r.hs[i].(harness.RWLocker); ok && r.p.reads(i) {
			rw.RLock()
			err = a.read(i, stay)
			rw.RUnlock()
		} else {
			r.hs[i].Lock()
			err = a.write(i, stay)
			r.hs[i].Unlock()
		}
		r.p.think(i)
		return err
	})
	return err
}

func readExclusion(ctx context.Context, s Subject) error {
	sh := shape{workers: atMost(s.Variant, 2)}
	hs, err := sh.handles(ctx, s)
	if err != nil {
		return err
	}
	if _, ok := hs[0].(harness.RWLocker); !ok {
		return NotApplicable("the lock has no readers that keep writers out")
	}
	if sh.workers > 1 {
		for range 3 {
			if err := alternate(ctx, s, hs[0].(harness.RWLocker), hs[1]); err != nil {
				return fmt.Errorf("%v: %w", sh, err)
			}
		}
	}
	return eachRound(ctx, s, mixedAccess)
}

func alternate(ctx context.Context, s Subject, reader harness.RWLocker, writer sync.Locker) error {
	if err := alone(ctx, s, "a free lock does not open: RLock has not returned", func() error { reader.RLock(); return nil }); err != nil {
		return err
	}
	if err := shutOut(ctx, s, "a writer got the lock while a reader was inside", writer.Lock, reader.RUnlock); err != nil {
		return err
	}
	if err := shutOut(ctx, s, "a reader got the lock while a writer was inside", reader.RLock, writer.Unlock); err != nil {
		return err
	}
	reader.RUnlock()
	return nil
}

type pair interface {
	write(stay func())
	read(stay func()) (a, b uint64)
}

type plainPair struct{ a, b uint64 }

func (p *plainPair) write(stay func()) {
	n := p.a + 1
	p.a = n
	stay()
	p.b = n
}

func (p *plainPair) read(stay func()) (a, b uint64) {
	a = p.a
	stay()
	return a, p.b
}

// atomicPair is for readers that do not keep writers out.
type atomicPair struct{ a, b atomic.Uint64 }

func (p *atomicPair) write(stay func()) {
	n := p.a.Load() + 1
	p.a.Store(n)
	stay()
	p.b.Store(n)
}

func (p *atomicPair) read(stay func()) (a, b uint64) {
	a = p.a.Load()
	stay()
	return a, p.b.Load()
}

func newPair(h sync.Locker) pair {
	if _, ok := h.(harness.RWLocker); ok {
		return new(plainPair)
	}
	return new(atomicPair)
}

func readSnapshot(ctx context.Context, s Subject) error {
	err := eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		if !hasReaders(r.hs[0]) {
			return noReaders
		}
		return alone(ctx, s, isFree, func() error { return versions(r.hs) })
	})
	if err != nil {
		return err
	}
	return eachRound(ctx, s, pairAccess)
}

func versions(hs []sync.Locker) error {
	reader, ok := hs[0].(harness.OptimisticReader)
	if !ok {
		return nil
	}
	writer := hs[len(hs)-1]
	for range 3 {
		if v := reader.ReadBegin(); reader.ReadRetry(v) {
			return errors.New("ReadRetry told a reader to begin again although no worker had written")
		}
		v := reader.ReadBegin()
		writer.Lock()
		early := reader.ReadRetry(v)
		writer.Unlock()
		if late := reader.ReadRetry(v); !early || !late {
			return fmt.Errorf("ReadRetry: got %t while a writer was inside and %t after it, want true: a writer came between", early, late)
		}
	}
	for k := range 18 { // writers, as many as a counter of k bits counts or half of them
		v := reader.ReadBegin()
		for range 1 << k {
			acquireRelease(writer, false)
		}
		if !reader.ReadRetry(v) {
			return fmt.Errorf("ReadRetry said that no writer came between when %d had come", 1<<k)
		}
	}
	return nil
}

func pairAccess(ctx context.Context, r *rig) error {
	p := newPair(r.hs[0])
	writes := make([]struct {
		n uint64
		_ [120]byte
	}, len(r.hs))
	_, err := r.drive(ctx, func(i int) error {
		stay := func() { r.p.hold(i) }
		if !r.p.reads(i) {
			r.hs[i].Lock()
			p.write(stay)
			r.hs[i].Unlock()
			writes[i].n++
			r.p.think(i)
			return nil
		}
		var a, b uint64
		read(r.hs[i], func() { a, b = p.read(stay) })
		r.p.think(i)
		if a != b {
			return fmt.Errorf("worker %d read a pair half-way between two writes: %d and %d", i, a, b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var want uint64
	for i := range writes {
		want += writes[i].n
	}
	if got, _ := p.read(func() {}); got != want {
		return fmt.Errorf("%d writes left the number %d: %d are lost", want, got, int64(want-got))
	}
	return nil
}

func readersShare(ctx context.Context, s Subject) error {
	return eachShape(ctx, s, func(ctx context.Context, r *rig) error {
		if !hasReaders(r.hs[0]) {
			return noReaders
		}
		return alone(ctx, s, "only readers are inside, but the next one waits", func() error { return nested(r.hs) })
	})
}

func nested(hs []sync.Locker) error {
	if len(hs) == 0 {
		return nil
	}
	var err error
	read(hs[0], func() { err = nested(hs[1:]) })
	return err
}

const (
	throng       = 5 // workers: a writer and four readers
	throngWrites = 3 // acquisitions of the writer
)

// writerProgress makes readers overlap without a gap, up to a time long enough to show that a
// writer keeps others out. A writer must get in.
func writerProgress(ctx context.Context, s Subject) error {
	n := atMost(s.Variant, throng)
	if n < 3 {
		return NotApplicable(fmt.Sprintf("readers cannot follow each other: the lock serves at most %d workers", n))
	}
	hs, err := shape{workers: n}.handles(ctx, s)
	if err != nil {
		return err
	}
	if !hasReaders(hs[0]) {
		return noReaders
	}
	long := min(s.patience()/4, 20*time.Millisecond)
	var entries atomic.Uint64
	var over atomic.Bool
	defer over.Store(true) // ends the readers if the writer is stuck
	_, err = drive(ctx, n, limits{uses: 1, patience: s.patience()}, func(_ context.Context, i int) error {
		if i > 0 {
			for !over.Load() {
				read(hs[i], func() { relay(&entries, &over, long, runtime.Gosched) })
			}
			return nil
		}
		for range throngWrites {
			for seen := entries.Load(); entries.Load() < seen+uint64(n); {
				runtime.Gosched() // until readers follow each other
			}
			hs[0].Lock()
			//lint:ignore SA2001 only the wait matters
			hs[0].Unlock()
		}
		over.Store(true)
		return nil
	})
	return notStuck(err, "readers came and went without a gap, and a writer has waited")
}

func relay(entries *atomic.Uint64, over *atomic.Bool, long time.Duration, pause func()) {
	mine := entries.Add(1)
	for start := time.Now(); entries.Load() == mine && !over.Load() && time.Since(start) < long; {
		pause()
	}
}
