package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
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
