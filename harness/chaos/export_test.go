package chaos

import (
	"context"
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

// Lose cuts the last event from the history file of s, simulating a fault of the code or
// of the disk.
func Lose(s *Subject) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.file.Truncate(s.history.size() - 1)
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
