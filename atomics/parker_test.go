package atomics

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"locklab/internal/require"
)

// awaitParked waits until the owner of p can no longer leave Park without a wake-up.
func awaitParked(p *Parker) {
	for p.state.Load() != parkerParked {
		runtime.Gosched()
	}
}

// TestParkUntil checks that a Park takes all waiting permits, also behind the end, that a Park
// that gives up leaves the parker as it was, and that a sleeper is woken by either.
func TestParkUntil(t *testing.T) {
	over := make(chan struct{})
	close(over)
	p := NewParker()
	for range 3 {
		p.Unpark()
	}
	for i, want := range []bool{true, false, false} {
		if got := p.ParkUntil(over); got != want || p.state.Load() != parkerEmpty {
			t.Errorf("call %d: ParkUntil returns %t and leaves state %d, want %t and empty", i, got, p.state.Load(), want)
		}
	}
	for _, want := range []bool{true, false} {
		done := make(chan struct{})
		wake := map[bool]func(){true: p.Unpark, false: func() { close(done) }}[want]
		var wg sync.WaitGroup
		wg.Go(func() {
			require.Equal(t, "ParkUntil of a sleeper", p.ParkUntil(done), want)
		})
		awaitParked(p)
		wake()
		wg.Wait()
	}
}

// TestParkUntilKeepsPermits: a permit that races with the end of a Park is not lost.
func TestParkUntilKeepsPermits(t *testing.T) {
	p := NewParker()
	for range 5000 {
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { close(done) })
		wg.Go(p.Unpark)
		if !p.ParkUntil(done) {
			p.Park() // for ever, if the permit is lost
		}
		wg.Wait()
		if s := p.state.Load(); s != parkerEmpty {
			t.Fatalf("state %d after as many parks as permits, want empty", s)
		}
	}
}

// TestUnparkWhileAwakeOrAsleep: the owner sees everything written before the Unpark.
func TestUnparkWhileAwakeOrAsleep(t *testing.T) {
	for _, locked := range []bool{false, true} {
		rounds := 20_000
		if locked {
			rounds = 300 // a wake-up of a thread takes 100 times as long
		}
		ping, pong := NewParker(), NewParker()
		var message int
		var wg sync.WaitGroup
		run := func(round func(i int)) {
			wg.Go(func() {
				if locked {
					runtime.LockOSThread() // the thread ends with its goroutine
				}
				for i := range rounds {
					round(i)
				}
			})
		}
		run(func(i int) {
			ping.Park()
			if message != i {
				t.Errorf("locked=%t: round %d reads message %d", locked, i, message)
			}
			if i%3 == 0 {
				runtime.Gosched()
			}
			pong.Unpark()
		})
		run(func(i int) {
			message = i
			ping.Unpark()
			if i%5 == 0 {
				runtime.Gosched()
			}
			pong.Park()
		})
		wg.Wait()
	}
}

// TestManyUnparkOne: no permit is lost if several goroutines wake one owner.
func TestManyUnparkOne(t *testing.T) {
	const wakers, rounds = 3, 2000
	p := NewParker()
	var done Uint32
	var wg sync.WaitGroup
	for range wakers {
		wg.Go(func() {
			for range rounds {
				done.Add(1)
				p.Unpark()
			}
		})
	}
	for done.Load() < wakers*rounds {
		p.Park() // for ever, if the last permit is lost
	}
	wg.Wait()
}

func TestParkDoesNotAllocate(t *testing.T) {
	ping, pong := NewParker(), NewParker()
	stop := false
	var wg sync.WaitGroup
	wg.Go(func() {
		for ping.Park(); !stop; ping.Park() {
			pong.Unpark()
		}
	})
	if n := testing.AllocsPerRun(200, func() {
		ping.Unpark()
		pong.Park()
	}); n != 0 {
		t.Errorf("%v allocations per wake-up and sleep, want none", n)
	}
	stop = true
	ping.Unpark()
	wg.Wait()
}

func TestHintsAreBounded(t *testing.T) {
	for n, want := range map[int]uint32{math.MinInt: 0, -1: 0, 0: 0, 1: 1, 63: 63, 64: 64, 65: 64, math.MaxInt: 64} {
		require.Equal(t, n, hints(n), want)
	}
}

func TestClockName(t *testing.T) {
	want, ok := map[string]string{"amd64": "RDTSC", "arm64": "CNTVCT_EL0"}[runtime.GOARCH]
	if !ok || len(Suite) == 1 {
		want = "monotonic"
	}
	require.Equal(t, "ClockName", ClockName(), want)
}

// TestTicks compares spans of Ticks with spans of the monotonic clock.
func TestTicks(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	outer := time.Now()
	first := Ticks()
	inner := time.Now()
	time.Sleep(50 * time.Millisecond)
	least := time.Since(inner)
	span := float64(Ticks() - first)
	most := time.Since(outer)

	lo, hi := span/most.Seconds(), span/least.Seconds()
	t.Logf("%s: %.0f to %.0f ticks per second, ClockHz is %.0f", ClockName(), lo, hi, ClockHz())
	if lo < 1e6 || hi > 1e10 {
		t.Errorf("ticks do not come at the rate of a clock")
	}
	const slack = 1.01 // CNTFRQ_EL0 and the kernel's own calibration may differ
	if hz := ClockHz(); hz != 0 && (hz < lo/slack || hz > hi*slack) {
		t.Errorf("ClockHz is %.0f, out of the range seen", hz)
	}
}

func TestTicksDoNotGoBack(t *testing.T) {
	last := Ticks()
	for range 10_000 {
		now := Ticks()
		if back := int64(last - now); back > 100_000 {
			t.Fatalf("Ticks went back by %d", back)
		}
		last = now
	}
}
