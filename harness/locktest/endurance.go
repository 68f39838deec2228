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

// newRound makes the holder stay until the waiters are in line.
func newRound(hs []sync.Locker, kind int) *gathering {
	g := &gathering{hs: hs, rounds: kind + 1, reads: kind != writersOnly, inside: new(inside)}
	g.round, g.hold = kind, func(int) { time.Sleep(100 * time.Microsecond) }
	return g
}

func enduranceLocal(ctx context.Context, s Subject) {
	sh := shape{workers: atMost(s.Variant, 5)}
	for _, readers := range []bool{false, true} {
		within(sh, func() {
			hs := sh.handles(ctx, s)
			if _, rw := hs[0].(harness.RWLocker); rw || !readers {
				grow(ctx, s, hs, readers)
			}
		})
	}
	busyLife(ctx, s)
	if spare(s.Variant) > 0 {
		usedPermits(ctx, s)
	}
}

// grow ages the lock without contention. At each wrap of a counter workers wait for it, so
// that for each number of bits the wrap meets each place in the queue once.
func grow(ctx context.Context, s Subject, hs []sync.Locker, readers bool) {
	es := encounters(hs, readers)
	period := len(es) | 1 // odd: multiples of 2^k leave all remainders
	age := 0
	aged := func(f func()) { within(fmt.Sprintf("after %d acquisitions", age), f) }
	for wrap := 1 << leastBits; wrap <= period<<mostBits; wrap += 1 << leastBits {
		k, n := bits.TrailingZeros(uint(wrap)), wrap>>leastBits%period
		if wrap>>min(k, mostBits) > period || n >= len(es) {
			continue
		}
		alone(ctx, s, isFree, func() {
			for ; age < wrap-es[n].place-es[n].uses; age++ {
				acquireRelease(hs[age%len(hs)], readers)
			}
		})
		// The rounds before and after it cover counters with another initial value.
		for range 3 {
			if len(hs) > 1 {
				aged(func() { newRound(hs, es[n].kind).run(ctx, s) })
				age += es[n].uses
			}
		}
	}
	aged(func() { checkAged(ctx, s, hs) })
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

func checkAged(ctx context.Context, s Subject, hs []sync.Locker) {
	if len(hs) > 1 {
		rounds := 40
		if isRemote(s.Variant) {
			rounds = 8 // two of each kind
		}
		g := &gathering{hs: hs, rounds: rounds, reads: sharesReads(s, hs), inside: new(inside)}
		g.run(ctx, s)
	}
	if _, ok := hs[0].(harness.TryLocker); ok {
		alone(ctx, s, isFree, func() { trySteps(hs) })
	}
}

// busyLife is a long life with waiters at every acquisition: the holder yields while inside.
func busyLife(ctx context.Context, s Subject) {
	for _, lim := range []struct {
		workers uint64
		window  time.Duration
	}{{2, s.stress() / 4}, {3, s.stress()}} {
		sh := shape{workers: atMost(s.Variant, int(lim.workers))}
		if sh.workers < 2 {
			return
		}
		var in inside
		sh.once(ctx, s, limits{window: lim.window, uses: longLife / lim.workers}, false, func(r *rig) {
			rw := sharesReads(s, r.hs)
			r.drive(ctx, func(_ context.Context, i int) {
				reads := rw && i > 0 && r.p.reads(i)
				visit(r.hs[i], &in, i, reads, runtime.Gosched)
				if !reads {
					runtime.Gosched() // let another worker take it, and wait for it
				}
			})
		})
	}
}

func usedPermits(ctx context.Context, s Subject) {
	n := s.Variant.Traits.Permits + 2
	hs := shape{workers: n}.all(ctx, s, n)
	for age, k := 1<<8, 0; age <= longLife; age <<= 4 {
		within(fmt.Sprintf("up to %d acquisitions", age), func() {
			alone(ctx, s, permitsLeft, func() {
				for ; k < age; k++ {
					acquireRelease(hs[k%len(hs)], false)
				}
			})
			countPermits(ctx, s, hs)
		})
	}
}

// permitsInBatches makes all permits' holders overlap, while more workers wait.
func permitsInBatches(ctx context.Context, s Subject) {
	permits := s.Variant.Traits.Permits
	for _, waiters := range []int{1, permits, 3*permits + 9} {
		sh := shape{workers: permits + waiters}
		if most := s.Variant.Traits.MaxWorkers; most > 0 && sh.workers > most {
			return
		}
		within(sh, func() {
			g := &gathering{
				hs: sh.all(ctx, s, sh.workers), rounds: 1 << 10, until: time.Now().Add(s.stress() / 4),
				share: permits, inside: &limit{permits: permits}, hold: shortHold,
			}
			g.run(ctx, s)
		})
	}
}

func enduranceRemote(ctx context.Context, s Subject) {
	inFixture(ctx, s, func(r *fixture) {
		r.fill(atMost(s.Variant, 3), 2)
		var last uint64
		end := time.Now().Add(2 * s.stress())
		for k := 0; k < longRemoteLife && (k <= 30 || time.Now().Before(end)); k++ {
			within(fmt.Sprintf("after %d acquisitions", k), func() {
				lease := r.lock(k * 7 / 5 % len(r.sessions))
				token := lease.Token()
				r.leave(lease)
				if s.Variant.Traits.Fenced && token <= last {
					fail("token %d comes after %d", token, last)
				}
				last = token
			})
		}
		if len(r.sessions) > 1 {
			r.gather()
		}
	})
}

// longRemoteLife is the acquisitions of a remote lock: more than a counter of eight bits.
const longRemoteLife = 300
