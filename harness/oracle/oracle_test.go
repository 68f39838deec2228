package oracle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"locklab/internal/require"
)

func write(from, to int64) Hold { return Hold{Acquired: from, Releasing: to} }
func read(from, to int64) Hold  { return Hold{Acquired: from, Releasing: to, Shared: true} }

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		name    string
		permits int
		holds   []Hold
		want    uint64
	}{
		{"none", 0, nil, 0},
		{"one", 1, []Hold{write(1, 9)}, 0},
		{"in turn", 0, []Hold{write(1, 3), write(3, 4)}, 0},
		{"overlap", 0, []Hold{write(1, 5), write(4, 6)}, 1},
		{"inside a long hold", 1, []Hold{write(1, 100), write(10, 20), write(30, 40)}, 2},
		{"after a long hold", 0, []Hold{write(1, 100), write(10, 20), write(100, 140)}, 1},

		{"readers share", 0, []Hold{read(1, 9), read(2, 5), read(3, 8), write(9, 12), read(12, 13)}, 0},
		{"writer among readers", 0, []Hold{read(1, 9), read(2, 5), write(6, 8)}, 1},
		{"reader in a writer", 1, []Hold{write(1, 9), read(2, 5), read(9, 11), read(10, 12)}, 1},
		{"readers in a writer that one of them outlasts", 0, []Hold{write(1, 9), read(2, 20), read(3, 4)}, 2},
		{"writers beside a reader", 0, []Hold{read(1, 100), write(2, 5), write(4, 7)}, 2},

		{"all permits", 2, []Hold{write(1, 9), write(2, 5), write(5, 8), write(8, 9)}, 0},
		{"one permit too many", 2, []Hold{write(1, 9), write(2, 5), write(4, 8), write(8, 9)}, 1},
		{"three permits, long and short", 3, []Hold{write(1, 90), write(2, 80), write(3, 4), write(5, 6), write(7, 8), write(7, 9)}, 1},
		{"readers take permits", 2, []Hold{read(1, 9), read(2, 5), read(3, 8)}, 1},
		{"permits do not mix readers and writers", 3, []Hold{read(1, 9), write(2, 5)}, 1},
		{"fewer holds than permits", 9, []Hold{write(1, 9), write(1, 9)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) { wantViolations(t, Overlaps(c.holds, c.permits), Exclusion, c.want) })
	}
}

func TestTokens(t *testing.T) {
	w := func(tokens ...uint64) (holds []Hold) {
		for i, k := range tokens {
			holds = append(holds, Hold{Requested: int64(i), Acquired: int64(i), Releasing: int64(i) + 1, Token: k})
		}
		return holds
	}
	r := func(holds []Hold, readers ...int) []Hold {
		for _, i := range readers {
			holds[i].Shared = true
		}
		return holds
	}
	early := func(holds []Hold) []Hold {
		for i := range holds {
			holds[i].Requested = -1
		}
		return holds
	}
	for _, c := range []struct {
		name    string
		permits int
		holds   []Hold
		want    uint64
	}{
		{"rising", 0, w(1, 2, 9), 0},
		{"repeated", 1, w(1, 1, 2), 1},
		{"falling", 0, w(5, 4, 3), 2},
		{"fallen behind one before the last", 0, w(5, 3, 4), 2},

		{"readers share one", 0, r(w(1, 1, 1, 2), 1, 2), 0},
		{"readers rise", 0, r(w(1, 2, 3, 4), 1, 2), 0},
		{"readers in any order", 0, r(w(1, 3, 2, 4), 1, 2), 0},
		{"readers before any writer", 0, r(w(0, 0, 1), 0, 1), 0},
		{"reader below the writer before it", 0, r(w(2, 1, 3), 1), 1},
		{"reader below a writer two acquisitions before", 0, r(w(1, 5, 5, 4), 2, 3), 1},
		{"writer with a reader's", 0, r(w(1, 2, 2), 1), 1},
		{"writer below one of the readers", 0, r(w(1, 9, 2, 3), 1, 2), 1},
		{"writers rise, but not by themselves", 0, r(w(1, 1, 1), 1), 1},

		{"permits in turn, rising", 2, w(1, 2, 3), 0},
		{"permits in turn, falling", 2, w(2, 1, 3), 1},
		{"permits together, granted in an unknown order", 2, early(w(2, 1)), 0},
		{"permits, asked for in the moment of a grant", 2, []Hold{{Acquired: 5, Releasing: 9, Token: 2}, {Requested: 5, Acquired: 6, Releasing: 9, Token: 1}}, 0},
		{"permits, asked for after a grant", 2, []Hold{{Acquired: 5, Releasing: 9, Token: 2}, {Requested: 6, Acquired: 7, Releasing: 9, Token: 1}}, 1},
		{"without permits the order is known", 1, early(w(2, 1)), 1},
	} {
		t.Run(c.name, func(t *testing.T) { wantViolations(t, Tokens(c.holds, c.permits), Fencing, c.want) })
	}
}

