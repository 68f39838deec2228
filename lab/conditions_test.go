package lab

import (
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/internal/site"
)

// TestDefaultConditions: a default run has comparable open loops and other servers, unless the
// user's settings remove them.
func TestDefaultConditions(t *testing.T) {
	count := func(o runOptions) (open, sites int) {
		t.Helper()
		p := requirePlan(t, o)
		for _, c := range p.Cases {
			switch {
			case c.Workload.Rate == 0 && c.Site().Kind != "" && !c.Site().Plain():
				sites++
			case c.Workload.Rate > 0:
				open++
				like := c.Workload
				like.Rate = 0
				if few, _ := o.whole(); few && !slices.ContainsFunc(p.Cases, func(x measure.Case) bool { return x.Lock == c.Lock && x.Workload.Name() == like.Name() }) {
					t.Errorf("%s has no closed loop beside it", c.Name())
				}
			}
		}
		return open, sites
	}
	open, sites := count(optionsOf(t, ""))
	if open != 3*3+4*3 || sites != 0 {
		t.Errorf("a default run has %d open loops and %d cases of other servers, want 21 and 0", open, sites)
	}
	more, all := count(optionsOf(t, "--locks=all"))
	if more <= open || all <= 3 {
		t.Errorf("all locks have %d open loops and %d cases of other servers", more, all)
	}
	if open, _ = count(optionsOf(t, "--locks=default,-zk-handoff,-sync-mutex")); open != 2*3+3*3 {
		t.Errorf("without two locks there are %d open loops", open)
	}
	plain := optionsOf(t, "")
	plain.plain = true
	if open, sites = count(plain); open != 0 || sites != 0 {
		t.Errorf("a comparison has %d open loops, %d cases of other servers", open, sites)
	}
	for _, flags := range []string{"--workers=1,8", "--hold=1us", "--delay=0", "--duration=1ms", "--locks=redis-queue,zk-handoff,sync-mutex"} {
		if open, sites = count(optionsOf(t, flags)); open != 0 || sites != 0 {
			t.Errorf("%s: %d open loops, %d cases of other servers", flags, open, sites)
		}
	}
	t.Setenv("LOCKLAB_REDIS", "localhost:1")
	o := optionsOf(t, "--locks=all")
	if open, sites = count(o); open != more || sites == 0 || sites >= all {
		t.Errorf("with a Redis of the user's there are %d open loops and %d cases of other servers", open, sites)
	}
	p := requirePlan(t, o)
	if got, want := o.unconditioned(p), "not measured on durable servers far away, which the lab would have to start: LOCKLAB_REDIS names yours"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if err := site.Check(p); err != nil {
		t.Error(err)
	}
	if o.delay = []time.Duration{time.Millisecond}; o.unconditioned(p) != "" {
		t.Error("it speaks of conditions that were not to be measured")
	}
}

func TestConditionsAreOfTheDefault(t *testing.T) {
	p := program()
	for _, c := range defaultConditions(2) {
		for _, name := range c.locks {
			if !slices.ContainsFunc(p.Locks, func(v *harness.Variant) bool { return v.Name == name && p.byDefault(v) }) {
				t.Errorf("%s is not in the default choice", name)
			}
		}
	}
}
