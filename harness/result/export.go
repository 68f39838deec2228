package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
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
	{"bench", "Go benchmark lines, for benchstat: bench.txt again", benchLines.write},
	{"hdr-wait", "waits as an HdrHistogram log: wait.hlog again", waitLog.write},
	{"hdr-handover", "hand-overs as an HdrHistogram log: handover.hlog again", handoverLog.write},
}

type csvColumn[T any] struct {
	name string
	of   func(row T) any // see csvText
}

var resultColumns = []csvColumn[*harness.Result]{
	{"lock", func(r *harness.Result) any { return r.Lock.Name }},
	{"family", func(r *harness.Result) any { return r.Lock.Family }},
	{"status", func(r *harness.Result) any { return r.Lock.Status }},
	{"round", func(r *harness.Result) any { return r.Round }},
	{"workers", func(r *harness.Result) any { return r.Workload.Workers }},
	{"clients", func(r *harness.Result) any { return r.Workload.Clients }},
	{"ranks", func(r *harness.Result) any { return max(1, r.Workload.Ranks) }},
	{"hold-ns", func(r *harness.Result) any { return r.Workload.Hold.Mean }},
	{"hold-exp", func(r *harness.Result) any { return r.Workload.Hold.Exp }},
	{"hold-mix", func(r *harness.Result) any { return r.Workload.Hold.Mix }},
	{"think-ns", func(r *harness.Result) any { return r.Workload.Think.Mean }},
	{"think-exp", func(r *harness.Result) any { return r.Workload.Think.Exp }},
	{"think-mix", func(r *harness.Result) any { return r.Workload.Think.Mix }},
	{"wait-policy", func(r *harness.Result) any { return r.Workload.Wait }},
	{"pin", func(r *harness.Result) any { return r.Workload.Pin }},
	{"gomaxprocs", func(r *harness.Result) any { return r.Workload.GOMAXPROCS }},
	{"reads-%", func(r *harness.Result) any { return r.Workload.Reads }},
	{"locks", func(r *harness.Result) any { return max(1, r.Workload.Locks) }},
	{"servers", func(r *harness.Result) any { return max(1, r.Workload.Servers) }},
	{"durable", func(r *harness.Result) any { return r.Workload.Durable }},
	{"tls", func(r *harness.Result) any { return r.Workload.TLS }},
	{"delay-ns", func(r *harness.Result) any { return r.Workload.Delay }},
	{"rate/s", func(r *harness.Result) any { return strconv.FormatFloat(float64(r.Workload.Rate), 'f', -1, 64) }},
	{"arrivals", func(r *harness.Result) any { return r.Workload.Arrivals }},
	{"deadline-ns", func(r *harness.Result) any { return r.Workload.Deadline }},
	{"gc", func(r *harness.Result) any { return r.Workload.Garbage }},
	{"section", func(r *harness.Result) any { return r.Workload.Section }},
	{"window-ns", func(r *harness.Result) any { return r.Workload.Window }},
	{"started", func(r *harness.Result) any { return r.Started }},
	{"elapsed-ns", func(r *harness.Result) any { return r.Elapsed }},
	{"acquisitions", func(r *harness.Result) any { return r.Ops }},
	{"violation", func(r *harness.Result) any {
		if len(r.Violations) == 0 {
			return ""
		}
		return r.Violations[0].Rule + ": " + r.Violations[0].Detail
	}},
	{"warnings", func(r *harness.Result) any { return len(r.Warnings) }},
}

// WriteCSV writes the results of run as CSV (RFC 4180): a row per case and round, a column for
// each metric, named by its unit. A missing figure is an empty cell, like every figure of a
// result with a violation. No cell is a formula: see [OneCell].
func WriteCSV(out io.Writer, run *Run) error {
	columns := slices.Clone(resultColumns)
	for _, m := range Metrics {
		columns = append(columns, csvColumn[*harness.Result]{m.Unit, func(r *harness.Result) any {
			if v, ok := m.Of(r); ok && len(r.Violations) == 0 {
				return v
			}
			return ""
		}})
	}
	return writeCSV(out, columns, run.Results)
}

var faultColumns = []csvColumn[Survival]{
	{"scenario", func(r Survival) any { return r.Fault.Scenario }},
	{"lock", func(r Survival) any { return r.Fault.Lock.Name }},
	{"family", func(r Survival) any { return r.Fault.Lock.Family }},
	{"status", func(r Survival) any { return r.Fault.Lock.Status }},
	{"verdict", func(r Survival) any { return r.Verdict }},
	{"skipped", func(r Survival) any { return r.Fault.Skipped }},
	{"started", func(r Survival) any { return r.Fault.Started }},
	{"elapsed-ns", func(r Survival) any { return r.Fault.Elapsed }},
	{"tries", func(r Survival) any { return r.N }},
	{"failed", func(r Survival) any { return r.Fault.Failed }},
	{"starved", func(r Survival) any { return r.Fault.Starved }},
	{"violations-per-1000", func(r Survival) any { return figure(r.Violations, r.N) }},
	{"bound-%", func(r Survival) any { return figure(100*r.Bound, r.N) }},
	{"window-p50-ns", func(r Survival) any { return figure(r.Window.Median, r.Window.N) }},
	{"window-max-ns", func(r Survival) any { return figure(r.Window.Most, r.Window.N) }},
	{"margin-min-ns", func(r Survival) any { return figure(r.Margin.Least, r.Margin.N) }},
	{"overlap-max-ns", func(r Survival) any { return figure(r.Overlap.Most, r.Overlap.N) }},
	{"aims-missed", func(r Survival) any { return strings.Join(r.missed(), "; ") }},
	{"expected", func(r Survival) any { return strings.Join(harmNames(r.Fault.Expected.Harms), "; ") }},
}

