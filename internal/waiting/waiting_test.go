package waiting

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"locklab/atomics"
	"locklab/internal/require"
)

// TestWaitersSleepWhenWoken checks when a lock that can wake lets its waiters sleep.
func TestWaitersSleepWhenWoken(t *testing.T) {
	few, many := 1, runtime.GOMAXPROCS(0)+1
	for _, tc := range []struct {
		workers int
		wait    Policy
		pin     Pin
		sleeps  bool
		polls   int
	}{
		{few, Adaptive, PinNone, true, adaptivePolls},
		{many, Adaptive, PinNone, true, 0},
		{few, Adaptive, PinThread, false, adaptivePolls},
		{many, Adaptive, PinCPU, true, 0},
		{few, Park, PinNone, true, 0},
		{few, Park, PinCPU, true, 0},
		{many, Yield, PinNone, false, 0},
		{many, SchedYield, PinNone, false, 0},
		{many, Pause, PinNone, false, pausePolls - 1},
	} {
		w := NewSleeper(tc.workers, tc.wait, tc.pin)
		if w.sleeps != tc.sleeps || w.polls != tc.polls {
			t.Errorf("%+v: sleeps %t after %d polls", tc, w.sleeps, w.polls)
		}
		if w := New(tc.wait, tc.pin); w.sleeps {
			t.Errorf("%+v: a waiter that no release can wake sleeps", tc)
		}
	}
}

func TestMistakesPanic(t *testing.T) {
	for _, p := range Policies {
		for _, pin := range Pins {
			Check(1, p, pin)
		}
	}
	CheckWorker(0, 1)
	CheckWorker(3, 4)
	for _, tc := range []struct {
		want string
		f    func()
	}{
		{"locklab: a lock for 0 workers", func() { Check(0, Adaptive, PinNone) }},
		{"locklab: a lock for -1 workers", func() { Check(-1, Adaptive, PinNone) }},
		{`locklab: unknown wait policy "often"`, func() { Check(1, "often", PinNone) }},
		{`locklab: unknown wait policy "often"`, func() { New("often", PinNone) }},
		{`locklab: unknown wait policy "often"`, func() { NewSleeper(1, "often", PinNone) }},
		{`locklab: unknown pin "core"`, func() { Check(1, Adaptive, "core") }},
		{"locklab: worker -1 of a lock for 4", func() { CheckWorker(-1, 4) }},
		{"locklab: worker 4 of a lock for 4", func() { CheckWorker(4, 4) }},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, tc.want) {
					t.Errorf("panic %q, want %q", got, tc.want)
				}
			}()
			tc.f()
		}()
	}
}

// TestWhile: While keeps its polls if the word has changed, else spends them and yields.
func TestWhile(t *testing.T) {
	var word32 atomics.Uint32
	var word64 atomics.Uint64
	for name, while := range map[string]func(w *Waiter, v uint64) uint64{
		"32": func(w *Waiter, v uint64) uint64 { return uint64(w.While(&word32, uint32(v))) },
		"64": func(w *Waiter, v uint64) uint64 { return w.While64(&word64, v) },
	} {
		word32.Store(7)
		word64.Store(7)
		for _, p := range Policies {
			w := New(p, PinThread)
			polls := w.polls
			if got := while(&w, 6); got != 7 || polls > 0 && w.polls != polls {
				t.Errorf("%s bits, wait=%s: a word that has changed: %d, %d of %d polls left", name, p, got, w.polls, polls)
			}
			require.Equal(t, fmt.Sprintf("%s bits, wait=%s", name, p), while(&w, 7), 7)
		}
		// Adaptive: all polls in one call, then a yield a call.
		w := New(Adaptive, PinThread)
		if while(&w, 7); w.polls != 0 || w.yields != 0 {
			t.Errorf("%s bits: %d polls left and %d yields after the polls", name, w.polls, w.yields)
		}
		if while(&w, 7); w.yields != 1 {
			t.Errorf("%s bits: %d yields after one", name, w.yields)
		}
		// Pause: the polls restart after the yield.
		w = New(Pause, PinThread)
		while(&w, 7)
		if while(&w, 7); w.polls != pausePolls-1 || w.yields != 1 {
			t.Errorf("%s bits: %d polls left and %d yields after a yield", name, w.polls, w.yields)
		}
	}
}

// TestYields: a waiter that yields its thread must sometimes give up its processor too.
func TestYields(t *testing.T) {
	for _, tc := range []struct {
		wait   Policy
		pin    Pin
		thread bool
	}{
		{Adaptive, PinNone, false},
		{Adaptive, PinThread, true},
		{Pause, PinCPU, true},
		{Park, PinCPU, true},
		{Yield, PinCPU, false},
		{SchedYield, PinNone, true},
	} {
		w := New(tc.wait, tc.pin)
		require.Equal(t, fmt.Sprintf("wait=%s pin=%s: yields the thread", tc.wait, tc.pin), w.thread, tc.thread)
		highest, dropped := 0, false
		for range 10 * pausePolls * threadYields {
			w.Wait()
			dropped = dropped || w.yields < highest
			highest = max(highest, w.yields)
		}
		if tc.thread && (highest != threadYields || !dropped) {
			t.Errorf("wait=%s pin=%s: at most %d yields of the thread in a row, want %d", tc.wait, tc.pin, highest, threadYields)
		}
	}
}

func TestSpend(t *testing.T) {
	for _, tc := range []struct {
		policy  Policy
		n, left int
	}{
		{Adaptive, 0, adaptivePolls}, {Adaptive, 4, adaptivePolls - 4}, {Adaptive, adaptivePolls + 1, 0},
		{Pause, 4, pausePolls - 5}, {Yield, 4, 0},
	} {
		w := New(tc.policy, PinThread)
		if w.Spend(tc.n); w.polls != tc.left {
			t.Errorf("wait=%s: %d polls left after %d, want %d", tc.policy, w.polls, tc.n, tc.left)
		}
	}
}
