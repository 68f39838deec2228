package atomics

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// parked waits until the owner of p can no longer leave Park without a wake-up.
func parked(p *Parker) {
	for p.state.Load() != parkerParked {
		runtime.Gosched()
	}
}

func TestParkTakesAWaitingPermit(t *testing.T) {
	p := NewParker()
	for range 3 {
		p.Unpark()
		p.Park() // a deadlock, if it does not return at once
	}
	if got := p.state.Load(); got != parkerEmpty {
		t.Errorf("state %d after as many parks as permits, want empty", got)
	}
}

func TestParkerHoldsOnePermit(t *testing.T) {
	p := NewParker()
	for range 3 {
		p.Unpark()
	}
	p.Park()
	var wg sync.WaitGroup
	returned := make(chan struct{})
	wg.Go(func() {
		p.Park()
		close(returned)
	})
	parked(p) // a second permit would have let it pass
	select {
	case <-returned:
		t.Error("a second Park returned, although one Park takes all permits")
	case <-time.After(time.Millisecond):
	}
	p.Unpark()
	wg.Wait()
}

// TestParkUntil checks that a waiting permit goes before the end, that a Park that gives
// up leaves the parker as it was, and that a sleeper is woken by either.
func TestParkUntil(t *testing.T) {
	over := make(chan struct{})
	close(over)
	p := NewParker()
	p.Unpark()
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
			if got := p.ParkUntil(done); got != want {
				t.Errorf("ParkUntil of a sleeper returns %t, want %t", got, want)
			}
		})
		parked(p)
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
		for {
			ping.Park()
			if stop {
				return
			}
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

// BenchmarkParker measures a free permit, and a round trip, free or locked to threads.
func BenchmarkParker(b *testing.B) {
	b.Run("way=permit", func(b *testing.B) {
		p := NewParker()
		for b.Loop() {
			p.Unpark()
			p.Park()
		}
	})
	for _, locked := range []bool{false, true} {
		name := map[bool]string{false: "way=goroutine", true: "way=thread"}[locked]
		b.Run(name, func(b *testing.B) {
			ping, pong := NewParker(), NewParker()
			stop := false
			var wg sync.WaitGroup
			wg.Go(func() {
				if locked {
					runtime.LockOSThread()
				}
				for ping.Park(); !stop; ping.Park() {
					pong.Unpark()
				}
			})
			if locked {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			for b.Loop() {
				ping.Unpark()
				pong.Park()
			}
			stop = true
			ping.Unpark()
			wg.Wait()
		})
	}
}
