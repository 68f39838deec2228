package lab

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/harness/simulate"

	"locklab/internal/numfmt"
	"locklab/internal/table"
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
	for len(all) > 0 {
		first := all[0]
		n := slices.IndexFunc(all, func(s *result.Simulation) bool {
			return s.Lines != first.Lines || s.Hold != first.Hold || s.Think != first.Think || s.Wait != first.Wait
		})
		if n < 0 {
			n = len(all)
		}
		fmt.Fprintf(out, "\n%s, hold %s, think %s, wait %s; %s from %d\n", numfmt.Plural(first.Lines, "line"),
			numfmt.Plain(numfmt.Nanos(first.Hold)), numfmt.Plain(numfmt.Nanos(first.Think)), first.Wait, numfmt.Plural(first.Seeds, "seed"), first.Seed)
		if err := writeTable(out, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// accuracies returns the sentences on the model's error, with the locks they apply to.
func accuracies(all []*result.Simulation) (lines []string) {
	of := make(map[string][]string)
	locks := make(map[string]bool)
	for _, s := range all {
		if !slices.Contains(of[s.Accuracy], s.Lock.Name) {
			of[s.Accuracy] = append(of[s.Accuracy], s.Lock.Name)
		}
		locks[s.Lock.Name] = true
	}
	for _, text := range slices.Sorted(maps.Keys(of)) {
		whose := ""
		if len(of[text]) < len(locks) {
			whose = strings.Join(of[text], ", ") + ": "
		}
		lines = append(lines, "accuracy: "+whose+text)
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
