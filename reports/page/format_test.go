package page

import (
	"math"
	"testing"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// TestFormats: figures, names and sources have these forms in a report.
func TestFormats(t *testing.T) {
	quantity := func(v float64, unit string) string { return numfmt.Plain(chart.Quantity(unit)(v)) }
	ratio := func(median, lo, hi float64) string {
		return chart.GainText(&judge.Ratio{Median: median, Lo: lo, Hi: hi})
	}
	source := func(ms []*result.Metric, fields []string, rounds ...int) string {
		return chart.Source{Metrics: ms, Fields: fields, Rounds: rounds}.Sentence()
	}
	for _, c := range []struct{ got, want string }{
		{quote("a-b=1,2"), "a-b=1,2"}, {quote("a b"), "'a b'"}, {quote("it's"), `'it'\''s'`}, {quote(""), "''"},

		{quantity(1340, "ns"), "1.34 µs"}, {quantity(0, "ns"), "0 ns"}, {quantity(-12, "ns"), "−12 ns"}, {quantity(99.6, "%"), "99.6 %"},
		{quantity(412_000, "per million"), "412 k per million"}, {quantity(2.55, ""), "2.55"}, {quantity(1e300, ""), "1e+300"},
		{quantity(1e-9, ""), "1e-09"}, {quantity(math.NaN(), ""), "–"},

		{ratio(1.524, 1.31, 1.8), "1.5x (1.3–1.8)"}, {ratio(1.021, 0.981, 1.06), "1.02x (0.98–1.06)"}, {ratio(0.138, 0.091, 0.17), "0.14x (0.09–0.17)"},
		{ratio(0.0291, 0.017, 0.038), "0.029x (0.017–0.038)"}, {ratio(13.2, 11, 17.1), "13x (11–17)"},

		{inlineText("a|b"), "a&#124;b"}, {inlineText(`\`), `\\`}, {inlineText("`"), "\\`"}, {inlineText("a\nb\tc\x00"), "a b c"},
		{inlineText("12" + numfmt.Space + "µs"), "12" + numfmt.Space + "µs"}, {inlineText(""), ""},
		{blockText("# a"), `\# a`}, {blockText("- a"), `\- a`}, {blockText("+ a"), `\+ a`}, {blockText("1. a"), `1\. a`}, {blockText("12) a"), `12\) a`},
		{blockText("12 a"), "12 a"}, {blockText("="), `\=`}, {blockText("12"), "12"}, {blockText(""), ""},
		{chart.SlugOf("hold=1µs gc=on"), "hold-1us-gc-on"}, {chart.SlugOf("../../etc"), "etc"}, {chart.SlugOf(""), "other"}, {chart.SlugOf("<x>"), "x"},

		{chart.Source{}.Sentence(), ""},
		{source([]*result.Metric{result.Jain}, nil, 1), "Data: metric jain (jain-slice-%) of results.jsonl, 1 round."},
		{source([]*result.Metric{result.Throughput, result.Jain, result.Time}, []string{"wait", "hold"}, 5),
			"Data: metrics throughput (acq/s), jain (jain-slice-%) and time (ns/op) and fields wait and hold of results.jsonl, 5 rounds."},
		{chart.Source{Metrics: []*result.Metric{result.Time}, Fields: []string{"hold"}, Experiments: []string{"cost"}, Rounds: []int{5}}.Sentence(),
			"Data: metric time (ns/op), field hold and experiment cost of results.jsonl, 5 rounds."},
		{chart.Source{Experiments: []string{"cost"}, Table: 2}.Sentence(), "Data: experiment cost of results.jsonl, table 2."},
		{source(nil, []string{"wait"}, 6, 6), "Data: field wait of each machine's results.jsonl, 6 rounds."},
		{source(nil, []string{"wait"}, 10, 6), "Data: field wait of each machine's results.jsonl, 6 to 10 rounds."},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
