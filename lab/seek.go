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
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// long is the number of measurements from which a probe of a second or two is negligible.
const long = 200

// settle prepares a plan with running servers, except for searched rates. It chooses a
// budget's rounds and windows by the current cost of a case.
func (o *runOptions) settle(ctx context.Context, p *measure.Plan) error {
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

// fits reports whether the budget must still be spent; a run that measured has spent it.
func (o *runOptions) fits() bool { return o.budget > 0 && !o.resume }

// refit spends the rest of the budget; if too small, the least plan begins.
func (o *runOptions) refit(p *measure.Plan) {
	if o.fits() {
		_ = o.fit(p, o.budget-time.Since(o.begin)-reportTime)
	}
}

// seek finds the missing rates of p and completes the manifest in dir, which out writes. If
// the search ends early, it closes out and returns the error.
func (o *runOptions) seek(ctx context.Context, p *measure.Plan, dir string, out *result.Writer, stderr io.Writer) error {
	if !p.Unknown() {
		return nil
	}
	h := o.hunting(p, stderr)
	err := o.search(ctx, p, out, h)
	h.show.clear()
	if err == nil {
		return nil
	}
	switch ferr := finish(out, true); {
	case ctx.Err() == nil:
		return err
	case ferr != nil:
		return ferr
	}
	fmt.Fprintf(stderr, "interrupted: %s has no rates yet; search again with --replace\n", dir)
	return errInterrupted
}

func (o *runOptions) search(ctx context.Context, p *measure.Plan, out *result.Writer, h *hunt) (err error) {
	if o.knees, err = p.Seek(ctx, h.at); err != nil {
		return err
	}
	if o.fits() {
		o.refit(p)
		p.Trim(o.knees)
	}
	err = out.Edit(func(m *result.Manifest) {
		m.Knees, m.Skipped = o.knees, append(m.Skipped, kneeless(o.knees)...)
		m.Rounds, m.Cases = p.Rounds, len(p.Cases)
		if len(p.Cases) > 0 {
			m.Window, m.Windows = o.base(p), o.windows(p)
		}
	})
	return cmp.Or(err, unsought(p, o.knees), p.Validate())
}

func unsought(p *measure.Plan, ks []result.Knee) error {
	if len(p.Cases) > 0 || len(ks) == 0 {
		return nil
	}
	return usage("nothing is left to measure: the knee of %s was not found: it %s", ks[0].Lock, ks[0].Missing)
}

// A hunt shows the progress of the search for rates.
type hunt struct {
	show  *progress
	whole time.Duration // of the search, as estimated
	begin time.Time
	cases int // all
	done  int // cases
}

func (o *runOptions) hunting(p *measure.Plan, stderr io.Writer) *hunt {
	once := *p
	once.Cases = slices.DeleteFunc(slices.Clone(p.Cases), func(c measure.Case) bool { return !c.Unknown() })
	once.Rounds = 0 // the search alone
	h := &hunt{show: o.program.newProgress(stderr), whole: once.Estimate(), begin: time.Now(), cases: len(once.Cases)}
	fmt.Fprintf(stderr, "looking for the %s of %s, about %v\n", numfmt.Choose(h.cases, "knee", "knees"), numfmt.Plural(h.cases, "case"), h.whole.Round(time.Second))
	return h
}

// at is called at the start of each probe and at the end of each case. It shows the progress,
// on a separate line if lines are kept.
func (h *hunt) at(now measure.Seeking) {
	trials := now.Knee.Trials
	n, left := len(trials), h.left(len(trials))
	if n > 0 && h.show.width == nil {
		h.show.lasting(fmt.Sprintf("%s: probe %d at %v; about %v left", now.Case.Name(), n, trials[n-1], left.Round(time.Second)))
	}
	switch {
	case now.Done:
		h.show.lasting(found(now.Case, now.Knee))
		h.done++
	case h.show.width != nil:
		h.show.line(step{done: h.done, total: h.cases, name: now.Case.Name(), figure: numfmt.Plural(n, "probe"), left: left})
	}
}

// left returns the approximate remaining time after probes probes of the current case. It
// uses the estimate before the first probe, and the pace of the search later.
func (h *hunt) left(probes int) time.Duration {
	share := (float64(h.done) + min(0.95, float64(probes)/measure.SeekProbes)) / float64(h.cases)
	if share == 0 {
		return h.whole
	}
	return time.Duration(float64(time.Since(h.begin)) * max(0, 1-share) / share)
}

func found(c measure.Case, k result.Knee) string {
	if k.Missing != "" {
		return fmt.Sprintf("no knee of %s: it %s", c.Name(), k.Missing)
	}
	rates := make([]string, len(k.Rates))
	for i, r := range k.Rates {
		rates[i] = r.String()
	}
	return fmt.Sprintf("knee of %s: %v; measured at %s", c.Name(), k, strings.Join(rates, ", "))
}

func soughtConditions(k result.Knee) string {
	w := k.Workload
	site := harness.Site{Servers: max(1, w.Servers), Durable: w.Durable, TLS: w.TLS, Delay: w.Delay}
	return strings.TrimSpace(fmt.Sprintf("rate=auto workers=%d %s", w.Workers, site.Conditions()))
}

func kneeless(ks []result.Knee) (skipped []result.Skip) {
	for _, k := range ks {
		if k.Missing != "" && len(k.Rates) == 0 {
			skipped = append(skipped, result.Skip{Lock: k.Lock, Reason: "it has no knee: it " + k.Missing, Conditions: soughtConditions(k)})
		}
	}
	return skipped
}

func brokenSought(ks []result.Knee) (lines []string) {
	for _, k := range ks {
		if k.Broken != "" {
			lines = append(lines, fmt.Sprintf("%s violated %s (in the search for its knee)", k.Lock, k.Broken))
		}
	}
	return lines
}
