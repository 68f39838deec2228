package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
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
