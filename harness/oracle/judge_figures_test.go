package oracle

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestWindows(t *testing.T) {
	held := "0 1 asked; 1 1 granted; 2 2 asked;"
	for _, c := range []struct {
		name    string
		script  string
		want    []time.Duration
		granted []bool
	}{
		{"no disturbance", held + "5 1 releasing; 6 1 released; 9 2 granted", nil, nil},
		{"killed", held + "5 1 killed; 9 2 granted", []time.Duration{4 * ms}, []bool{true}},
		{"killed, never granted", held + "5 1 killed; 9 3 asked", []time.Duration{4 * ms}, []bool{false}},
		{"a fault without effect", held + "3 -1 fault; 5 1 releasing; 5 1 released; 5 2 granted", []time.Duration{0}, []bool{true}},
		{"a fault in a wait", held + "5 1 releasing; 6 1 released; 7 -1 fault; 11 2 granted", []time.Duration{4 * ms}, []bool{true}},
		{"two in a wait", held + "5 1 killed; 7 -1 fault; 11 2 granted", []time.Duration{6 * ms, 4 * ms}, []bool{true, true}},
		{"a wait that begins before the next", held + "3 -1 fault; 5 1 releasing; 5 1 released; 8 -1 fault; 11 2 granted", []time.Duration{6 * ms, 3 * ms}, []bool{true, true}},
		{"a wait of which the next has the rest", "0 1 asked; 1 1 granted; 2 2 asked; 2 3 asked; 3 -1 fault; 4 1 releasing; 4 1 released; 5 2 granted; 6 2 releasing; 6 2 released; 8 -1 fault; 15 3 granted", []time.Duration{2 * ms, 7 * ms}, []bool{true, true}},
		{"the longest of two", held + "3 -1 fault; 5 1 releasing; 5 1 released; 7 2 granted; 7 1 asked; 8 2 releasing; 8 2 released; 11 1 granted; 11 2 asked; 12 1 releasing; 14 2 granted", []time.Duration{3 * ms}, []bool{true}},
		{"nothing waits for a while", held + "5 1 killed; 7 2 failed; 10 2 asked; 13 2 granted", []time.Duration{5 * ms}, []bool{true}},
		{"a paused holder whose deadline is known", held + "3 1 wrote d6; 4 1 paused; 10 2 granted; 12 1 resumed; 13 1 told", []time.Duration{4 * ms}, []bool{true}},
		{"a paused holder whose deadline is not", held + "4 1 paused; 10 2 granted; 12 1 resumed; 13 1 told", []time.Duration{0}, []bool{true}},
		{"a paused holder after another", held + "4 1 paused; 10 2 granted; 11 3 asked; 12 2 releasing; 12 2 released; 17 3 granted; 18 1 resumed; 19 1 told", []time.Duration{5 * ms}, []bool{true}},
		{"a holder past its deadline", held + "3 1 wrote d6; 4 -1 fault; 10 1 told; 12 2 granted", []time.Duration{2 * ms}, []bool{true}},
		{"paused waiters", held + "4 2 paused; 5 1 killed; 9 2 resumed; 12 2 granted", []time.Duration{3 * ms, 3 * ms}, []bool{true, true}},
		{"tries do not wait", "0 1 asked; 1 1 granted; 2 2 tried; 5 1 killed; 9 2 granted", []time.Duration{0}, []bool{true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := Judge(script(t, c.script), Rules{})
			var got []time.Duration
			var granted []bool
			for _, w := range j.Windows {
				got, granted = append(got, w.Length), append(granted, w.Granted)
			}
			if !slices.Equal(got, c.want) || !slices.Equal(granted, c.granted) {
				t.Errorf("windows %v, granted %v, want %v and %v", got, granted, c.want, c.granted)
			}
		})
	}
}

func TestWindowOfAllTime(t *testing.T) {
	j := Judge(script(t, "0 1 asked; 1 1 granted; 2 2 asked; 5 1 releasing; 6 1 released; 9 2 granted"), Rules{})
	if j.Window != 4*ms {
		t.Errorf("the longest wait for a free lock is %v, want 4ms", j.Window)
	}
}

