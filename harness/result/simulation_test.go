package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"locklab/harness"
)

func simulation() *Simulation {
	of := func(median float64) Expected {
		return Expected{Median: median, Lo: median / 2, Hi: median}
	}
	return &Simulation{
		Simulated: "skylake-8x32", Hypothetical: true, Sockets: 8, Clusters: 1, Cores: 32, SMT: 2,
		Lock:    Lock{Name: "mcs", Doc: "queue lock", Paper: "MCS 1991", Family: harness.Spin},
		Workers: 64, Lines: 1, Hold: 10, Think: 10.5, Wait: harness.WaitPause, Apart: true, Spread: true, Seed: 1 << 63, Seeds: 3, OnCores: 32, OnSockets: 8,
		PerAcquisition: of(210.25), Handover: of(150), Longest: of(9000), Misses: of(5.5), Remote: of(2), Invalidated: of(3),
		SameSocket: of(0.5), SameWorker: of(0.01), Jain: of(1), Accuracy: "within 1.3",
	}
}

func TestSimulationRefused(t *testing.T) {
	for want, change := range map[string]func(*Simulation){
		"names no machine":                func(s *Simulation) { s.Simulated = "" },
		"names no lock":                   func(s *Simulation) { s.Lock.Name = "" },
		"0 x 1 x 32 x 2":                  func(s *Simulation) { s.Sockets = 0 },
		"1073741824 x 1 x 1073741824 x 2": func(s *Simulation) { s.Sockets, s.Cores = 1<<30, 1<<30 },
		"513 workers on 512":              func(s *Simulation) { s.Workers = 513 },
		"-1 lines":                        func(s *Simulation) { s.Lines = -1 },
		"0 seeds":                         func(s *Simulation) { s.Seeds = 0 },
		"of 9 sockets":                    func(s *Simulation) { s.OnSockets = 9 },
		"hold is -1":                      func(s *Simulation) { s.Hold = -1 },
		"want more than 0":                func(s *Simulation) { s.PerAcquisition.Lo = 0 },
		"misses is 1, from 2":             func(s *Simulation) { s.Misses = Expected{Median: 1, Lo: 2, Hi: 3} },
		"jain is 2":                       func(s *Simulation) { s.Jain = Expected{Median: 2, Lo: 2, Hi: 2} },
	} {
		s := simulation()
		change(s)
		if _, err := Encode(Record{Simulation: s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("written with %v, want %q", err, want)
		}
		body, err := json.Marshal(s)
		requireNoError(t, err)
		if _, err := Decode(append([]byte(`{"schema":1,"kind":"simulation",`), body[1:]...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read with %v, want %q", err, want)
		}
	}
	s := simulation()
	s.Misses.Hi = math.NaN()
	if _, err := Encode(Record{Simulation: s}); err == nil {
		t.Error("NaN is written")
	}
	for _, m := range []*ModelMachine{{Name: "x"}, {Name: "x", File: []byte("[]")}, {Name: "x", File: []byte("null")}, {File: []byte("{}")}} {
		if _, err := Encode(Record{Machine: m}); err == nil {
			t.Errorf("machine %q with file %q is written", m.Name, m.File)
		}
	}
}

func machineNamed(name string, pause float64) *ModelMachine {
	return &ModelMachine{Name: name, File: fmt.Appendf(nil, `{"pause": %g}`, pause)}
}

func simulatedOn(machine string, workers int, time float64) *Simulation {
	s := simulation()
	s.Simulated, s.Workers, s.OnCores, s.OnSockets = machine, workers, 0, 0
	s.PerAcquisition = Expected{Median: time, Lo: time, Hi: time}
	return s
}

func TestExtend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w := createRun(t, dir, Manifest{Seed: 7})
	requireNoError(t, w.Append(Record{Result: sample()}))
	if _, _, err := Extend(dir); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("beside a writer: %v, want a usage error", err)
	}
	finishRun(t, w)
	before := readFiles(t, dir)
	add := func(machine *ModelMachine, ss ...*Simulation) {
		e, _, err := Extend(dir)
		requireNoError(t, err)
		err = e.Append(Record{Machine: machine})
		for _, s := range ss {
			err = errors.Join(err, e.Append(Record{Simulation: s}))
		}
		requireNoError(t, errors.Join(err, e.Close()))
	}
	add(machineNamed("a", 1), simulatedOn("a", 1, 10), simulatedOn("a", 2, 20))
	cutShort(t, filepath.Join(dir, ResultsName), 9) // in on("a", 2, 20)
	add(machineNamed("b", 1), simulatedOn("b", 1, 30))
	add(machineNamed("a", 1), simulatedOn("a", 1, 11), simulatedOn("a", 4, 40)) // the same machine: one case again
	add(machineNamed("b", 2), simulatedOn("b", 2, 31))                          // another machine of that name

	run, err := Load(dir)
	if err != nil || len(run.Damage) > 0 {
		t.Fatalf("damage %q (%v)", run.Damage, err)
	}
	got := Each(run.Simulations, func(s *Simulation) string {
		return fmt.Sprintf("%s %d %g", s.Simulated, s.Workers, s.PerAcquisition.Median)
	})
	if want := []string{"a 1 11", "a 4 40", "b 2 31"}; !reflect.DeepEqual(got, want) {
		t.Errorf("simulations %q, want %q", got, want)
	}
	if len(run.Machines) != 2 || string(run.Machines[1].File) != `{"pause":2}` {
		t.Errorf("machines %+v", run.Machines)
	}
	if len(run.Results) != 1 || run.Results[0].Ops != sample().Ops {
		t.Error("the result has gone")
	}
	for name, text := range readFiles(t, dir) {
		if name != ResultsName && text != before[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if _, _, err := Extend(t.TempDir()); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("without a run: %v, want a usage error", err)
	}
}