// WriteFaultsCSV writes a row per failure scenario and lock, like [WriteCSV].
func WriteFaultsCSV(out io.Writer, run *Run) error {
	columns := slices.Clone(faultColumns)
	for _, h := range harness.Harms {
		columns = append(columns, csvColumn[Survival]{strings.ReplaceAll(string(h), " ", "-"), func(r Survival) any { return r.Fault.Seen[h] }})
	}
	var rows []Survival
	for _, f := range run.Faults {
		rows = append(rows, JudgeFault(f))
	}
	return writeCSV(out, columns, rows)
}

var simulationColumns = []csvColumn[*harness.Simulation]{
	{"simulated", func(s *harness.Simulation) any { return s.Simulated }},
	{"hypothetical", func(s *harness.Simulation) any { return s.Hypothetical }},
	{"sockets", func(s *harness.Simulation) any { return s.Sockets }},
	{"clusters", func(s *harness.Simulation) any { return s.Clusters }},
	{"cores", func(s *harness.Simulation) any { return s.Cores }},
	{"smt", func(s *harness.Simulation) any { return s.SMT }},
	{"lock", func(s *harness.Simulation) any { return s.Lock.Name }},
	{"workers", func(s *harness.Simulation) any { return s.Workers }},
	{"on-cores", func(s *harness.Simulation) any { return figure(s.OnCores, s.OnCores) }},
	{"on-sockets", func(s *harness.Simulation) any { return figure(s.OnSockets, s.OnSockets) }},
	{"lines", func(s *harness.Simulation) any { return s.Lines }},
	{"hold-ns", func(s *harness.Simulation) any { return s.Hold }},
	{"think-ns", func(s *harness.Simulation) any { return s.Think }},
	{"wait-policy", func(s *harness.Simulation) any { return s.Wait }},
	{"apart", func(s *harness.Simulation) any { return s.Apart }},
	{"spread", func(s *harness.Simulation) any { return s.Spread }},
	{"seed", func(s *harness.Simulation) any { return s.Seed }},
	{"seeds", func(s *harness.Simulation) any { return s.Seeds }},
	{"accuracy", func(s *harness.Simulation) any { return s.Accuracy }},
}

// simulationFigures have other names than the units of measured metrics.
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

// WriteSimulationsCSV writes a row per simulated machine, lock and workload, like [WriteCSV].
func WriteSimulationsCSV(out io.Writer, run *Run) error {
	columns := slices.Clone(simulationColumns)
	for _, f := range simulationFigures {
		columns = append(columns,
			csvColumn[*harness.Simulation]{f.name, func(s *harness.Simulation) any { return f.of(s).Median }},
			csvColumn[*harness.Simulation]{f.name + "-min", func(s *harness.Simulation) any { return f.of(s).Lo }},
			csvColumn[*harness.Simulation]{f.name + "-max", func(s *harness.Simulation) any { return f.of(s).Hi }})
	}
	return writeCSV(out, columns, run.Simulations)
}

func writeCSV[T any](out io.Writer, columns []csvColumn[T], rows []T) error {
	w := csv.NewWriter(out)
	cells := csvHead(columns)
	w.Write(cells) // Error reports it
	for _, r := range rows {
		for i, c := range columns {
			cells[i] = OneCell(csvText(c.of(r)))
		}
		w.Write(cells)
	}
	w.Flush()
	return wrapped(w.Error())
}

func csvHead[T any](columns []csvColumn[T]) (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

func csvText(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return strconv.FormatInt(int64(v), 10)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float64:
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// figure returns v, or an empty cell if n, the number of values behind it, is 0.
func figure(v any, n int) any {
	if n == 0 {
		return ""
	}
	return v
}

// OneCell returns text as a cell of a CSV file that no spreadsheet interprets as a formula.
// If it begins like one (= + - @, a tab, a line end, or a wide form of these), an
// apostrophe comes first. A number stays a number. Source: OWASP, CSV Injection.
func OneCell(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil && strings.Trim(text, "+-.0123456789eE") == "" {
		return text
	}
	// Spreadsheets skip blanks before they interpret a cell.
	if start := strings.TrimLeft(text, " \u00a0"); start != "" && strings.ContainsAny(string([]rune(start)[0]), "=+-@\t\r\n＝＋－＠") {
		return "'" + text
	}
	return text
}
