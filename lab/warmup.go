package lab

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/internal/numfmt"
)

// How long servers may be warmed up: a part of the time of the run, so that one in which
// flags are tried out does not wait for it.
const (
	warmShare = 8 // the time of the run over that of the warm-up
	warmLeast = 2 * time.Second
	warmMost  = 30 * time.Second // for each set of servers
)

// warmTime returns for how long the servers of p, a run that takes so long, may be warmed
// up, all together.
func warmTime(run time.Duration) time.Duration { return run / warmShare }

// warmUp warms up those servers that the lab has started and that get faster while they
// serve, for so long at most, the most plainly set up first, and takes down what came of it.
func (s *servers) warmUp(ctx context.Context, p *runner.Plan, most time.Duration, stderr io.Writer) error {
	var cold []harness.Site
	for _, near := range nearSites(p) {
		if srv := s.running[near]; srv != nil && srv.Owned() && runner.WarmsUp(near.Kind) {
			cold = append(cold, near)
		}
	}
	for i, near := range cold {
		part := min(warmMost, most/time.Duration(len(cold)-i))
		if part < warmLeast {
			continue
		}
		fmt.Fprintf(stderr, "warming %s up: %v at most\n", siteName(near), part.Round(time.Second))
		w, err := p.WarmUp(ctx, near, s.running[near].Endpoint(), part)
		if err != nil {
			return err
		}
		if w.Took == 0 {
			continue
		}
		most -= w.Took
		if s.warmth == nil {
			s.warmth = make(map[harness.Site]*resultfile.WarmUp)
		}
		s.warmth[near] = &w
		fmt.Fprintln(stderr, warmText(near, w))
	}
	return nil
}

// siteName returns the name of a ZooKeeper with its conditions.
func siteName(near harness.Site) string {
	if c := near.Conditions(); c != "" {
		return "ZooKeeper (" + c + ")"
	}
	return "ZooKeeper"
}

// warmText describes a warm-up in a line.
func warmText(near harness.Site, w resultfile.WarmUp) string {
	text := fmt.Sprintf("warmed %s up for %v: an acquisition takes %s of its processor time, %s at first",
		siteName(near), w.Took.Round(100*time.Millisecond), numfmt.Nanos(w.Last), numfmt.Nanos(w.First))
	if !w.Steady {
		text += "; it was still getting faster"
	}
	return text
}

// coldKind marks the warning about servers that still got faster.
const coldKind = "cold"

// coldWarnings warns of servers that the lab started and that still got faster when the
// first case was measured.
func coldWarnings(sites []resultfile.Site) []harness.Warning {
	var cold []string
	for _, a := range sites {
		if !runner.WarmsUp(a.Kind) || a.Settings == "" || a.WarmUp != nil && a.WarmUp.Steady { // or the user's
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
	return []harness.Warning{{
		Kind:   coldKind,
		Text:   fmt.Sprintf("ZooKeeper, which Java compiles while it serves, still got faster when the first case was measured (%s)", numfmt.List(cold, len(cold))),
		Remedy: fmt.Sprintf("give the run more time, of which a part of %d goes into the warm-up, or use a server that has served for a while (LOCKLAB_ZOOKEEPER)", warmShare),
	}}
}
