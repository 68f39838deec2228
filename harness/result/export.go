package result

import (
	"fmt"
	"io"
)

// An Export writes a run in another program's format.
type Export struct {
	Name, Doc string
	Write     func(out io.Writer, run *Run) error
}

// Exports lists every format.
var Exports = []*Export{
	{"csv", "a row for each case and round, for spreadsheets", WriteCSV},
	{"rates", "the rates of each case by round, a line a case: the least that verdicts need", WriteRates},
	{"csv-chaos", "a row for each failure scenario and lock", WriteFaultsCSV},
	{"published", "the counts of failure scenarios as the project ships them", WritePublished},
	{"csv-simulations", "a row for each machine, lock and workload that a model simulated, nothing measured", WriteSimulationsCSV},
	{"bench", "Go benchmark lines, for benchstat: bench.txt again", writeBench},
	{"hdr-wait", "waits as an HdrHistogram log: wait.hlog again", logKinds[0].write},
	{"hdr-handover", "hand-overs as an HdrHistogram log: handover.hlog again", logKinds[1].write},
}

func writeBench(out io.Writer, run *Run) error {
	b := NewBench(out, run.Manifest.Machine)
	if err := b.Units(); err != nil {
		return err
	}
	for _, r := range run.Results {
		if err := b.Result(r); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	return nil
}

func (k *logKind) write(out io.Writer, run *Run) error {
	if err := k.begin(out, run.Manifest.Started); err != nil {
		return err
	}
	for _, r := range run.Results {
		l, err := pack(r)
		if err != nil {
			return err
		}
		if err := k.append(out, l); err != nil {
			return err
		}
	}
	return nil
}
