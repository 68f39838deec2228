package lab

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// judge stores the simulations with their errors, and prints both figures.
func (h *here) judge(all []*harness.Simulation) error {
	for i, s := range all {
		if s == nil {
			continue
		}
		s.Accuracy = h.off(all, s.Lock.Name, h.points[i].fitted())
		if err := h.keep.add(s); err != nil {
			return err
		}
	}
	fmt.Fprintf(h.stdout, "%s: %s, %s\n", label(h.model), h.model.Doc, size(h.model))
	fmt.Fprintf(h.stdout, "a word from one core to another: %s ns in a cluster, %s in the socket, %s to another one; window %s, occupy %s ns: %s\n\n",
		numfmt.Number(h.model.Transfer[1]), numfmt.Number(h.model.Transfer[2]), numfmt.Number(h.model.Transfer[3]),
		numfmt.Number(h.model.Window), numfmt.Number(h.model.Occupy), h.model.Sources["window"])
	w := tabwriter.NewWriter(h.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LOCK\tWORKERS\tHOLD\tSIMULATED NS/ACQ\tMEASURED NS/ACQ\tROUNDS\tSIMULATED / MEASURED\t")
	for i, s := range all {
		if s == nil || len(h.points[i].ns) == 0 {
			continue
		}
		ns, note := h.points[i].ns, ""
		if h.points[i].fitted() {
			note = "fitted to"
		}
		m := stat.Median(ns)
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s to %s\t%.2f\t%s\n", s.Lock.Name, s.Workers, numfmt.Plain(numfmt.Nanos(s.Hold)), numfmt.Number(s.PerAcquisition.Median), numfmt.Number(m),
			numfmt.Number(slices.Min(ns)), numfmt.Number(slices.Max(ns)), s.PerAcquisition.Median/m, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(h.stdout, "\n"+h.summary(all))
	for _, why := range h.unquiet {
		fmt.Fprintln(h.stdout, "disturbed: "+why)
	}
	if len(h.unquiet) > 0 {
		fmt.Fprintln(h.stdout, "this machine was too busy to describe it well: repeat the command when nothing else runs")
	}
	return nil
}

// summary describes the model's error with two and more workers, in one sentence.
func (h *here) summary(all []*harness.Simulation) string {
	var kept []*harness.Simulation
	var of []*herePoint
	for i, s := range all {
		if s != nil && s.Workers > 1 && !h.points[i].fitted() {
			kept, of = append(kept, s), append(of, h.points[i])
		}
	}
	if len(kept) == 0 {
		return "no lock that the model is not fitted to was simulated and measured with two workers or more"
	}
	return fmt.Sprintf("locks that the model is not fitted to, two workers and more: typical factor %.2f over %s", factor(kept, of), numfmt.Plural(len(kept), "point"))
}

// off describes the model's error for a lock on this machine, in one sentence.
func (h *here) off(all []*harness.Simulation, lock string, fitted bool) string {
	var kept []*harness.Simulation
	var of []*herePoint
	for i, s := range all {
		if s != nil && s.Lock.Name == lock && len(h.points[i].ns) > 0 {
			kept, of = append(kept, s), append(of, h.points[i])
		}
	}
	if len(kept) == 0 {
		return "This lock was not measured here."
	}
	text := fmt.Sprintf("On this machine the model was off by a typical factor of %.2f for this lock, over %s.", factor(kept, of), numfmt.Plural(len(kept), "point"))
	if fitted {
		text += " It is fitted to them."
	}
	return text
}
