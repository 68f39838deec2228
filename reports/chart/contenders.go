package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A Contention predicts the distributed locks of a run with more contenders.
type Contention struct {
	Group *Group
	locks []contendedLock
	Asked []int // numbers of contenders to predict
}

// A contendedLock is a lock with its law, or the reason for its absence.
type contendedLock struct {
	*judge.Model
	fitted *judge.Contenders
	why    string
}

func (l contendedLock) refusal() string { return cmp.Or(l.why, l.fitted.Refuted()) }

// NewContention returns the first group of a run with a law, or else the first group that
// could have one; nil if there is none.
func NewContention(run *result.Run, gs []*Group) (first *Contention) {
	for _, g := range gs {
		if !g.Remote || !judge.FitsContenders(g.Load) {
			continue
		}
		d := &Contention{Group: g, Asked: slices.Compact(slices.Sorted(slices.Values(run.Contenders)))}
		for _, l := range g.models() {
			c, why := judge.NewContenders(l, g.Workers)
			d.locks = append(d.locks, contendedLock{l, c, why})
		}
		if d.HasLaw() {
			return d
		}
		if first == nil && len(d.locks) > 0 {
			first = d
		}
	}
	return first
}

func (d *Contention) HasLaw() bool {
	return slices.ContainsFunc(d.locks, func(l contendedLock) bool { return l.why == "" })
}

// CanExtrapolate returns an error that wraps harness.ErrUsage if no lock can be predicted.
func CanExtrapolate(run *result.Run) error {
	run = Sanitize(run)
	d := NewContention(run, Groups(run))
	if d == nil {
		return fmt.Errorf("%w: only distributed locks in a closed loop without a delay can be predicted, and the run has none", harness.ErrUsage)
	}
	if !d.HasLaw() {
		return fmt.Errorf("%w: no lock of the run can be predicted: %s %s; measure more numbers of workers, such as --workers 5,10,20,50,500", harness.ErrUsage, d.locks[0].Lock.Name, d.locks[0].why)
	}
	return nil
}

const ContendersTitle = "How does it perform with more contenders than were measured?"

// Rows returns the measured points of every lock, with predictions for those left out of
// the fit, and the predictions that the reader asked for.
func (d *Contention) Rows() Table {
	t := Table{Head: slices.Concat(Titles("lock", "contenders", "how"),
		[]Heading{{"measured handovers/s", result.Handovers}}, Titles("computed handovers/s", "error", notPredicted))}
	for _, l := range d.locks {
		for _, p := range l.fitted.Points {
			row := []string{l.Lock.Name, strconv.Itoa(p.Contenders), "measured", CellText(result.Handovers, p.Rate), numfmt.Unknown, numfmt.Unknown, ""}
			if l.why == "" && p.Contenders > l.fitted.Fitted {
				row[2], row[4], row[5] = "measured and left out", numfmt.SI(l.fitted.Rate(p.Contenders)), signed(l.fitted.Error(p))
			}
			t.Rows = append(t.Rows, row)
		}
		for _, n := range d.Asked {
			row := []string{l.Lock.Name, strconv.Itoa(n), "computed", numfmt.Unknown, numfmt.Unknown, numfmt.Unknown, l.refusal()}
			if row[6] == "" {
				row[4] = numfmt.SI(l.fitted.Rate(n))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Answer returns the highest requested rate and the errors at the points left out.
func (d *Contention) Answer() string {
	if len(d.Asked) == 0 {
		return d.Errors()
	}
	n := d.Asked[len(d.Asked)-1]
	text := fmt.Sprintf("No rate is predicted for %s contenders.", numfmt.SI(float64(n)))
	most := 0.0
	for _, l := range d.locks {
		if l.refusal() == "" && l.Lock.Status.Competes() && l.fitted.Rate(n) > most {
			most = l.fitted.Rate(n)
			text = fmt.Sprintf("Highest predicted rate with %s contenders: %s, %s handovers per second.", numfmt.SI(float64(n)), l.Lock.Name, numfmt.SI(most))
		}
	}
	return text + " " + d.Errors()
}

// Errors returns how many left-out points are predicted well, and the greatest error.
func (d *Contention) Errors() string {
	var all predictionErrors
	for _, l := range d.locks {
		if l.why != "" {
			continue
		}
		for _, p := range l.fitted.LeftOut() {
			all.add(l.fitted.Error(p), fmt.Sprintf("%s, %d contenders", l.Lock.Name, p.Contenders))
		}
	}
	return all.sentence(numfmt.Plural(all.n, "point") + " left out of the fit")
}

// Laws lists the fitted laws.
func (d *Contention) Laws() string {
	var out []string
	for _, l := range d.locks {
		if l.why != "" {
			continue
		}
		law := l.fitted.Law
		text := l.Lock.Name + " " + numfmt.Nanos(law.Fixed)
		if law.Power > 0 {
			text += " + " + numfmt.Nanos(law.Growing) + "·(n−1)" + []string{"", "", "²"}[law.Power]
		}
		out = append(out, text)
	}
	return "Fitted time per handover with n contenders: " + strings.Join(out, "; ") + "."
}

// Notes explains the section.
func (d *Contention) Notes() string {
	return "The time per handover is fitted to the points up to a tenth of the most contenders. It is a constant, or a constant and a part that grows with the waiters or with their square. Points with more contenders are left out of the fit and show its error. A law that misses one by more than a factor of 1.5 predicts nothing. " +
		"A prediction does not cover limits that are reached only with more contenders, such as connections or memory. " +
		"Workload: " + d.Group.Axes + "."
}
