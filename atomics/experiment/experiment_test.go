package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

// checkExperiment returns what is wrong with e, "" for nothing.
func checkExperiment(e *Experiment) string {
	switch {
	case !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(e.Name):
		return "the name is not made of small letters and hyphens"
	case !strings.HasSuffix(e.Question, "?"):
		return "the question does not end with a question mark"
	case !strings.HasSuffix(e.Method, "."):
		return "the method is not a sentence"
	case e.Source == "":
		return "no source"
	case e.Available == nil || e.Run == nil:
		return "a function is missing"
	}
	return ""
}

func TestSuite(t *testing.T) {
	seen := make(map[string]bool)
	for _, e := range Suite {
		if text := checkExperiment(e); text != "" {
			t.Errorf("%s: %s", e.Name, text)
		}
		if seen[e.Name] {
			t.Errorf("two experiments are called %s", e.Name)
		}
		seen[e.Name] = true
	}
}

func TestSuiteCheckSeesFaults(t *testing.T) {
	for name, spoil := range map[string]func(*Experiment){
		"name":      func(e *Experiment) { e.Name = "Lost Updates" },
		"question":  func(e *Experiment) { e.Question = "Who loses." },
		"method":    func(e *Experiment) { e.Method = "" },
		"source":    func(e *Experiment) { e.Source = "" },
		"available": func(e *Experiment) { e.Available = nil },
		"run":       func(e *Experiment) { e.Run = nil },
	} {
		e := *lostUpdates
		spoil(&e)
		if checkExperiment(&e) == "" {
			t.Errorf("a bad %s goes unseen", name)
		}
	}
}

// brief makes an experiment short; what it finds is still complete.
var brief = Options{Repeats: 1, Budget: 10 * time.Millisecond}

// TestSuiteRuns runs every experiment and checks the form of what it finds.
func TestSuiteRuns(t *testing.T) {
	for _, e := range Suite {
		t.Run(e.Name, func(t *testing.T) {
			if err := e.Available(); err != nil {
				t.Skip(err)
			}
			procs := runtime.GOMAXPROCS(0)
			f, err := e.Run(t.Context(), brief)
			if err != nil {
				t.Fatal(err)
			}
			if text := checkFinding(f); text != "" {
				t.Errorf("%s: %+v", text, f)
			}
			if got := runtime.GOMAXPROCS(0); got != procs {
				t.Errorf("GOMAXPROCS was %d and is %d", procs, got)
			}
			if err := Write(io.Discard, f); err != nil {
				t.Error(err)
			}
		})
	}
}

func checkFinding(f *harness.Finding) string {
	if f.Answer == "" || !strings.HasSuffix(f.Answer, ".") {
		return "no answer"
	}
	for _, table := range f.Tables {
		if table.Caption == "" || table.Label == "" || len(table.Rows) == 0 {
			return "a table without caption, label or rows"
		}
		for _, row := range table.Rows {
			if len(row.Cells) != len(table.Columns) {
				return "a row without a cell for each column"
			}
			for _, c := range row.Cells {
				if c.Text == "" && (c.N == 0 || c.Lo > c.Median || c.Median > c.Hi || math.IsNaN(c.Median)) {
					return "a cell that is no figure"
				}
			}
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	back := new(harness.Finding)
	if err := json.Unmarshal(data, back); err != nil {
		return err.Error()
	}
	if !reflect.DeepEqual(f, back) {
		return "JSON does not keep it"
	}
	return ""
}

func TestCheckFindingSeesFaults(t *testing.T) {
	good := func() *harness.Finding {
		return &harness.Finding{Answer: "Yes.", Tables: []harness.Table{{Caption: "c", Label: "l",
			Columns: []harness.Column{{Name: "n"}}, Rows: []harness.Row{{Label: "r", Cells: []harness.Cell{exact(1)}}}}}}
	}
	if text := checkFinding(good()); text != "" {
		t.Fatal(text)
	}
	for name, spoil := range map[string]func(*harness.Finding){
		"answer":   func(f *harness.Finding) { f.Answer = "" },
		"caption":  func(f *harness.Finding) { f.Tables[0].Caption = "" },
		"columns":  func(f *harness.Finding) { f.Tables[0].Columns = nil },
		"figure":   func(f *harness.Finding) { f.Tables[0].Rows[0].Cells[0].N = 0 },
		"nan":      func(f *harness.Finding) { f.Tables[0].Rows[0].Cells[0].Median = math.NaN() },
		"infinity": func(f *harness.Finding) { f.Tables[0].Rows[0].Cells[0].Hi = math.Inf(1) },
	} {
		f := good()
		spoil(f)
		if checkFinding(f) == "" {
			t.Errorf("a bad %s goes unseen", name)
		}
	}
}

// TestSuiteIsInterruptible ends each experiment early, and looks for threads
// that stayed.
func TestSuiteIsInterruptible(t *testing.T) {
	const long = time.Hour
	for _, e := range Suite {
		t.Run(e.Name, func(t *testing.T) {
			if err := e.Available(); err != nil {
				t.Skip(err)
			}
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := e.Run(ctx, Options{Repeats: 1 << 30, Budget: long})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error is %v", err)
			}
			// Far more than it needs: the machine may be busy.
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("ended after %v", took)
			}
			for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
				}
			}
		})
	}
}

