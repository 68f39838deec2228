package lab

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

// axes are the workload axes from the user. An empty list stands for its default.
type axes struct {
	workers []int
	clients []int
	hold    []harness.Span // default: 100ns for local locks, 0 for remote ones
	think   []harness.Span
	reads   []int
	spread  []int
	section []harness.Section
	scheduling
	loading
	siting

	processes int   // ranks that share the workers of a case
	scope     scope // of the default numbers of workers
}

// scheduling is the axes of the Go scheduler.
type scheduling struct {
	wait       []harness.WaitPolicy
	pin        []harness.Pin
	gomaxprocs []int
	gc         []bool
}

// siting is the axes of servers that the lab starts.
type siting struct {
	servers []int
	durable []bool
	tls     []bool
	delay   []time.Duration
}

// A scope is how many of the default numbers of workers are measured.
type scope int

const (
	allWorkers   scope = iota
	fewWorkers         // of the default choice
	briefWorkers       // only the least and the greatest contention
)

func (s scope) defaultWorkers(remote bool, cpus int) []int {
	if remote { // contention does not depend on the client's processors
		return [][]int{allWorkers: {1, 2, 8, 16, 64}, fewWorkers: {1, fewRemoteWorkers}, briefWorkers: {briefRemoteWorkers}}[s]
	}
	counts := [][]int{allWorkers: localWorkers(cpus), fewWorkers: {1, cpus, 8 * cpus}, briefWorkers: {1, 8 * cpus}}
	return slices.Compact(counts[s])
}

const (
	briefRemoteWorkers = 8
	fewRemoteWorkers   = 16
)

// defaultHold is the hold time of a local lock: enough for a few cache misses.
const defaultHold = 100 * time.Nanosecond

