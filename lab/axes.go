package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/runner"
)

// axes are the workload axes as the user gave them. A list that is empty
// stands for its default.
type axes struct {
	workers    []int
	clients    []int
	hold       []harness.Span // default: 100ns for local locks, 0 for remote ones
	think      []harness.Span
	wait       []harness.WaitPolicy
	pin        []harness.Pin
	gomaxprocs []int
	reads      []int
	spread     []int
	gc         []bool

	few bool // for locks that are not recommended, fewWorkers or fewLocalWorkers are enough
}

// defaultHold is how long a local lock is held: enough for a few cache misses.
const defaultHold = 100 * time.Nanosecond

// cases crosses the axes with the locks. Cases that a lock cannot run are
// left out: more workers than it serves, more clients than workers.
func (a axes) cases(locks []*harness.Variant, cpus int) (cases []runner.Case) {
	for _, v := range locks {
		for _, w := range a.workloads(v, cpus) {
			if most := v.Traits.MaxWorkers; w.Clients <= w.Workers && (most == 0 || w.Workers <= most) {
				cases = append(cases, runner.Case{Lock: v, Workload: w})
			}
		}
	}
	return cases
}

// defaultReads is what readers-writer locks get if nothing is said about it:
// without readers they are slow mutexes.
const defaultReads = 90

// defaultLongHold is for how long a local lock is held where that is long: several
// times what it takes to put a waiter to sleep and to wake it.
const defaultLongHold = 10 * time.Microsecond

// defaultCases is cases for the default choice of locks. Unless the user says how
// many acquisitions only read, locks for readers and writers, and sync-mutex beside
// them, are measured with most of them reading, where the workers are most.
// Unless the user says how long a lock is held, the local locks for use, and those
// that sleep, are also measured with a long hold, where the workers are most.
func (a axes) defaultCases(locks []*harness.Variant, cpus int) (cases []runner.Case) {
	if len(a.reads) > 0 {
		return a.cases(locks, cpus)
	}
	if len(a.hold) == 0 {
		defer func() { cases = append(cases, a.longHolds(locks, cpus)...) }()
	}
	var plain, shared []*harness.Variant
	for _, v := range locks {
		if !v.Traits.ReadWrite {
			plain = append(plain, v)
		}
		if v.Traits.ReadWrite || v.Name == "sync-mutex" {
			shared = append(shared, v)
		}
	}
	readers := a
	readers.reads, readers.workers = []int{defaultReads}, most(or(a.workers, 8*cpus))
	return append(a.cases(plain, cpus), readers.cases(shared, cpus)...)
}

// longHolds returns the cases of a long hold.
func (a axes) longHolds(locks []*harness.Variant, cpus int) []runner.Case {
	locks = slices.DeleteFunc(slices.Clone(locks), func(v *harness.Variant) bool {
		sleeps := v.Family == harness.Blocking && v.Status == harness.Reference
		return v.Local == nil || v.Traits.ReadWrite || v.Status != harness.Recommended && !sleeps
	})
	a.hold, a.workers = []harness.Span{{Mean: defaultLongHold}}, most(or(a.workers, 8*cpus))
	return a.cases(locks, cpus)
}

// most returns the greatest of some worker counts.
func most(workers []int) []int { return []int{slices.Max(workers)} }

// workloads returns every combination of the axes that makes sense for v.
func (a axes) workloads(v *harness.Variant, cpus int) []harness.Workload {
	remote := v.Traits.Needs != ""
	hold := harness.Span{Mean: defaultHold}
	workers := localWorkers(cpus)
	if a.few && v.Status != harness.Recommended {
		workers = fewLocalWorkers(cpus)
	}
	clients, waits, pins := []int{0}, or(a.wait, harness.WaitAdaptive), or(a.pin, harness.PinNone)
	if remote {
		hold, workers = harness.Span{}, remoteWorkers
		if a.few && v.Status != harness.Recommended {
			workers = fewWorkers
		}
		// Waiting and pinning are about threads; a remote lock waits for the network.
		clients, waits, pins = or(a.clients, 0), []harness.WaitPolicy{harness.WaitAdaptive}, []harness.Pin{harness.PinNone}
	}
	if !v.Traits.FollowsWait {
		waits = []harness.WaitPolicy{harness.WaitAdaptive}
	}
	ws := []harness.Workload{{}}
	ws = cross(ws, or(a.workers, workers...), func(w *harness.Workload, x int) { w.Workers = x })
	ws = cross(ws, clients, func(w *harness.Workload, x int) { w.Clients = x })
	ws = cross(ws, or(a.hold, hold), func(w *harness.Workload, x harness.Span) { w.Hold = x })
	ws = cross(ws, or(a.think, harness.Span{}), func(w *harness.Workload, x harness.Span) { w.Think = x })
	ws = cross(ws, waits, func(w *harness.Workload, x harness.WaitPolicy) { w.Wait = x })
	ws = cross(ws, pins, func(w *harness.Workload, x harness.Pin) { w.Pin = x })
	ws = cross(ws, or(a.gomaxprocs, 0), func(w *harness.Workload, x int) { w.GOMAXPROCS = x })
	ws = cross(ws, or(a.reads, 0), func(w *harness.Workload, x int) { w.Reads = x })
	if remote {
		return ws // the rest is about memory that threads share
	}
	ws = cross(ws, or(a.spread, 1), func(w *harness.Workload, x int) { w.Locks = x })
	return cross(ws, or(a.gc, false), func(w *harness.Workload, x bool) { w.Garbage = x })
}

