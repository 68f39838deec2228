package oracle

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The limits of ReadHistory.
const (
	MaxEvents = 4 << 20  // events of a history
	maxLine   = 64 << 10 // bytes of one
)

// maxText leaves room for escaping every byte of a text.
const maxText = maxLine/6 - 256

// ErrHistory is wrapped by errors of ReadHistory about its input.
var ErrHistory = errors.New("oracle: not a history")

// Write writes h as JSON, one event per line. It cuts texts that would make a line too
// long for a reader, and replaces bytes that are not UTF-8.
func (h History) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	lines := json.NewEncoder(buf)
	for _, e := range h {
		if len(e.Text) > maxText {
			e.Text = e.Text[:maxText]
		}
		e.Text = strings.ToValidUTF8(e.Text, "?")
		_ = lines.Encode(e) // Flush repeats an error of w
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("oracle: write history: %w", err)
	}
	return nil
}

// ReadHistory reads the output of Write, at most MaxEvents events. It ignores a last
// line without an end: its writer was killed.
func ReadHistory(r io.Reader) (h History, err error) {
	buf := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := buf.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return h, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return h, fmt.Errorf("%w: line %d is longer than %d bytes", ErrHistory, len(h)+1, maxLine)
		case err != nil:
			return h, fmt.Errorf("oracle: read history: %w", err)
		case len(h) == MaxEvents:
			return h, fmt.Errorf("%w: more than %d events", ErrHistory, MaxEvents)
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var e Event
		if err := dec.Decode(&e); err != nil {
			return h, fmt.Errorf("%w: line %d: %v", ErrHistory, len(h)+1, err)
		}
		if e.Kind == "" || dec.More() {
			return h, fmt.Errorf("%w: line %d is not one event with a kind", ErrHistory, len(h)+1)
		}
		h = append(h, e)
	}
}

// A Delay is a time during which the machine kept a process, of a client or a server,
// from running, without action by the try.
type Delay struct {
	Process  string
	From, To int64
}

// An Excuse is the reason for not concluding an anomaly: without the delays of Process it
// would not have lasted long enough.
type Excuse struct {
	Anomaly  Anomaly
	From, To int64
	Waited   time.Duration // in that time
	Process  string        // the process with the longest delay
	Delayed  time.Duration // length of that delay
}

// Delays are the delays of a try, by process and time; delays of one process do not overlap.
type Delays struct {
	all    []Delay
	excuse []Anomaly
}

// NewDelays returns all, in any order and with overlaps, as an excuse for anomalies, of
// Stall, Stuck and Overtaken.
func NewDelays(all []Delay, anomalies ...Anomaly) *Delays {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Delay) int { return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.From, b.From)) })
	d := &Delays{excuse: anomalies}
	for _, x := range all {
		if n := len(d.all); n > 0 && d.all[n-1].Process == x.Process {
			x.From = max(x.From, d.all[n-1].To)
		}
		if x.From < x.To {
			d.all = append(d.all, x)
		}
	}
	return d
}

// Between returns the longest total delay of a process between two moments, and its name. The
// work for a lock passes from process to process, so it loses at most the delay of the slowest.
func (d *Delays) Between(from, to int64) (longest time.Duration, process string) {
	var sum time.Duration
	for i, x := range d.all {
		if i > 0 && d.all[i-1].Process != x.Process {
			sum = 0
		}
		sum += time.Duration(max(0, min(to, x.To)-max(from, x.From)))
		if sum > longest {
			longest, process = sum, x.Process
		}
	}
	return longest, process
}

// excused reports whether an anomaly between two moments is left out: without the delays,
// clients would not have waited longer than most.
func (j *Judgement) excused(r *Rules, h Anomaly, from, to int64, waited, most time.Duration) bool {
	x, ok := r.Delays.Excuse(h, from, to, waited-most)
	if ok {
		x.Waited = waited
		j.Excused = append(j.Excused, x)
	}
	return ok
}

// Excuse reports whether d excuses an anomaly between two moments: whether a process was
// delayed for at least spare of that time.
func (d *Delays) Excuse(h Anomaly, from, to int64, spare time.Duration) (Excuse, bool) {
	if d == nil || !slices.Contains(d.excuse, h) {
		return Excuse{}, false
	}
	lost, process := d.Between(from, to)
	return Excuse{h, from, to, time.Duration(to - from), process, lost}, lost >= spare
}