// cases crosses the axes with the locks, without cases that a lock cannot run.
func (a axes) cases(locks []*harness.Variant, cpus int) (cases []measure.Case) {
	for _, v := range locks {
		for _, w := range a.workloads(v, cpus) {
			c := measure.Case{Lock: v, Workload: w}
			if w.Rate == autoRate {
				c.Sought, c.Workload.Rate = true, 0
			}
			if most := v.Traits.MaxWorkers; w.Clients <= w.Workers && (most == 0 || w.Workers <= most) {
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// defaultReads is the default share of reads of readers-writer locks, else slow mutexes.
const defaultReads = 90

// defaultLongHold is several times the cost of a waiter's sleep and wake-up.
const defaultLongHold = 10 * time.Microsecond

// defaultCases returns the cases for the default locks. Unless the user sets the axis, it
// adds, at the most workers, readers-writer locks and sync-mutex with mostly reads, and
// recommended local locks, and ones that sleep, with a long hold.
func (a axes) defaultCases(locks []*harness.Variant, cpus int) []measure.Case {
	if len(a.reads) > 0 {
		return a.cases(locks, cpus)
	}
	readWrite := func(v *harness.Variant) bool { return v.Traits.ReadWrite }
	cases := a.cases(slices.DeleteFunc(slices.Clone(locks), readWrite), cpus)
	if a.open() || a.scope == briefWorkers { // one load is for one lock, held as the user set it
		return cases
	}
	busy := a
	busy.workers = []int{slices.Max(or(a.workers, 8*cpus))}
	if slices.ContainsFunc(locks, readWrite) {
		readers := busy
		readers.reads = []int{defaultReads}
		shared := filter(locks, func(v *harness.Variant) bool { return readWrite(v) || v.Name == "sync-mutex" })
		cases = append(cases, readers.cases(shared, cpus)...)
	}
	if len(a.hold) == 0 {
		busy.hold = []harness.Span{{Mean: defaultLongHold}}
		cases = append(cases, busy.cases(sleepers(locks), cpus)...)
	}
	return cases
}

func (a axes) workloads(v *harness.Variant, cpus int) []harness.Workload {
	remote := v.Traits.Needs != ""
	hold, workers := harness.Span{Mean: defaultHold}, a.scope.defaultWorkers(remote, cpus)
	clients, waits, pins := []int{0}, or(a.wait, harness.WaitAdaptive), or(a.pin, harness.PinNone)
	if remote {
		// Wait policy and pinning apply to threads; a remote lock waits for the network.
		hold, clients, pins = harness.Span{}, or(a.clients, 0), []harness.Pin{harness.PinNone}
	}
	if a.auto() {
		workers = pool(v, cpus)
	}
	workers = slices.Compact(result.Each(workers, func(n int) int { return max(n, a.processes) }))
	if remote || !v.Traits.FollowsWait {
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
	ws = a.loading.cross(ws)
	ws = cross(ws, []int{several(a.processes)}, func(w *harness.Workload, x int) { w.Ranks = x })
	if remote {
		ws = cross(ws, or(a.servers, 0), func(w *harness.Workload, x int) { w.Servers = several(x) })
		ws = cross(ws, or(a.durable, false), func(w *harness.Workload, x bool) { w.Durable = x })
		ws = cross(ws, or(a.tls, false), func(w *harness.Workload, x bool) { w.TLS = x })
		return cross(ws, or(a.delay, 0), func(w *harness.Workload, x time.Duration) { w.Delay = x })
	} // the other axes are about memory that threads share
	ws = cross(ws, or(a.spread, 1), func(w *harness.Workload, x int) { w.Locks = x })
	ws = cross(ws, or(a.gc, false), func(w *harness.Workload, x bool) { w.Garbage = x })
	return cross(ws, or(a.section, harness.SectionWork), func(w *harness.Workload, x harness.Section) { w.Section = x })
}

// checkFor returns an error if a flag has no effect on locks. needsRemote reports that a flag
// outside a needs a distributed lock.
func (a axes) checkFor(program string, locks []*harness.Variant, needsRemote bool) error {
	if len(a.wait) > 0 && !slices.ContainsFunc(locks, followsWait) {
		return usage("none of the locks chosen follows --wait; '%s list' shows those that claim a wait policy", program)
	}
	if err := errors.Join(a.checkLoad(), a.checkNumbers()); err != nil {
		return err
	}
	remote := slices.ContainsFunc(locks, func(v *harness.Variant) bool { return v.Remote != nil })
	if !remote && (needsRemote || a.clients != nil || !reflect.DeepEqual(a.siting, siting{})) {
		return usage("none of the locks chosen is distributed, and --clients, --servers, --durable, --tls, --delay, --chaos and --require need one: name it in --locks")
	}
	return nil
}

func followsWait(v *harness.Variant) bool { return v.Traits.FollowsWait }

// unheeded names the locks that an axis does not vary.
func (o runOptions) unheeded(p *measure.Plan) (lines []string) {
	say := func(text string, of func(*harness.Variant) bool) {
		names := result.Each(filter(p.Locks(), of), func(v *harness.Variant) string { return v.Name })
		if names != nil {
			lines = append(lines, text+": "+strings.Join(names, ", "))
		}
	}
	if o.wait != nil {
		say("not varied by --wait, because they have their own way to wait", func(v *harness.Variant) bool { return !followsWait(v) })
	}
	if o.section != nil {
		say("not varied by --section, because workers of a distributed lock share no memory", func(v *harness.Variant) bool { return v.Local == nil })
	}
	return lines
}

// checkNumbers rejects numbers of workers, clients and processors before a server starts.
func (a axes) checkNumbers() error {
	for _, n := range or(a.workers, max(1, a.processes)) {
		for _, clients := range or(a.clients, 0) {
			for _, procs := range or(a.gomaxprocs, 0) {
				w := harness.Workload{Workers: n, Clients: min(n, clients), GOMAXPROCS: procs, Ranks: a.processes, Window: 1}
				if err := w.Validate(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func several(n int) int {
	if n == 1 {
		return 0
	}
	return n
}

func cross[W, T any](ws []W, values []T, set func(*W, T)) (out []W) {
	for _, w := range ws {
		for _, x := range values {
			set(&w, x)
			out = append(out, w)
		}
	}
	return out
}

func filter[T any](all []T, keep func(T) bool) (kept []T) {
	for _, x := range all {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func or[T any](given []T, otherwise ...T) []T {
	if len(given) > 0 {
		return given
	}
	return otherwise
}

func localWorkers(cpus int) (ns []int) {
	for n := 1; n < cpus; n *= 2 {
		ns = append(ns, n)
	}
	return append(ns, cpus, 2*cpus, 4*cpus, 8*cpus)
}

// A valueFlag is a flag with the value that parse reads. It implements pflag.Value.
type valueFlag[T any] struct {
	to    *T
	text  string
	parse func(string) (T, error)
}

func (v *valueFlag[T]) String() string { return v.text }
func (v *valueFlag[T]) Type() string   { return "string" }

func (v *valueFlag[T]) Set(text string) (err error) {
	v.text = text
	*v.to, err = v.parse(text)
	return err
}

func set[T any, P interface {
	*T
	Set(text string) error
}](text string) (x T, err error) {
	err = P(&x).Set(text)
	return x, err
}

// list returns a flag with a list of different values, separated by commas.
func list[T comparable](to *[]T, parse func(string) (T, error)) *valueFlag[[]T] {
	return &valueFlag[[]T]{to: to, parse: func(text string) ([]T, error) {
		var earlier []T
		return parseWords(text, func(word string) (T, error) {
			x, err := parse(word)
			if err == nil && slices.Contains(earlier, x) {
				err = usage("%q is given twice", word)
			}
			earlier = append(earlier, x)
			return x, err
		})
	}}
}

func parseWords[T any](text string, parse func(string) (T, error)) (out []T, err error) {
	for word := range strings.SplitSeq(text, ",") {
		x, err := parse(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// mostCount limits the count axes, also for locks that ignore one.
const mostCount = 1 << 16

func within[T int | time.Duration](low, high T, parse func(string) (T, error), want string) func(string) (T, error) {
	return func(text string) (T, error) {
		x, err := parse(text)
		if err != nil || x < low || x > high {
			return 0, usage("%q is not %s", text, want)
		}
		return x, nil
	}
}

var (
	parseCount = within(1, mostCount, strconv.Atoi, fmt.Sprintf("a number of 1 or more, up to %d", mostCount))
	parseDelay = within(0, harness.MaxDelay, time.ParseDuration, fmt.Sprintf("a delay: want 0 to %v, such as 500us", harness.MaxDelay))
)

func parsePercent(text string) (int, error) {
	return within(0, 100, strconv.Atoi, "a percentage from 0 to 100")(strings.TrimSuffix(text, "%"))
}

func parseSwitch(text string) (bool, error) {
	if text != "on" && text != "off" {
		return false, usage("%q is neither on nor off", text)
	}
	return text == "on", nil
}

func parseServers(text string) (int, error) {
	n, err := parseCount(text)
	if err == nil {
		err = harness.Workload{Workers: 1, Servers: n, Window: 1}.Validate()
	}
	return n, err
}

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
		return "", usage("%q is none of %s", text, strings.Join(names, ", "))
	}
}
