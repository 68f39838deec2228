package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

// mostOpen limits the unfolded figures of a page, so that a printout is short enough to carry.
const mostOpen = 12

var (
	styleRE = regexp.MustCompile(`(?s)@media print \{.*?\n\}`)
)

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
		if m[1] != "Violations" { // they are evidence against the run
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

func paperPages(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, dir := range []string{goldenRun, axesRun} {
		run, err := result.Load(dir)
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
				return i < len(cells) && !strings.Contains(cells[i][1], `class="sign`) && numRE.MatchString(strings.TrimSpace(tagRE.ReplaceAllString(cells[i][1], "")))
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

func TestHeadsLead(t *testing.T) {
	all := paperPages(t)
	run, err := result.Load("../testdata/hardware")
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

func TestAnswerRows(t *testing.T) {
	run := synthetic.Zoo(10)
	run.Faults = synthetic.Faults()
	page := pageOf(t, run)
	text, _ := markdownOf(t, run)
	for _, r := range answers(judge.Decisions(run)) {
		if r.Why == "" || (r.Use != "" && (r.Rate == "" || r.Doc == "")) {
			t.Errorf("a cell is empty: %+v", r)
		}
		if r.Use != "" && (!strings.Contains(page, "<b>"+r.Use+"</b>") || !strings.Contains(text, "**"+inlineText(r.Use)+"**")) {
			t.Errorf("%s: %s is not on the page", r.Requirement, r.Use)
		}
	}
	if i, k := strings.Index(text, "| requirement | lock | rate |"), strings.Index(text, "!["); i < 0 || k < i {
		t.Errorf("the Markdown has the decisions at %d, a picture at %d", i, k)
	}
}
