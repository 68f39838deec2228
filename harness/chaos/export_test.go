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

func Pairs(ctx context.Context, t *Try) {
	t.pairs(ctx, func(*Subject) (_, _ harness.Endpoint) { return })
}

func Delays(t *Try) []oracle.Delay {
	t.watching.mu.Lock()
	defer t.watching.mu.Unlock()
	return slices.Clone(t.watching.delays)
}

func Record(s *Subject, e oracle.Event) { s.record(e) }

func InFile(s *Subject) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.spilled
}

// Lose removes event i from the history file of s, as a fault of the code or the disk does.
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

func (s *Subject) Events() oracle.History {
	var h oracle.History
	s.visit(func(e *oracle.Event) { h = append(h, *e) })
	return h
}

func (r *record) all() (h oracle.History, err error) {
	p := r.replay(math.MaxInt64)
	for e := range p.events {
		h = append(h, *e)
	}
	return h, p.err
}

var Check = check

func Must[T any](v T, err error) T { return must(v, err) }
