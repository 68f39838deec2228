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

// settle prepares a plan with running servers, except for searched rates. It spends the rest
// of a budget.
func (o *runOptions) settle(p *measure.Plan) error {
	if !p.Unknown() {
		o.refit(p)
	}
	return p.Validate()
}

// refit spends the rest of the budget, if there is one; if too small, the least plan begins. A run
// that measured has spent it.
func (o *runOptions) refit(p *measure.Plan) (done bool) {
	if done = o.budget > 0 && !o.resume; done {
		_ = o.fit(p, o.budget-time.Since(o.begin)-reportTime)
	}
	return done
}

// seek finds the missing rates of p and completes the manifest in dir, which out writes. If
// the search ends early, it closes out and returns the error.
func (o *runOptions) seek(ctx context.Context, p *measure.Plan, dir string, out *result.Writer, stderr io.Writer) error {
	if !p.Unknown() {
		return nil
	}
	err := o.search(ctx, p, out, stderr)
	if err == nil {
		return nil
	}
	if ferr := finish(out, true); ctx.Err() == nil || ferr != nil {
		return cmp.Or(ferr, err)
	}
	fmt.Fprintf(stderr, "interrupted: %s has no rates yet; search again with --replace\n", dir)
	return errInterrupted
}

func (o *runOptions) search(ctx context.Context, p *measure.Plan, out *result.Writer, stderr io.Writer) (err error) {
	once := *p
	once.Cases = slices.DeleteFunc(slices.Clone(p.Cases), func(c measure.Case) bool { return !c.Unknown() })
	once.Rounds = 0 // the search alone
	cases, done := len(once.Cases), 0
	fmt.Fprintf(stderr, "looking for the %s of %s, about %v\n", numfmt.Choose(cases, "saturation point", "saturation points"), numfmt.Plural(cases, "case"), once.Estimate().Round(time.Second))
	show := o.program.newProgress(stderr, p.Estimate()-once.Estimate()+o.later(p))
	defer show.clear()
	probe := show.parts("probes", once.Estimate())
	o.saturations, err = p.Seek(ctx, func(now measure.Seeking) {
		if now.Done {
			show.lasting(found(now.Case, now.Saturation))
			done++
			return
		}
		probe(done*measure.SeekProbes+len(now.Saturation.Trials), cases*measure.SeekProbes)
	})
	if err != nil {
		return err
	}
	if o.refit(p) {
		p.Trim(o.saturations)
	}
	err = out.Edit(func(m *result.Manifest) {
		m.Saturations, m.Skipped = o.saturations, append(m.Skipped, unsaturated(o.saturations)...)
		o.record(m, p)
	})
	return cmp.Or(err, unsought(p, o.saturations), p.Validate())
}

func unsought(p *measure.Plan, ks []result.Saturation) error {
	if len(p.Cases) > 0 || len(ks) == 0 {
		return nil
	}
	return usage("nothing is left to measure: the saturation point of %s was not found: it %s", ks[0].Lock, ks[0].Missing)
}

func found(c measure.Case, k result.Saturation) string {
	if k.Missing != "" {
		return fmt.Sprintf("no saturation point of %s: it %s", c.Name(), k.Missing)
	}
	return fmt.Sprintf("saturation point of %s: %v; measured at %s", c.Name(), k, strings.Join(result.Each(k.Rates, harness.Rate.String), ", "))
}

func soughtConditions(k result.Saturation) string {
	w := k.Workload
	site := measure.Site{Servers: max(1, w.Servers), Durable: w.Durable, TLS: w.TLS, Delay: w.Delay}
	return strings.TrimSpace(fmt.Sprintf("rate=auto workers=%d %s", w.Workers, site.Conditions()))
}

func unsaturated(ks []result.Saturation) (skipped []result.Skip) {
	for _, k := range ks {
		if k.Missing != "" && len(k.Rates) == 0 {
			skipped = append(skipped, result.Skip{Lock: k.Lock, Reason: "it has no saturation point: it " + k.Missing, Conditions: soughtConditions(k)})
		}
	}
	return skipped
}

func brokenSought(ks []result.Saturation) (lines []string) {
	for _, k := range ks {
		if k.Broken != "" {
			lines = append(lines, fmt.Sprintf("%s violated %s (in the search for its saturation point)", k.Lock, k.Broken))
		}
	}
	return lines
}
