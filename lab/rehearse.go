package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/causal"
	"locklab/harness/runner"
	"locklab/internal/numfmt"
)

// rehearse counts what the remote locks of p do with the network, at the plainest of the
// servers that each is measured at, and enters it in p. A lock that does not play along
// is told of and measured all the same: its results lack the counts. So do those of
// windows that are shorter than any that a budget takes, in which flags are tried out.
func (s *servers) rehearse(ctx context.Context, p *runner.Plan, stderr io.Writer) {
	p.Trips = make(map[string]*harness.Trips)
	locks := slices.DeleteFunc(p.Locks(), func(v *harness.Variant) bool {
		return v.Remote == nil || !slices.ContainsFunc(p.Cases, func(c runner.Case) bool { return c.Lock == v && c.Workload.Window >= harness.SliceLength })
	})
	if len(locks) > longList {
		fmt.Fprintf(stderr, "counting the round trips of %s: a few seconds\n", numfmt.Plural(len(locks), "lock"))
	}
	var all errgroup.Group
	all.SetLimit(atOnce)
	trips, errs := make([]*harness.Trips, len(locks)), make([]error, len(locks))
	for i, v := range locks {
		all.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				trips[i], errs[i] = causal.Count(ctx, v, s.running[plainest(p, v)].Endpoint(), p.RunID+"-trips-"+v.Name)
			}
			return nil
		})
	}
	_ = all.Wait() // errs has them
	for i, v := range locks {
		if errs[i] == nil {
			p.Trips[v.Name] = trips[i]
		} else if !errors.Is(errs[i], harness.ErrUnavailable) && ctx.Err() == nil {
			fmt.Fprintf(stderr, "the round trips of %s are not counted: %s\n", v.Name, strings.ReplaceAll(errs[i].Error(), "\n", "; "))
		}
	}
}

// atOnce is how many locks are rehearsed beside each other: most of the time each waits
// until its clients are silent.
const atOnce = 4

// longList is from how many on it is said that counting takes a while.
const longList = 10

// plainest returns the servers, without their delay, at which v is measured that are set up
// most plainly: what is sent by TLS cannot be read.
func plainest(p *runner.Plan, v *harness.Variant) (site harness.Site) {
	found := false
	odd := func(s harness.Site) int {
		n := s.Servers
		if s.TLS {
			n += 1 << 16
		}
		if s.Durable {
			n += 1 << 8
		}
		return n
	}
	for _, c := range p.Cases {
		near := c.Site().Near()
		if c.Lock == v && (!found || odd(near) < odd(site)) {
			site, found = near, true
		}
	}
	return site
}
