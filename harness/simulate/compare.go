//go:build systematic && simulate

package simulate

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"

	"locklab/harness"
	"locklab/internal/stat"
)

// An Outcome is a published point and the model's figure for it.
type Outcome struct {
	Point
	Machine string
	Model   float64 // ns, median of the seeds
}

// Log returns the logarithm of the model's figure over the measured one.
func (o Outcome) Log() float64 { return math.Log(o.Model / o.NS) }

// Run simulates every wanted point of the series (nil: all) on m, each with seeds seeds.
func (s Series) Run(m *Machine, seeds int, wanted func(Point) bool) ([]Outcome, error) {
	points, err := s.points()
	if err != nil {
		return nil, err
	}
	if s.Apart {
		one := *m
		one.SMT = 1
		m = &one
	}
	var all []Outcome
	for _, p := range points {
		if wanted != nil && !wanted(p) {
			continue
		}
		ns, err := s.model(m, p, seeds)
		if err != nil {
			return nil, fmt.Errorf("validate: %s, %s, %d workers on %s: %w", p.Lock, p.Section, p.Workers, m.Name, err)
		}
		all = append(all, Outcome{Point: p, Machine: m.Name, Model: ns})
	}
	return all, nil
}

func (s Series) model(m *Machine, p Point, seeds int) (float64, error) {
	twin := TwinOf(p.Lock)
	if twin.Local == nil {
		return 0, fmt.Errorf("no twin of %s", p.Lock)
	}
	var w Workload
	if _, err := fmt.Sscanf(p.Section, "%f/%f", &w.Hold, &w.Think); err != nil {
		return 0, fmt.Errorf("section %q: %w", p.Section, err)
	}
	w.Workers, w.Spread, w.Wait = p.Workers, s.Spread, harness.WaitPause
	w.Hold, w.Think = w.Hold+s.Loop/2, w.Think+s.Loop/2
	w.Turns, w.Warm = max(1000, 16*p.Workers), max(100, 3*p.Workers)
	run := Run
	if twin.Overlaps {
		run = RunUnlocked
	}
	xs := make([]float64, seeds)
	for k := range xs {
		w.Seed = uint64(k + 1)
		r, err := run(m, w, twin.Local)
		if err != nil {
			return 0, err
		}
		xs[k] = r.PerTurn
	}
	return stat.Median(xs), nil
}

// A Summary is the error of the model against measurements, over some points.
type Summary struct {
	Points  int
	Typical float64 // e to the root mean square of the logarithms of the ratios, 1 or more
	Bias    float64 // e to their mean: above 1 is too slow
	Worst   Outcome // the farthest ratio
	Tau     float64 // Kendall's, of pairs of locks that differ by 10 % or more as measured
	Pairs   int
}

func Summarize(all []Outcome) Summary {
	var s Summary
	var sum, squares float64
	for _, o := range all {
		x := o.Log()
		sum, squares = sum+x, squares+x*x
		if s.Points == 0 || math.Abs(x) > math.Abs(s.Worst.Log()) {
			s.Worst = o
		}
		s.Points++
	}
	if s.Points > 0 {
		s.Bias, s.Typical = math.Exp(sum/float64(s.Points)), math.Exp(math.Sqrt(squares/float64(s.Points)))
	}
	s.Tau, s.Pairs = order(all)
	return s
}

// order compares the order of the locks at the same number of workers and in the same
// section: the concordant pairs minus the discordant ones, over all.
func order(all []Outcome) (tau float64, pairs int) {
	agree := 0
	for i, a := range all {
		for _, b := range all[:i] {
			measured := math.Log(a.NS / b.NS)
			if a.Workers != b.Workers || a.Section != b.Section || a.Machine != b.Machine || math.Abs(measured) < math.Log(1.1) {
				continue
			}
			pairs++
			if measured*math.Log(a.Model/b.Model) > 0 {
				agree++
			} else {
				agree--
			}
		}
	}
	if pairs == 0 {
		return 0, 0
	}
	return float64(agree) / float64(pairs), pairs
}

