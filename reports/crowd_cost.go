package reports

import (
	"cmp"
	"fmt"
	"strings"

	"locklab/harness/predict"
	"locklab/internal/numfmt"
)

// costs has the terms of each model.
func (d *crowds) costs() table {
	t := table{head: titles("lock", "part", "time per hand-over", "messages", "server CPU", "client CPU")}
	some := func(v float64, format func(float64) string) string {
		if !(v > 0 && v < 1e15) {
			return unknown
		}
		return format(v)
	}
	for _, l := range d.locks {
		if l.why != "" {
			continue
		}
		for _, c := range l.crowd.Costs() {
			t.rows = append(t.rows, []string{l.Lock.Name, c.Name, some(c.Period, numfmt.Nanos), some(c.Message, numfmt.Number), some(c.Server, numfmt.Nanos), some(c.Client, numfmt.Nanos)})
		}
	}
	return t
}

// costsAnswer says which locks have costs that grow with the contenders.
func (d *crowds) costsAnswer() string {
	var flat, growing, polling []string
	for _, l := range d.locks {
		if l.why != "" {
			continue
		}
		switch {
		case l.crowd.Polls():
			polling = append(polling, l.Lock.Name)
		case l.crowd.Grows():
			growing = append(growing, l.Lock.Name)
		default:
			flat = append(flat, l.Lock.Name)
		}
	}
	var out []string
	if len(flat) > 0 {
		out = append(out, fmt.Sprintf("A hand-over of %s takes as long however many wait.", numfmt.List(flat, mostNamed)))
	}
	if len(growing) > 0 {
		out = append(out, fmt.Sprintf("That of %s takes longer for each that waits.", numfmt.List(growing, mostNamed)))
	}
	if len(polling) > 0 {
		out = append(out, fmt.Sprintf("Waiters of %s ask again after a pause: the more there are, the sooner one of them asks, until their requests take all that can be served.", numfmt.List(polling, mostNamed)))
	}
	return cmp.Or(strings.Join(out, " "), "No model could be calibrated.")
}

// said is the answer with what a herd costs, and of which locks no rate is extrapolated.
func (d *crowds) said() string {
	return strings.TrimSpace(strings.Join([]string{d.answer(), d.herds(), d.refused()}, " "))
}

// herds says what a hand-over costs of each lock of which it takes more messages the more
// contenders there are, among as many as the reader asked for at most.
func (d *crowds) herds() string {
	var out []string
	for _, l := range d.locks {
		if l.why != "" || !l.crowd.Herd() || len(d.asked) == 0 {
			continue
		}
		n := d.asked[len(d.asked)-1]
		e, _ := l.crowd.At(n, 0)
		var parts []string
		for _, x := range costColumns {
			if v := x.of(e); v > 0 {
				by, _ := l.crowd.WorstError(x.figure)
				parts = append(parts, x.format(v)+" "+x.noun+" (missed by "+signed(by)+" at most)")
			}
		}
		if len(parts) > 0 {
			out = append(out, fmt.Sprintf("A hand-over of %s among %s would cost %s.", l.Lock.Name, numfmt.SI(float64(n)), numfmt.List(parts, len(parts))))
		}
	}
	return strings.Join(out, " ")
}

// refused says of which locks no rate is extrapolated since the model has missed a point.
func (d *crowds) refused() string {
	var names []string
	for _, l := range d.locks {
		if l.why == "" && l.crowd.Refuted() {
			names = append(names, l.Lock.Name)
		}
	}
	if len(names) == 0 || len(d.asked) == 0 {
		return ""
	}
	return fmt.Sprintf("No rate and no wait is extrapolated of %s: the model misses a point that was left out by more than a factor of %.1f.", numfmt.List(names, len(names)), predict.Refuted)
}
