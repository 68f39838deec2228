package page

import (
	"slices"
	"strings"

	"locklab/harness/judge"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// A fragment is a piece of a sentence; a lock's name is emphasized.
type fragment struct {
	Text string
	Lock bool
}

// headline returns the answer, a sentence each on local and distributed locks, without
// figures, so another run with the same decisions has the same.
func headline(ds []judge.Decision) (out []fragment) {
	for _, remote := range []bool{false, true} {
		mine := slices.DeleteFunc(slices.Clone(ds), func(d judge.Decision) bool { return d.Situation.Distributed() != remote })
		if len(mine) > 0 {
			out = append(out, sentenceOn(mine, remote)...)
		}
	}
	return out
}

// Headline returns the headline of the report of a run with the decisions ds.
func Headline(ds []judge.Decision) string { return plainText(headline(ds)) }

func sentenceOn(ds []judge.Decision, remote bool) (out []fragment) {
	add := func(text string) { out = append(out, fragment{Text: text}) }
	place := "Inside one process"
	if remote {
		place = "Between processes"
	}
	first := slices.DeleteFunc(slices.Clone(ds), func(d judge.Decision) bool { return d.Over != "" && remote })
	names, of := uses(first)
	if len(names) == 0 {
		add(place + ": " + chart.Why(ds[len(ds)-1]) + ". ")
		return out
	}
	add(place + " use ")
	for i, name := range names {
		if i > 0 {
			add("; ")
		}
		out = append(out, fragment{name, true})
		if len(names) > 1 {
			add(" " + whenAll(of[name]))
		}
		if text := remark(of[name]); text != "" {
			add(text)
		}
	}
	if open := slices.DeleteFunc(first, func(d judge.Decision) bool { return d.Use != "" }); len(open) > 0 {
		add("; no recommendation " + whenAll(open))
	}
	if remote {
		out = append(out, weaker(ds)...)
	}
	add(". ")
	return out
}

func remark(ds []judge.Decision) string {
	d := ds[len(ds)-1]
	if d.Class != nil {
		return " (" + chart.ClassText(*d.Class) + ")"
	}
	if d.Rule != judge.BySpeed {
		return ""
	}
	text := " (faster than " + d.Over
	if ps := chart.PriceTexts(d, false); len(ps) > 0 {
		text += "; " + strings.Join(ps, ", ")
	}
	return text + ")"
}

func weaker(ds []judge.Decision) []fragment {
	for _, d := range slices.Backward(ds) {
		if d.Over != "" {
			return []fragment{{Text: "; or, if " + d.Class.Where + ", the faster "}, {d.Use, true}}
		}
	}
	return nil
}

func whenAll(ds []judge.Decision) string {
	var out []string
	for _, d := range ds {
		out = append(out, when(d.Situation))
	}
	return numfmt.List(out, len(out))
}

// degreeWords describe each degree of contention: as a sentence, the same if other
// processes took processor time, and as a condition after the name of a lock.
var degreeWords = map[judge.Degree]struct{ meaning, taken, when string }{
	judge.Uncontended:    {"one worker takes the lock", "", "without contention"},
	judge.FewWorkers:     {"some CPUs are idle", "", "with a few workers"},
	judge.UpToCPUs:       {"every worker has its own CPU", "no more workers than CPUs, of which others or a CPU limit took time in some windows", "with up to one worker per CPU"},
	judge.OnePerCPU:      {"every CPU has a worker, no worker waits for a CPU", "as many workers as CPUs, of which others or a CPU limit took time in some windows", "with one worker per CPU"},
	judge.Oversubscribed: {"workers wait for CPUs as well as for the lock", "", "with more workers than CPUs"},
	judge.Contended:      {"all workers want the lock at once", "", "under contention"},
}

func when(s judge.Situation) string {
	text := degreeWords[s.Degree].when
	switch s.Group().Kind() {
	case judge.Read:
		text = "if most acquisitions only read"
	case judge.Held:
		text = "if it is held long, " + text
	}
	if servers := s.Group().Deployment(); servers != "" {
		text += " on " + servers
	}
	return text
}

func meaning(s judge.Situation) string {
	words := degreeWords[s.Degree]
	text := words.meaning
	if s.Group().Taken && words.taken != "" {
		text = words.taken
	}
	return text
}

func plainText(fs []fragment) string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString(f.Text)
	}
	return strings.TrimSpace(b.String())
}
