package result

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"locklab/harness"
	"locklab/internal/machine"
)

func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "plain", "two\nlines", "\x1b[31mred", "\u009b31m", "a\u202eb", "\xff\xfe", "\u2028", "\ufffd", "tab\t", "é 中 \u00a0", "\x00", "\u200d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := OneLine(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) || r == '\u2028' || r == '\u2029' }) {
			t.Errorf("%q became %q", s, got)
		}
		if OneLine(got) != got || printable(s) != (got == s) {
			t.Errorf("%q became %q, then %q", s, got, OneLine(got))
		}
		if w := word(s); strings.ContainsFunc(w, unicode.IsSpace) || strings.Contains(w, ",") {
			t.Errorf("%q is the word %q", s, w)
		}
	})
}

// hostile is text that would write elsewhere on a terminal, begin a line of bench.txt, or
// end a field of a log.
const hostile = "x\nBenchmarkLock/lock=mcs/workers=1/hold=0s 1 0.001 ns/op\r\x1b[2J\u202e, 9 ns/op"

func hostileResult(violated bool) *harness.Result {
	r := sample()
	r.Lock.Name, r.Lock.Doc, r.Lock.Paper, r.Lock.Family, r.Clock = hostile, hostile, hostile, hostile, hostile
	r.Workload.Wait, r.Workload.Pin = hostile, hostile
	r.Retries = []string{hostile}
	r.Ranks = []harness.Rank{{Host: hostile, Clock: hostile}}
	r.Warnings = []harness.Warning{{Text: hostile, Remedy: hostile, Kind: hostile}}
	r.Violations = nil
	if violated {
		r.Violations = []harness.Violation{{Rule: hostile, Detail: hostile, Count: 1, Trace: []string{hostile}}}
	}
	return r
}

func TestHostileText(t *testing.T) {
	for _, violated := range []bool{false, true} {
		r := hostileResult(violated)
		var bench bytes.Buffer
		run := &Run{Manifest: Manifest{Machine: machine.Environment{CPU: hostile, GOMAXPROCS: 2}}, Results: []*harness.Result{r}}
		if err := benchLines.export(&bench, run); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(bench.String(), "\r\x1b\u202e") {
			t.Errorf("bench.txt holds %q", bench.String())
		}
		in := benchfmt.NewReader(&bench, "bench.txt")
		results := 0
		for in.Scan() {
			switch rec := in.Result().(type) {
			case *benchfmt.UnitMetadata:
			case *benchfmt.Result:
				results++
				if v, ok := rec.Value("ns/op"); ok && (v == 0.001 || v == 9) {
					t.Errorf("it was taken for %v", rec)
				}
			default:
				t.Errorf("it was taken for %+v", rec)
			}
		}
		if want := map[bool]int{false: 1}[violated]; results != want || in.Err() != nil {
			t.Errorf("violated %v: %d results (%v), want %d", violated, results, in.Err(), want)
		}
		for _, d := range []derived{waitLog, handoverLog} {
			var log bytes.Buffer
			if err := d.export(&log, run); err != nil {
				t.Fatal(err)
			}
			_, line, _ := strings.Cut(log.String(), "Interval_Compressed_Histogram\"\n")
			want := 4 // commas: tag, start, length, maximum, histogram
			if violated {
				want = strings.Count(line, ",") // a comment
			}
			if strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\r\x1b\u202e") || strings.Count(line, ",") != want {
				t.Errorf("%s holds %q", d.name, line)
			}
		}
		text := encodeRecord(t, Record{Result: r})
		read := decodeLine(t, text)
		requireClean(t, read)
	}
}

// requireClean encodes rec again: text that is not clean would show its escape.
func requireClean(t *testing.T, rec Record) {
	t.Helper()
	line := encodeRecord(t, rec)
	for _, bad := range []string{`\n`, `\r`, `\u001b`, "\u202e"} {
		if bytes.Contains(bytes.TrimSpace(line), []byte(bad)) {
			t.Errorf("read back, %q is still in it:\n%s", bad, line)
		}
	}
}

func TestHostileManifest(t *testing.T) {
	dir := t.TempDir()
	out, err := Create(dir, Manifest{Started: time.Now(), Commit: hostile, Command: []string{"locklab", hostile}, Versions: map[string]string{hostile: hostile},
		Skipped: []Skip{{Lock: hostile, Reason: hostile}}, Saturations: []Saturation{{Lock: hostile, Missing: hostile, Trials: []Trial{{Over: hostile}}}}, Machine: machine.Environment{CPU: hostile}, Job: hostile, Parts: []Part{{Host: hostile, CPU: hostile}}, Flags: map[string]string{"locks": "a\nb"}})
	if err != nil {
		t.Fatal(err)
	}
	found := &Finding{Name: hostile, Listing: "one\n\x1b[2Jtwo\n", Tables: []Table{{Rows: []Row{{Label: hostile, Cells: []Cell{{Text: hostile}}}}}}}
	if err := out.AppendFinding(found); err != nil {
		t.Fatal(err)
	}
	finishRun(t, out)
	run := loadRun(t, dir)
	m, f := run.Manifest, run.Findings[0]
	for _, text := range []string{m.Commit, m.Command[1], m.Skipped[0].Lock, m.Saturations[0].Missing, string(m.Saturations[0].Trials[0].Over), m.Machine.CPU, m.Job, m.Parts[0].Host, m.Parts[0].CPU, m.Versions[OneLine(hostile)], f.Name, f.Tables[0].Rows[0].Label, f.Tables[0].Rows[0].Cells[0].Text} {
		if text != OneLine(hostile) {
			t.Errorf("%q, want %q", text, OneLine(hostile))
		}
	}
	if m.Flags["locks"] != "a\nb" || f.Listing != "one\n\\x1b[2Jtwo\n" {
		t.Errorf("flags %q, listing %q", m.Flags, f.Listing)
	}
}
