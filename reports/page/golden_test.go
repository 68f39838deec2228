package page

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
	reports "locklab/reports/draw"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenRun is a measured run, the source of most goldens; axesRun has more axes. hardwareRun
// contains the findings of the experiments on a real machine. To replace it:
// locklab hardware --out DIR
const (
	goldenRun   = "../testdata/run"
	axesRun     = "../testdata/axes"
	hardwareRun = "../testdata/hardware"
	goldens     = "testdata/golden"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func writtenBy(t *testing.T, write func(w io.Writer) error) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, write(&out))
	return out.String()
}

func htmlOf(t *testing.T, d *Document) string {
	t.Helper()
	return writtenBy(t, d.HTML)
}

func textOf(t *testing.T, d *Document) string {
	t.Helper()
	text := writtenBy(t, func(w io.Writer) error { return d.Text(w, 100) })
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(line) > 101 {
			t.Errorf("a line is wider than 100 columns: %q", line)
		}
	}
	return text
}

func noPicture(string, []byte) error { return nil }

func writeSVG(w io.Writer, p reports.Poster) error {
	c := vgsvg.New(reports.Width, p.Height())
	if err := p.Draw(draw.New(c)); err != nil {
		return err
	}
	_, err := c.WriteTo(w)
	return err
}

// galleryCharts have no data in the other goldens, or other data.
var galleryCharts = []string{chart.RankingLocal.Name, chart.RankingRemote.Name, chart.RequestsRemote.Name, chart.LoadLocal.Name}

// goldenOutputs returns what writes each golden file.
func goldenOutputs(t *testing.T) map[string]func(io.Writer) error {
	run, hardware, simulated := must(result.Load(goldenRun)), must(result.Load(hardwareRun)), simulatedRun()
	machines, history, changes := loadMachines(machineRuns...), historyOf(synthetic.TwoMachines()), CompareChanges(comparisonOf(changedRuns()))
	contenders := contendedRun(1500, 100_000)
	contenders.RoundTrips = []time.Duration{50 * time.Millisecond}
	distant := delayedRun(time.Millisecond, 5*time.Millisecond)
	distant.RoundTrips = []time.Duration{1500 * time.Microsecond}
	for _, r := range distant.Results { // one prediction is wrong
		if r.Lock.Name == "queue" && r.Workload.Delay == time.Millisecond && r.Workload.Workers == 1 {
			r.Wait[0].Value *= 2
		}
	}
	predicted, distance := Report(contenders), Report(distant)
	outputs := map[string]func(io.Writer) error{
		"laboratory.html": Report(hardwareFindings()).HTML,
		"comparison.md":   func(w io.Writer) error { return changes.Write(w, "markdown", 0) },
		"comparison.txt":  func(w io.Writer) error { return changes.Write(w, "text", 100) },
		"predicted.txt":   func(w io.Writer) error { return predicted.Text(w, 100) },
		"predicted.md":    func(w io.Writer) error { return predicted.Markdown(w, "charts", noPicture) },
		"distance.md":     func(w io.Writer) error { return distance.Markdown(w, "charts", noPicture) },
	}
	for name, d := range map[string]*Document{
		"report": Report(run), "hardware": Report(hardware), "simulated": Report(simulated), "machines": machinesOf(machines), "history": History(history), "safety": Report(chaosRun(t)),
	} {
		outputs[name+".html"] = d.HTML
		outputs[name+".txt"] = func(w io.Writer) error { return d.Text(w, 100) }
		outputs[name+".md"] = func(w io.Writer) error { return d.Markdown(w, "charts", noPicture) }
	}
	outputs["history.txt"] = func(w io.Writer) error { return HistoryChanges(history, false).Write(w, "text", 100) }
	for folder, ps := range map[string][]reports.Poster{
		".":         Posters(run),
		"gallery":   slices.DeleteFunc(Posters(gallery(8, everySetting...)), func(p reports.Poster) bool { return !slices.Contains(galleryCharts, p.Name) }),
		"hardware":  Posters(hardware),
		"simulated": Posters(simulated)[:2],
	} {
		for _, p := range ps {
			outputs[filepath.Join(folder, p.Name+".svg")] = func(w io.Writer) error { return writeSVG(w, p) }
		}
	}
	return outputs
}

// TestGolden: every form of the report is as in its file, and no other file is there.
func TestGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the golden files are drawn on amd64; a processor that fuses multiply and add may move the last digit of a coordinate")
	}
	outputs := goldenOutputs(t)
	if *update {
		require.NoError(t, os.RemoveAll(goldens))
	}
	for name, write := range outputs {
		checkGolden(t, filepath.Join(goldens, name), write)
	}
	if err := filepath.WalkDir(goldens, func(file string, d fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(goldens, file); err == nil && !d.IsDir() && outputs[name] == nil {
			t.Errorf("%s is of no form of the report", file)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func checkGolden(t *testing.T, file string, write func(io.Writer) error) {
	t.Helper()
	var got bytes.Buffer
	err := write(&got)
	if err == nil && *update {
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, got.Bytes(), 0o644)
		}
	}
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run go test ./reports/page -run Golden -update", err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs: %s; if that is meant, run go test ./reports/page -run Golden -update and look at it", file, firstDifference(got.Bytes(), want))
	}
}

func firstDifference(got, want []byte) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	cut := func(b []byte) []byte { return b[max(0, min(i-20, len(b))):min(len(b), i+40)] }
	return fmt.Sprintf("at byte %d: got %q, want %q", i, cut(got), cut(want))
}
