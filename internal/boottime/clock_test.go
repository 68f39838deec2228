package boottime

import (
	"testing"
	"time"
)

func TestSuspend(t *testing.T) {
	slept := 5 * time.Second
	c := New(func(time.Time) time.Duration { return slept })
	until := c.Now().Add(time.Minute)
	slept += time.Hour
	for what, left := range map[string]time.Duration{"of the clock": c.Until(until), "of Go's clock": time.Until(c.Local(until))} {
		if left > -58*time.Minute {
			t.Errorf("%v of a minute are left after an hour %s", left, what)
		}
	}
	later := New(func(time.Time) time.Duration { return slept - 2*time.Hour })
	if off := later.Until(later.From(c, until)) - c.Until(until); off.Abs() > time.Minute {
		t.Errorf("another clock has %v more left", off)
	}
	if !c.Local(time.Time{}).IsZero() {
		t.Error("Local moved the zero time")
	}
}

// TestSuspends checks that a suspend is distinguished from a step of the wall clock.
// Without a clock that counts during a suspend, a step counts as a suspend.
func TestSuspends(t *testing.T) {
	var suspended time.Duration
	this := time.Now()
	boot := func() time.Duration { return time.Since(this) + suspended }
	for name, test := range map[string]struct {
		boot                func() time.Duration
		step, suspend, want time.Duration
	}{
		"awake":                       {boot, 0, 0, 0},
		"suspend":                     {boot, 0, time.Hour, time.Hour},
		"step":                        {boot, time.Hour, 0, 0},
		"step back":                   {boot, -time.Hour, 0, 0},
		"suspend and step back":       {boot, -time.Minute, time.Hour, time.Hour},
		"no clock, awake":             {nil, 0, 0, 0},
		"no clock, suspend":           {nil, 0, time.Hour, time.Hour},
		"no clock, step back":         {nil, -time.Hour, 0, 0},
		"no clock, step forward":      {nil, time.Hour, 0, time.Hour},
		"no clock, less back than on": {nil, -time.Minute, time.Hour, 59 * time.Minute},
	} {
		suspended = 0
		s := newSuspends(test.boot)
		if got := s.count(time.Now()); got != 0 {
			t.Errorf("%s: %v before", name, got)
		}
		suspended = test.suspend
		s.last.Store(&mark{ahead: -test.step - test.suspend}) // the wall clock advances by that
		if got := s.count(time.Now()); (got - test.want).Abs() > time.Minute/2 {
			t.Errorf("%s: counted %v, want %v", name, got, test.want)
		}
		if first, second := s.count(time.Now()), s.count(time.Now()); first != second {
			t.Errorf("%s: counted %v, then %v", name, first, second)
		}
	}
}

func TestClocks(t *testing.T) {
	for name, c := range map[string]*Clock{"none": nil, "system": New(nil)} {
		if off := c.Since(time.Now()); off < 0 || off > time.Minute {
			t.Errorf("%s: it is %v ahead", name, off)
		}
		if n := testing.AllocsPerRun(100, func() { c.Now() }); n > 0 {
			t.Errorf("%s: a reading allocates %v times", name, n)
		}
	}
	boot := system()
	if boot == nil {
		return
	}
	began := boot()
	time.Sleep(time.Millisecond)
	if took := boot() - began; took < time.Millisecond/2 || took > time.Minute {
		t.Errorf("the system's clock counted %v in a millisecond", took)
	}
}
