package oracle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const forever = 1<<63 - 1

func TestHistoryFile(t *testing.T) {
	h := script(t, "0 1 asked; 1 1 granted t5 d90; 2 1 wrote t5 taken; 3 -1 fault # killed the <leader>\t; 4 1 told r # \"lost\"")
	var buf bytes.Buffer
	if err := h.Write(&buf); err != nil || strings.Count(buf.String(), "\n") != len(h) {
		t.Fatalf("wrote %q, %v", buf.String(), err)
	}
	text := buf.String()
	if got, err := ReadHistory(&buf); err != nil || !slices.Equal(got, h) {
		t.Errorf("read %v, %v, want %v", got, err, h)
	}
	if got, err := ReadHistory(strings.NewReader(text[:len(text)-9])); err != nil || !slices.Equal(got, h[:len(h)-1]) {
		t.Errorf("without the last line's end: read %v, %v", got, err)
	}
	for name, bad := range map[string]string{
		"no JSON":       "hello\n",
		"a field more":  `{"at":1,"worker":1,"kind":"asked","more":1}` + "\n",
		"no kind":       `{"at":1,"worker":1}` + "\n",
		"two on a line": `{"at":1,"worker":1,"kind":"asked"}{"at":1,"worker":1,"kind":"asked"}` + "\n",
		"a long line":   `{"at":1,"worker":1,"kind":"asked","text":"` + strings.Repeat("x", maxLine) + "\"}\n",
	} {
		if _, err := ReadHistory(strings.NewReader(bad)); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: %v, want ErrHistory", name, err)
		}
	}
	if _, err := ReadHistory(io.MultiReader(strings.NewReader(text), broken{})); err == nil || errors.Is(err, ErrHistory) {
		t.Errorf("a reader that breaks: %v", err)
	}
	if err := h.Write(broken{}); err == nil {
		t.Error("a writer that breaks: no error")
	}
}

func TestLongText(t *testing.T) {
	for _, text := range []string{strings.Repeat("\x01", maxLine), strings.Repeat("ä", maxLine), "\xff"} {
		var buf bytes.Buffer
		if err := (History{{Kind: Failed, Text: text}}).Write(&buf); err != nil {
			t.Fatal(err)
		}
		h, err := ReadHistory(&buf)
		if err != nil || len(h) != 1 || h[0].Text == "" || !utf8.ValidString(h[0].Text) {
			t.Errorf("%.9q: read %d events, %v", text, len(h), err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }
func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func FuzzJudge(f *testing.F) {
	kinds := []EventKind{Asked, Tried, Granted, Refused, Failed, Told, Releasing, Released, Wrote, Paused, Resumed, Killed, Fault, Over, "other"}
	f.Add([]byte("\x00\x01\x00\x02\x05\x01\x02\x02\x06\x02\x00\x02\x07\x02\x02\x02\x08\x01\x06\x00"), uint8(0), int64(1e9))
	f.Add([]byte("\x00\x01\x09\x02\x05\x01\x0a\x02\x06\x02\x0b\x02\x07\x02\x0c\x02\x08\x01\x0d\x00"), uint8(31), int64(-5))
	f.Fuzz(func(t *testing.T, data []byte, how uint8, wide int64) {
		var h History
		for ; len(data) >= 4; data = data[4:] {
			x := binary.LittleEndian.Uint16(data[2:])
			e := Event{
				At: int64(data[0]) * (1 + wide%7), Worker: int(data[1]%6) - 1, Kind: kinds[int(data[2])%len(kinds)],
				Shared: x&256 != 0 && how&32 != 0, Token: uint64(x >> 12), Taken: x&512 != 0, Text: strings.Repeat("x", int(x>>10&1)),
			}
			if x&2048 != 0 {
				e.Deadline = int64(data[0]) + int64(x>>12)
			}
			if data[0] == 255 {
				e.At = wide
			}
			h = append(h, e)
		}
		r := Rules{Permits: int(how % 3), FIFO: how&4 != 0, Fenced: how&8 != 0, Reentrant: how&16 != 0, Spurious: how&128 != 0, Prompt: time.Duration(wide), End: wide}
		j := Judge(h, r)
		consistent(t, h, j)

		var buf bytes.Buffer
		if err := h.Write(&buf); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadHistory(&buf); err != nil || !slices.Equal(got, h) {
			t.Fatalf("read %v, %v, want %v", got, err, h)
		}
	})
}

func consistent(t *testing.T, h History, j Judgement) {
	t.Helper()
	for i, x := range j.Holds {
		if x.Acquired > x.Releasing || x.Promise < x.Acquired || x.Promise > x.Releasing || x.Requested > x.Acquired {
			t.Errorf("hold %+v", x)
		}
		if i > 0 && x.Acquired < j.Holds[i-1].Acquired {
			t.Error("holds are not sorted")
		}
	}
	for _, o := range j.Overlaps {
		if o.Earlier >= o.Later || o.Length < 0 {
			t.Errorf("overlap %+v", o)
		}
	}
	for _, w := range j.Windows {
		if w.Length < 0 || !slices.Contains(h, w.Cause) || w.Length > j.Window {
			t.Errorf("window %+v, the longest is %v", w, j.Window)
		}
	}
	if len(j.Anomalies()) > 0 && len(j.Notes) == 0 {
		t.Errorf("%v, without a note", j.Anomalies())
	}
}