func TestMargins(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		want   []time.Duration
	}{
		{"told before", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 told; 8 2 granted", []time.Duration{3 * ms}},
		{"told after", "0 1 asked; 1 1 granted; 2 2 asked; 8 2 granted; 9 1 told", []time.Duration{-ms}},
		{"killed before it was told", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 8 2 granted", nil},
		{"released", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 releasing; 6 1 told; 8 2 granted", nil},
		{"its own successor", "0 1 asked; 1 1 granted; 5 1 told; 6 1 asked; 7 1 granted; 8 1 releasing; 9 2 asked; 10 2 granted", nil},
		{"two that lost it", "0 1 asked; 1 1 granted; 2 2 asked; 5 1 told; 8 2 granted; 9 2 told; 10 3 asked; 11 3 granted", []time.Duration{3 * ms, 2 * ms}},
		{"a reader's next is a writer", "0 1 asked r; 1 1 granted r; 2 2 asked r; 3 2 granted r; 5 1 told; 6 2 told; 7 3 asked; 9 3 granted", []time.Duration{4 * ms, 3 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Judge(script(t, c.script), Rules{}).Margins; !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	if got := Judge(script(t, "0 1 asked; 1 1 granted; 5 1 told; 6 2 asked; 8 2 granted"), Rules{Permits: 2}).Margins; got != nil {
		t.Errorf("a lock with two permits has margins %v", got)
	}
}

func TestOverlapFigures(t *testing.T) {
	j := Judge(script(t, "0 1 asked; 1 1 granted; 2 2 asked; 5 2 granted; 7 2 releasing; 7 2 released; 8 1 paused; 10 3 asked; 11 3 granted; 20 1 resumed; 21 1 told; 30 3 releasing"), Rules{})
	want := []Overlap{{0, 1, 2 * ms, true}, {0, 2, 10 * ms, false}}
	if !slices.Equal(j.Overlaps, want) || j.Longest != 10*ms {
		t.Errorf("overlaps %+v, longest %v, want %+v", j.Overlaps, j.Longest, want)
	}
	if len(j.Notes) != 2 || !strings.HasPrefix(j.Notes[0], "5ms: worker 2 ") || !strings.HasPrefix(j.Notes[1], "11ms: worker 3 ") {
		t.Errorf("notes %q, want one of each kind, with times from the start", j.Notes)
	}
}

func TestHolds(t *testing.T) {
	j := Judge(script(t, `0 1 asked r; 1 1 granted r t7 d90; 2 1 paused; 3 1 resumed; 4 1 told d95; 6 1 releasing; 7 1 released #not held;
		8 2 tried; 9 2 granted t8; 10 2 killed; 11 3 asked; 12 3 granted d20; 30 3 releasing; 31 3 released; 40 4 asked; 41 4 granted; 50 5 asked`), Rules{})
	want := []Held{
		{Hold: Hold{Worker: 1, Requested: 0, Acquired: 1e6, Releasing: 4e6, Shared: true, Token: 7}, Released: forever, Deadline: 95e6, Promise: 2e6, Lost: true},
		{Hold: Hold{Worker: 2, Requested: 8e6, Acquired: 9e6, Releasing: 10e6, Token: 8}, Released: forever, Promise: 10e6, Tried: true, Killed: true},
		{Hold: Hold{Worker: 3, Requested: 11e6, Acquired: 12e6, Releasing: 30e6}, Released: 31e6, Deadline: 20e6, Promise: 20e6},
		{Hold: Hold{Worker: 4, Requested: 40e6, Acquired: 41e6, Releasing: 50e6}, Released: forever, Promise: 50e6, Open: true},
	}
	if !slices.Equal(j.Holds, want) {
		t.Errorf("%+v,\nwant %+v", j.Holds, want)
	}
	if n := len(j.Attempts); n != 5 || j.Attempts[4].Outcome != Pending || j.Attempts[4].Answered != 50e6 || !j.Attempts[1].Tried {
		t.Errorf("attempts %+v", j.Attempts)
	}
}
