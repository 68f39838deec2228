package chaos

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/oracle"
)

// Children is children for tests.
var Children = children

// Starve stops the process of h, or lets it go on, as another program may: nothing is
// noted of it.
func Starve(h *Host, stop bool) error { return signalTree(h.proc.PID(), stop) }

// Lasting is how many seconds scenarios take.
var Lasting = lasting

// Pairs lets a holder of each lock take it, and another client wait.
func Pairs(ctx context.Context, t *Try) error {
	_, _, err := pairsAt(ctx, t, func(*Subject) (harness.Endpoint, error) { return harness.Endpoint{}, nil }, ordinary)
	return err
}

// Delays returns when the processes of t were kept from running so far.
func Delays(t *Try) []oracle.Delay {
	t.watching.mu.Lock()
	defer t.watching.mu.Unlock()
	return slices.Clone(t.watching.delays)
}

// Record adds an event to the history of s.
func Record(s *Subject, e oracle.Event) { s.record(e) }

// InFile returns how many events of the history of s are in its file.
func InFile(s *Subject) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.spilled
}

// Lose removes event i from the file of the history of s, as a fault of the code or of
// the disk would.
func Lose(s *Subject, i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.lose(i)
}

func (r *record) lose(i int) error {
	text, err := io.ReadAll(io.NewSectionReader(r.file, 0, r.size()))
	lines := bytes.SplitAfter(text, []byte("\n"))
	line := len(lines[i])
	from := int64(len(bytes.Join(lines[:i], nil)))
	_, err2 := r.file.WriteAt(text[from+int64(line):], from)
	for k, end := range r.parts {
		if end > from {
			r.parts[k] -= int64(line)
		}
	}
	return errors.Join(err, err2)
}

// Events returns what has happened so far, by time.
func (s *Subject) Events() oracle.History {
	var h oracle.History
	s.visit(func(e *oracle.Event) { h = append(h, *e) })
	return h
}

// all returns the events by time, and an error if any is missing.
func (r *record) all() (h oracle.History, err error) {
	p := r.replay(math.MaxInt64)
	for e := range p.events {
		h = append(h, *e)
	}
	return h, p.err
}
