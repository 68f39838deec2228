package site

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// Limits of the warm-up, a fraction of the run, so that short runs do not wait.
const (
	warmShare = 10               // ratio of the run to the warm-up
	WarmLeast = 2 * time.Second  // shorter is no warm-up
	warmMost  = 30 * time.Second // for each set of servers
	startTime = 2 * time.Second  // of servers, and of the dry runs
)

// WarmTime returns the time to warm up the servers of a run of the given length, all together.
func WarmTime(run time.Duration) time.Duration { return run / warmShare }

// Preparation returns about the time that [Start], with that time to warm servers up, and
// [Servers.DryRun] take.
func Preparation(p *measure.Plan, warm time.Duration) (d time.Duration) {
	for _, kind := range p.Needs() {
		if backend.UsersServer(kind) != "" {
			continue
		}
		d = max(d, startTime)
		if measure.WarmsUp(kind) && warm >= WarmLeast {
			d += min(warm, warmMost)
		}
	}
	return d
}

// warmUp warms up servers that the lab has started and that get faster while they serve,
// for at most most. The plainest are first. It records the results.
func (s *Servers) warmUp(ctx context.Context, p *measure.Plan, most time.Duration, stderr io.Writer) error {
	var cold []measure.Site
	for _, near := range nearSites(p) {
		if srv := s.Running[near]; srv != nil && srv.Owned() && measure.WarmsUp(near.Kind) {
			cold = append(cold, near)
		}
	}
	for i, near := range cold {
		part := min(warmMost, most/time.Duration(len(cold)-i))
		if part < WarmLeast {
			continue
		}
		fmt.Fprintf(stderr, "warming %s up: %v at most\n", siteName(near), part.Round(time.Second))
		w, err := p.WarmUp(ctx, near, s.Running[near].Endpoint(), part)
		if err != nil {
			return err
		}
		if w.Took == 0 {
			continue
		}
		most -= w.Took
		s.warmth[near] = &w
		fmt.Fprintln(stderr, warmText(near, w))
	}
	return nil
}

func siteName(near measure.Site) string {
	return strings.TrimSuffix("ZooKeeper ("+near.Conditions()+")", " ()")
}

func warmText(near measure.Site, w result.WarmUp) string {
	text := fmt.Sprintf("warmed %s up for %v: an acquisition takes %s of its processor time, %s at first",
		siteName(near), w.Took.Round(100*time.Millisecond), numfmt.Nanos(w.Last), numfmt.Nanos(w.First))
	if !w.Steady {
		text += "; it was still getting faster"
	}
	return text
}

const coldKind = "cold"

// ColdWarnings warns about servers that were still getting faster at the first case.
func ColdWarnings(sites []result.Site) []machine.Warning {
	var cold []string
	for _, a := range sites {
		if !measure.WarmsUp(a.Kind) || a.Settings == "" || a.WarmUp != nil && a.WarmUp.Steady { // or it is the user's
			continue
		}
		of := "at once"
		if a.WarmUp != nil {
			of = fmt.Sprintf("after a warm-up of %v", a.WarmUp.Took.Round(100*time.Millisecond))
		}
		cold = append(cold, strings.TrimSpace(a.Conditions+" "+of))
	}
	if cold == nil {
		return nil
	}
	return []machine.Warning{{
		Kind:   coldKind,
		Text:   fmt.Sprintf("ZooKeeper, which Java compiles while it serves, still got faster when the first case was measured (%s)", numfmt.List(cold, len(cold))),
		Remedy: fmt.Sprintf("give the run more time, of which a part of %d goes into the warm-up, or use a server that has served for a while (LOCKLAB_ZOOKEEPER)", warmShare),
	}}
}
