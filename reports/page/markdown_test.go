package page

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/synthetic"
)

func formsOf(t *testing.T, d *Document) map[string]string {
	t.Helper()
	text := writtenBy(t, func(w io.Writer) error { return d.Markdown(w, "charts", noPicture) })
	return map[string]string{"page": htmlOf(t, d), "Markdown": text, "terminal": textOf(t, d)}
}

func completeRun() *result.Run {
	models := []synthetic.Model{synthetic.Fast("mcs", 1e6), synthetic.Fast("ticket", 2e6), synthetic.With(synthetic.Fast("broken", 2e6), breakPromise)}
	run := synthetic.Run(1, 2, 2, []int{1, 2, 4}, append(models, synthetic.Model{Lock: synthetic.Served("redis-lock", harness.Redis, "redis"), Rate: synthetic.Constant(3000), Handed: 0.5})...)
	held := synthetic.Run(1, 2, 2, []int{1, 2, 4}, models...)
	for _, r := range held.Results {
		r.Workload.Hold.Mean = 2000
	}
	run.Results = append(run.Results, held.Results...)
	run.Findings = hardwareFindings().Findings[:2]
	return run
}

var imageRE = regexp.MustCompile(`!\[((?:[^\]\\]|\\.)*)\]\(<([^>]*)>\)`)

// TestMarkdown: the text has the pictures of the page, each with a description.
func TestMarkdown(t *testing.T) {
	run := completeRun()
	pictures := make(map[string][]byte)
	text := writtenBy(t, func(w io.Writer) error {
		return Report(run).Markdown(w, "charts", func(path string, png []byte) error {
			if pictures[path] != nil {
				return fmt.Errorf("%s twice", path)
			}
			pictures[path] = png
			return nil
		})
	})
	images := imageRE.FindAllStringSubmatch(text, -1)
	if drawn := strings.Count(htmlOf(t, Report(run)), "<svg"); len(images) != drawn || len(pictures) != drawn {
		t.Errorf("%d images of %d pictures, want %d", len(images), len(pictures), drawn)
	}
	for _, m := range images {
		if len(m[1]) < 20 {
			t.Errorf("%s has no description: %q", m[2], m[1])
		}
		if _, err := png.DecodeConfig(bytes.NewReader(pictures[m[2]])); err != nil {
			t.Errorf("%s: %v", m[2], err)
		}
	}
	for _, want := range []string{"charts/throughput.png", "charts/throughput-hold-2us.png", "charts/throughput-distributed.png"} {
		if pictures[want] == nil {
			t.Errorf("there is no %s", want)
		}
	}
	if a, b := strings.Count(text, "<details>"), strings.Count(text, "</details>"); a != b || a < len(images) {
		t.Errorf("%d parts are opened and %d closed, of %d charts", a, b, len(images))
	}
	checkTables(t, text)
}

func checkTables(t *testing.T, text string) {
	t.Helper()
	columns, tables := 0, 0
	for line := range strings.Lines(prose(t, text)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(line, "|") - strings.Count(line, `\|`)
		if columns == 0 {
			columns, tables = n, tables+1
		}
		if n != columns || !strings.HasSuffix(line, " |") {
			t.Errorf("a row of %d columns in a table of %d: %q", n-1, columns-1, line)
		}
	}
	if tables == 0 {
		t.Error("there is no table")
	}
}

func prose(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	open := 0 // length of the fence
	for line := range strings.Lines(text) {
		ticks := len(line) - len(strings.TrimLeft(line, "`"))
		switch {
		case open > 0 && ticks >= open && line == strings.Repeat("`", ticks)+"\n":
			open = 0
		case open == 0 && ticks >= 3:
			open = ticks
		case open == 0:
			out.WriteString(line)
		}
	}
	if open > 0 {
		t.Error("a fence is not closed")
	}
	return out.String()
}

