package result

import (
	"bytes"
	"encoding/csv"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/require"
)

func TestLogs(t *testing.T) {
	run := loadRun(t, "../../reports/testdata/run")
	run.Results = append(run.Results, sample()) // which violates a rule
	for name, of := range map[string]func(*Result) Histogram{
		"hdr-wait":     func(r *Result) Histogram { return r.Wait },
		"hdr-handover": func(r *Result) Histogram { return r.Handover },
	} {
		in := hdrhistogram.NewHistogramLogReader(strings.NewReader(exportRun(t, name, run)))
		read := 0
		for _, r := range run.Results {
			h := of(r)
			if len(h) == 0 || len(r.Violations) > 0 {
				continue
			}
			got, err := in.NextIntervalHistogram()
			if err != nil || got == nil {
				t.Fatalf("%s ends after %d intervals (%v)", name, read, err)
			}
			read++
			if want := "lock=" + r.Lock.Name + "/" + r.Workload.Name(); got.Tag() != want {
				t.Fatalf("%s: the tag is %q, want %q", name, got.Tag(), want)
			}
			if ms := r.Started.UnixMilli(); got.StartTimeMs() < ms-1 || got.StartTimeMs() > ms+1 || math.Abs(float64(got.EndTimeMs()-ms-r.Elapsed.Milliseconds())) > 2 {
				t.Errorf("%s: from %d to %d ms, want %d and %v later", name, got.StartTimeMs(), got.EndTimeMs(), ms, r.Elapsed)
			}
			if !slices.Equal(bucketsOf(got), h) {
				t.Errorf("%s: the buckets are %v, want %v", name, bucketsOf(got), h)
			}
		}
		if more, err := in.NextIntervalHistogram(); more != nil || err != nil || read < 50 {
			t.Errorf("%s: after %d intervals %v (%v)", name, read, more, err)
		}
	}
}

func bucketsOf(in *hdrhistogram.Histogram) (h Histogram) {
	for _, b := range in.Distribution() {
		if b.Count != 0 {
			h = append(h, Bucket{Value: b.To, N: b.Count})
		}
	}
	return h
}

func TestCSV(t *testing.T) {
	good := sample()
	good.Violations = nil
	evil := sample()
	evil.Lock.Name = `=HYPERLINK("http://evil.example","mcs")`
	evil.Violations[0] = oracle.Violation{Rule: "-exclusion", Detail: "a \"b\", c\nd", Count: 1}
	run := &Run{Results: []*Result{good, evil}}
	rows := exportedRows(t, "csv", run)
	if len(rows) != 2 || len(rows[0]) != len(resultCells(good)) {
		t.Fatalf("%d rows of %d columns", len(rows), len(rows[0]))
	}
	for _, c := range resultCells(good) {
		if got, want := rows[0][c.column], cellText(c.value); got != want {
			t.Errorf("%s is %q, want %q", c.column, got, want)
		}
	}
	for name, want := range map[string]string{"window-ns": "1000000000", "started": "2026-11-21T01:02:03.000000004Z", "gc": "false", "section": "lines:16"} {
		require.Equal(t, name, rows[0][name], want)
	}
	for _, m := range Metrics {
		want, ok := m.Of(good)
		got := rows[0][m.Unit]
		if x, err := strconv.ParseFloat(got, 64); ok && (err != nil || x != want) || !ok && got != "" {
			t.Errorf("%s is %q, want %v (%v)", m.Unit, got, want, ok)
		}
		require.Equal(t, m.Unit+" of a result that violates a rule", rows[1][m.Unit], "")
	}
	require.Equal(t, "the lock", rows[1]["lock"], "'"+evil.Lock.Name)
	require.Equal(t, "the violation", rows[1]["violation"], "'-exclusion: a \"b\", c\nd")
}

func TestOtherCSVs(t *testing.T) {
	f, bad, evil := fault(), fault(), simulation()
	f.Skipped, bad.Lock.Name, evil.Simulated, evil.OnSockets = "", "=cmd", "=1+1", 0
	run := &Run{Results: []*Result{sample()}, Faults: []*FaultResult{f, bad}, Simulations: []*Simulation{simulation(), evil}}
	for format, cells := range map[string]map[string][2]string{
		"csv-chaos": {
			"scenario": {"holder-pause", "holder-pause"}, "lock": {"redis-lock", "'=cmd"}, "verdict": {"unexpected", "not tested"}, "skipped": {"", "no"},
			"tries": {"20", "0"}, "violations-per-1000": {"750", ""}, "window-p50-ns": {"5", ""}, "window-max-ns": {"6", ""}, "notice-min-ns": {"-7", ""},
			"two-holders": {"15", "15"}, "token-fell": {"2", "2"}, "stuck": {"0", "0"}, "expected": {"two holders", "two holders"},
		},
		"csv-simulations": {
			"simulated": {"skylake-8x32", "'=1+1"}, "hypothetical": {"true", "true"}, "lock": {"mcs", "mcs"}, "workers": {"64", "64"}, "on-sockets": {"8", ""},
			"simulated-ns/acq": {"210.25", "210.25"}, "simulated-ns/acq-min": {"105.125", "105.125"}, "simulated-misses/acq": {"5.5", "5.5"},
			"seed": {"9223372036854775808", "9223372036854775808"}, "wait-policy": {"pause", "pause"},
		},
	} {
		rows := exportedRows(t, format, run)
		if len(rows) != 2 {
			t.Fatalf("%d rows, want 2", len(rows))
		}
		for name, want := range cells {
			if _, ok := rows[0][name]; !ok || rows[0][name] != want[0] || rows[1][name] != want[1] {
				t.Errorf("%s: %q and %q, want %q", name, rows[0][name], rows[1][name], want)
			}
		}
	}
}

