package page

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/harness"
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

func inaccessible(page string) (out []string) {
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
	}
	for _, want := range []string{`<html lang="en">`, `<main id="content"`, `class="skip" href="#content"`, `<nav aria-label="`, ":focus-visible", "prefers-color-scheme: dark", "@media print", ".scroll { overflow-x: auto; position: relative; }", "prefers-contrast", "forced-colors", `name="viewport"`} {
		if !strings.Contains(page, want) {
			say("the page lacks %s", want)
		}
	}
	for _, bad := range []string{"transition", "animation", "@keyframes", "autofocus", "outline: none", "user-scalable"} { // nothing moves: prefers-reduced-motion has nothing to stop
		if strings.Contains(page[:strings.Index(page, "</head>")], bad) {
			say("the style has %s", bad)
		}
	}
	return append(out, illegible(page)...)
}

func illegible(page string) (out []string) {
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
	for _, dir := range []string{goldenRun, axesRun, "../testdata/hardware"} {
		run, err := result.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		out[dir] = pageOf(t, run)
	}
	out["every kind"], out["empty"] = pageOf(t, everything()), pageOf(t, &result.Run{})
	var buf bytes.Buffer
	if err := WriteMachinesHTML(&buf, loadMachines(t, machineRuns...)); err != nil {
		t.Fatal(err)
	}
	out["machines"] = buf.String()
	return out
}

func TestAccess(t *testing.T) {
	for name, page := range pages(t) {
		for _, m := range inaccessible(page) {
			t.Errorf("%s: %s", name, m)
		}
	}
}

func TestAccessIsChecked(t *testing.T) {
	page := pageOf(t, everything())
	for want, damage := range map[string][2]string{
		"of level 5":                    {"<h3 ", "<h5 "},
		"lacks <html lang":              {`<html lang="en">`, "<html>"},
		"is given twice":                {`id="violations"`, `id="environment"`},
		"nothing has the id":            {`id="content"`, `id="c"`},
		"cannot be reached":             {` tabindex="0"`, ""},
		"also where it does not scroll": {`aria-label="Chart: `, `tabindex="0" aria-label="Chart: `},
		"has no name":                   {`aria-label="Chart: `, `data-label="`},
		"says not of what":              {`<th scope="col">`, "<th>"},
		"has no table":                  {"<summary>numbers", "<summary>figures"},
		"text in a chart is in sage":    {"fill:var(--ink)", "fill:var(--sage)"},
		"the style has transition":      {"<style>", "<style> a { transition: all 1s; }"},
		"the page lacks :focus-visible": {":focus-visible", ":focused"},
	} {
		if !strings.Contains(page, damage[0]) {
			t.Errorf("the page has no %s to damage", damage[0])
		}
		if got := strings.Join(inaccessible(strings.ReplaceAll(page, damage[0], damage[1])), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s by %s was not noticed: got %q", damage[0], damage[1], got)
		}
	}
}

func TestPageOfStandardSuite(t *testing.T) {
	const most = 3_000_000
	var locals, readers, remotes []synthetic.Model
	for i := range 28 {
		l := synthetic.Local(fmt.Sprintf("local-lock-%d", i), harness.Families[i%2], []harness.Status{harness.Correct, harness.Correct}[i%2])
		locals = append(locals, synthetic.Model{Lock: l, Rate: synthetic.Constant(float64(1+i) * 1e6), Skew: float64(i % 3), Handed: 0.5, Noise: 0.05})
	}
	for i := range 6 {
		l := synthetic.Local(fmt.Sprintf("rw-lock-%d", i), harness.Blocking, harness.Correct)
		readers = append(readers, synthetic.Model{Lock: l, Rate: synthetic.Constant(float64(1+i) * 1e6), Skew: 1, Noise: 0.05})
	}
	for i := range 14 {
		kind := []string{"redis", "zookeeper"}[i%2]
		remotes = append(remotes, synthetic.Model{Lock: synthetic.Served(fmt.Sprintf("remote-lock-%d", i), harness.Families[2+i%2], kind), Rate: synthetic.Constant(float64(1+i) * 100), Handed: 1, Noise: 0.05})
	}
	run := synthetic.Run(1, 10, 64, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, locals...)
	add := func(other *result.Run, edit func(w *harness.Workload)) {
		for _, r := range other.Results {
			edit(&r.Workload)
		}
		run.Results = append(run.Results, other.Results...)
	}
	add(synthetic.Run(2, 10, 64, []int{64, 512}, readers...), func(w *harness.Workload) { w.Reads = 90 })
	add(synthetic.Run(3, 10, 64, []int{1, 2, 8}, remotes...), func(w *harness.Workload) { w.Hold = harness.Span{} })
	run.Findings = laboratory().Findings
	var page bytes.Buffer
	if err := errors.Join(WriteHTML(&page, run)); err != nil {
		t.Fatal(err)
	}
	if n := page.Len(); n > most || n < most/20 {
		t.Errorf("the page has %d bytes, want %d at most, and no less than a twentieth", n, most)
	}
	t.Logf("%d results make a page of %.2f MB", len(run.Results), float64(page.Len())/1e6)
}
