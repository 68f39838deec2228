package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/survival"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

// mostOpen is how many figures a page of a run shows that are not behind a question: so
// many fill the pages of paper that a reader takes along.
const mostOpen = 12

var (
	styleRE = regexp.MustCompile(`(?s)@media print \{.*?\n\}`)
)

// unfolded returns page without what is folded.
func unfolded(page string) string {
	for { // innermost first
		i := strings.Index(page, "</details>")
		if i < 0 {
			return page
		}
		from := strings.LastIndex(page[:i], "<details")
		page = page[:from] + page[i+len("</details>"):]
	}
}

// unprintable lists what keeps a page from being one sheet and few figures on paper.
func unprintable(page string) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	open := unfolded(page)
	main := open[strings.Index(open, "<main"):]
	sheet := strings.Index(main, `<section class="sheet"`)
	if sheet < 0 {
		say("there is no sheet")
	} else if before := main[:sheet]; strings.Contains(before, "<figure") || strings.Contains(before, "<table") || strings.Contains(before, "<h2") {
		say("the sheet does not come first")
	}
	if n := strings.Count(open, "<figure>"); n > mostOpen {
		say("%d figures are open, want %d at most", n, mostOpen)
	}
	body := open[:max(0, strings.Index(open, `<div class="apart">`))]
	for _, m := range regexp.MustCompile(`aria-label="([^"]*)">\s*<table class="numbers`).FindAllStringSubmatch(body, -1) {
		if m[1] != "Violations" { // they speak against the run
			say("the table %q is printed", m[1])
		}
	}
	css := strings.Join(styleRE.FindAllString(page, -1), "\n")
	for _, want := range []string{`details:not([open])`, `.apart`, `.sheet { break-after: page; }`, `#print-all:is(:checked, :target)`} {
		if !strings.Contains(css, want) {
			say("the style for paper lacks %s", want)
		}
	}
	if !strings.Contains(page, `type="checkbox" id="print-all"`) || !strings.Contains(page, `for="print-all"`) {
		say("no box prints all")
	}
	if !strings.Contains(open, `class="doc paper">Not printed`) {
		say("the page does not say what is not printed")
	}
	return out
}

// paperPages returns pages of real and made-up runs.
func paperPages(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, dir := range []string{goldenRun, axesRun} {
		run, err := resultfile.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		out[dir] = pageOf(t, run)
	}
	all := everything()
	all.Faults = synthetic.Faults()
	out["every kind"] = pageOf(t, all)
	return out
}

func TestPaper(t *testing.T) {
	for name, page := range paperPages(t) {
		for _, m := range unprintable(page) {
			t.Errorf("%s: %s", name, m)
		}
	}
}

// TestPaperIsChecked damages a page in every way that the check must notice.
func TestPaperIsChecked(t *testing.T) {
	page := pageOf(t, everything())
	for want, damage := range map[string][2]string{
		"there is no sheet":             {`<section class="sheet"`, `<section class="bed"`},
		"the sheet does not come first": {`<section class="sheet"`, `<h2>first</h2><section class="sheet"`},
		"figures are open":              {`<details class="behind">`, `<details><summary>x</summary></details>` + strings.Repeat("<figure></figure>", mostOpen) + `<details>`},
		"is printed":                    {`<details><summary>numbers`, `<div aria-label="x"><table class="numbers"></table></div><details><summary>numbers`},
		"lacks details:not":             {`details:not([open])`, `details.closed`},
		"lacks .sheet":                  {`.sheet { break-after: page; }`, ``},
		"no box prints all":             {`id="print-all"`, `id="print-some"`},
		"does not say":                  {`Not printed`, `Printed`},
	} {
		if !strings.Contains(page, damage[0]) {
			t.Errorf("the page has no %s to damage", damage[0])
		}
		if got := strings.Join(unprintable(strings.ReplaceAll(page, damage[0], damage[1])), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s by %s was not noticed: got %q", damage[0], damage[1], got)
		}
	}
}

