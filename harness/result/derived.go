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
)

// writeBench writes Go benchmark lines, which benchstat reads unmodified (format:
// https://golang.org/design/14313-benchmark-format). Only constants of the machine become
// configuration: benchstat splits its tables wherever a configuration differs. The better
// direction of each unit comes once, before any result.
func writeBench(out io.Writer, run *Run) error {
	lines, m := benchfmt.NewWriter(out), run.Manifest
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
			return wrapped(err)
		}
	}
	for _, r := range run.Results {
		var err error
		if len(r.Violations) > 0 { // it has no valid speed: benchstat skips a comment
			v := r.Violations[0]
			_, err = fmt.Fprintln(out, OneLine(fmt.Sprintf("# %s violated %s: %s", word("Lock/"+caseName(r)), v.Rule, v.Detail)))
		} else {
			err = lines.Write(benchResult(r, config, cmp.Or(r.Workload.GOMAXPROCS, m.Machine.GOMAXPROCS)))
		}
		if err != nil {
			return wrapped(err)
		}
	}
	return nil
}

func benchResult(r *Result, config []benchfmt.Config, procs int) *benchfmt.Result {
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

// writeLog returns a writer of histograms in the log format of HdrHistogram, version 1.3, which its tools
// read (HistogramLogProcessor, HistogramLogAnalyzer). Each result is one interval, whose tag
// is its benchmark name. Values are nanoseconds; by convention the greatest of an interval is
// written in milliseconds. Source: HdrHistogram 2.2.2, HistogramLogWriter.
func writeLog(what string, of func(r *Result) Histogram) func(out io.Writer, run *Run) error {
	return func(out io.Writer, run *Run) error {
		started := run.Manifest.Started
		_, err := fmt.Fprintf(out, "#[Histogram log format version 1.3]\n#locklab: %s in ns; the tag is lock and workload; one interval a round\n"+
			"#[StartTime: %.3f (seconds since epoch), %s]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
			what, seconds(started), started.UTC().Format(time.RFC3339))
		for _, r := range run.Results {
			name, h := word(caseName(r)), of(r)
			line := ""
			switch {
			case len(r.Violations) > 0:
				line = OneLine(fmt.Sprintf("#%s violated %s", name, r.Violations[0].Rule)) + "\n"
			case len(h) > 0:
				packed, perr := encodeHistogram(h)
				err = cmp.Or(err, perr)
				line = fmt.Sprintf("Tag=%s,%.3f,%.3f,%.3f,%s\n", name, seconds(r.Started), r.Elapsed.Seconds(), float64(h[len(h)-1].Value)/1e6, packed)
			}
			if _, werr := io.WriteString(out, line); cmp.Or(err, werr) != nil {
				return wrapped(cmp.Or(err, werr))
			}
		}
		return wrapped(err)
	}
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