func TestSuiteRefusesBadOptions(t *testing.T) {
	for _, e := range Suite {
		for _, o := range []Options{{Repeats: -1}, {Budget: -1}} {
			if _, err := e.Run(t.Context(), o); !errors.Is(err, ErrOptions) {
				t.Errorf("%s: %+v: error is %v", e.Name, o, err)
			}
		}
	}
}

func TestSummarize(t *testing.T) {
	for _, test := range []struct {
		samples []float64
		want    harness.Cell
		text    string
	}{
		{nil, harness.Cell{Text: "-"}, "-"},
		{[]float64{3}, harness.Cell{Median: 3, Lo: 3, Hi: 3, N: 1}, "3"},
		{[]float64{3, 1}, harness.Cell{Median: 2, Lo: 1, Hi: 3, N: 2}, "2 [1..3]"},
		{[]float64{412345, 1, 999_999}, harness.Cell{Median: 412345, Lo: 1, Hi: 999_999, N: 3}, "412 k [1..1.00 M]"},
		{[]float64{1, math.Inf(1)}, harness.Cell{Text: "never"}, "never"},
	} {
		if got := summarize(test.samples); got != test.want || got.String() != test.text {
			t.Errorf("summarize(%v) = %+v, %q", test.samples, got, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", -2: "-2", 0.1234: "0.123", 2.718281828: "2.72", 99.96: "100", 123.4: "123", 9999: "9999",
		10_000: "10.0 k", 12_345: "12.3 k", 999_499: "999 k", 999_500: "1.00 M", 123_456_789: "123 M", 2e10: "20000 M",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
}

func ExampleWrite() {
	f := &harness.Finding{
		Answer: "B takes 3.00 times as long as A.",
		Tables: []harness.Table{{
			Caption: "Time of one operation",
			Label:   "operation",
			Columns: []harness.Column{{Name: "time", Unit: "ns"}, {Name: "to A"}},
			Rows: []harness.Row{
				{Label: "A", Cells: []harness.Cell{{Median: 2.5, Lo: 2, Hi: 3, N: 5}, {Text: "1"}}},
				{Label: "B", Cells: []harness.Cell{{Median: 7.5, Lo: 6.5, Hi: 9, N: 5}, {Median: 3, Lo: 3, Hi: 3, N: 5}}},
			},
		}},
		Notes: []string{"ran on paper"},
	}
	if err := Write(os.Stdout, f); err != nil {
		panic(err)
	}
	// Output:
	// Time of one operation
	//   operation  time, ns      to A
	//   A          2.5 [2..3]    1
	//   B          7.5 [6.5..9]  3
	//
	// note: ran on paper
	// answer: B takes 3.00 times as long as A.
}
