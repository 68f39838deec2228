package locktest

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"time"

	"locklab/harness"
)

// longLife is the acquisitions of a lock, in the stress time: twice a counter of 16 bits.
const longLife = 1 << 17

// A counter of k bits wraps at multiples of 2^k acquisitions, or of a half or quarter of that.
const leastBits, mostBits = 6, 16

// An encounter is the acquisition of a round at which a counter wraps.
type encounter struct {
	kind  int // of the round, see gathering.kind
	place int // acquisitions of the round that come before it
	uses  int // acquisitions of the round that count
}

// encounters lists every writer of a writers' round, or every reader of each kind of round.
func encounters(hs []sync.Locker, readers bool) (es []encounter) {
	for kind := range 4 {
		g := newRound(hs, kind)
		g.prepare()
		uses := 0
		for p := range hs {
			if g.reader(p) == readers && (readers || kind == writersOnly) {
				uses++
			}
		}
		for place := range uses {
			es = append(es, encounter{kind, place, uses})
		}
	}
	return es
}

// newRound makes a gathering of one round. The waiters are in line before the holder leaves.
func newRound(hs []sync.Locker, kind int) *gathering {
	g := &gathering{hs: hs, rounds: kind + 1, reads: kind != writersOnly, inside: new(rwInside)}
	g.round, g.hold = kind, func(int) { time.Sleep(100 * time.Microsecond) }
	return g
}

func enduranceLocal(ctx context.Context, s Subject) error {
	sh := shape{workers: atMost(s.Variant, 5)}
	for _, readers := range []bool{false, true} {
		hs, err := sh.handles(ctx, s)
		if err == nil {
			if _, rw := hs[0].(harness.RWLocker); readers && !rw {
				continue
			}
			err = grow(ctx, s, hs, readers)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", sh, err)
		}
	}
	if err := busyLife(ctx, s); err != nil || spare(s.Variant) == 0 {
		return err
	}
	return usedPermits(ctx, s)
}

// grow ages the lock without contention. At each wrap of a counter workers wait for it, so
// that for each number of bits the wrap meets each place in the queue once.
func grow(ctx context.Context, s Subject, hs []sync.Locker, readers bool) error {
	es := encounters(hs, readers)
	period := len(es) | 1 // odd: multiples of 2^k leave all remainders
	age := 0
	for wrap := 1 << leastBits; wrap <= period<<mostBits; wrap += 1 << leastBits {
		k, n := bits.TrailingZeros(uint(wrap)), wrap>>leastBits%period
		if wrap>>min(k, mostBits) > period || n >= len(es) {
			continue
		}
		err := alone(ctx, s, isFree, func() error {
			for ; age < wrap-es[n].place-es[n].uses; age++ {
				acquireRelease(hs[age%len(hs)], readers)
			}
			return nil
		})
		// The rounds before and after it cover counters with another initial value.
		for range 3 {
			if err == nil && len(hs) > 1 {
				err = newRound(hs, es[n].kind).run(ctx, s)
				age += es[n].uses
			}
		}
		if err != nil {
			return fmt.Errorf("after %d acquisitions: %w", age, err)
		}
	}
	if err := checkAged(ctx, s, hs); err != nil {
		return fmt.Errorf("after %d acquisitions: %w", age, err)
	}
	return nil
}

func acquireRelease(h sync.Locker, reads bool) {
	if reads {
		h := h.(harness.RWLocker)
		h.RLock()
		//lint:ignore SA2001 only the count matters
		h.RUnlock()
		return
	}
	h.Lock()
	//lint:ignore SA2001 only the count matters
	h.Unlock()
}

func checkAged(ctx context.Context, s Subject, hs []sync.Locker) error {
	_, rw := hs[0].(harness.RWLocker)
	g := &gathering{hs: hs, rounds: 40, reads: rw && s.Variant.Traits.ReadWrite, inside: new(rwInside)}
	if len(hs) > 1 {
		if err := g.run(ctx, s); err != nil {
			return err
		}
	}
	return alone(ctx, s, isFree, func() error {
		if _, ok := hs[0].(harness.TryLocker); ok {
			return trySteps(hs)
		}
		return nil
	})
}

// busyLife is a long life with waiters at every acquisition: the holder yields while inside.
func busyLife(ctx context.Context, s Subject) error {
	for _, lim := range []struct {
		workers uint64
		window  time.Duration
	}{{2, s.stress() / 4}, {3, s.stress()}} {
		sh := shape{workers: atMost(s.Variant, int(lim.workers))}
		if sh.workers < 2 {
			return nil
		}
		var in rwInside
		err := sh.once(ctx, s, limits{window: lim.window, uses: longLife / lim.workers}, false, func(ctx context.Context, r *rig) error {
			_, rw := r.hs[0].(harness.RWLocker)
			rw = rw && s.Variant.Traits.ReadWrite
			_, err := r.drive(ctx, func(i int) (err error) {
				if rw && i > 0 && r.p.reads(i) {
					h := r.hs[i].(harness.RWLocker)
					h.RLock()
					err = in.read(i, runtime.Gosched)
					h.RUnlock()
					return err
				}
				r.hs[i].Lock()
				err = in.write(i, runtime.Gosched)
				r.hs[i].Unlock()
				runtime.Gosched() // let another worker take it, and wait for it
				return err
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func usedPermits(ctx context.Context, s Subject) error {
	permits := s.Variant.Traits.Permits
	sh := shape{workers: permits + 2}
	hs := sh.all(s.Variant, sh.workers)
	for age, k := 1<<8, 0; age <= longLife; age <<= 4 {
		err := alone(ctx, s, "there are permits left, but Lock has not returned", func() error {
			for ; k < age; k++ {
				acquireRelease(hs[k%len(hs)], false)
			}
			return nil
		})
		if err == nil {
			err = countPermits(ctx, s, hs)
		}
		if err != nil {
			return fmt.Errorf("after %d acquisitions: %w", k, err)
		}
	}
	return nil
}

// permitsInBatches makes all permits' holders overlap, while more workers wait.
func permitsInBatches(ctx context.Context, s Subject) error {
	permits := s.Variant.Traits.Permits
	for _, waiters := range []int{1, permits, 3*permits + 9} {
		sh := shape{workers: permits + waiters}
		if most := s.Variant.Traits.MaxWorkers; most > 0 && sh.workers > most {
			return nil
		}
		g := &gathering{
			hs: sh.all(s.Variant, sh.workers), rounds: 1 << 10, until: time.Now().Add(s.stress() / 4),
			share: permits, inside: &limit{permits: permits}, hold: shortHold,
		}
		if err := g.run(ctx, s); err != nil {
			return fmt.Errorf("%v: %w", sh, err)
		}
	}
	return nil
}
