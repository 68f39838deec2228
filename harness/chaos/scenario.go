package chaos

import (
	"context"
	"reflect"
	"regexp"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// A Scenario is one failure and its expected effect on locks, listed in [Suite]. A try makes
// the fault once, for one lock or many, and judges each lock's history.
// It has many fields because a scenario is one row of a table.
type Scenario struct {
	Name     string // lower case, words joined by '-'
	Family   string // a few words for scenarios that differ in one thing
	Question string // ends with a question mark
	Fault    string // the injected fault, in one line without a full stop
	Source   string // first report or description

	// Tests are the guarantees under test.
	Tests []result.Guarantee

	// Locks is a regular expression that matches the full names of the locks it
	// applies to. Fault explains why it does not apply to others.
	Locks string

	// Expect are the expected effects: the first whose Locks match counts.
	Expect []Expectation

	// Deadline is when a try ends in any case. It counts after the servers have been started.
	Deadline time.Duration

	// Prompt is how long a free lock may wait for its next holder before that is a stall: the
	// time to notice the failure on a busy machine if nothing has to expire. 0 is a second.
	Prompt time.Duration

	// Arrival is the time after a request until a client is surely in line, for locks that
	// serve in order; a client without a server is not in line. 0 is oracle.DefaultArrival.
	Arrival time.Duration

	// Down reports that the fault may keep requests from all servers until the lock is granted
	// again: a client that asks in the meantime may not be in line (oracle.Rules).
	Down bool

	// Alone tries one lock at a time, because one would disturb the other.
	Alone bool

	Tries int  // faults in a full run
	Short bool // a short run tries it once

	// Takes is the duration in seconds of the first try, with all its locks or one if each is
	// tried alone, on two busy processors (make chaos TRIES=1). It includes the start of the
	// servers. 0 is the deadline.
	Takes int

	// Aims are limits for figures of the locks that they name.
	Aims []Aim

	// Try makes the fault once. A step that fails ends it: the fault could not be made,
	// and the try does not count.
	Try func(ctx context.Context, t *Try)
}

// An Expectation is the expected effect of a failure on some locks.
type Expectation struct {
	Locks     string           // a regular expression, as in Scenario
	Anomalies []oracle.Anomaly // possible anomalies; empty is safe
	Why       string           // in one sentence without a full stop
}

// An Aim is a limit for a figure of some locks.
type Aim struct {
	Locks string // a regular expression, as in Scenario
	result.FaultAim
}

// table returns rows with each field that a row leaves out taken from base.
func table(base Scenario, rows []Scenario) (out []*Scenario) {
	from := reflect.ValueOf(base)
	for i := range rows {
		to := reflect.ValueOf(&rows[i]).Elem()
		for f := range to.NumField() {
			if to.Field(f).IsZero() {
				to.Field(f).Set(from.Field(f))
			}
		}
		out = append(out, &rows[i])
	}
	return out
}

// DefaultPrompt replaces a Scenario.Prompt of 0.
const DefaultPrompt = time.Second

// Applies reports whether the scenario applies to a lock.
func (s *Scenario) Applies(lock harness.Lock) bool {
	return lock.Traits.Needs != "" && matches(s.Locks, lock.Name)
}

// Expected returns the expectation for a lock, empty if no expectation names it.
func (s *Scenario) Expected(lock string) result.Expectation {
	for _, e := range s.Expect {
		if matches(e.Locks, lock) {
			return result.Expectation{Anomalies: e.Anomalies, Why: e.Why}
		}
	}
	return result.Expectation{}
}

func (s *Scenario) result(v *harness.Variant) *result.FaultResult {
	r := &result.FaultResult{
		Scenario: s.Name, Question: s.Question, Fault: s.Fault, Source: s.Source, Tests: s.Tests,
		Lock: v.Describe(), Expected: s.Expected(v.Name), Started: time.Now(),
	}
	for _, a := range s.Aims {
		if matches(a.Locks, v.Name) {
			r.Aims = append(r.Aims, a.FaultAim)
		}
	}
	return r
}

func matches(pattern, name string) bool {
	ok, err := regexp.MatchString("^(?:"+pattern+")$", name)
	return err == nil && ok // TestSuite has compiled it
}
