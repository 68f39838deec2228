package page

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"locklab/harness/result"
	"locklab/reports/chart"
)

// hardwareRun contains the findings of the experiments on a real machine. To replace it:
// locklab hardware --out DIR
const hardwareRun = "../testdata/hardware"

func TestGoldenHardware(t *testing.T) {
	run, err := result.Load(hardwareRun)
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]func(io.Writer) error{
		"hardware.html": func(w io.Writer) error { return WriteHTML(w, run) },
	}
	names := chart.FindingCharts(run)
	if len(names) < 3 {
		t.Errorf("only the charts %q are drawn", names)
	}
	for _, name := range names {
		outputs[filepath.Join("hardware", name+".svg")] = func(w io.Writer) error { return WriteSVG(w, run, name) }
	}
	charts := filepath.Join("testdata", "golden", "hardware")
	if *update {
		if err := os.RemoveAll(charts); err != nil { // some may no longer have a chart
			t.Fatal(err)
		}
	}
	checkGolden(t, outputs)
	if files, err := os.ReadDir(charts); err == nil && len(files) != len(names) {
		t.Errorf("%s has %d files, want one for each of %d charts", charts, len(files), len(names))
	}
}
