package lab

import (
	"cmp"
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

// settle makes a plan whose servers run ready to be measured, but for rates that are to be
// found: with a budget it chooses rounds and windows by what a case costs on this machine as
// it is now. What is left of a long run is estimated by that cost, too.
func (o *runOptions) settle(ctx context.Context, p *runner.Plan) error {
	if o.fits() || p.Unknown() || o.resume && p.Total() > long {
		if err := p.Validate(); err != nil {
			return err
		}
		if err := p.Probe(ctx); err != nil {
			return err
		}
	}
	if !p.Unknown() {
		o.refit(p)
	}
	return p.Validate()
}

// fits reports whether the budget is to be spent yet: that of a run whose measuring had begun
// was.
func (o *runOptions) fits() bool { return o.budget > 0 && (!o.resume || o.begun != nil) }

// refit spends what is left of the budget. That it is too small now, on a busy machine, is
// no reason not to begin with the least of it.
func (o *runOptions) refit(p *runner.Plan) {
	if o.fits() {
		_ = o.fit(p, o.budget-time.Since(o.begin)-reportTime)
	}
}

// seek finds the rates of the cases of p that have none yet, and completes the manifest of
// the run in dir, which out writes: until then each probe is in it when the next one begins.
// What ends the search closes out, and is returned. What a run had found before is not
// sought again: see planAgain.
func (o *runOptions) seek(ctx context.Context, p *runner.Plan, dir string, out *resultfile.Writer, stderr io.Writer) error {
	if !p.Unknown() {
		return nil
	}
	h := o.hunting(p, out, stderr)
	err := o.search(ctx, p, h)
	h.show.clear()
	if err == nil {
		return nil
	}
	interrupted := ctx.Err() != nil
	ferr := out.Finish(func(m *resultfile.Manifest) { m.Finished, m.Interrupted = time.Now().UTC(), true })
	switch again := "go on with: " + o.program.Name + " run --resume --out " + dir; {
	case h.over: // nothing to go on with
		return err
	case !interrupted:
		return fmt.Errorf("%w; %s; %s", err, h.held(dir), again)
	case ferr != nil:
		return ferr
	default:
		fmt.Fprintf(stderr, "interrupted: %s; %s\n", h.held(dir), again)
		return errInterrupted
	}
}

// search is seek without its end.
func (o *runOptions) search(ctx context.Context, p *runner.Plan, h *hunt) (err error) {
	if o.knees, err = p.Seek(ctx, o.knees, o.begun, h.at); err != nil {
		return err
	}
	if o.fits() {
		o.refit(p)
		p.Trim(o.knees)
	}
	err = h.out.Edit(func(m *resultfile.Manifest) {
		m.Knees, m.Seeking, m.Skipped = o.knees, nil, append(m.Skipped, kneeless(o.knees)...)
		m.Rounds, m.Cases = p.Rounds, len(p.Cases)
		if len(p.Cases) > 0 {
			m.Window, m.Windows = o.base(p), o.windows(p)
		}
	})
	if err != nil {
		return err
	}
	h.over = true
	return cmp.Or(unsought(p, o.knees), p.Validate())
}

// unsought says that p, whose rates were to be those around ks, has no case, if that is so.
func unsought(p *runner.Plan, ks []resultfile.Knee) error {
	if len(p.Cases) > 0 || len(ks) == 0 {
		return nil
	}
	return fmt.Errorf("%w: nothing is left to measure: the knee of %s was not found: it %s", harness.ErrUsage, ks[0].Lock, ks[0].Missing)
}

// A hunt tells how far the search for rates has come, and keeps what it has found.
type hunt struct {
	out    *resultfile.Writer
	show   *progress
	whole  time.Duration // of the search, as estimated
	cases  int           // all, those of an earlier search too
	before int           // cases of an earlier search
	begin  time.Time
	done   int  // cases
	probes int  // of the case that is next to be done
	over   bool // all that is to be found is
}

// hunting says what is sought.
func (o *runOptions) hunting(p *runner.Plan, out *resultfile.Writer, stderr io.Writer) *hunt {
	cases := slices.DeleteFunc(slices.Clone(p.Cases), func(c runner.Case) bool { return !c.Unknown() })
	h := &hunt{out: out, show: o.program.newProgress(stderr), cases: len(cases), before: len(o.knees), done: len(o.knees), begin: time.Now()}
	left := slices.DeleteFunc(slices.Clone(cases), func(c runner.Case) bool { return slices.ContainsFunc(o.knees, c.HasKnee) })
	once := *p
	once.Cases, once.Rounds = left, 0 // the search alone
	h.whole = once.Estimate()
	if o.begun != nil {
		fmt.Fprintf(stderr, "%d of %s %s found before\n", h.before, numfmt.Plural(h.cases, "knee"), numfmt.Choose(h.before, "was", "were"))
	}
	if len(left) > 0 {
		fmt.Fprintf(stderr, "looking for the %s of %s, about %v\n", numfmt.Choose(len(left), "knee", "knees"), numfmt.Plural(len(left), "case"), h.whole.Round(time.Second))
	}
	return h
}

// at is told of the beginning of each probe, and of the end of each case: it keeps the probe
// before and then shows it, in a line of its own where lines stay.
func (h *hunt) at(now runner.Seeking) error {
	err := h.out.Edit(func(m *resultfile.Manifest) {
		if m.Seeking = &now.Knee; now.Done {
			m.Knees = append(m.Knees, now.Knee)
		}
	})
	if err != nil {
		return err
	}
	trials := now.Knee.Trials
	left := h.left(len(trials) - now.Made)
	if n := len(trials); n > max(h.probes, now.Made) && h.show.width == nil {
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
	return nil
}

// held says what dir holds of the search.
func (h *hunt) held(dir string) string {
	text := fmt.Sprintf("%s holds %d of %s", dir, h.done, numfmt.Plural(h.cases, "knee"))
	if h.probes > 0 {
		text += " and " + numfmt.Plural(h.probes, "probe") + " of the next"
	}
	return text
}

// left returns about how long the search goes on after so many probes of a case now: by the
// estimate, and by its pace once it has one.
func (h *hunt) left(probes int) time.Duration {
	const paced = 5 // probes
	took := time.Since(h.begin)
	done := h.done - h.before
	share := (float64(done) + min(0.95, float64(max(0, probes))/runner.SeekProbes)) / float64(h.cases-h.before)
	if done == 0 && probes < paced {
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
