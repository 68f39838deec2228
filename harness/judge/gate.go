package judge

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/nearest"
	"locklab/internal/stat"
)

// Metrics lists the metrics for comparing two runs, the default first.
var Metrics = []*result.Metric{
	result.Throughput, result.Handovers, result.P50, result.P99, result.HandoverTime, result.HandoverWaitP99, result.PeriodRoundTrips,
	result.Jain, result.WindowJain, result.CPU, result.ServerCPU, result.Requests, result.Notifications,
}

func worse(m *result.Metric, ratio stat.Ratio) stat.Ratio {
	if m.Better == result.Lower {
		return ratio
	}
	return ratio.Inverse()
}

// FindMetrics returns the metrics of [Metrics] with the given names, each once and in that
// order. The error wraps harness.ErrUsage.
func FindMetrics(names []string) ([]*result.Metric, error) {
	known := strings.Split(metricNames(Metrics), ", ")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: no metric to compare by is called %q%s: want one of %s", harness.ErrUsage, name, nearest.Hint(name, known), strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(Metrics), func(m *result.Metric) bool { return !slices.Contains(names, m.Name) }), nil
}

func metricNames(ms []*result.Metric) string {
	return strings.Join(result.Each(ms, func(m *result.Metric) string { return m.Name }), ", ")
}
