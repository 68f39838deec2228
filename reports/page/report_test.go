package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/require"
	"locklab/internal/synthetic"
	"locklab/reports/chart"
)

func renderPage(t *testing.T, run *result.Run) string {
	t.Helper()
	return writtenBy(t, func(w io.Writer) error {
		errs := []error{Report(run).HTML(w), Report(run).Text(w, 0)}
		for _, p := range Posters(run) {
			errs = append(errs, writeSVG(w, p))
		}
		return errors.Join(errs...)
	})
}

// TestNothingToDraw: without data, every output has a sentence.
func TestNothingToDraw(t *testing.T) {
	idle := synthetic.Fast("idle", 0)
	for name, run := range map[string]*result.Run{
		"empty":        {},
		"zero":         synthetic.Run(1, 3, 2, []int{1, 2}, idle),
		"one point":    synthetic.Run(1, 1, 2, []int{4}, synthetic.Fast("a", 1e6)),
		"one worker":   synthetic.Run(1, 3, 2, []int{1}, synthetic.Fast("a", 1e6)),
		"constant":     synthetic.Run(1, 3, 2, []int{1, 2, 4}, synthetic.With(synthetic.Fast("a", 1e6), removeNoise)),
		"all violated": synthetic.Run(1, 3, 2, []int{1, 2}, synthetic.With(synthetic.Fast("a", 1e6), breakPromise)),
	} {
		t.Run(name, func(t *testing.T) {
			text := renderPage(t, run)
			if bad := findUnformatted(text); bad != "" || name == "empty" && strings.Contains(text, `id="metrics"`) {
				t.Errorf("the report has %q, or defines metrics of nothing", bad)
			}
			for _, g := range chart.Groups(run) {
				for _, c := range chart.Suite {
					if pic := c.Draw(g); c.Remote == g.Remote && !strings.HasSuffix(pic.Answer, ".") {
						t.Errorf("chart %s answers %q, which is no sentence", c.Name, pic.Answer)
					}
				}
			}
		})
	}
}