func followsWait(v *harness.Variant) bool { return v.Traits.FollowsWait }

// unheeded returns a line that names the locks of p that do not follow --wait, or "".
func (o runOptions) unheeded(p *runner.Plan) string {
	if o.wait == "" {
		return ""
	}
	var names []string
	for _, v := range p.Locks() {
		if !followsWait(v) {
			names = append(names, v.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "not varied by --wait, because they wait in a way of their own: " + strings.Join(names, ", ")
}

// cross returns every workload of ws with every value of one axis.
func cross[T any](ws []harness.Workload, values []T, set func(*harness.Workload, T)) (out []harness.Workload) {
	for _, w := range ws {
		for _, x := range values {
			set(&w, x)
			out = append(out, w)
		}
	}
	return out
}

func or[T any](given []T, otherwise ...T) []T {
	if len(given) > 0 {
		return given
	}
	return otherwise
}

// localWorkers returns 1, 2, 4 … up to the processors, and two, four and eight
// times as many: the last show what happens when workers outnumber processors.
func localWorkers(cpus int) (ns []int) {
	for n := 1; n < cpus; n *= 2 {
		ns = append(ns, n)
	}
	return append(ns, cpus, 2*cpus, 4*cpus, 8*cpus)
}

// fewLocalWorkers returns those in the default choice for local locks that are not
// recommended: alone, one on each processor, and the most.
func fewLocalWorkers(cpus int) []int { return slices.Compact([]int{1, cpus, 8 * cpus}) }

// remoteWorkers are the worker counts for remote locks, whose contention does
// not depend on the processors of the client.
var remoteWorkers = []int{1, 2, 8, 32, 64}

// fewWorkers are those in the default choice for remote locks that are not recommended:
// alone, contended, and with the most.
var fewWorkers = []int{1, 8, 64}

// parseList reads a comma-separated list, each word by parse.
func parseList[T any](flag, text string, parse func(string) (T, error)) (out []T, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		x, err := parse(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("%w (in --%s %s)", err, flag, text)
		}
		out = append(out, x)
	}
	return out, nil
}

// mostCount bounds the axes that are counts, also where a lock leaves one out.
const mostCount = 1 << 16

// parseCount reads a number of at least 1.
func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostCount {
		return 0, fmt.Errorf("%w: %q is not a number of 1 or more, up to %d", harness.ErrUsage, text, mostCount)
	}
	return n, nil
}

// parsePercent reads a whole number from 0 to 100, with or without its sign.
func parsePercent(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if err != nil || n < 0 || n > 100 {
		return 0, fmt.Errorf("%w: %q is not a percentage from 0 to 100", harness.ErrUsage, text)
	}
	return n, nil
}

func parseSwitch(text string) (bool, error) {
	if text != "on" && text != "off" {
		return false, fmt.Errorf("%w: %q is neither on nor off", harness.ErrUsage, text)
	}
	return text == "on", nil
}

// parseName reads one of the names of an axis.
func parseName[T interface {
	~string
	String() string
}](all []T) func(string) (T, error) {
	return func(text string) (T, error) {
		var names []string
		for _, x := range all {
			if x.String() == text {
				return x, nil
			}
			names = append(names, x.String())
		}
		return "", fmt.Errorf("%w: %q is none of %s", harness.ErrUsage, text, strings.Join(names, ", "))
	}
}
