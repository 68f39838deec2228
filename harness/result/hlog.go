package result

import (
	"fmt"
	"io"
	"time"

	"locklab/harness"
)

// A logKind is a file of histograms in the log format of HdrHistogram, version 1.3, which its
// tools read (HistogramLogProcessor, HistogramLogAnalyzer). Each result is one interval, whose
// tag is its benchmark name. Values are nanoseconds; by convention the greatest of an interval
// is written in milliseconds. Source: HdrHistogram 2.2.2, HistogramLogWriter.
type logKind struct {
	name string // of the file
	what string
	of   func(l caseLine) (h harness.Histogram, packed string)
}

var logKinds = []*logKind{
	{WaitLogName, "waits", func(l caseLine) (harness.Histogram, string) { return l.Result.Wait, l.Wait }},
	{HandoverLogName, "hand-overs", func(l caseLine) (harness.Histogram, string) { return l.Result.Handover, l.Handover }},
}

func (k *logKind) begin(out io.Writer, started time.Time) error {
	_, err := fmt.Fprintf(out, "#[Histogram log format version 1.3]\n#locklab: %s in ns; the tag is lock and workload; one interval a round\n"+
		"#[StartTime: %.3f (seconds since epoch), %s]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
		k.what, seconds(started), started.UTC().Format(time.RFC3339))
	return wrapped(err)
}

func (k *logKind) append(out io.Writer, l caseLine) error {
	r := l.Result
	name := word("lock=" + r.Lock.Name + "/" + r.Workload.Name())
	h, packed := k.of(l)
	var err error
	switch {
	case len(r.Violations) > 0:
		_, err = fmt.Fprintln(out, OneLine(fmt.Sprintf("#%s violated %s", name, r.Violations[0].Rule)))
	case len(h) > 0:
		_, err = fmt.Fprintf(out, "Tag=%s,%.3f,%.3f,%.3f,%s\n", name, seconds(r.Started), r.Elapsed.Seconds(), float64(h[len(h)-1].Value)/1e6, packed)
	}
	return wrapped(err)
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
