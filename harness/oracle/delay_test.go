package oracle

import (
	"strings"
	"testing"
	"time"
)

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
		name      string
		script    string
		delays    string // delays by process: from and to in ms
		anomalies []Anomaly
		want      string
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
			span := script(t, f[1]+" 1 asked;"+f[2]+" 1 asked")
			all = append(all, Delay{f[0], span[0].At, span[1].At})
		}
		r.Delays = NewDelays(all, c.anomalies...)
		if got := brief(Judge(script(t, c.script), r)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
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
	if got, _ := (*Delays)(nil).Between(0, 9); got != 0 {
		t.Errorf("of none: %v", got)
	}
}
