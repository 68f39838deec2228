package page

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness/result"
	"locklab/internal/synthetic"
	"locklab/reports/draw"
)

// The checks of axe-core (make test-a11y) on text, and a table and contrast for each chart.

var (
	headingRE = regexp.MustCompile(`<h([1-6])`)
	idRE      = regexp.MustCompile(` id="([^"]*)"`)
	refRE     = regexp.MustCompile(` (?:href="#|aria-labelledby=")([^"]*)"`)
	scrollRE  = regexp.MustCompile(`<(?:div class="scroll"|pre)[^>]*>(?:<p class="stop"[^>]*>)?`)
	chartRE   = regexp.MustCompile(`<div class="scroll"[^>]*tabindex="0"[^>]*>(?:<p [^<]*</p>)?<svg`)
	tableRE   = regexp.MustCompile(`(?s)<table.*?</table>`)
	svgTextRE = regexp.MustCompile(`<text[^>]*style="[^"]*fill:var\(--([a-z0-9]+)\)`)
	figureTag = regexp.MustCompile(`<figure>|<h[234] id|<details><summary>numbers|<p class="doc">[^<]*too many to read here`)
)

func inaccessibleParts(page string) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	level := 0
	for i, m := range headingRE.FindAllStringSubmatch(page, -1) {
		n, _ := strconv.Atoi(m[1])
		if i == 0 && n != 1 || i > 0 && n == 1 || n > level+1 {
			say("heading %d is of level %d after %d", i+1, n, level)
		}
		level = n
	}
	ids := make(map[string]bool)
	for _, m := range idRE.FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			say("id %s is given twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range refRE.FindAllStringSubmatch(page, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if !ids[id] {
				say("nothing has the id %s", id)
			}
		}
	}
	for _, tag := range scrollRE.FindAllString(page, -1) {
		if !strings.Contains(tag, `tabindex="0"`) || !regexp.MustCompile(`aria-label="[^"]{4,}"`).MatchString(tag) {
			say("%s cannot be reached by the keyboard, or has no name", tag)
		}
	}
	for _, tag := range chartRE.FindAllString(page, -1) {
		say("%s is a tab stop also where it does not scroll", tag)
	}
	for _, t := range tableRE.FindAllString(page, -1) {
		if strings.Count(t, "<th>")+strings.Count(t, "<th ") != strings.Count(t, "<th scope=") {
			say("a heading of a table says not of what it is one: %.120s", t)
		}
		if strings.HasPrefix(t, `<table class="numbers"`) && strings.Contains(t, "<tr><td") {
			say("a row has no heading: %.120s", t)
		}
	}
	for _, want := range []string{`<html lang="en">`, `<main id="content"`, `class="skip" href="#content"`, `<nav aria-label="`, ":focus-visible", "prefers-color-scheme: dark", "@media print", ".data a, thead a { color: inherit;", ".scroll { overflow-x: auto; position: relative; }", "prefers-contrast", "forced-colors", `name="viewport"`} {
		if !strings.Contains(page, want) {
			say("the page lacks %s", want)
		}
	}
	for _, bad := range []string{"transition", "animation", "@keyframes", "autofocus", "outline: none", "user-scalable"} { // nothing moves: prefers-reduced-motion has nothing to stop
		if strings.Contains(page[:strings.Index(page, "</head>")], bad) {
			say("the style has %s", bad)
		}
	}
	return append(out, findIllegible(page)...)
}

// networkParts returns the parts of a page that need the network, and its charts without a text.
func networkParts(page string) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(page) > 1<<20 {
		say("the page is %d bytes, want at most 1 MB", len(page))
	}
	for _, bad := range []string{"<link", "<img", "@import", "url("} {
		if strings.Contains(page, bad) {
			say("the page has %q", bad)
		}
	}
	if bad := findUnformatted(page); bad != "" {
		say("%s", bad)
	}
	text := svgRE.ReplaceAllString(page, "")
	for _, ref := range regexp.MustCompile(`https?://[^"<\s]*`).FindAllString(text, -1) {
		say("the page refers to %s", ref)
	}
	for _, svg := range svgRE.FindAllString(page, -1) {
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			say("a chart is not well-formed: %v", err)
		}
		if desc := regexp.MustCompile(`role="img".*<title.*<desc[^>]*>(.*)\.</desc>`).FindStringSubmatch(svg); desc == nil || !strings.Contains(text, ">"+desc[1]) {
			say("a chart is not described by its answer: %.300s", svg)
		}
		if hex := regexp.MustCompile(`style="[^"]*#`).FindString(svg); hex != "" {
			say("a chart has a fixed colour: %s", hex)
		}
	}
	return out
}

