package page_test

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"locklab/hardware"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/reports/chart"
	"locklab/reports/page"
)

var measure = flag.Bool("measure", false, "run the hardware experiments anew for the golden files; use with -update")

// hardwareRun contains the findings of the experiments on a real machine. To replace it: go
// test ./reports -run GoldenHardware -measure -update
const hardwareRun = "../testdata/hardware"

func TestGoldenHardware(t *testing.T) {
	if *measure {
		measureHardware(t)
	}
	run, err := result.Load(hardwareRun)
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]func(io.Writer) error{
		"hardware.html": func(w io.Writer) error { return page.WriteHTML(w, run) },
	}
	names := chart.FindingCharts(run)
	if len(names) < 3 {
		t.Errorf("only the charts %q are drawn", names)
	}
	for _, name := range names {
		outputs[filepath.Join("hardware", name+".svg")] = func(w io.Writer) error { return page.WriteSVG(w, run, name) }
	}
	charts := filepath.Join("testdata", "golden", "hardware")
	if *page.Update {
		if err := os.RemoveAll(charts); err != nil { // some may no longer have a chart
			t.Fatal(err)
		}
	}
	page.CheckGolden(t, outputs)
	if files, err := os.ReadDir(charts); err == nil && len(files) != len(names) {
		t.Errorf("%s has %d files, want one for each of %d charts", charts, len(files), len(names))
	}
}

func measureHardware(t *testing.T) {
	if err := os.RemoveAll(hardwareRun); err != nil {
		t.Fatal(err)
	}
	env := machine.Capture()
	w, err := result.Create(hardwareRun, result.Manifest{
		Command: []string{"locklab", "hardware", "--out", "golden"}, Commit: machine.BuildCommit(),
		Started: time.Now().UTC(), Machine: env, Warnings: env.Warnings(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range hardware.Suite {
		if err := e.Available(); err != nil || e.OptIn != "" {
			t.Logf("%s is left out: %s %v", e.Name, e.OptIn, err)
			continue
		}
		f, err := hardware.Run(t.Context(), e, hardware.Options{Budget: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.AppendFinding(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(func(m *result.Manifest) { m.Finished = time.Now().UTC() }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(hardwareRun, result.BenchName)); err != nil {
		t.Fatal(err)
	}
}
