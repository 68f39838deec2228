package lab

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/internal/numfmt"
)

// checkAuto returns an error if rates are to be found, and something else says when workers
// ask.
func (a axes) checkAuto() error {
	if a.auto() && slices.ContainsFunc(a.think, func(s harness.Span) bool { return s.Mean > 0 }) {
		return fmt.Errorf("%w: --think and --rate auto: when workers ask is said by the one or by the other", harness.ErrUsage)
	}
	return nil
}

// long is how many measurements make a run so long that a probe of a second or two before it
// is nothing.
const long = 200

// settle makes a plan whose servers run ready to be measured: it finds rates, and with a
// budget chooses rounds and windows by what a case costs on this machine as it is now. What
// is left of a long run is estimated by that cost, too.
func (o *runOptions) settle(ctx context.Context, p *runner.Plan, stderr io.Writer) error {
	fit := o.budget > 0 && !o.resume
	if fit || p.Unknown() || o.resume && p.Total() > long {
		if err := p.Validate(); err != nil {
			return err
		}
		if err := p.Probe(ctx); err != nil {
			return err
		}
	}
	if err := o.seek(ctx, p, stderr); err != nil {
		return err
	}
	if fit {
		// That the budget is too small now, on a busy machine, is no reason not
		// to begin with the least of it.
		_ = o.fit(p, o.budget-time.Since(o.begin)-reportTime)
		p.Trim(o.knees)
	}
	return p.Validate()
}

// seek finds the rates of the cases of p that have none yet, and says what it found. What a
// run has found before is not sought again: planAgain takes it from its manifest.
func (o *runOptions) seek(ctx context.Context, p *runner.Plan, stderr io.Writer) error {
	if !p.Unknown() {
		return nil
	}
	cases := slices.DeleteFunc(slices.Clone(p.Cases), func(c runner.Case) bool { return !c.Unknown() })
	once := *p
	once.Cases, once.Rounds = cases, 0 // the search alone
	whole := once.Estimate()
	fmt.Fprintf(stderr, "looking for the %s of %s, about %v\n", numfmt.Choose(len(cases), "knee", "knees"), numfmt.Plural(len(cases), "case"), whole.Round(time.Second))
	h := hunt{show: newProgress(stderr), whole: whole, cases: len(cases), begin: time.Now()}
	defer h.show.clear()
	var err error
	o.knees, err = p.Seek(ctx, h.at)
	if err != nil {
		return err
	}
	if len(p.Cases) == 0 {
		return fmt.Errorf("%w: nothing is left to measure: the knee of %s was not found: it %s", harness.ErrUsage, o.knees[0].Lock, o.knees[0].Missing)
	}
	return nil
}

// A hunt tells how far the search for rates has come.
type hunt struct {
	show   *progress
	whole  time.Duration // of the search, as estimated
	cases  int
	begin  time.Time
	done   int // cases
	probes int // of the case that is next to be done
}

// at is told of the beginning of each probe, and of the end of each case: it shows the
// probe before, in a line of its own where lines stay.
func (h *hunt) at(now runner.Seeking) {
	trials := now.Knee.Trials
	left := h.left(len(trials))
	if n := len(trials); n > h.probes && h.show.width == nil {
		h.show.lasting(fmt.Sprintf("%s: probe %d at %v; about %v left", now.Case.Name(), n, trials[n-1], left.Round(time.Second)))
	}
	h.probes = len(trials)
	switch {
	case now.Done:
		h.show.lasting(found(now.Case, now.Knee))
		h.done, h.probes = h.done+1, 0
	case h.show.width != nil:
		h.show.line(step{done: h.done, total: h.cases, name: now.Case.Name(), figure: numfmt.Plural(len(trials), "probe"), left: left})
	}
}

// left returns about how long the search goes on after so many probes of a case: by the
// estimate, and by its pace once it has one.
func (h *hunt) left(probes int) time.Duration {
	const paced = 5 // probes
	took := time.Since(h.begin)
	share := (float64(h.done) + min(0.95, float64(probes)/runner.SeekProbes)) / float64(h.cases)
	if h.done == 0 && probes < paced {
		return max(0, h.whole-took)
	}
	return time.Duration(float64(took) * max(0, 1-share) / share)
}

// found says what the search for the knee of c gave.
func found(c runner.Case, k resultfile.Knee) string {
	if k.Missing != "" {
		return fmt.Sprintf("no knee of %s: it %s", c.Name(), k.Missing)
	}
	rates := make([]string, len(k.Rates))
	for i, r := range k.Rates {
		rates[i] = r.String()
	}
	return fmt.Sprintf("knee of %s: %v; measured at %s", c.Name(), k, strings.Join(rates, ", "))
}

// soughtConditions returns in which conditions the knee k was sought, as Skip has them.
func soughtConditions(k resultfile.Knee) string {
	w := k.Workload
	site := harness.Site{Servers: max(1, w.Servers), Durable: w.Durable, TLS: w.TLS, Delay: w.Delay}
	return strings.TrimSpace(fmt.Sprintf("rate=auto workers=%d %s", w.Workers, site.Conditions()))
}

// kneeless returns the knees that were not found as what is skipped.
func kneeless(ks []resultfile.Knee) (skipped []resultfile.Skip) {
	for _, k := range ks {
		if k.Missing != "" && len(k.Rates) == 0 {
			skipped = append(skipped, resultfile.Skip{Lock: k.Lock, Reason: "it has no knee: it " + k.Missing, Conditions: soughtConditions(k)})
		}
	}
	return skipped
}

// brokenSought returns a line for each lock that broke a promise in a search.
func brokenSought(ks []resultfile.Knee) (lines []string) {
	for _, k := range ks {
		if k.Broken != "" {
			lines = append(lines, fmt.Sprintf("%s violated %s (in the search for its knee)", k.Lock, k.Broken))
		}
	}
	return lines
}