// A Fit is a machine with fitted numbers, and the machines that inherit them.
type Fit struct {
	Machine string
	Numbers []Number
	Heirs   []string // of the first two numbers
}

func fitted(p Point) bool {
	return p.Section == "0/0" && (p.Workers == 8 || p.Workers == 16) && !TwinOf(p.Lock).Loose
}

var (
	inside = Number{"upgrade[1]", func(m *Machine) *float64 { return &m.Upgrade[1] }, []float64{25, 40, 60, 85, 120}}
	beyond = Number{"upgrade[2]", func(m *Machine) *float64 { return &m.Upgrade[2] }, []float64{90, 120, 150, 200}}
)

// Fits are the fitted machines.
var Fits = []Fit{
	{"broadwell-2x10", Unmeasured, []string{"broadwell-2x22", "haswell-2x12"}},
	{"skylake-24", Unmeasured, []string{"skylake-8x32", "icelake-2x32"}},
	{"naples-32", slices.Concat(Unmeasured, []Number{inside, beyond}), []string{"milan-2x48", "milanx-64"}},
}

// Run returns the machine nearest to the fitted points, by the median of seeds seeds.
func (f Fit) Run(seeds int) (*Machine, error) {
	m, err := Named(f.Machine)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(All, func(s Series) bool { return s.Machine == f.Machine })
	if i < 0 {
		return nil, fmt.Errorf("validate: nothing to fit %s to", f.Machine)
	}
	_, err = Nearest(m, f.Numbers, func() (float64, error) {
		all, err := All[i].Run(m, seeds, fitted)
		return Summarize(all).Typical, err
	})
	return m, err
}

//go:embed testdata/*.csv
var files embed.FS

// A Point is the published median of a case.
type Point struct {
	Host    string // the data's name
	Section string // "200/1000": ns in the section / ns between two acquisitions
	Lock    string // a twin's name
	Workers int
	NS      float64 // per acquisition, of all workers together
}

func published(file string) ([]Point, error) {
	b, err := files.ReadFile("testdata/" + file)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord = 5
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("validate: %s: %w", file, err)
	}
	var points []Point
	for i, row := range rows[1:] {
		workers, err1 := strconv.Atoi(row[3])
		ns, err2 := strconv.ParseFloat(row[4], 64)
		if err1 != nil || err2 != nil || workers < 1 || !(ns > 0) {
			return nil, fmt.Errorf("validate: %s, line %d: no number of workers or no time: %v", file, i+2, row)
		}
		points = append(points, Point{row[0], row[1], row[2], workers, ns})
	}
	return points, nil
}

// A Series is published data of one host, and the corresponding modelled machine.
type Series struct {
	File    string
	Host    string
	Machine string

	// Loop is the measuring program's own time per acquisition, ns.
	Loop float64

	// Apart reports that a core has one worker, though the machine has more threads.
	// Spread reports that neighbours are on different sockets.
	Apart, Spread bool
}

// All are the published series. Loop of lockhammer is the mean time of swap_mutex and
// ticket_spinlock with one thread beyond their time in the model; of lockbench it is a guess.
var All = []Series{
	{File: "lockhammer.csv", Host: "x86-4", Machine: "broadwell-2x10", Loop: 9},
	{File: "lockhammer.csv", Host: "x86-3", Machine: "broadwell-2x22", Loop: 9.5},
	{File: "lockhammer.csv", Host: "x86-2", Machine: "skylake-24", Loop: 5},
	{File: "lockhammer.csv", Host: "x86-1", Machine: "naples-32", Loop: 8.5},
	{File: "lockbench.csv", Host: "xeon-e5-2650l-v3", Machine: "haswell-2x12", Loop: 2, Apart: true, Spread: true},
	{File: "lockbench.csv", Host: "graviton2", Machine: "graviton2-64", Loop: 2, Apart: true},
}

func (s Series) points() ([]Point, error) {
	all, err := published(s.File)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p Point) bool { return p.Host != s.Host })
	if len(all) == 0 {
		return nil, fmt.Errorf("validate: %s has nothing of %s", s.File, s.Host)
	}
	return all, nil
}