// TestWriters: every writer reports a full disk.
func TestWriters(t *testing.T) {
	run := gallery(1)
	report := Report(run)
	for name, write := range map[string]func(io.Writer) error{
		"html":     report.HTML,
		"text":     func(w io.Writer) error { return report.Text(w, 80) },
		"png":      func(w io.Writer) error { return Posters(run)[0].WritePNG(w) },
		"Markdown": func(w io.Writer) error { return report.Markdown(w, "charts", noPicture) },
		"picture of Markdown": func(w io.Writer) error {
			return report.Markdown(io.Discard, "charts", func(_ string, png []byte) error {
				_, err := w.Write(png)
				return err
			})
		},
	} {
		if err := write(full{}); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: got %v", name, err)
		}
	}
	if err := Report(&result.Run{}).Markdown(io.Discard, "charts", nil); err != nil {
		t.Errorf("nothing measured: %v", err)
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestQuality(t *testing.T) {
	run := synthetic.Run(1, 3, 2, []int{1, 2}, synthetic.Fast("a", 1e6))
	if q := assess(run, nil); !q.Good() || q.Broken {
		t.Errorf("a clean run: got %+v", q)
	}
	wrong := synthetic.Run(1, 3, 2, []int{1, 2}, synthetic.With(synthetic.Fast("a", 1e6), breakPromise))
	if text := textOf(t, Report(wrong)); !strings.Contains(text, "Every lock broke a promise in this run, so none has a speed.") {
		t.Errorf("a run without a correct lock:\n%s", text)
	}
	for i, r := range run.Results {
		r.Warnings = []machine.Warning{{Kind: "steal", Text: fmt.Sprintf("steal is %d.5 %%", i), Remedy: "use bare metal"}}
	}
	run.Results[0].Warnings = append(run.Results[0].Warnings, machine.Warning{Text: "throttled", Remedy: "wait"})
	run.Manifest.Warnings = []machine.Warning{{Text: "this is a guest", Remedy: "use bare metal"}}
	run.Manifest.Skipped = []result.Skip{{Lock: "x", Reason: "no Java"}, {Lock: "y", Reason: "no Java"}, {Lock: "w", Reason: "no Redis"}, {Lock: "w", Reason: "no Redis", Conditions: "servers=3"}}
	run.Damage = []string{"line 4 is cut short"}
	run.Manifest.Finished, run.Manifest.Interrupted = time.Time{}, true
	run.Results = run.Results[:5]
	q := assess(run, nil)
	if q.Good() || len(q.Warnings) != 3 || len(q.Skipped) != 2 || q.Skipped[0] != "x and y were not measured: no Java" {
		t.Fatalf("got %+v, want three kinds of warning and two reasons", q)
	}
	require.Equal(t, "Partial", q.Partial, "Partial run: it ended in round 3 of 3, after 5 results.")
	require.Equal(t, "Headline", q.Headline(), "Run quality: no results to decide by, 3 locks not measured, 1 line of the file damaged.")
	requireContains(t, renderPage(t, run), "Partial run", "no Java", "cut short", "Use bare metal")
}

var tagsRE = regexp.MustCompile(`(?s)<(style|svg)[^>]*>.*?</(style|svg)>|<[^>]+>`)

// TestBriefPage: the headline, the quality, each table with its chart, at most four answers, and
// then at most 15 charts, in 6,000 words. Every link has its anchor.
func TestBriefPage(t *testing.T) {
	run := chaosRun(t)
	run.Results = append(run.Results, gallery(12).Results...)
	run.Results = append(run.Results, varyResults(run, func(w *harness.Workload) { w.Reads = 90 }, 1)...)
	page, whole := htmlOf(t, Brief(run, "details.html")), htmlOf(t, Report(run))
	charts, words := strings.Count(page, "<svg"), len(strings.Fields(tagsRE.ReplaceAllString(page, " ")))
	if charts < 2 || charts > 15 || words > 6000 || strings.Count(whole, "<svg") <= charts {
		t.Errorf("%d charts, %d words", charts, words)
	}
	parts := regexp.MustCompile(`class="(lead|compare|decides|ranked|situation)"|Run quality:|>All situations<|<h3 id="(throughput)`).FindAllStringSubmatch(page, -1)
	names := slices.Compact(result.Each(parts, func(m []string) string { return cmp.Or(m[1]+m[2], m[0]) }))
	if got, want := strings.Join(names, " "), "lead Run quality: compare decides ranked compare decides ranked situation >All situations< throughput"; got != want || strings.Count(page, `class="situation"`) != 4 {
		t.Errorf("the parts are %s, want %s, with 4 situations", got, want)
	}
	if n := strings.Count(whole, `class="situation"`); n != len(judge.Decisions(run)) || !strings.Contains(page, `<tr class="chosen"><th scope="row">zk-handoff`) {
		t.Errorf("the details have %d situations, or no table marks the chosen lock", n)
	}
	has := func(page, id string) bool { return strings.Contains(page, ` id="`+id+`"`) }
	links := 0
	for _, m := range regexp.MustCompile(`href="([^"#]*)#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if links++; m[1] == "" && !has(page, m[2]) || m[1] != "" && (m[1] != "details.html" || !has(whole, m[2])) {
			t.Errorf("the link %s leads nowhere", m[0])
		}
	}
	if links == 0 {
		t.Error("the page has no links")
	}
}

func schemaOf(t *testing.T, part string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("report.schema.json", must(jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema)))))
	return must(c.Compile("report.schema.json" + part))
}

func jsonOf(t *testing.T, run *result.Run) string {
	t.Helper()
	return writtenBy(t, func(w io.Writer) error { return WriteJSON(w, run) })
}

func TestJSON(t *testing.T) {
	s := schemaOf(t, "")
	golden := must(result.Load(goldenRun))
	all := completeRun()
	all.Faults = synthetic.Faults()
	stuck := synthetic.Run(1, 9, 2, []int{2}, synthetic.Fast("sync-mutex", 1e6), synthetic.Fast("a", 0))
	for name, run := range map[string]*result.Run{
		"golden": golden, "everything": all, "nothing": {}, "three rounds": gallery(3), "zero rates": stuck,
		"a broken lock": synthetic.Run(1, 9, 2, []int{1, 2}, synthetic.Fast("sync-mutex", 1e6), synthetic.With(synthetic.Fast("b", 1e6), breakPromise)),
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(jsonOf(t, run)))
		if err == nil {
			err = s.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	tried := chaosRun(t)
	tried.Results = append(tried.Results, gallery(9).Results...)
	text := jsonOf(t, tried)
	for _, part := range []string{strconv.Quote(headlineOf(tried)), `"status": "control"`, `"strength": "strong"`, `"held": [`} {
		if !strings.Contains(text, part) || strings.Contains(text, "(control)") {
			t.Errorf("%s is missing, or a name contains a status", part)
		}
	}
}

func TestJSONSchemaRejects(t *testing.T) {
	s := schemaOf(t, "")
	text := jsonOf(t, gallery(10))
	for _, damage := range [][2]string{
		{`"rule": "no default"`, `"rule": "whim"`}, {`"reading": "slower"`, `"reading": "slow"`}, {`"schema": 1`, `"schema": 2`},
		{`"rounds": 10`, `"rounds": -1`}, {`"workers": 1`, `"workers": 0`}, {`"headline": `, `"leadline": `}, {`"grade": "`, `"grade": "very `},
	} {
		broken := strings.Replace(text, damage[0], damage[1], 1)
		if doc, err := jsonschema.UnmarshalJSON(strings.NewReader(broken)); err != nil || broken == text || s.Validate(doc) == nil {
			t.Errorf("%s by %s: it was not noticed, or is not there (%v)", damage[0], damage[1], err)
		}
	}
}

func TestFacts(t *testing.T) {
	site := func(s result.Site) result.Manifest { return result.Manifest{Sites: []result.Site{s}} }
	for want, m := range map[string]result.Manifest{
		"redis servers: version 7.0.15; appendonly no; a request and its answer take 17 µs": site(result.Site{
			Kind: harness.KindRedis, Version: "7.0.15", Servers: 1, Independent: 1, Settings: "appendonly no", Direct: 17000}),
		"redis servers, servers=3 delay=1ms: 3 that replicate; a request and its answer take 20 µs; 1.1 ms with the delay of 1ms": site(result.Site{
			Kind: harness.KindRedis, Conditions: "servers=3 delay=1ms", Servers: 3, Independent: 1, Delay: time.Millisecond, Direct: 20000, Delayed: 1100000}),
		"zookeeper servers, servers=3 durable=on: 3 that replicate; the disk (ext4) keeps a small write in 2 ms": site(result.Site{
			Kind: harness.KindZooKeeper, Conditions: "servers=3 durable=on", Servers: 3, Independent: 1, FileSystem: "ext4", SyncTime: 2e6}),
		"redis servers: 3 independent ones; the disk (file system not known) keeps a small write in 2 ms": site(result.Site{
			Kind: harness.KindRedis, Servers: 1, Independent: 3, SyncTime: 2e6}),
		"host b: 8 × C, linux arm64 6.1":                                              {Parts: []result.Part{{Rank: 1, Host: "b", OS: "linux", Arch: "arm64", Kernel: "6.1", CPU: "C", CPUs: 8}}},
		"section map: 21.5 ns for a change of its data, by one worker without a lock": {Sections: map[harness.Section]float64{harness.SectionMap: 21.5}},
	} {
		facts := environment(&result.Run{Manifest: m})
		if !slices.ContainsFunc(facts, func(f fact) bool { return numfmt.Plain(f.Name+": "+f.Value) == want }) {
			t.Errorf("got %q, want %q", facts, want)
		}
	}
}

func varyResults(run *result.Run, set func(w *harness.Workload), factor float64) (out []*result.Result) {
	for _, r := range run.Results {
		c := *r
		set(&c.Workload)
		c.Ops, c.Handovers = uint64(float64(c.Ops)*factor), uint64(float64(c.Handovers)*factor)
		out = append(out, &c)
	}
	return out
}

var otherSettings = map[string]func(w *harness.Workload){
	"pinning": func(w *harness.Workload) { w.Pin = harness.PinCPU },
	"hold":    func(w *harness.Workload) { w.Hold.Mean = 10 * time.Microsecond },
}

func TestManyGroups(t *testing.T) {
	run := &result.Run{}
	for i := range 60 {
		part := gallery(1)
		for _, r := range part.Results {
			r.Workload.Think.Mean = time.Duration(i) * time.Microsecond
		}
		run.Results = append(run.Results, part.Results...)
	}
	html := htmlOf(t, Report(run))
	if n := len(html); n > 3<<20 {
		t.Errorf("the page is %d bytes, want at most 3 MiB", n)
	}
	requireContains(t, html, `<details class="group">`, "Without their own charts")
}
