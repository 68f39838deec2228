package page

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"testing"

	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

func TestMetricsAreDefined(t *testing.T) {
	run := synthetic.Run(1, 1, 2, []int{1}, synthetic.Fast("a", 1e6))
	html := pageOf(t, run)
	text, _ := markdownOf(t, run)
	var machines bytes.Buffer
	if err := WriteMachinesHTML(&machines, loadMachines(t, machineRuns...)); err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Metrics {
		row := fmt.Sprintf(`<tr id="metric-%s"><th scope="row">%[1]s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>`, m.Name, m.Unit,
			template.HTMLEscapeString(m.Doc), m.Better, template.HTMLEscapeString(m.Paper))
		for name, page := range map[string]string{"page": html, "page of machines": machines.String()} {
			if !strings.Contains(page, row) {
				t.Errorf("the %s does not define %s: %s (%s)", name, m.Name, m.Doc, m.Paper)
			}
		}
		row = fmt.Sprintf("| <a id=\"metric-%s\"></a>%s | %s | %s | %s | %s |\n", m.Name, inlineText(m.Name), inlineText(m.Unit), inlineText(m.Doc), m.Better, inlineText(m.Paper))
		if !strings.Contains(text, row) {
			t.Errorf("the Markdown does not define %s: %s (%s)", m.Name, m.Doc, m.Paper)
		}
	}
}

func TestColumnsLinkToMetrics(t *testing.T) {
	for name, page := range pages(t) {
		links := regexp.MustCompile(`href="#(metric-[^"]*)"`).FindAllStringSubmatch(page, -1)
		if len(links) == 0 && name == goldenRun {
			t.Error("no column of a page links to a metric")
		}
		for _, l := range links {
			if n := strings.Count(page, fmt.Sprintf(`id="%s"`, l[1])); n != 1 {
				t.Errorf("%s links to %s, which is there %d times", name, l[1], n)
			}
		}
	}
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

// TestMarkdownLinksToGlossary: in every form of report, one line under each table of
// figures links its columns to definitions. Every link has exactly one target.
func TestMarkdownLinksToGlossary(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	text, _ := markdownOf(t, gallery(3, everySetting...))
	var machines bytes.Buffer
	if err := WriteMachinesMarkdown(&machines, loadMachines(t, machineRuns...), "charts", func(string, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"report": text, "report of machines": machines.String()} {
		links := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(text, -1)
		if len(links) < 20 {
			t.Errorf("the %s has %d links", name, len(links))
		}
		for _, l := range links {
			if n := strings.Count(text, fmt.Sprintf(`<a id="%s"></a>`, l[1])); n != 1 {
				t.Errorf("the %s links to %s, which is there %d times", name, l[1], n)
			}
		}
		for _, table := range regexp.MustCompile(`(?s)\| lock \| workers \|.*?\n\n(.*?)\n`).FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(table[1], "What the columns mean: [lock](#term-lock) · [workers](#term-workers) · ") {
				t.Errorf("under a table of the %s stands %q", name, table[1])
			}
		}
	}
	m := newMarkdown("", nil, glossary{})
	got := m.meanings(chart.Titles("lock", "rate", "p50"))
	m.glossary.Terms = terms
	got += m.meanings(append(chart.Titles("nothing", "p50", "lock", "p99", "p50"), chart.Piece{Text: "acq/s", Metric: result.Throughput}))
	if want := "What the columns mean: [p50, p99](#term-quantile) · [lock](#term-lock).\n\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}
