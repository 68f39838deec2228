package result

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"locklab/internal/machine"
	"locklab/internal/require"
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

// setTexts sets every text in v to text, in the elements of lists too.
func setTexts(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			setTexts(v.Elem(), text)
		}
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Flags" {
				setTexts(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			setTexts(v.Index(i), text)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			value := v.MapIndex(k)
			v.SetMapIndex(k, reflect.Value{})
			if value.Kind() == reflect.String {
				value = reflect.ValueOf(text).Convert(value.Type())
			}
			v.SetMapIndex(reflect.ValueOf(text).Convert(k.Type()), value)
		}
	}
}

func TestHostileRecords(t *testing.T) {
	for _, rec := range []Record{{Result: sample()}, {Finding: finding()}, {Fault: fault()}, {Simulation: simulation()},
		{Sample: &Sample{Experiment: "x", Key: "k"}}, {Machine: &ModelMachine{Name: "x", File: []byte("{}")}}} {
		setTexts(reflect.ValueOf(&rec), hostile)
		if f := rec.Fault; f != nil {
			f.Histories = []string{"../../etc/passwd", "/etc/passwd", "ok.jsonl", "a/../../b"}
		}
		if rec.Finding != nil {
			rec.Finding.Listing = "one\n\x1b[2Jtwo\n"
		}
		got := decodeLine(t, encodeRecord(t, rec))
		if f := got.Fault; f != nil && !slices.Equal(f.Histories, []string{"ok.jsonl"}) {
			t.Errorf("histories %q", f.Histories)
		}
		if f := got.Finding; f != nil {
			require.Equal(t, "listing", f.Listing, "one\n\\x1b[2Jtwo\n")
			f.Listing = ""
		}
		// Text that is not clean would show its escape.
		for _, bad := range []string{`\n`, `\r`, `\u001b`, "\u202e"} {
			if line := bytes.TrimSpace(encodeRecord(t, got)); bytes.Contains(line, []byte(bad)) {
				t.Errorf("read back, %q is still in it:\n%s", bad, line)
			}
		}
	}
}

func TestHostileText(t *testing.T) {
	for _, violated := range []bool{false, true} {
		r := sample()
		setTexts(reflect.ValueOf(r), hostile)
		if !violated {
			r.Violations = nil
		}
		run := &Run{Manifest: Manifest{Machine: machine.Environment{CPU: hostile, GOMAXPROCS: 2}}, Results: []*Result{r}}
		bench := exportRun(t, "bench", run)
		if strings.ContainsAny(bench, "\r\x1b\u202e") {
			t.Errorf("bench.txt holds %q", bench)
		}
		in := benchfmt.NewReader(strings.NewReader(bench), "bench.txt")
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
		for _, format := range []string{"hdr-wait", "hdr-handover"} {
			_, line, _ := strings.Cut(exportRun(t, format, run), "Interval_Compressed_Histogram\"\n")
			want := 4 // commas: tag, start, length, maximum, histogram
			if violated {
				want = strings.Count(line, ",") // a comment
			}
			if strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\r\x1b\u202e") || strings.Count(line, ",") != want {
				t.Errorf("%s holds %q", format, line)
			}
		}
	}
}

func TestHostileManifest(t *testing.T) {
	dir := t.TempDir()
	m := Manifest{Command: []string{"x"}, Versions: map[string]string{"x": "x"}, Skipped: make([]Skip, 1), Parts: make([]Part, 1), Lost: make([]Loss, 1), Sites: make([]Site, 1),
		Saturations: []Saturation{{Trials: make([]Trial, 1)}}, Warnings: make([]machine.Warning, 1), Flags: map[string]string{"locks": "a\nb"}}
	want := m
	setTexts(reflect.ValueOf(&m), hostile)
	w := createRun(t, dir, m)
	finishRun(t, w)
	setTexts(reflect.ValueOf(&want), OneLine(hostile))
	want.Schema = Schema
	if got := loadRun(t, dir).Manifest; !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v, want\n%+v", got, want)
	}
}
