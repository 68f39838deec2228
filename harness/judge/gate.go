package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/nearest"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// A Gate is a metric for comparing two runs.
type Gate struct {
	Metric *result.Metric
	// Format returns a figure of the metric, 0 or more, with its unit.
	Format func(v float64) string

	to []string // figures are ratios to the first of these locks that is there
}

// Gates lists every gate, the default first.
var Gates = []*Gate{
	{Metric: result.Throughput, Format: numfmt.PerSecond},
	{Metric: result.Handovers, Format: numfmt.PerSecond},
	{Metric: result.P50, Format: numfmt.Nanos},
	{Metric: result.P99, Format: numfmt.Nanos},
	{Metric: result.HandoverTime, Format: numfmt.Nanos},
	{Metric: result.HandoverWaitP99, Format: numfmt.Nanos},
	{Metric: result.TurnRoundTrips, Format: numfmt.Number},
	{Metric: result.Jain, Format: numfmt.Percent},
	{Metric: result.WindowJain, Format: numfmt.Percent},
	{Metric: result.CPU, Format: numfmt.Nanos},
	{Metric: result.ServerCPU, Format: numfmt.Nanos},
	{Metric: result.Requests, Format: numfmt.Number},
	{Metric: result.Notifications, Format: numfmt.Number},
}

// Name returns the name of g's metric.
func (g *Gate) Name() string { return g.Metric.Name }

// Title returns the meaning of g's figures: the name of the metric and its reference
// locks.
func (g *Gate) Title() string {
	if len(g.to) == 0 {
		return g.Name()
	}
	return g.Name() + " to " + plain(strings.Join(g.to, ", "))
}

// worse returns how many times worse the new figure is than the old; ratio is the new
// figure over the old.
func (g *Gate) worse(ratio stat.Ratio) stat.Ratio {
	if g.Metric.Better == result.Lower {
		return ratio
	}
	return ratio.Inverse()
}

// excess returns the relative worsening from old to value; a negative result is an
// improvement.
func (g *Gate) excess(value, old float64) float64 {
	if g.Metric.Better == result.Lower {
		return value/old - 1
	}
	return old/value - 1
}

// ValidateGates returns one error that joins every mistake in gs, or nil.
func ValidateGates(gs []*Gate) error {
	var errs []error
	seen := make(map[string]bool)
	for i, g := range gs {
		if g.Metric == nil {
			errs = append(errs, fmt.Errorf("gate %d has no metric", i))
			continue
		}
		bad := func(text string) { errs = append(errs, fmt.Errorf("gate %q %s", g.Name(), text)) }
		if seen[g.Name()] {
			bad("is listed twice")
		}
		seen[g.Name()] = true
		if g.Metric.Better != result.Higher && g.Metric.Better != result.Lower {
			bad("does not know which way is better")
		}
		if g.Format == nil {
			bad("has no Format")
		}
	}
	return errors.Join(errs...)
}

// FindGates returns the gates of gs with the given names, each once and in the order of gs.
// The error wraps harness.ErrUsage.
func FindGates(gs []*Gate, names []string) ([]*Gate, error) {
	var known []string
	for _, g := range gs {
		known = append(known, g.Name())
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: no metric to compare by is called %q%s: want one of %s", harness.ErrUsage, name, nearest.Hint(name, known), strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(gs), func(g *Gate) bool { return !slices.Contains(names, g.Name()) }), nil
}