func findIllegible(page string) (out []string) {
	tags := figureTag.FindAllString(page, -1)
	for i, tag := range tags {
		if tag == "<figure>" && (i+1 == len(tags) || !strings.HasPrefix(tags[i+1], "<details>") && !strings.HasPrefix(tags[i+1], "<p")) {
			out = append(out, fmt.Sprintf("chart %d has no table", i+1))
		}
	}
	seen := make(map[string]bool)
	for _, m := range svgTextRE.FindAllStringSubmatch(page, -1) {
		if name := m[1]; !seen[name] {
			seen[name] = true
			legible := func(t draw.Token) bool { return t.Name == name }
			if !slices.ContainsFunc(textTokens, legible) && name != draw.Paper.Name { // paper on the dark half of a heat map
				out = append(out, "text in a chart is in "+name)
			}
		}
	}
	return out
}

func pages(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, dir := range []string{goldenRun, axesRun, hardwareRun} {
		out[dir] = htmlOf(t, Report(must(result.Load(dir))))
	}
	all := completeRun()
	all.Faults = synthetic.Faults()
	out["every kind"], out["empty"], out["settings"], out["laboratory"] = htmlOf(t, Report(all)), htmlOf(t, Report(&result.Run{})), htmlOf(t, Report(gallery(3, everySetting...))), htmlOf(t, Report(hardwareFindings()))
	distant := delayedRun(time.Millisecond)
	distant.RoundTrips = []time.Duration{2 * time.Millisecond}
	out["distance"] = htmlOf(t, Report(distant))
	quiet := synthetic.Days("a", 2, 3, 8, []int{1}, []synthetic.Model{synthetic.Fast("mcs", 1e6)}, func(int, string) float64 { return 1 })
	out["history"], out["quiet history"] = htmlOf(t, History(historyOf(synthetic.TwoMachines()))), htmlOf(t, History(historyOf(quiet)))
	out["simulated"], out["beside simulations"] = htmlOf(t, Report(simulatedRun())), htmlOf(t, Report(besideRun()))
	out["machines"] = htmlOf(t, machinesOf(loadMachines(machineRuns...)))
	return out
}

// TestPages: every page is accessible, one file, and its columns lead to definitions.
func TestPages(t *testing.T) {
	for name, page := range pages(t) {
		mistakes := append(inaccessibleParts(page), networkParts(page)...)
		if name != "machines" && !strings.HasSuffix(name, "history") { // whose columns are machines or runs
			mistakes = append(mistakes, findUnexplained(page)...)
		}
		for _, m := range mistakes {
			t.Errorf("%s: %s", name, m)
		}
	}
}

// TestPageChecks: each check of TestPages finds a damage of the page.
func TestPageChecks(t *testing.T) {
	page := htmlOf(t, Report(completeRun()))
	for _, c := range []struct {
		check    func(page string) []string
		old, new string
		want     string // in what the check finds
	}{
		{inaccessibleParts, "<h3 ", "<h5 ", "of level 5"},
		{inaccessibleParts, `<html lang="en">`, "<html>", "lacks <html lang"},
		{inaccessibleParts, `id="violations"`, `id="environment"`, "is given twice"},
		{inaccessibleParts, `id="content"`, `id="c"`, "nothing has the id"},
		{inaccessibleParts, ` tabindex="0"`, "", "cannot be reached"},
		{inaccessibleParts, `aria-label="Chart: `, `tabindex="0" aria-label="Chart: `, "also where it does not scroll"},
		{inaccessibleParts, `aria-label="Chart: `, `data-label="`, "has no name"},
		{inaccessibleParts, `<th scope="col">`, "<th>", "says not of what"},
		{inaccessibleParts, `<tr><th scope="row">`, "<tr><td>", "a row has no heading"},
		{inaccessibleParts, "<summary>numbers", "<summary>figures", "has no table"},
		{inaccessibleParts, "fill:var(--ink)", "fill:var(--sage)", "text in a chart is in sage"},
		{inaccessibleParts, "<style>", "<style> a { transition: all 1s; }", "the style has transition"},
		{inaccessibleParts, ":focus-visible", ":focused", "the page lacks :focus-visible"},
		{networkParts, "<title>", `<link href="x.css"><title>`, "has \"<link\""},
		{networkParts, "<h1>", `<h1>https://example.org`, "refers to https"},
		{networkParts, "<desc", "<text", "not described"},
		{networkParts, "fill:var(--ink)", "fill:#123456", "fixed colour"},
		{networkParts, "</svg>", "<g></svg>", "not well-formed"},
		{findUnexplained, `<a href="#term-worker">workers</a>`, "workers", `"workers" leads to no definition`},
		{findUnexplained, `id="metric-jain"`, `id="metric-jane"`, `"jain" leads to metric-jain,`},
	} {
		broken := strings.ReplaceAll(page, c.old, c.new)
		if got := strings.Join(c.check(broken), "\n"); broken == page || !strings.Contains(got, c.want) {
			t.Errorf("%s by %s was not noticed, or is not there: got %q", c.old, c.new, got)
		}
	}
}

func unfoldPage(page string) string {
	for { // innermost first
		i := strings.Index(page, "</details>")
		if i < 0 {
			return page
		}
		from := strings.LastIndex(page[:i], "<details")
		page = page[:from] + page[i+len("</details>"):]
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

func findUnexplained(page string) (out []string) {
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
