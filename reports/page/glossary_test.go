package page

import (
	"testing"

	"locklab/harness/result"
	"locklab/reports/chart"
)

func TestColumnsLinkToMetrics(t *testing.T) {
	gs := chart.Groups(gallery(3, everySetting...))
	for _, c := range chart.Suite {
		for _, h := range c.Draw(chart.Largest(gs, c.Remote)).Numbers.Head {
			for _, m := range result.Metrics {
				if named := h.Text == m.Name || h.Text == m.Unit; named && h.Metric != m {
					t.Errorf("chart %s: the column %s does not link to that metric", c.Name, h.Text)
				}
			}
		}
	}
}