func TestCounterAndStuck(t *testing.T) {
	wantViolations(t, Counter(5, 5), Exclusion, 0)
	wantViolations(t, Counter(3, 5), Exclusion, 2)
	wantViolations(t, Counter(6, 5), Exclusion, 1)
	wantViolations(t, Data("map", 5, 5, ""), Exclusion, 0)
	wantViolations(t, Data("map", 3, 5, ""), Exclusion, 2)
	wantViolations(t, Data("map", 6, 5, "and broken"), Exclusion, 1)
	wantViolations(t, Data("map", 5, 5, "broken"), Exclusion, 1)
	wantViolations(t, NotReturned(nil, time.Second), Liveness, 0)
	wantViolations(t, NotReturned([]int{4, 7}, time.Second), Liveness, 2)
}

// TestOverlapsAgainstBruteForce compares the verdict with the quadratic definition.
func TestOverlapsAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 4000 {
		permits, readers := round%4, round%3 == 0
		var holds []Hold
		now := int64(0)
		for i := range 2 + rng.IntN(20) {
			start := now - rng.Int64N(3)
			end := start + 1 + rng.Int64N(10)
			holds = append(holds, Hold{Worker: i, Acquired: start, Releasing: end, Shared: readers && rng.IntN(2) == 0})
			if rng.IntN(max(1, permits)) == 0 { // otherwise the next one overlaps it
				now = end
			}
		}
		Sort(holds)
		wantViolations(t, Overlaps(holds, permits), Exclusion, countOverlaps(holds, permits))
	}
}

// countOverlaps is the definition that Overlaps implements.
func countOverlaps(holds []Hold, permits int) (n uint64) {
	for i, h := range holds {
		inside, others := 0, false
		for _, o := range holds[:i] {
			if h.Acquired < o.Releasing {
				inside++
				others = others || h.Shared != o.Shared
			}
		}
		full := inside >= max(1, permits) && (permits > 1 || !h.Shared)
		if others || full {
			n++
		}
	}
	return n
}

func wantViolations(t *testing.T, vs []Violation, rule string, n uint64) {
	t.Helper()
	switch {
	case n == 0 && len(vs) != 0:
		t.Errorf("reported %v, want nothing", vs)
	case n != 0 && (len(vs) != 1 || vs[0].Rule != rule || vs[0].Count != n || vs[0].Detail == ""):
		t.Errorf("reported %v, want one violation of %s, %d times", vs, rule, n)
	}
}

