package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

const mostNames = 4

func Estimated(d judge.Decision) string {
	text := numfmt.PerSecond(d.Rate.Median)
	if d.Situation.Metric() == result.Handovers {
		text = numfmt.SI(d.Rate.Median) + " handovers/s"
	}
	if d.Rate.Hi > 0 {
		text += ", " + numfmt.SI(d.Rate.Lo) + " to " + numfmt.SI(d.Rate.Hi)
	}
	return text
}

// Why returns the reason for d as one sentence without a full stop.
func Why(d judge.Decision) string {
	const none = "no recommendation: "
	switch d.Rule {
	case judge.ByDefault:
		return "the default; " + unbeaten(d) + rounds(d)
	case judge.BySpeed:
		return faster(d) + ties(d) + rounds(d)
	case judge.FewRounds:
		return fmt.Sprintf("%s%d of %s", none, d.Rounds, numfmt.Plural(d.Needed, "round"))
	case judge.OneLock:
		return none + "only " + d.Fastest + " was measured"
	case judge.NoDefault:
		return fmt.Sprintf("%s%s was not measured; of %d locks %s is the fastest", none, d.Situation.DefaultLock(), d.Locks, d.Fastest)
	case judge.Unmet:
		return none + "no lock measured here has the required guarantees"
	}
	return none + "no correct lock made progress"
}

func unbeaten(d judge.Decision) string {
	if d.Gain != nil && d.Gain.Reading == judge.Equivalent {
		return fmt.Sprintf("%s is %s as fast, which is within the tolerance", d.Fastest, GainText(d.Gain))
	}
	if d.Gain != nil && d.Gain.Reading == judge.Faster {
		return fmt.Sprintf("%s is %s as fast, which may be within the tolerance", d.Fastest, GainText(d.Gain))
	}
	if d.Locks == 2 {
		return "the other lock is not significantly faster by more than the tolerance"
	}
	return fmt.Sprintf("none of %d other locks is significantly faster by more than the tolerance", d.Locks-1)
}

func faster(d judge.Decision) (text string) {
	but := ", but "
	switch {
	case d.Gain != nil:
		text = fmt.Sprintf("%s as fast as %s", GainText(d.Gain), d.Over)
	case d.Class == nil || d.Class.Strength == result.Unknown:
		text = "the fastest of " + numfmt.Plural(d.Locks, "lock")
	default:
		text = "the fastest of the locks that tolerate the most"
	}
	if d.Default != "" {
		text += ", the default"
	}
	if d.Use != d.Fastest {
		text, but = fmt.Sprintf("cheaper than %s, which is ", d.Fastest)+text, "; its own price: "
	}
	if ps := PriceTexts(d, true); len(ps) > 0 {
		text += but + strings.Join(ps, ", ")
	}
	return text
}

func ties(d judge.Decision) (text string) {
	if len(d.Dearer) > 0 {
		text = fmt.Sprintf("; faster at a higher price, but not shown to be %gx as fast: ", judge.WorthPrice) + numfmt.List(d.Dearer, mostNames)
	}
	switch {
	case len(d.Ties) == 0:
		return text
	case d.Class == nil:
		text += "; not shown to differ by more than the tolerance: "
	default:
		text += "; not significantly slower: "
	}
	return text + numfmt.List(d.Ties, mostNames)
}

func rounds(d judge.Decision) string { return " (" + numfmt.Plural(d.Rounds, "round") + ")" }

func GainText(r *judge.Ratio) string {
	f := Decimals(r.Median, r.Lo, r.Hi)
	return fmt.Sprintf(f+"x ("+f+"–"+f+")", r.Median, r.Lo, r.Hi)
}

// PriceTexts returns the prices of d, with or without their figures. Without them a lock is
// unfair if its longest wait is a price, since Jain's index varies more.
func PriceTexts(d judge.Decision, figures bool) (out []string) {
	formats := map[judge.PriceKind]struct {
		text   string
		format func(float64) string
	}{
		judge.Unfair:  {"unfair (Jain %s%s)", numfmt.Percent},
		judge.Waits:   {"a longest wait of %s%s", numfmt.Nanos},
		judge.Costs:   {"%s of CPU an acquisition%s", numfmt.Nanos},
		judge.Polling: {"its waiters poll", nil},
		judge.Handles: {"each worker needs a handle", nil},
		judge.Server:  {"one server grants it", nil},
	}
	for _, p := range d.Prices {
		f := formats[p.Kind]
		switch {
		case f.format == nil:
			out = append(out, f.text)
		case figures:
			than := ""
			if p.Default != nil {
				than = ", not " + f.format(p.Default.Value)
			}
			out = append(out, fmt.Sprintf(f.text, f.format(p.Own.Value), than))
		case p.Kind != judge.Costs && !slices.Contains(out, "unfair"):
			out = append(out, "unfair")
		}
	}
	return out
}

// Decimals returns the format of a ratio with the decimals that its interval supports. There are
// more, up to three, if the interval would be printed as if it reached 1.
func Decimals(v, lo, hi float64) string {
	digits := 2
	switch {
	case v >= 10:
		digits = 0
	case v >= 1 && hi-lo >= 0.2:
		digits = 1
	case v < 0.1:
		digits = 3
	}
	near := max(lo, min(hi, 1)) // in the interval, next to 1
	for digits < 3 && near != 1 && math.Abs(near-1) <= 0.5*math.Pow10(-digits) {
		digits++
	}
	return fmt.Sprintf("%%.%df", digits)
}
