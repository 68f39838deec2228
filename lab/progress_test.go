package lab

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		want  string
	}{
		{nil, ""},
		{[]float64{950}, "950 /s"},
		{[]float64{12345}, "12.3 k/s"},
		{[]float64{1e6, 3e6, 2e6}, "2 M/s"},
		{[]float64{28.9e6, 28.9e6, 28.9e6, 28.9e6, 28.9e6}, "28.9 M/s"}, // no interval with five
		{[]float64{90, 100, 100, 100, 100, 110}, "100 /s ±10 %"},
		{make([]float64, 6), "0 /s"},
		{[]float64{2e9}, "2 G/s"},
		{[]float64{999.96}, "1 k/s"}, // not 1e+03 /s
	} {
		if got := figure(c.rates); got != c.want {
			t.Errorf("figure(%v) = %q, want %q", c.rates, got, c.want)
		}
	}
}

func TestStep(t *testing.T) {
	s := step{done: 37, total: 216, round: 2, name: "lock=zk-two-level-local-first/workers=8/clients=2/hold=0s",
		figure: "28.9 M/s ±1 %", left: 3*time.Minute + 10*time.Second, noise: &machine.Noise{Steal: 0.004, Others: 0.1234}}
	const want = "[ 37/216]   3m10s left  round 2   28.9 M/s ±1 %    zk-two-level-local-first/workers=8/clients=2/hold=0s  steal 0 %  others 12 %"
	if got := s.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if got := cut(want, 30); got != "[ 37/216]   3m10s left  round…" {
		t.Errorf("in 30 columns: %q", got)
	}
	s.round, s.noise = 0, &machine.Noise{Steal: -1, Others: -1}
	if got := s.String(); strings.Contains(got, "round") || strings.Contains(got, "steal") || strings.Contains(got, "others") {
		t.Errorf("of unknown values: %q", got)
	}
}

// TestParts simulates an experiment of twenty seconds on a file and on a terminal.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := new(Program).newProgress(&out, 0)
		part := s.parts("cost", 0)
		for done := range 21 {
			part(done, 20)
			time.Sleep(time.Second)
		}
		s.clear()
		if want := "[11/20]      9s left                   cost\n[20/20]      0s left                   cost\n"; out.String() != want {
			t.Errorf("wrote\n%q, want\n%q", out.String(), want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := new(Program).newProgress(&out, time.Minute)
		s.countDown(func() int { return 80 })
		s.parts("cost", 2*time.Second)(0, 20)
		time.Sleep(3500 * time.Millisecond)
		s.lasting("text")
		s.clear()
		want := ""
		for _, left := range []string{"1m2s", "1m1s", "1m0s", "1m0s"} {
			want += "\r[ 0/20]    " + left + " left                   cost\x1b[K"
		}
		if want += "\r\x1b[Ktext\n"; out.String() != want {
			t.Errorf("wrote\n%q, want a line that counts down and is gone in the end:\n%q", out.String(), want)
		}
	})
}

// TestPreparing: the first estimate has the warm-up and all later parts of the run.
func TestPreparing(t *testing.T) {
	for _, c := range []struct{ flags, want string }{
		{"--locks=zk-fair --budget=2m --hardware --chaos", "about 2m32s in all"},
		{"--locks=zk-fair --budget=2m", "about 2m0s in all"},
		{"--locks=mcs --budget=2m --hardware", ""},
	} {
		var stderr bytes.Buffer
		o := optionsOf(t, c.flags)
		show, _ := o.preparing(requirePlan(t, o), &stderr)
		show.clear()
		if first, _, _ := strings.Cut(stderr.String(), "\n"); first != c.want {
			t.Errorf("%s: wrote %q, want %q", c.flags, first, c.want)
		}
	}
}

func TestProgress(t *testing.T) {
	c := measure.Case{Lock: &harness.Variant{Name: "mcs"}, Workload: harness.Workload{Workers: 2}}
	result := func(v ...oracle.Violation) *result.Result {
		return &result.Result{Ops: 1000, Elapsed: time.Second, Workload: c.Workload, Violations: v, Noise: &machine.Noise{Steal: 0.03, Others: 0.5}}
	}
	steps := []measure.Progress{
		{Case: c, Total: 3, Left: 3 * time.Second},
		{Case: c, Done: 1, Total: 3, Left: 2 * time.Second, Result: result()},
		{Case: c, Done: 1, Total: 3, Left: 2 * time.Second, Round: 1},
		{Case: c, Done: 2, Total: 3, Left: time.Second, Round: 1, Lost: errors.New("signal: killed")},
		{Case: c, Done: 3, Total: 3, Round: 2, Result: result(oracle.Violation{Rule: "exclusion"})},
	}
	for _, k := range []struct {
		terminal bool
		want     string
	}{
		{false, "[1/3]      2s left  round 1   1 k/s            mcs/workers=2/hold=0s                         steal 3 %  others 50 %\n" +
			"LOST lock=mcs/workers=2/hold=0s, round 2: signal: killed\n" +
			"VIOLATED exclusion: lock=mcs/workers=2/hold=0s\n" +
			"[3/3]      0s left  round 3   VIOLATED exclusion  mcs/workers=2/hold=0s                         steal 3 %  others 50 %\n"},
		{true, "\r[0/3]      3s left                   mcs/workers=2/hold=0s\x1b[K" +
			"\r[1/3]      2s left  round 1   1 k/s            mcs/workers=2/hold=0s          …\x1b[K" +
			"\r\x1b[KLOST lock=mcs/workers=2/hold=0s, round 2: signal: killed\n" +
			"VIOLATED exclusion: lock=mcs/workers=2/hold=0s\n" +
			"\r[3/3]      0s left  round 3   VIOLATED exclusion  mcs/workers=2/hold=0s       …\x1b[K" + "\r\x1b[K"},
	} {
		var out bytes.Buffer
		s := new(Program).newProgress(&out, 0)
		if k.terminal {
			s.width = func() int { return 80 }
		}
		for _, p := range steps {
			s.update(p)
		}
		s.clear()
		if out.String() != k.want {
			t.Errorf("terminal is %v, wrote\n%q, want\n%q", k.terminal, out.String(), k.want)
		}
	}
}
