package judge

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"locklab/harness"
	"locklab/harness/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func mixed(t *testing.T) *Comparison {
	t.Helper()
	base := rates{"mcs": around(12e6, 0.02, 10), "ticket": around(9e6, 0.02, 10), "zk-two-level-local-first": around(800, 0.02, 10),
		"clh": around(11e6, 0.3, 10), "gone": around(1e6, 0.02, 10), "wanted": around(1e6, 0.02, 10), "tas": around(14e6, 0.02, 10)}
	next := rates{"mcs": around(10.6e6, 0.02, 10), "ticket": around(9.9e6, 0.02, 10), "zk-two-level-local-first": around(801, 0.02, 10),
		"clh": around(11.1e6, 0.3, 10), "added": around(1e6, 0.02, 10), "tas": around(14e6, 0.02, 10)}
	a, b := madeRun(base), madeRun(next)
	for _, run := range []*result.Run{a, b} {
		run.Manifest.Started = time.Date(2026, 11, 21, 4, 26, 0, 0, time.UTC)
		run.Manifest.Commit = "7b9406791291a54b3c1f0e6a2c9c8a55e3f1d2aa+dirty"
		run.Manifest.Machine.CPU, run.Manifest.Machine.CPUs, run.Manifest.Machine.Go = "AMD EPYC", 2, "go1.26.8"
		for _, r := range run.Results {
			if strings.HasPrefix(r.Lock.Name, "zk") {
				r.Lock.Traits.Needs, r.Workload.Workers = harness.KindZooKeeper, 128
			} else {
				r.Workload.Hold.Mean = 100
			}
		}
	}
	b.Manifest.Machine.Go = "go1.26.9"
	b.Manifest.Started = b.Manifest.Started.Add(50 * time.Hour)
	b.Manifest.Skipped = []result.Skip{{Lock: "wanted", Reason: "no server"}}
	for _, r := range b.Results {
		if r.Lock.Name == "tas" && r.Round == 3 {
			r.Violations = []harness.Violation{{Rule: "exclusion", Detail: "2 of 9 increments lost", Count: 2}}
		}
	}
	c, err := Compare(a, b, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestGolden(t *testing.T) {
	var out bytes.Buffer
	if err := mixed(t).WriteText(&out, 100); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden := filepath.Join("testdata", "mixed.txt")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s\nif it is meant so: go test ./harness/judge -update", out.String(), want)
	}
}

func TestCSV(t *testing.T) {
	c := mixed(t)
	for i, name := range []string{"=HYPERLINK(\"http://x\")", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "＝1", "|calc", "a\n=1"} {
		c.Rows[i%len(c.Rows)].Lock.Name = name
		c.Rows[i%len(c.Rows)].Note = name
		var out bytes.Buffer
		if err := c.WriteCSV(&out); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(lines) != 1+len(c.Rows) || !slices.Equal(lines[0], columns) {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		for _, line := range lines {
			for _, cell := range line {
				if s := strings.TrimLeft(cell, " "); s != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", []rune(s)[0]) {
					t.Errorf("a cell is %q", cell)
				}
			}
		}
	}
	var out bytes.Buffer
	c = mixed(t)
	c.Rows[1].Ratio.Hi = math.Inf(1)
	if err := c.WriteCSV(&out); err != nil || !strings.Contains(out.String(), ",Inf,") || strings.Contains(out.String(), "NaN") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestJSON(t *testing.T) {
	c := mixed(t)
	c.Rows[1].Ratio.Hi = math.Inf(1)
	var out bytes.Buffer
	if err := c.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Outcome  string
		Margin   float64 `json:"margin"`
		Warnings []string
		Rows     []struct {
			Lock, Verdict string
			P             *float64
			Ratio         *struct{ Median, Hi *float64 }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Outcome != "regressed" || got.Margin != 0.05 || len(got.Rows) != len(c.Rows) || len(got.Warnings) != len(c.Warnings) {
		t.Errorf("%+v", got)
	}
	for i, r := range got.Rows {
		if r.Verdict != string(c.Rows[i].Verdict) || (r.P == nil) != (c.Rows[i].Ratio.N == 0) || (r.Ratio == nil) != (c.Rows[i].Ratio.N == 0) {
			t.Errorf("%+v is %+v", c.Rows[i], r)
		}
	}
	if got.Rows[1].Ratio == nil || got.Rows[1].Ratio.Hi != nil {
		t.Error("an infinite figure is not null")
	}
}

func TestHostileNames(t *testing.T) {
	evil := "tas\x1b[2J\x07\u202e"
	a, b := madeRun(rates{evil: around(1e6, 0.02, 10)}), madeRun(rates{evil: around(0.8e6, 0.02, 10)})
	b.Manifest.Commit, b.Manifest.Machine.CPU, b.Manifest.Machine.Kernel = evil, evil, evil
	b.Results[0].Violations = []harness.Violation{{Rule: evil, Detail: evil}}
	b.Manifest.Skipped = []result.Skip{{Lock: evil, Reason: evil}}
	c, err := Compare(a, b, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.WriteText(&out, 100); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\x07", "\u202e"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is in\n%q", bad, out.String())
		}
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{share(0.05), "5 %"}, {share(1 - 0.05/6), "99.17 %"}, {share(0.005), "0.5 %"},
		{chance(0.0004), "<0.001"}, {chance(0.0123), "0.012"}, {chance(1), "1.000"}, {ratio(0.9), "0.900"}, {ratio(12.34), "12.3"},
		{apart(time.Unix(0, 0), time.Unix(59, 0)), "less than a minute"}, {apart(time.Unix(7200, 0), time.Unix(0, 0)), "2 hours"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
