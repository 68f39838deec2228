package lab

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/harness/simulate"
)

// modelled returns the machine of the user's name for it: a file or one of the program.
func modelled(name string) (*simulate.Machine, error) {
	read := simulate.Named
	switch {
	case name == "":
		return nil, usage("no machine: give --machine with a name of --list, or a file")
	case strings.ContainsAny(name, "/\\") || strings.HasSuffix(name, ".json"):
		read = simulate.Load
	}
	m, err := read(name)
	if err != nil {
		return nil, usage("%w", err)
	}
	return m, nil
}

// chosen returns the locks to simulate. The model must be able to run a named one.
func (o *simulateOptions) chosen() ([]*harness.Variant, error) {
	if o.locks == "" {
		return filter(o.program.Locks, func(v *harness.Variant) bool { return v.Status.Competes() && v.Family == harness.Spin }), nil
	}
	words := strings.Split(o.locks, ",")
	chosen, err := o.program.choose(words)
	if err != nil {
		return nil, err
	}
	for _, v := range chosen {
		if err := simulate.CheckVariant(v, 1); err != nil && slices.Contains(words, v.Name) {
			return nil, usage("%w", err)
		}
	}
	return chosen, nil
}

const usualWorkers = 64

func workerCounts(text string, m *simulate.Machine) ([]int, error) {
	if text == "" {
		text = fmt.Sprintf("1..%d", min(usualWorkers, m.Threads()))
	}
	ranges, err := parseWords(text, func(word string) ([]int, error) {
		low, high, found := strings.Cut(word, "..")
		switch {
		case !found:
			high = low
		case high == "":
			high = strconv.Itoa(m.Threads())
		}
		a, err := parseCount(low)
		if err != nil {
			return nil, err
		}
		b, err := parseCount(high)
		if err == nil && b < a {
			err = usage("%q ends before it begins", word)
		}
		return steps(a, b, m), err
	})
	if err != nil {
		return nil, fmt.Errorf("%w (in --workers %s)", err, text)
	}
	counts := slices.Concat(ranges...)
	slices.Sort(counts)
	return slices.Compact(counts), nil
}

func steps(a, b int, m *simulate.Machine) []int {
	ns := []int{a, b}
	for n := 1; n < b; n *= 2 {
		ns = append(ns, n)
	}
	ns = append(ns, m.Caches()/m.Sockets, m.Threads()/m.Sockets, m.Caches(), m.Threads())
	return filter(ns, func(n int) bool { return n >= a && n <= b })
}

func parseModelTime(text string) (float64, error) {
	d, err := within(0, simulate.MaxTime, time.ParseDuration, fmt.Sprintf("a time from 0 to %v, such as 100ns", time.Duration(simulate.MaxTime)))(text)
	return float64(d), err
}

var parseLines = within(0, simulate.MaxLines, strconv.Atoi, fmt.Sprintf("a number of cache lines from 0 to %d", simulate.MaxLines))

type simulateCase struct {
	lock     *harness.Variant
	workload simulate.Workload
}

// cases crosses the user's choices, without locks that the model cannot run with the workers.
func (o *simulateOptions) cases(m *simulate.Machine) ([]simulateCase, error) {
	locks, err := o.chosen()
	if err != nil {
		return nil, err
	}
	workers, err := workerCounts(o.workers, m)
	if err != nil {
		return nil, err
	}
	first, ok := places[o.place]
	if !ok {
		return nil, usage("--place is %q: want cores, threads or sockets", o.place)
	}
	first.Seed = o.seed
	ws := []simulate.Workload{first}
	ws = cross(ws, or(o.lines, 1), func(w *simulate.Workload, x int) { w.Lines = x })
	ws = cross(ws, or(o.hold, 200), func(w *simulate.Workload, x float64) { w.Hold = x })
	ws = cross(ws, or(o.think, 1000), func(w *simulate.Workload, x float64) { w.Think = x })
	ws = cross(ws, or(o.wait, harness.WaitPause), func(w *simulate.Workload, x harness.WaitPolicy) { w.Wait = x })
	ws = cross(ws, workers, func(w *simulate.Workload, x int) { w.Workers = x })
	var cases []simulateCase
	refused := errors.New("this program has no such lock")
	for _, w := range ws {
		if err := w.Validate(m); err != nil {
			return nil, usage("%w", err)
		}
		for _, v := range locks {
			if err := simulate.CheckVariant(v, w.Workers); err != nil {
				refused = err
				continue
			}
			cases = append(cases, simulateCase{v, w})
		}
	}
	if len(cases) == 0 {
		return nil, usage("no case to simulate: %w", refused)
	}
	return cases, nil
}

const placeCores = "cores" // as locklab run binds workers

// places are the values of --place.
var places = map[string]simulate.Workload{placeCores: {Apart: true}, "threads": {}, "sockets": {Apart: true, Spread: true}}

// likeRun makes the simulated points match measured ones, unless the user gave lines, hold or think time.
func (o *simulateOptions) likeRun(run *result.Run) {
	i := slices.IndexFunc(run.Results, func(r *result.Result) bool { return r.Lock.Family == harness.Spin })
	if i >= 0 && o.lines == nil && o.hold == nil && o.think == nil {
		w := run.Results[i].Workload
		o.lines, o.hold, o.think = []int{w.Section.Lines()}, []float64{float64(w.Hold.Mean)}, []float64{float64(w.Think.Mean)}
	}
}
