package lab

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/harness/simulate"

	"locklab/internal/numfmt"
	"locklab/internal/table"

	"locklab/reports/chart"
)

func listMachines(out io.Writer) error {
	t := table.New(out, "MACHINE", "SOCKETS", "CORES", "THREADS", "EVIDENCE", "DESCRIPTION")
	for _, m := range simulate.List() {
		evidence := m.Evidence
		if m.Hypothetical {
			evidence += ", hypothetical"
		}
		t.Row(m.Name, m.Sockets, m.Caches(), m.Threads(), evidence, m.Doc)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, `
fitted: some of its numbers are fitted to published figures of locks on such a machine.
held out: such figures exist, and none of its numbers is fitted to them.
latencies only: only the time of a line between two cores is published.
hypothetical: no machine of that size was measured.`)
	return err
}

func writeSimulations(out io.Writer, m *simulate.Machine, all []*result.Simulation) error {
	hypothetical := ""
	if m.Hypothetical {
		hypothetical = " (hypothetical)"
	}
	fmt.Fprintf(out, "simulated: %s%s: %s, %s, %s, %s\n", m.Name, hypothetical, m.Doc,
		numfmt.Plural(m.Sockets, "socket"), numfmt.Plural(m.Caches(), "core"), numfmt.Plural(m.Threads(), "hardware thread"))
	for _, text := range accuracies(all) {
		fmt.Fprintln(out, text)
	}
	for _, of := range result.GroupBy(all, chart.WorkloadOf) {
		s := of[0]
		fmt.Fprintf(out, "\n%s, hold %s, think %s, wait %s; %s from %d\n", numfmt.Plural(s.Lines, "line"),
			numfmt.Plain(numfmt.Nanos(s.Hold)), numfmt.Plain(numfmt.Nanos(s.Think)), s.Wait, numfmt.Plural(s.Seeds, "seed"), s.Seed)
		if err := writeTable(out, of); err != nil {
			return err
		}
	}
	return nil
}

// accuracies returns the sentences on the model's error, with the locks they apply to.
func accuracies(all []*result.Simulation) (lines []string) {
	groups := result.GroupBy(all, func(s *result.Simulation) string { return s.Accuracy })
	for _, of := range groups {
		whose := ""
		if len(groups) > 1 {
			whose = strings.Join(chart.Distinct(of, func(s *result.Simulation) string { return s.Lock.Name }), ", ") + ": "
		}
		lines = append(lines, "accuracy: "+whose+of[0].Accuracy)
	}
	return lines
}

// writeTable writes simulations of one critical section, by lock.
func writeTable(out io.Writer, all []*result.Simulation) error {
	t := table.New(out, "LOCK", "WORKERS", "CORES", "SOCKETS", "NS/ACQ", "SEEDS", "HANDOVER NS", "MISSES", "REMOTE", "INVALIDATED", "SAME WORKER", "SAME SOCKET")
	share := func(e result.Expected) string { return numfmt.Plain(numfmt.Percent(100 * e.Median)) }
	for _, s := range slices.SortedStableFunc(slices.Values(all), func(a, b *result.Simulation) int { return cmp.Compare(a.Lock.Name, b.Lock.Name) }) {
		seeds, handover, socket := "same", numfmt.Unknown, numfmt.Unknown
		if lo, hi := numfmt.Number(s.PerAcquisition.Lo), numfmt.Number(s.PerAcquisition.Hi); lo != hi {
			seeds = lo + " to " + hi
		}
		if s.Handover.Median > 0 {
			handover = numfmt.Number(s.Handover.Median)
		}
		if s.OnSockets > 1 {
			socket = share(s.SameSocket)
		}
		t.Row(s.Lock.Name, s.Workers, s.OnCores, s.OnSockets, numfmt.Number(s.PerAcquisition.Median), seeds, handover,
			numfmt.Number(s.Misses.Median), numfmt.Number(s.Remote.Median), numfmt.Number(s.Invalidated.Median), share(s.SameWorker), socket)
	}
	return t.Flush()
}
