package result

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness"
)

func TestLogs(t *testing.T) {
	run, err := Load("../../reports/testdata/run")
	if err != nil {
		t.Fatal(err)
	}
	run.Results = append(run.Results, sample()) // which violates a rule
	for _, k := range logKinds {
		var log bytes.Buffer
		if err := k.write(&log, run); err != nil {
			t.Fatal(err)
		}
		in := hdrhistogram.NewHistogramLogReader(&log)
		read := 0
		for _, r := range run.Results {
			h, _ := k.of(caseLine{Result: r})
			if len(h) == 0 || len(r.Violations) > 0 {
				continue
			}
			got, err := in.NextIntervalHistogram()
			if err != nil || got == nil {
				t.Fatalf("%s ends after %d intervals (%v)", k.name, read, err)
			}
			read++
			if want := "lock=" + r.Lock.Name + "/" + r.Workload.Name(); got.Tag() != want {
				t.Fatalf("%s: the tag is %q, want %q", k.name, got.Tag(), want)
			}
			if ms := r.Started.UnixMilli(); got.StartTimeMs() < ms-1 || got.StartTimeMs() > ms+1 || math.Abs(float64(got.EndTimeMs()-ms-r.Elapsed.Milliseconds())) > 2 {
				t.Errorf("%s: from %d to %d ms, want %d and %v later", k.name, got.StartTimeMs(), got.EndTimeMs(), ms, r.Elapsed)
			}
			agree(t, k.name, got, h)
		}
		if more, err := in.NextIntervalHistogram(); more != nil || err != nil || read < 50 {
			t.Errorf("%s: after %d intervals %v (%v)", k.name, read, more, err)
		}
	}
}

// agree compares every bucket and percentiles of an HdrHistogram and of ours. hdrhistogram-go
// returns the observation whose rank is nearest to the percentile. Ours (like HdrHistogram in
// Java) returns the first that is not below it, so agree uses the rank for ours.
func agree(t *testing.T, name string, got *hdrhistogram.Histogram, want harness.Histogram) {
	t.Helper()
	n := want.Count()
	if got.TotalCount() != n || got.Max() != want[len(want)-1].Value {
		t.Errorf("%s: %d values up to %d, want %d up to %d", name, got.TotalCount(), got.Max(), n, want[len(want)-1].Value)
	}
	rest := want
	for _, b := range got.Distribution() {
		if b.Count == 0 {
			continue
		}
		if len(rest) == 0 || rest[0] != (harness.Bucket{Value: b.To, N: b.Count}) {
			t.Fatalf("%s: %d values up to %d, want the buckets %v", name, b.Count, b.To, want)
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		t.Errorf("%s: the buckets %v are missing", name, rest)
	}
	for _, q := range []float64{25, 50, 75, 90, 99, 99.9, 99.99, 100} {
		rank := max(1, int64(q/100*float64(n)+0.5))
		if v := got.ValueAtQuantile(q); float64(v) != want.Quantile(float64(rank)/float64(n)) {
			t.Errorf("%s: %v %% of %d values are at most %d, want %v", name, q, n, v, want.Quantile(float64(rank)/float64(n)))
		}
	}
}

func TestLogTag(t *testing.T) {
	for _, w := range []harness.Workload{sample().Workload, {Workers: 1, Reads: 90, Locks: 3, Garbage: true}} {
		if name := w.Name(); strings.ContainsAny(name, ", \r\n\t") {
			t.Errorf("%q is no tag", name)
		}
	}
}

func TestCSV(t *testing.T) {
	good := sample()
	good.Violations = nil
	evil := sample()
	evil.Lock.Name = `=HYPERLINK("http://evil.example","mcs")`
	evil.Violations[0] = harness.Violation{Rule: "-exclusion", Detail: "a \"b\", c\nd", Count: 1}
	run := &Run{Results: []*harness.Result{good, evil}}
	var out bytes.Buffer
	if err := WriteCSV(&out, run); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || len(rows[0]) != len(resultColumns)+len(Metrics) {
		t.Fatalf("%d rows of %d columns", len(rows), len(rows[0]))
	}
	column := make(map[string]int)
	for i, name := range rows[0] {
		if _, twice := column[name]; twice {
			t.Errorf("two columns are called %q", name)
		}
		column[name] = i
	}
	for i, c := range resultColumns {
		if got, want := rows[1][i], csvText(c.of(good)); got != want {
			t.Errorf("%s is %q, want %q", c.name, got, want)
		}
	}
	for name, want := range map[string]string{"window-ns": "1000000000", "started": "2026-11-21T01:02:03.000000004Z", "gc": "false", "section": "lines:16"} {
		if got := rows[1][column[name]]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, m := range Metrics {
		want, ok := m.Of(good)
		got := rows[1][column[m.Unit]]
		if x, err := strconv.ParseFloat(got, 64); ok && (err != nil || x != want) || !ok && got != "" {
			t.Errorf("%s is %q, want %v (%v)", m.Unit, got, want, ok)
		}
		if got := rows[2][column[m.Unit]]; got != "" {
			t.Errorf("%s of a result that violates a rule is %q", m.Unit, got)
		}
	}
	if got := rows[2][column["lock"]]; got != "'"+evil.Lock.Name {
		t.Errorf("the lock is %q, which a spreadsheet runs", got)
	}
	if got := rows[2][column["violation"]]; got != "'-exclusion: a \"b\", c\nd" {
		t.Errorf("the violation is %q", got)
	}
}

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "mcs": "mcs", "1": "1", "-1": "-1", "+1.5e-9": "+1.5e-9", "-0": "-0", "12 M/s": "12 M/s", "a=b": "a=b",
		"=1+1": "'=1+1", "+cmd": "'+cmd", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1",
		" =1": "' =1", "\u00a0=1": "'\u00a0=1", "＝1": "'＝1", "-Inf": "'-Inf", "+Inf": "'+Inf", "-nan": "'-nan", "-0x1p4": "'-0x1p4", "-1_0": "'-1_0",
	} {
		if got := OneCell(text); got != want {
			t.Errorf("Cell(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzCell(f *testing.F) {
	for _, s := range []string{"=1", " -x", "-1", "+", "-", "e", "'=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := OneCell(text)
		if got != text && got != "'"+text {
			t.Errorf("Cell(%q) = %q", text, got)
		}
		if _, err := strconv.ParseFloat(got, 64); err != nil && got != "" && strings.ContainsAny(got[:1], "=+-@\t\r\n") {
			t.Errorf("Cell(%q) = %q, which is a formula", text, got)
		}
	})
}

func TestExports(t *testing.T) {
	seen := make(map[string]bool)
	for _, e := range Exports {
		var out bytes.Buffer
		if err := e.Write(&out, &Run{Results: []*harness.Result{sample()}}); err != nil || out.Len() == 0 || e.Doc == "" || seen[e.Name] {
			t.Errorf("%s: %d bytes, %v", e.Name, out.Len(), err)
		}
		seen[e.Name] = true
	}
}
