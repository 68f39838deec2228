package lab

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/simulate"
)

// this is the user's name for the machine of this program.
const this = "this"

func modelled(name string) (*simulate.Machine, error) {
	if name == "" {
		return nil, fmt.Errorf("%w: which machine? give --machine NAME, of --list, a file, or --machine this", harness.ErrUsage)
	}
	if _, err := os.Stat(name); err == nil || strings.ContainsAny(name, "/\\") || strings.HasSuffix(name, ".json") {
		m, err := simulate.Load(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", harness.ErrUsage, err)
		}
		return m, nil
	}
	m, err := simulate.Named(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", harness.ErrUsage, err)
	}
	return m, nil
}

// simulated returns the chosen locks that the model can run; a named one must be among them.
func (o simulateOptions) simulated() ([]*harness.Variant, error) {
	if o.locks == "" {
		var locks []*harness.Variant
		for _, v := range o.program.spinLocks() {
			if v.Status.Competes() && v.Unavailable == "" {
				locks = append(locks, v)
			}
		}
		if len(locks) == 0 {
			return nil, fmt.Errorf("%w: this program has no spin lock to simulate", harness.ErrUsage)
		}
		return locks, nil
	}
	words := strings.Split(o.locks, ",")
	chosen, err := o.program.choose(words)
	if err != nil {
		return nil, err
	}
	var locks []*harness.Variant
	var refused error
	for _, v := range chosen {
		err := simulable(v, 1)
		if err == nil && v.Traits.ReadWrite {
			err = fmt.Errorf("%w: %s is for readers and writers", simulate.ErrNotSimulated, v.Name)
		}
		switch {
		case err == nil:
			locks = append(locks, v)
		case slices.Contains(words, v.Name):
			return nil, fmt.Errorf("%w: %w; '%s list spin' shows those that it can", harness.ErrUsage, err, o.program.Name)
		default:
			refused = err
		}
	}
	if len(locks) == 0 {
		return nil, fmt.Errorf("%w: --locks %s: %w", harness.ErrUsage, o.locks, refused)
	}
	return locks, nil
}

// simulable returns why the model cannot run v; only the simulating build may lack a lock.
func simulable(v *harness.Variant, workers int) error {
	if simulate.Simulates {
		c := *v
		c.Unavailable = ""
		v = &c
	}
	return simulate.CheckVariant(v, workers)
}

func locksFlag(cases []simulatedCase) string {
	var names []string
	for _, c := range cases {
		if !slices.Contains(names, c.lock.Name) {
			names = append(names, c.lock.Name)
		}
	}
	return "--locks=" + strings.Join(names, ",")
}

const usualWorkers = 64

func workerCounts(text string, m *simulate.Machine) ([]int, error) {
	if text == "" {
		text = fmt.Sprintf("1..%d", min(usualWorkers, m.Threads()))
	}
	ranges, err := parseList("workers", text, func(word string) ([]int, error) {
		low, high, found := strings.Cut(word, "..")
		if !found {
			n, err := parseCount(word)
			return []int{n}, err
		}
		if high == "" {
			high = strconv.Itoa(m.Threads())
		}
		a, err := parseCount(low)
		if err != nil {
			return nil, err
		}
		b, err := parseCount(high)
		if err == nil && b < a {
			err = fmt.Errorf("%w: %q ends before it begins", harness.ErrUsage, word)
		}
		if err != nil {
			return nil, err
		}
		return steps(a, b, m), nil
	})
	if err != nil {
		return nil, err
	}
	counts := slices.Concat(ranges...)
	slices.Sort(counts)
	return slices.Compact(counts), nil
}

// steps returns a, b, powers of two between them, and the sizes of m in that range.
func steps(a, b int, m *simulate.Machine) []int {
	ns := []int{a, b}
	for n := 1; n < b; n *= 2 {
		ns = append(ns, n)
	}
	ns = append(ns, m.Caches()/m.Sockets, m.Threads()/m.Sockets, m.Caches(), m.Threads())
	ns = slices.DeleteFunc(ns, func(n int) bool { return n < a || n > b })
	slices.Sort(ns)
	return slices.Compact(ns)
}

func parseModelTime(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || float64(d) > simulate.MaxTime {
		return 0, fmt.Errorf("%w: %q is not a time from 0 to %v, such as 100ns", harness.ErrUsage, text, time.Duration(simulate.MaxTime))
	}
	return float64(d), nil
}

func parseLines(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > simulate.MaxLines {
		return 0, fmt.Errorf("%w: %q is not a number of cache lines from 0 to %d", harness.ErrUsage, text, simulate.MaxLines)
	}
	return n, nil
}

// A simulatedCase is a lock with a workload on a machine.
type simulatedCase struct {
	machine  *simulate.Machine
	lock     *harness.Variant
	workload simulate.Workload
	seeds    int
}

// cases crosses the user's choices, without a lock at more workers than it serves.
func (o simulateOptions) cases(m *simulate.Machine) ([]simulatedCase, error) {
	locks, err := o.simulated()
	if err != nil {
		return nil, err
	}
	workers, e1 := workerCounts(o.workers, m)
	lines, e2 := parseList("lines", o.lines, parseLines)
	holds, e3 := parseList("hold", o.hold, parseModelTime)
	thinks, e4 := parseList("think", o.think, parseModelTime)
	waits, e5 := parseList("wait", o.wait, parseName(harness.WaitPolicies))
	first, e6 := placed(o.place)
	if err := errors.Join(e1, e2, e3, e4, e5, e6); err != nil {
		return nil, err
	}
	first.Seed = o.seed
	ws := []simulate.Workload{first}
	ws = crossModel(ws, or(lines, 1), func(w *simulate.Workload, x int) { w.Lines = x })
	ws = crossModel(ws, or(holds, 0), func(w *simulate.Workload, x float64) { w.Hold = x })
	ws = crossModel(ws, or(thinks, 0), func(w *simulate.Workload, x float64) { w.Think = x })
	ws = crossModel(ws, or(waits, harness.WaitPause), func(w *simulate.Workload, x harness.WaitPolicy) { w.Wait = x })
	ws = crossModel(ws, workers, func(w *simulate.Workload, x int) { w.Workers = x })
	var cases []simulatedCase
	var refused error
	for _, w := range ws {
		if err := w.Validate(m); err != nil {
			return nil, fmt.Errorf("%w: %w", harness.ErrUsage, err)
		}
		for _, v := range locks {
			if err := simulable(v, w.Workers); err != nil {
				refused = err
				continue
			}
			cases = append(cases, simulatedCase{machine: m, lock: v, workload: w, seeds: o.seeds})
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%w: no case to simulate: %w", harness.ErrUsage, refused)
	}
	return cases, nil
}

// The values of --place.
const (
	placeCores   = "cores" // as locklab run binds workers
	placeThreads = "threads"
	placeSockets = "sockets"
)

func placed(text string) (w simulate.Workload, err error) {
	switch text {
	case placeCores:
		w.Apart = true
	case placeThreads:
	case placeSockets:
		w.Apart, w.Spread = true, true
	default:
		err = fmt.Errorf("%w: --place is %q: want %s, %s or %s", harness.ErrUsage, text, placeCores, placeThreads, placeSockets)
	}
	return w, err
}

func crossModel[T any](ws []simulate.Workload, values []T, set func(*simulate.Workload, T)) (out []simulate.Workload) {
	for _, w := range ws {
		for _, x := range values {
			set(&w, x)
			out = append(out, w)
		}
	}
	return out
}
