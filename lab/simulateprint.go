package lab

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"locklab/harness"
	"locklab/harness/simulate"

	"locklab/internal/numfmt"
)

func listMachines(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MACHINE\tSOCKETS\tCORES\tTHREADS\tEVIDENCE\tWHAT IT IS")
	for _, m := range simulate.List() {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", m.Name, m.Sockets, m.Caches(), m.Threads(), provenance(m), m.Doc)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, `
fitted: some of its numbers are fitted to published figures of locks on such a machine.
held out: such figures exist, and none of its numbers is fitted to them.
latencies only: what is published is how long a line takes between two cores.
hypothetical: no machine of that size was measured.`)
	return err
}

func provenance(m *simulate.Machine) string {
	if m.Hypothetical {
		return m.Evidence + ", hypothetical"
	}
	return m.Evidence
}

func label(m *simulate.Machine) string {
	text := "simulated: " + m.Name
	if m.Hypothetical {
		text += " (hypothetical)"
	}
	return text
}

func size(m *simulate.Machine) string {
	return fmt.Sprintf("%s, %s, %s", numfmt.Plural(m.Sockets, "socket"), numfmt.Plural(m.Caches(), "core"), numfmt.Plural(m.Threads(), "hardware thread"))
}

func writeSimulations(out io.Writer, m *simulate.Machine, all []*harness.Simulation) error {
	if _, err := fmt.Fprintf(out, "%s: %s, %s\n", label(m), m.Doc, size(m)); err != nil {
		return err
	}
	for _, text := range accuracies(all) {
		fmt.Fprintln(out, text)
	}
	for len(all) > 0 {
		first := all[0]
		var table, rest []*harness.Simulation
		for _, s := range all {
			if alike(s, first) {
				table = append(table, s)
			} else {
				rest = append(rest, s)
			}
		}
		fmt.Fprintf(out, "\n%s, hold %s, think %s, wait %s; %s from %d\n", numfmt.Plural(first.Lines, "line"),
			numfmt.Plain(numfmt.Nanos(first.Hold)), numfmt.Plain(numfmt.Nanos(first.Think)), first.Wait, numfmt.Plural(first.Seeds, "seed"), first.Seed)
		if err := writeTable(out, table); err != nil {
			return err
		}
		all = rest
	}
	return nil
}

func alike(a, b *harness.Simulation) bool {
	return a.Lines == b.Lines && a.Hold == b.Hold && a.Think == b.Think && a.Wait == b.Wait
}

// accuracies returns the sentences on the model's error, with the locks they apply to.
func accuracies(all []*harness.Simulation) (lines []string) {
	var sentences []string
	of := make(map[string][]string)
	locks := make(map[string]bool)
	for _, s := range all {
		if s.Accuracy == "" {
			continue
		}
		if of[s.Accuracy] == nil {
			sentences = append(sentences, s.Accuracy)
		}
		if !slices.Contains(of[s.Accuracy], s.Lock.Name) {
			of[s.Accuracy] = append(of[s.Accuracy], s.Lock.Name)
		}
		locks[s.Lock.Name] = true
	}
	for _, text := range sentences {
		if len(of[text]) < len(locks) {
			text = strings.Join(of[text], ", ") + ": " + text
		}
		lines = append(lines, "accuracy: "+text)
	}
	return lines
}

func writeTable(out io.Writer, table []*harness.Simulation) error {
	order := make(map[string]int)
	for _, s := range table {
		if _, ok := order[s.Lock.Name]; !ok {
			order[s.Lock.Name] = len(order)
		}
	}
	table = slices.Clone(table)
	slices.SortStableFunc(table, func(a, b *harness.Simulation) int {
		return cmp.Or(cmp.Compare(order[a.Lock.Name], order[b.Lock.Name]), cmp.Compare(a.Workers, b.Workers))
	})
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LOCK\tWORKERS\tCORES\tSOCKETS\tNS/ACQ\tSEEDS\tHAND-OVER NS\tMISSES\tREMOTE\tINVALIDATED\tSAME WORKER\tSAME SOCKET")
	for _, s := range table {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Lock.Name, s.Workers, s.OnCores, s.OnSockets,
			numfmt.Number(s.PerAcquisition.Median), seedRange(s.PerAcquisition), handover(s), numfmt.Number(s.Misses.Median),
			numfmt.Number(s.Remote.Median), numfmt.Number(s.Invalidated.Median), numfmt.Plain(numfmt.Percent(100*s.SameWorker.Median)), socketShare(s))
	}
	return w.Flush()
}

func seedRange(e harness.Expected) string {
	lo, hi := numfmt.Number(e.Lo), numfmt.Number(e.Hi)
	if lo == hi {
		return "same"
	}
	return lo + " to " + hi
}

func handover(s *harness.Simulation) string {
	if s.Handover.Median == 0 {
		return numfmt.Unknown
	}
	return numfmt.Number(s.Handover.Median)
}

func socketShare(s *harness.Simulation) string {
	if s.OnSockets < 2 {
		return numfmt.Unknown
	}
	return numfmt.Plain(numfmt.Percent(100 * s.SameSocket.Median))
}

// printDuels prints two simultaneous compare-and-swaps, in a socket and between two.
func printDuels(out io.Writer, m *simulate.Machine, seed uint64) error {
	type pair struct {
		where string
		b     int
	}
	var pairs []pair
	if m.Cores*m.Clusters > 1 {
		pairs = append(pairs, pair{"two cores of one socket", m.SMT})
	}
	if m.Sockets > 1 {
		pairs = append(pairs, pair{"two cores of different sockets", m.Threads() / m.Sockets})
	}
	if len(pairs) == 0 {
		return fmt.Errorf("%w: %s has one core: a duel takes two", harness.ErrUsage, m.Name)
	}
	for i, d := range pairs {
		var text bytes.Buffer
		if err := simulate.Duel(m, 0, d.b, seed, &text); err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		if _, err := fmt.Fprintf(out, "%s: %s, hardware threads 0 and %d\n%s", label(m), d.where, d.b, text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