// TestEscapes: a reader of the page or the Markdown sees markup in any field as text.
func TestEscapes(t *testing.T) {
	const evil = "<script>alert(1)</script>|`x`*b*_i_~s~[l](http://e.vil)![p](q)&amp;$a$@user\\|\n# h\r\n```\n- <img src=x onerror=y>\x1b[31m"
	run := synthetic.Run(1, 2, 2, []int{1, 2}, synthetic.Fast("mcs", 1e6), synthetic.With(synthetic.Fast("broken", 2e6), breakPromise))
	run.Findings, run.Simulations, run.Manifest.Commit = hardwareFindings().Findings, simulatedRun().Simulations, evil
	spoilRun(run, evil)
	other := synthetic.Run(2, 2, 2, []int{1, 2}, synthetic.Fast("mcs", 1e6))
	spoilRun(other, evil)
	other.Manifest.Machine.Host += "2"
	ms := machinesOf(nameMachines([]*result.Run{run, other}, []string{"x/" + evil, "y/" + evil}))
	forms := formsOf(t, ms)
	for name, page := range map[string]string{"page": htmlOf(t, Report(run)), "machines": forms["page"], "Markdown of machines": prose(t, forms["Markdown"])} {
		if i := strings.Index(page, "<script"); i >= 0 {
			t.Errorf("%s: markup got through: …%s…", name, page[max(0, i-80):i+40])
		}
	}
	checkTables(t, forms["Markdown"])
	for i, svg := range svgRE.FindAllString(htmlOf(t, Report(run)), -1) {
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("figure %d is not well-formed: %v", i, err)
		}
	}
	text := formsOf(t, Report(run))["Markdown"]
	checkTables(t, text)
	shown := prose(t, text)
	allowed := regexp.MustCompile(`</?(details|summary)>|<br>|<a id="(metric|term)-[a-z0-9-]+"></a>|\(<charts/[a-z0-9-]*\.png>\)`)
	if rest := allowed.ReplaceAllString(shown, ""); strings.ContainsAny(rest, "<>") {
		i := strings.IndexAny(rest, "<>")
		t.Errorf("markup got through: …%s…", rest[max(0, i-60):min(len(rest), i+60)])
	}
	shown = regexp.MustCompile("<summary>.*</summary>").ReplaceAllString(shown, "") // HTML, in which Markdown is none
	for _, bad := range []string{"\n# h", "\n- &lt;img", "http://e", "|`", "$a$", "\x1b", "\r", " *b*", "_i_~"} {
		if strings.Contains(shown, bad) {
			t.Errorf("%q got through", bad)
		}
	}
	// The command is in a fence that it cannot close.
	if !strings.Contains(text, "\n````\n") {
		t.Error("a fence of three would be closed by the command")
	}
}

// spoilRun adds text to every text of run.
func spoilRun(run *result.Run, text string) {
	run.Manifest.Command, run.Manifest.Versions = []string{"locklab", text}, map[string]string{text: text, "server": text}
	run.Manifest.Skipped = []result.Skip{{Lock: text, Reason: text}}
	run.Damage = []string{text}
	for _, r := range run.Results {
		r.Warnings = append(r.Warnings, machine.Warning{Text: "w", Remedy: "r"})
	}
	for _, f := range run.Findings {
		f.Tables = append(f.Tables, result.Table{Chart: result.ChartKind(text), Caption: text})
	}
	spoilValue(reflect.ValueOf(&run.Manifest.Machine), text, true)
	for _, part := range []any{run.Results, run.Findings, run.Simulations} {
		spoilValue(reflect.ValueOf(part), text, false)
	}
}

func spoilValue(v reflect.Value, text string, empty bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoilValue(v.Elem(), text, empty)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoilValue(v.Index(i), text, empty)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Needs" && f.Name != "Chart" {
				spoilValue(v.Field(i), text, empty)
			}
		}
	case reflect.String:
		if v.String() != "" || empty {
			v.SetString(v.String() + text)
		}
	}
}
