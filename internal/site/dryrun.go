package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

// DryRun counts the trips of the remote locks of p at their plainest servers, and stores them
// in p. A lock that fails is reported, and measured without counts, as are too short windows.
func (s *Servers) DryRun(ctx context.Context, p *measure.Plan, stderr io.Writer) {
	p.Trips = make(map[string]*result.Trips)
	locks := slices.DeleteFunc(p.Locks(), func(v *harness.Variant) bool {
		return v.Remote == nil || !slices.ContainsFunc(p.Cases, func(c measure.Case) bool { return c.Lock == v && c.Workload.Window >= harness.BucketLength })
	})
	var all errgroup.Group
	all.SetLimit(atOnce)
	trips, errs := make([]*result.Trips, len(locks)), make([]error, len(locks))
	for i, v := range locks {
		all.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				trips[i], errs[i] = measure.CountTrips(ctx, v, s.Running[Plainest(p, v)].Endpoint(), p.RunID+"-trips-"+v.Name)
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

// atOnce is the dry runs in parallel, which mostly wait for silence.
const atOnce = 12

// Plainest returns v's plainest servers without delay: TLS messages cannot be read.
func Plainest(p *measure.Plan, v *harness.Variant) measure.Site {
	odd := func(s measure.Site) int {
		n := s.Servers
		if s.TLS {
			n += 1 << 16
		}
		if s.Durable {
			n += 1 << 8
		}
		return n
	}
	var sites []measure.Site
	for _, c := range p.Cases {
		if c.Lock == v {
			sites = append(sites, c.Site().Near())
		}
	}
	return slices.MinFunc(sites, func(a, b measure.Site) int { return odd(a) - odd(b) })
}
