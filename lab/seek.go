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

// A kneeSearch is the state of the search for rates.
type kneeSearch struct {
	knees []result.Knee // the basis of the chosen rates
	begun *result.Knee  // unfinished search of the resumed run; nil if it had all
}

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
func (o *runOptions) fits() bool { return o.budget > 0 && (!o.resume || o.begun != nil) }

// refit spends the rest of the budget; if too small, the least plan begins.
func (o *runOptions) refit(p *measure.Plan) {
	if o.fits() {
		_ = o.fit(p, o.budget-time.Since(o.begin)-reportTime)
	}
}

// seek finds the missing rates of p and completes the manifest in dir, which out writes,
// before each probe. It closes out and returns the error if the search ends early, and repeats
// no earlier result: see planAgain.
func (o *runOptions) seek(ctx context.Context, p *measure.Plan, dir string, out *result.Writer, stderr io.Writer) error {
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
	ferr := finish(out, true)
	switch again := "go on with: " + o.program.Name + " run --resume --out " + dir; {
	case h.over: // nothing is left to resume
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

func (o *runOptions) search(ctx context.Context, p *measure.Plan, h *hunt) (err error) {
	if o.knees, err = p.Seek(ctx, o.knees, o.begun, h.at); err != nil {
		return err
	}
	if o.fits() {
		o.refit(p)
		p.Trim(o.knees)
	}
	err = h.out.Edit(func(m *result.Manifest) {
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

func unsought(p *measure.Plan, ks []result.Knee) error {
	if len(p.Cases) > 0 || len(ks) == 0 {
		return nil
	}
	return usage("nothing is left to measure: the knee of %s was not found: it %s", ks[0].Lock, ks[0].Missing)
}

// A hunt shows the progress of the search for rates, and stores its results.
type hunt struct {
	out    *result.Writer
	show   *progress
	whole  time.Duration // of the search, as estimated
	cases  int           // all, including cases of an earlier search
	before int           // cases of an earlier search
	begin  time.Time
	done   int  // cases
	probes int  // of the next case to complete
	over   bool // the search is complete
}

func (o *runOptions) hunting(p *measure.Plan, out *result.Writer, stderr io.Writer) *hunt {
	cases := slices.DeleteFunc(slices.Clone(p.Cases), func(c measure.Case) bool { return !c.Unknown() })
	h := &hunt{out: out, show: o.program.newProgress(stderr), cases: len(cases), before: len(o.knees), done: len(o.knees), begin: time.Now()}
	left := slices.DeleteFunc(slices.Clone(cases), func(c measure.Case) bool { return slices.ContainsFunc(o.knees, c.HasKnee) })
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

// at is called at the start of each probe and at the end of each case. It stores the
// previous probe and then shows the progress, on a separate line if lines are kept.
func (h *hunt) at(now measure.Seeking) error {
	err := h.out.Edit(func(m *result.Manifest) {
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

func (h *hunt) held(dir string) string {
	text := fmt.Sprintf("%s holds %d of %s", dir, h.done, numfmt.Plural(h.cases, "knee"))
	if h.probes > 0 {
		text += " and " + numfmt.Plural(h.probes, "probe") + " of the next"
	}
	return text
}

// left returns the approximate remaining time after probes probes of the current case. It
// uses the estimate before the first probe, and the pace of the search later.
func (h *hunt) left(probes int) time.Duration {
	took := time.Since(h.begin)
	done := h.done - h.before
	share := (float64(done) + min(0.95, float64(max(0, probes))/measure.SeekProbes)) / float64(h.cases-h.before)
	if share == 0 {
		return h.whole
	}
	return time.Duration(float64(took) * max(0, 1-share) / share)
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