func TestExcused(t *testing.T) {
	timed := []Anomaly{Stall, Stuck, Overtaken}
	const (
		late   = "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 1205 2 granted" // 1.2 s
		parts  = "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 1000 -1 fault; 2200 2 granted"
		hangs  = "0 1 asked; 1 1 granted; 2 2 asked; 5 1 killed; 1805 -1 over" // 1.8 s, to the end
		fails  = "0 1 asked; 1 1 granted; 5 1 killed; 6 2 asked; 500 2 failed; 600 2 asked; 1805 2 failed"
		passes = "0 1 asked; 100 2 asked; 400 2 granted"
	)
	for _, c := range []struct {
		name, script string
		delays       string // delays by process: from and to in ms
		anomalies    []Anomaly
		want         string
	}{
		{"a stall", late, "a 5 300", timed, "excused 1"},
		{"a stall, with too little", late, "a 5 200", timed, "stalls 1, !stall"},
		{"a stall, before and behind it", late, "a 0 105; a 1105 2000", timed, "excused 1"},
		{"a stall, at other times", late, "a 0 5; a 1205 3000", timed, "stalls 1, !stall"},
		{"a stall, by two processes", late, "a 5 150; b 200 345", timed, "stalls 1, !stall"},
		{"a stall, told twice", late, "a 5 150; a 10 140; a 5 150", timed, "stalls 1, !stall"},
		{"a stall, in pieces", late, "a 300 400; a 5 50; a 600 700", timed, "excused 1"},
		{"a stall that may be", late, "a 5 300", timed[1:], "stalls 1, !stall"},
		{"the longest part of a stall", parts, "a 1100 1400", timed, "excused 1"},
		{"another part of a stall", parts, "a 5 900", timed, "stalls 1, !stall"},
		{"stuck", hangs, "a 500 1400", timed, "excused 2"},
		{"stuck, with too little", hangs, "a 500 1200", timed, "stalls 1, stuck 1, !stall, !stuck"},
		{"stuck, which alone is excused", hangs, "a 500 1400", timed[1:], "stalls 1, excused 1, !stall"},
		{"all attempts fail", fails, "a 5 1000", timed, "excused 2"},
		{"all attempts fail, with too little", fails, "a 5 200", timed, "stalls 1, stuck 1, !stall, !stuck"},
		{"overtaken", passes, "a 0 60", nil, "bypasses 1, !overtaken"},
		{"overtaken before it was in line", passes, "a 0 60", timed, "excused 1"},
		{"overtaken, surely in line", passes, "a 0 20; b 20 40", timed, "bypasses 1, !overtaken"},
	} {
		r := Rules{Prompt: time.Second, Arrival: 50 * time.Millisecond, FIFO: strings.HasPrefix(c.name, "overtaken")}
		var all []Delay
		for line := range strings.SplitSeq(c.delays, ";") {
			f := strings.Fields(line)
			span := parseScript(t, f[1]+" 1 asked;"+f[2]+" 1 asked")
			all = append(all, Delay{f[0], span[0].At, span[1].At})
		}
		r.Delays = NewDelays(all, c.anomalies...)
		require.Equal(t, c.name, briefText(Judge(parseScript(t, c.script), r)), c.want)
	}
}

func TestDelaysBetween(t *testing.T) {
	d := NewDelays([]Delay{{"a", 10, 20}, {"b", 0, 12}, {"a", 15, 30}, {"a", 40, 50}})
	for _, c := range []struct {
		from, to int64
		want     time.Duration
		process  string
	}{
		{0, 100, 30, "a"}, {0, 12, 12, "b"}, {12, 18, 6, "a"}, {30, 40, 0, ""}, {45, 60, 5, "a"}, {-5, 0, 0, ""}, {25, 45, 10, "a"},
	} {
		if got, process := d.Between(c.from, c.to); got != c.want || process != c.process {
			t.Errorf("between %d and %d: %d by %q, want %d by %q", c.from, c.to, got, process, c.want, c.process)
		}
	}
}

const forever = 1<<63 - 1

func TestHistoryFile(t *testing.T) {
	h := parseScript(t, "0 1 asked; 1 1 granted t5 d90; 2 1 wrote t5 taken; 3 -1 fault # killed the <leader>\t; 4 1 told r # \"lost\"")
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
		require.NoError(t, (History{{Kind: Failed, Text: text}}).Write(&buf))
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
		requireConsistent(t, h, j)

		var buf bytes.Buffer
		require.NoError(t, h.Write(&buf))
		if got, err := ReadHistory(&buf); err != nil || !slices.Equal(got, h) {
			t.Fatalf("read %v, %v, want %v", got, err, h)
		}
	})
}

func requireConsistent(t *testing.T, h History, j Judgement) {
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
		if w.Length < 0 || !slices.Contains(h, w.Cause) {
			t.Errorf("window %+v", w)
		}
	}
}
