package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"locklab/harness"
)

type simulationColumn struct {
	name string
	of   func(s *harness.Simulation) string
}

var simulationColumns = []simulationColumn{
	{"simulated", func(s *harness.Simulation) string { return s.Simulated }},
	{"hypothetical", func(s *harness.Simulation) string { return strconv.FormatBool(s.Hypothetical) }},
	{"sockets", func(s *harness.Simulation) string { return strconv.Itoa(s.Sockets) }},
	{"clusters", func(s *harness.Simulation) string { return strconv.Itoa(s.Clusters) }},
	{"cores", func(s *harness.Simulation) string { return strconv.Itoa(s.Cores) }},
	{"smt", func(s *harness.Simulation) string { return strconv.Itoa(s.SMT) }},
	{"lock", func(s *harness.Simulation) string { return s.Lock.Name }},
	{"workers", func(s *harness.Simulation) string { return strconv.Itoa(s.Workers) }},
	{"on-cores", func(s *harness.Simulation) string { return known(s.OnCores) }},
	{"on-sockets", func(s *harness.Simulation) string { return known(s.OnSockets) }},
	{"lines", func(s *harness.Simulation) string { return strconv.Itoa(s.Lines) }},
	{"hold-ns", func(s *harness.Simulation) string { return figure(s.Hold, 1) }},
	{"think-ns", func(s *harness.Simulation) string { return figure(s.Think, 1) }},
	{"wait-policy", func(s *harness.Simulation) string { return s.Wait.String() }},
	{"apart", func(s *harness.Simulation) string { return strconv.FormatBool(s.Apart) }},
	{"spread", func(s *harness.Simulation) string { return strconv.FormatBool(s.Spread) }},
	{"seed", func(s *harness.Simulation) string { return strconv.FormatUint(s.Seed, 10) }},
	{"seeds", func(s *harness.Simulation) string { return strconv.Itoa(s.Seeds) }},
	{"accuracy", func(s *harness.Simulation) string { return s.Accuracy }},
}

// simulationFigures are the figures of a row. Their names differ from the units of
// measured metrics.
var simulationFigures = []struct {
	name string
	of   func(s *harness.Simulation) harness.Expected
}{
	{"simulated-ns/acq", func(s *harness.Simulation) harness.Expected { return s.PerAcquisition }},
	{"simulated-acq/s", func(s *harness.Simulation) harness.Expected { return s.Throughput() }},
	{"simulated-handover-ns", func(s *harness.Simulation) harness.Expected { return s.Handover }},
	{"simulated-longest-ns", func(s *harness.Simulation) harness.Expected { return s.Longest }},
	{"simulated-misses/acq", func(s *harness.Simulation) harness.Expected { return s.Misses }},
	{"simulated-remote-misses/acq", func(s *harness.Simulation) harness.Expected { return s.Remote }},
	{"simulated-invalidated/acq", func(s *harness.Simulation) harness.Expected { return s.Invalidated }},
	{"simulated-same-socket", func(s *harness.Simulation) harness.Expected { return s.SameSocket }},
	{"simulated-same-worker", func(s *harness.Simulation) harness.Expected { return s.SameWorker }},
	{"simulated-jain", func(s *harness.Simulation) harness.Expected { return s.Jain }},
}

func known(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// WriteSimulationsCSV writes the simulations of run as CSV (RFC 4180), one row per
// machine, lock and workload; the column simulated names the machine. No cell can be
// interpreted as a formula: see [Cell].
func WriteSimulationsCSV(out io.Writer, run *Run) error {
	w := csv.NewWriter(out)
	var row []string
	for _, c := range simulationColumns {
		row = append(row, c.name)
	}
	for _, f := range simulationFigures {
		row = append(row, f.name, f.name+"-min", f.name+"-max")
	}
	w.Write(row) // Error reports it
	for _, s := range run.Simulations {
		row = row[:0]
		for _, c := range simulationColumns {
			row = append(row, OneCell(c.of(s)))
		}
		for _, f := range simulationFigures {
			e := f.of(s)
			row = append(row, figure(e.Median, 1), figure(e.Lo, 1), figure(e.Hi, 1))
		}
		w.Write(row)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}