var (
	theadRE = regexp.MustCompile(`(?s)<thead.*?</thead>`)
	headRE  = regexp.MustCompile(`(?s)<th scope="col"[^>]*>(.*?)</th>`)
	rowRE   = regexp.MustCompile(`(?s)<tr[^>]*>(.*?)</tr>`)
	cellRE  = regexp.MustCompile(`(?s)<t[dh][^>]*>(.*?)</t[dh]>`)
	tagRE   = regexp.MustCompile(`<[^>]*>`)
	numRE   = regexp.MustCompile(`^(?:[≤≥<>−+±×-] ?)?[0-9]`)
	hrefRE  = regexp.MustCompile(`href="#([^"]*)"`)
)

// unexplained lists the heads over columns of numbers of a page that lead nowhere on it.
func unexplained(page string) (out []string) {
	for _, table := range tableRE.FindAllString(page, -1) {
		if strings.HasPrefix(table, `<table class="facts`) {
			continue // words
		}
		heads := headRE.FindAllStringSubmatch(theadRE.FindString(table), -1)
		rows := rowRE.FindAllStringSubmatch(theadRE.ReplaceAllString(table, ""), -1)
		for i, h := range heads {
			if !slices.ContainsFunc(rows, func(row []string) bool {
				cells := cellRE.FindAllStringSubmatch(row[1], -1)
				return i < len(cells) && numRE.MatchString(strings.TrimSpace(tagRE.ReplaceAllString(cells[i][1], "")))
			}) {
				continue
			}
			text := tagRE.ReplaceAllString(h[1], "")
			link := hrefRE.FindStringSubmatch(h[1])
			switch {
			case link == nil:
				out = append(out, fmt.Sprintf("the column %q leads to no definition: is it in terms.go?", text))
			case !strings.Contains(page, fmt.Sprintf(` id="%s"`, link[1])):
				out = append(out, fmt.Sprintf("the column %q leads to %s, which is not on the page", text, link[1]))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestHeadsLead: every head over numbers leads to what they are, on the page itself.
func TestHeadsLead(t *testing.T) {
	all := paperPages(t)
	run, err := resultfile.Load("testdata/hardware")
	if err != nil {
		t.Fatal(err)
	}
	all["hardware"] = pageOf(t, run)
	all["settings"] = pageOf(t, gallery(3, everySetting...))
	for name, page := range all {
		for _, m := range unexplained(page) {
			t.Errorf("%s: %s", name, m)
		}
	}
	page := all["every kind"]
	for want, damage := range map[string][2]string{
		`"workers" leads to no definition`: {`<a href="#term-workers">workers</a>`, "workers"},
		`"jain" leads to metric-jain,`:     {`id="metric-jain"`, `id="metric-jane"`},
	} {
		if got := strings.Join(unexplained(strings.ReplaceAll(page, damage[0], damage[1])), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s by %s was not noticed: got %q", damage[0], damage[1], got)
		}
	}
}

// TestTerms: no two terms have one name, and every one says what it is.
func TestTerms(t *testing.T) {
	seen := make(map[string]bool)
	for _, x := range slices.Concat(terms, modelTerms) {
		for _, name := range append([]string{x.Name}, x.heads...) {
			if seen[name] || headMetrics[name] != nil {
				t.Errorf("%q stands twice among the terms", name)
			}
			seen[name] = true
		}
		if len(x.Doc) < 20 {
			t.Errorf("%q is undocumented", x.Name)
		}
	}
}

// TestChanges: what would change an answer is computed from the run.
func TestChanges(t *testing.T) {
	local := func(name string, rate float64, edits ...func(*synthetic.Model)) synthetic.Model {
		return synthetic.With(synthetic.Fast(name, rate), append(edits, func(m *synthetic.Model) { m.Noise = 0.001 })...)
	}
	skewed := func(m *synthetic.Model) { m.Skew = 4 }
	blocking := func(m *synthetic.Model) { m.Lock.Family = harness.Blocking }
	lesser := func(m *synthetic.Model) { m.Lock.Status = harness.Reference }
	served := func(name string, rate float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Served(name, harness.Redis, "redis"), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.001}
	}
	safe, quick := served("safe", 500), served("quick", 900)
	tried := func(lock harness.Lock, seen map[harness.Harm]int) []*harness.FaultResult {
		return []*harness.FaultResult{synthetic.Fault("failover", lock, 200, 0, seen, harness.Failover), synthetic.Fault("pause", lock, 200, 0, nil, harness.Recovery)}
	}
	for _, c := range []struct {
		name   string
		rounds int
		models []synthetic.Model
		faults []*harness.FaultResult
		want   []string // of the last row, that with the most workers
		not    string
	}{
		{"a rival near", 10, []synthetic.Model{local("a", 1.2e6), local("b", 1e6)}, nil, []string{"b, if it gained 20 %"}, "served alike"},
		{"a rival near, and one for reference", 10, []synthetic.Model{local("a", 1.2e6), local("r", 1.1e6, lesser), local("b", 1e6)}, nil, []string{"b, if it gained 20 %"}, "r, if"},
		{"a rival far", 10, []synthetic.Model{local("a", 4e6), local("b", 1e6)}, nil, []string{"speed hardly: the next, b, has 25 % of its rate"}, "gained"},
		{"a fairer one", 10, []synthetic.Model{local("a", 4e6, skewed), local("b", 1e6)}, nil, []string{"if workers must be served alike: b (Jain 100 %, not", "at 25 % of its rate"}, ""},
		{"fairer, of those for use", 10, []synthetic.Model{local("a", 4e6, skewed), local("r", 2e6, lesser), local("b", 1e6)}, nil, []string{"served alike: b ("}, "kept for reference"},
		{"fairer, kept for reference", 10, []synthetic.Model{local("a", 4e6, skewed), local("r", 2e6, lesser)}, nil, []string{"served alike: r (kept for reference) ("}, ""},
		{"fairer, and not for more workers than CPUs", 10, []synthetic.Model{local("a", 2e6, skewed, blocking), local("s", 4e6), local("r", 1e6, lesser, blocking)}, nil, []string{"served alike: r (kept for reference) ("}, "alike: s"},
		{"fairer, and only one that is not for more workers than CPUs", 10, []synthetic.Model{local("a", 2e6, skewed, blocking), local("s", 4e6)}, nil, nil, "served alike"},
		{"alone", 10, []synthetic.Model{local("a", 1e6)}, nil, []string{"measuring others beside it (--locks default)"}, "gained"},
		{"alone, beside a spin lock", 10, []synthetic.Model{local("a", 1e6, blocking), local("b", 9e5)}, nil, []string{"another recommended lock (--locks): no other of its kind was measured"}, "beside it"},
		{"alone, and the fastest for reference", 10, []synthetic.Model{local("a", 1e6), local("r", 2e6, lesser), local("q", 3e6, lesser)}, nil, []string{"kept for reference (--candidates all): q, 3 times as fast"}, "another"},
		{"alone, and none for reference is faster", 10, []synthetic.Model{local("a", 1e6), local("r", 1.04e6, lesser), local("q", 9e5, lesser)}, nil, []string{"of 2 locks like it, kept for reference, none was shown to be faster"}, "--candidates"},
		{"alone, and too few rounds for those for reference", 6, []synthetic.Model{local("a", 1e6), local("r", 2e6, lesser), local("q", 3e6, lesser), local("p", 3e6, lesser)}, nil, []string{"more rounds: these are too few to tell whether one of 3 locks like it, kept for reference, is faster"}, "no other"},
		{"a rival, and a faster one for reference", 10, []synthetic.Model{local("a", 1.2e6), local("b", 1e6), local("r", 2e6, lesser)}, nil, []string{"(--candidates all): r, 1.7 times as fast", "b, if it gained 20 %"}, "another"},
		{"rounds", 3, []synthetic.Model{local("a", 2e6), local("b", 1e6)}, nil, []string{"6 rounds instead of 3 (--rounds 6)"}, "noise"},
		{"not tested", 10, []synthetic.Model{safe}, nil, []string{"a test of failures (locklab chaos"}, "if you need"},
		{"tested", 10, []synthetic.Model{safe, quick}, slices.Concat(tried(safe.Lock, nil), tried(quick.Lock, map[harness.Harm]int{harness.TwoHolders: 50})),
			[]string{"quick, 1.8 times as fast", "not tested here:"}, "a test of failures"},
	} {
		run := synthetic.Run(1, c.rounds, 2, []int{1, 8}, c.models...)
		run.Faults = c.faults
		vs := verdict.All(run)
		got := numfmt.Plain(strings.Join(changes(run, vs[len(vs)-1]), "\n"))
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", c.name, got, want)
			}
		}
		if c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: got %q, want nothing of %q", c.name, got, c.not)
		}
	}
}

