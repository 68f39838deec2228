package result

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"locklab/harness"
)

// A derived file has the results of a run in the format of other programs. It is rewritten
// from results.jsonl.
type derived struct {
	name string

	// begin writes the head of the file, and returns the function that adds a result.
	begin func(out io.Writer, m Manifest) (add func(l caseLine) error, err error)
}

var (
	benchLines  = derived{BenchName, beginBench}
	waitLog     = derived{WaitLogName, beginLog("waits", func(l caseLine) (harness.Histogram, string) { return l.Result.Wait, l.Wait })}
	handoverLog = derived{HandoverLogName, beginLog("handovers", func(l caseLine) (harness.Histogram, string) { return l.Result.Handover, l.Handover })}
)

// write writes the head and rs to out, and returns the function that adds a result.
func (d derived) write(out io.Writer, m Manifest, rs []*harness.Result) (add func(l caseLine) error, err error) {
	if add, err = d.begin(out, m); err != nil {
		return nil, wrapped(err)
	}
	for _, r := range rs {
		l, err := pack(r)
		if err != nil {
			return nil, err
		}
		if err := add(l); err != nil {
			return nil, wrapped(err)
		}
	}
	return add, nil
}

func (d derived) export(out io.Writer, run *Run) error {
	_, err := d.write(out, run.Manifest, run.Results)
	return err
}

// beginBench begins Go benchmark lines, which benchstat reads unmodified (format:
// https://golang.org/design/14313-benchmark-format). Only constants of the machine become
// configuration: benchstat splits its tables wherever a configuration differs. The better
// direction of each unit comes once, before any result.
func beginBench(out io.Writer, m Manifest) (func(l caseLine) error, error) {
	lines := benchfmt.NewWriter(out)
	var config []benchfmt.Config
	for _, c := range [][2]string{{"locklab-schema", strconv.Itoa(Schema)}, {"goos", m.Machine.OS}, {"goarch", m.Machine.Arch}, {"cpu", m.Machine.CPU}, {"kernel", m.Machine.Kernel}, {"governor", m.Machine.Governor}} {
		if c[1] != "" {
			config = append(config, benchfmt.Config{Key: c[0], Value: []byte(OneLine(c[1])), File: true})
		}
	}
	for _, x := range Metrics {
		if x.Better == "" {
			continue
		}
		u := &benchfmt.UnitMetadata{OrigUnit: x.Unit, Value: x.Better}
		u.Unit, u.Key = x.Unit, "better"
		if err := lines.Write(u); err != nil {
			return nil, err
		}
	}
	return func(l caseLine) error {
		r := l.Result
		if len(r.Violations) > 0 { // it has no valid speed: benchstat skips a comment
			v := r.Violations[0]
			_, err := fmt.Fprintln(out, OneLine(fmt.Sprintf("# %s violated %s: %s", word("Lock/"+caseName(r)), v.Rule, v.Detail)))
			return err
		}
		return lines.Write(benchResult(r, config, cmp.Or(r.Workload.GOMAXPROCS, m.Machine.GOMAXPROCS)))
	}, nil
}

func benchResult(r *harness.Result, config []benchfmt.Config, procs int) *benchfmt.Result {
	name := word("Lock/" + caseName(r))
	if procs > 1 {
		name += "-" + strconv.Itoa(procs)
	}
	res := &benchfmt.Result{Config: config, Name: benchfmt.Name(name), Iters: int(r.Ops)}
	for _, m := range Metrics {
		if v, ok := m.Of(r); ok {
			res.Values = append(res.Values, benchfmt.Value{Value: v, Unit: m.Unit})
		}
	}
	return res
}

// word returns name as one word: a blank or a comma would begin the next field.
func word(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == ',' {
			return '_'
		}
		return r
	}, OneLine(name))
}

// beginLog begins histograms in the log format of HdrHistogram, version 1.3, which its tools
// read (HistogramLogProcessor, HistogramLogAnalyzer). Each result is one interval, whose tag
// is its benchmark name. Values are nanoseconds; by convention the greatest of an interval is
// written in milliseconds. Source: HdrHistogram 2.2.2, HistogramLogWriter.
func beginLog(what string, of func(l caseLine) (h harness.Histogram, packed string)) func(io.Writer, Manifest) (func(caseLine) error, error) {
	return func(out io.Writer, m Manifest) (func(caseLine) error, error) {
		_, err := fmt.Fprintf(out, "#[Histogram log format version 1.3]\n#locklab: %s in ns; the tag is lock and workload; one interval a round\n"+
			"#[StartTime: %.3f (seconds since epoch), %s]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
			what, seconds(m.Started), m.Started.UTC().Format(time.RFC3339))
		return func(l caseLine) (err error) {
			r, name := l.Result, word(caseName(l.Result))
			h, packed := of(l)
			switch {
			case len(r.Violations) > 0:
				_, err = fmt.Fprintln(out, OneLine(fmt.Sprintf("#%s violated %s", name, r.Violations[0].Rule)))
			case len(h) > 0:
				_, err = fmt.Fprintf(out, "Tag=%s,%.3f,%.3f,%.3f,%s\n", name, seconds(r.Started), r.Elapsed.Seconds(), float64(h[len(h)-1].Value)/1e6, packed)
			}
			return err
		}, err
	}
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
