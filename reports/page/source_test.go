package page

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

func markOf(r *result.Result) float64 {
	h := fnv.New32a()
	h.Write([]byte(r.Lock.Name + " " + r.Workload.Name()))
	return 0.5 + float64(h.Sum32()%1000)/2000
}

func figuresOf(rs []*result.Result, ms []*result.Metric) (out []string) {
	for _, r := range rs {
		for _, m := range ms {
			v, ok := m.Of(r)
			out = append(out, fmt.Sprint(v, ok))
		}
	}
	return out
}

func bodyOf(t *testing.T, c *chart.Chart, g *chart.Group) string {
	t.Helper()
	pic := c.Draw(g)
	if pic.Height == 0 {
		return ""
	}
	svg, err := draw.Inline(pic.Picture, "x", "", "")
	require.NoError(t, err)
	return svg
}

func calledMetrics(f func()) (out []*result.Metric) {
	for _, m := range result.Metrics {
		read := m.Read
		m.Read = func(r *result.Result) result.Reading {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
			return read(r)
		}
		defer func() { m.Read = read }()
	}
	f()
	return out
}

// TestChartsDrawTheirData: a chart changes exactly with the metrics and fields it names.
func TestChartsDrawTheirData(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	run := gallery(8, everySetting...) // with fewer rounds there is no verdict
	gs := chart.Groups(run)
	other := *run
	other.Results = nil
	for _, r := range run.Results {
		c := *r
		c.Wait = slices.Clone(r.Wait)
		for i := range c.Wait {
			c.Wait[i].Value *= 3
		}
		other.Results = append(other.Results, &c)
	}
	longer := chart.Groups(&other)
	for _, c := range chart.Suite {
		g := chart.Anchored(gs, c.Remote)
		data := c.Draw(g).Data
		if len(data.Metrics)+len(data.Fields) == 0 || len(data.Rounds) != 1 || data.Rounds[0] != 8 {
			t.Errorf("chart %s does not say what it draws of how many rounds: %q", c.Name, data.Sentence())
			continue
		}
		figures := figuresOf(run.Results, data.Metrics)
		var before string
		asked := calledMetrics(func() { before = bodyOf(t, c, g) })
		for _, m := range data.Metrics {
			if !slices.Contains(asked, m) {
				t.Errorf("chart %s names the metric %s, and does not ask for it", c.Name, m.Name)
			}
		}
		for _, m := range asked {
			read := m.Read
			m.Read = func(r *result.Result) result.Reading {
				x := read(r)
				if !x.Bound {
					x.Value *= markOf(r)
				}
				return x
			}
			changed := bodyOf(t, c, g) != before
			says := slices.Contains(data.Metrics, m)
			through := changed && !says && !slices.Equal(figuresOf(run.Results, data.Metrics), figures) // through a metric that it names
			m.Read = read
			if says != changed && !through {
				t.Errorf("chart %s names the metric %s: %v; its picture depends on it: %v", c.Name, m.Name, says, changed)
			}
		}
		for _, field := range data.Fields {
			if field != "wait" || bodyOf(t, c, chart.Anchored(longer, c.Remote)) == before {
				t.Errorf("chart %s names the field %s, and its picture does not depend on it", c.Name, field)
			}
		}
	}
}

// TestNumbersAreOfTheirLines: a cell is the median of its metric over the matching lines.
func TestNumbersAreOfTheirLines(t *testing.T) {
	checked := make(map[string]int)
	for _, dir := range []string{goldenRun, axesRun} {
		run := must(result.Load(dir))
		for _, g := range chart.Groups(run) {
			for _, c := range chart.Suite {
				if c.Remote != g.Remote {
					continue
				}
				tab := c.Draw(g).Numbers
				lock, workers := slices.Index(chart.Texts(tab.Head), "lock"), slices.Index(chart.Texts(tab.Head), "workers")
				if lock < 0 || workers < 0 {
					continue
				}
				for _, row := range tab.Rows {
					var lines []*result.Result
					for _, r := range run.Results {
						if r.Lock.Name == row[lock] && fmt.Sprint(r.Workload.Workers) == row[workers] && judge.Axes(r.Workload) == g.Axes {
							lines = append(lines, r)
						}
					}
					for i, h := range tab.Head {
						if h.Metric == nil {
							continue
						}
						checked[h.Metric.Name]++
						if want := chart.CellText(h.Metric, h.Metric.Summary(lines)); row[i] != want {
							t.Errorf("%s, chart %s, %s with %s workers: %s is %q, its lines say %q", dir, c.Name, row[lock], row[workers], h.Text, row[i], want)
						}
					}
				}
			}
		}
	}
	if len(checked) < 20 {
		t.Errorf("only these metrics were followed back: %v", checked)
	}
}