// TestSheet: the sheet has a row for each verdict, in short cells, in the page and in
// Markdown.
func TestSheet(t *testing.T) {
	run := synthetic.Zoo(10)
	run.Faults = synthetic.Faults()
	page := pageOf(t, run)
	text, _ := markdownOf(t, run)
	s := newSummary(run, verdict.All(run), 10)
	for _, r := range s.Rows {
		if r.Use != "" && (len(r.Cost) == 0 || len(r.Survives) == 0 || r.Short == "" || len(r.Changes) == 0) {
			t.Errorf("%s: a cell is empty: %+v", r.Title, r)
		}
		for _, cell := range append(r.Shown(), r.Short, r.Tested) {
			if n := len([]rune(cell)); n > 160 {
				t.Errorf("%s: %d characters in a cell: %q", r.Title, n, cell)
			}
		}
		if r.Use != "" && (!strings.Contains(page, "<b>"+r.Use+"</b>") || !strings.Contains(text, "**"+inlineText(r.Use)+"**")) {
			t.Errorf("%s: %s is not on the sheet", r.Title, r.Use)
		}
	}
	if i, k := bytes.Index([]byte(text), []byte("| requirement | lock | cost |")), strings.Index(text, "!["); i < 0 || k < i {
		t.Errorf("the Markdown does not begin with the sheet: it is at %d, a picture at %d", i, k)
	}
}

