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

var Children = children

// Starve stops or continues the process of h without a record, as another program could.
func Starve(h *Host, stop bool) error { return signalTree(h.proc.PID(), stop) }

var Lasting = lasting

// Pairs makes one client hold each lock and another client wait.
func Pairs(ctx context.Context, t *Try) error {
	_, _, err := pairsAt(ctx, t, func(*Subject) (harness.Endpoint, error) { return harness.Endpoint{}, nil }, ordinary)
	return err
}

func Delays(t *Try) []oracle.Delay {
	t.watching.mu.Lock()
	defer t.watching.mu.Unlock()
	return slices.Clone(t.watching.delays)
}

func Record(s *Subject, e oracle.Event) { s.record(e) }

// InFile returns the number of events of the history of s that are in its file.
func InFile(s *Subject) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.spilled
}

// Lose removes event i from the history file of s, simulating a fault of the code or of
// the disk.
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

// Events returns the events up to now, by time.
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