func exportRun(t *testing.T, format string, run *Run) string {
	t.Helper()
	var out bytes.Buffer
	i := slices.IndexFunc(Exports, func(e *Export) bool { return e.Name == format })
	requireNoError(t, Exports[i].Write(&out, run))
	return out.String()
}

// exportedRows returns the rows of a CSV export of run: cells by the name of their column.
func exportedRows(t *testing.T, format string, run *Run) (rows []map[string]string) {
	t.Helper()
	text, err := csv.NewReader(strings.NewReader(exportRun(t, format, run))).ReadAll()
	if err != nil || len(text) == 0 {
		t.Fatalf("%d rows (%v)", len(text), err)
	}
	for _, cells := range text[1:] {
		row := make(map[string]string)
		for i, name := range text[0] {
			if _, twice := row[name]; twice {
				t.Errorf("two columns are called %q", name)
			}
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "mcs": "mcs", "1": "1", "-1": "-1", "+1.5e-9": "+1.5e-9", "-0": "-0", "12 M/s": "12 M/s", "a=b": "a=b",
		"=1+1": "'=1+1", "+cmd": "'+cmd", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1",
		" =1": "' =1", "\u00a0=1": "'\u00a0=1", "＝1": "'＝1", "|calc": "'|calc", "%1": "'%1", "-Inf": "'-Inf", "+Inf": "'+Inf", "-nan": "'-nan", "-0x1p4": "'-0x1p4", "-1_0": "'-1_0",
	} {
		require.Equal(t, text, oneCell(text), want)
	}
}

func FuzzCell(f *testing.F) {
	for _, s := range []string{"=1", " -x", "-1", "+", "-", "e", "'=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := oneCell(text)
		if got != text && got != "'"+text {
			t.Errorf("oneCell(%q) = %q", text, got)
		}
		if _, err := strconv.ParseFloat(got, 64); err != nil && got != "" && strings.ContainsAny(got[:1], "=+-@\t\r\n") {
			t.Errorf("oneCell(%q) = %q, which is a formula", text, got)
		}
	})
}

func TestExports(t *testing.T) {
	seen := make(map[string]bool)
	for _, e := range Exports {
		if out := exportRun(t, e.Name, &Run{Results: []*Result{sample()}}); out == "" || e.Doc == "" || seen[e.Name] {
			t.Errorf("%s: %d bytes", e.Name, len(out))
		}
		seen[e.Name] = true
	}
}

func TestRates(t *testing.T) {
	want := sample()
	got := decodeLine(t, []byte(exportRun(t, "rates", &Run{Results: []*Result{want}}))).Result
	want.Lock.Doc, want.Lock.Paper = "", ""
	if rates := (&Result{Lock: want.Lock, Workload: want.Workload, Round: want.Round, Elapsed: want.Elapsed, Overlap: want.Overlap,
		Ops: want.Ops, Handovers: want.Handovers, Blocks: want.Blocks, Violations: want.Violations}); !reflect.DeepEqual(got, rates) {
		t.Errorf("got %+v, want %+v", got, rates)
	}
}

func TestPublished(t *testing.T) {
	run := &Run{Manifest: Manifest{Commit: "abc", Versions: map[string]string{harness.KindRedis: "7.0.15", harness.KindZooKeeper: "3.8.4"}}, Faults: []*FaultResult{
		{Scenario: "holder-pause", Lock: Lock{Name: "a"}, Tries: 60, Seen: map[oracle.Anomaly]int{oracle.StaleWrite: 7}},
		{Scenario: "skipped", Lock: Lock{Name: "a"}, Skipped: "no"},
		{Scenario: "leader-killed", Lock: Lock{Name: "b"}, Tries: 3},
	}}
	text := exportRun(t, "published", run)
	got, err := ReadPublished(strings.NewReader(text))
	if err != nil || len(got) != 2 || !strings.Contains(text, ", Redis 7.0.15, ZooKeeper 3.8.4, ") {
		t.Fatalf("%d rows, %v of\n%s", len(got), err, text)
	}
	if f := got[0]; f.Scenario != "holder-pause" || f.Lock.Name != "a" || f.Tries != 60 || f.Published.Tries != 60 || f.Published.Seen[oracle.StaleWrite] != 7 || f.Seen[oracle.StaleWrite] != 7 || len(f.Seen) != 1 {
		t.Errorf("read back %+v", f)
	}
	for name, damaged := range map[string]string{
		"empty":          "",
		"other head":     strings.Replace(text, "scenario,", "scene,", 1),
		"no number":      strings.Replace(text, ",60,", ",many,", 1),
		"more anomalies": strings.Replace(text, ",60,0,7", ",60,0,61", 1),
		"no tries":       strings.Replace(text, ",3,", ",0,", 1),
		"a short row":    text + "x,y,1\n",
	} {
		if _, err := ReadPublished(strings.NewReader(damaged)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