// TestSurvivesBounded: what held is said with the share of faults that may break it all the
// same, by the guarantee with the fewest, and what broke bounds nothing.
func TestSurvivesBounded(t *testing.T) {
	lock := synthetic.Served("locks", harness.Redis, harness.KindRedis)
	recovery := synthetic.Fault("pause", lock, 2, 0, nil, harness.Recovery)
	failover := synthetic.Fault("failover", lock, 3, 0, nil, harness.Failover)
	broken := synthetic.Fault("failover", lock, 1, 0, map[harness.Harm]int{harness.TwoHolders: 1}, harness.Failover)
	stuck := synthetic.Fault("pause", lock, 1, 0, map[harness.Harm]int{harness.Stuck: 1}, harness.Recovery)
	for want, faults := range map[string][]*harness.FaultResult{
		"in 5 faults; what held breaks in at most 78 % of its faults": {recovery, failover}, // 1 - 0.05^(1/2) = 0.776
		"in 3 faults; what held breaks in at most 78 % of its faults": {recovery, broken},
		"in 4 faults; what held breaks in at most 63 % of its faults": {failover, stuck},
		"in 1 fault": {broken},
	} {
		_, got := endures(survival.ClassOf(faults, "locks"))
		if strings.ReplaceAll(got, numfmt.Space, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
