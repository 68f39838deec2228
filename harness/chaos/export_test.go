package chaos

import (
	"context"
	"slices"

	"locklab/harness"
	"locklab/harness/oracle"
)

var Children = children

// Starve stops or continues the process of h without a record, as another program could.
func Starve(h *Host, stop bool) error { return signalTree(h.proc.PID(), stop) }

func Pairs(ctx context.Context, t *Try) {
	nowhere := func(*Subject) harness.Endpoint { return harness.Endpoint{} }
	t.pairs(ctx, nowhere, nowhere)
}

func Delays(t *Try) []oracle.Delay {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.delays)
}

func Settle(ctx context.Context, t *Try, at harness.Endpoint) { t.settle(ctx, at) }

func Record(s *Subject, e oracle.Event) { s.record(e) }

func (s *Subject) Events() oracle.History { return s.events() }

var Check = check

func Must[T any](v T, err error) T { return must(v, err) }
