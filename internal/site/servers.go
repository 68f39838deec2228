// Package site starts the servers that a plan of measurements needs, warms them up, puts
// them at a distance and counts what their locks send.
package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

// mostServers limits the server processes of a run at a time. Its rounds mix all
// conditions, so all their servers run at once; a ZooKeeper server takes some 150 MB.
const mostServers = 40

// Servers are a run's servers, a set for each configuration, and the proxies that delay some.
type Servers struct {
	Running map[measure.Site]*backend.Server // by sites without delay
	Sites   []result.Site                    // with their settings and round trips

	proxies []*faultproxy.Row
	warmth  map[measure.Site]*result.WarmUp // by sites without delay
}

// Start starts the servers for the plan and enters them in it. It returns cases without
// fitting servers as skipped, with the reason. It warms up servers that get faster, for at
// most warm in total, with progress on stderr.
func Start(ctx context.Context, p *measure.Plan, warm time.Duration, stderr io.Writer) (_ *Servers, skipped []result.Skip, err error) {
	s := &Servers{Running: make(map[measure.Site]*backend.Server), warmth: make(map[measure.Site]*result.WarmUp)}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	p.Endpoints = make(map[measure.Site]harness.Endpoint)
	skipped = Drop(p, func(c measure.Case) string { return c.Lock.Unavailable })
	skipped = append(skipped, Drop(p, Unfit)...)
	if err := Check(p); err != nil {
		return nil, nil, err
	}
	if kinds := slices.DeleteFunc(p.Needs(), func(kind string) bool { return backend.UsersServer(kind) != "" }); len(kinds) > 0 {
		fmt.Fprintf(stderr, "starting %s\n", strings.Join(kinds, " and "))
	}
	for _, near := range nearSites(p) {
		more, err := s.start(ctx, p, near)
		if err != nil {
			return nil, nil, err
		}
		skipped = append(skipped, more...)
	}
	if len(skipped) > 0 && len(p.Cases) == 0 {
		return nil, nil, fmt.Errorf("%w: nothing is left to measure: %s", harness.ErrUsage, skipped[0].Reason)
	}
	if err := s.warmUp(ctx, p, warm, stderr); err != nil {
		return nil, nil, err
	}
	return s, skipped, s.reach(ctx, p)
}

func (s *Servers) start(ctx context.Context, p *measure.Plan, near measure.Site) ([]result.Skip, error) {
	srv, err := backend.StartSetup(ctx, near.Kind, setup(p, near))
	lacking := func(c measure.Case) string { return c.Lock.Traits.Lacks(srv.Endpoint()) }
	switch {
	case errors.Is(err, harness.ErrUnavailable) && !backend.Required(near.Kind):
		lacking = func(measure.Case) string { return err.Error() }
	case err != nil:
		return nil, err
	default:
		s.Running[near] = srv
	}
	return Drop(p, func(c measure.Case) string {
		if c.Site().Near() != near {
			return ""
		}
		return lacking(c)
	}), nil
}

func setup(p *measure.Plan, near measure.Site) backend.Setup {
	b := backend.Setup{Servers: near.Servers, Independent: 1, Durable: near.Durable, TLS: near.TLS}
	for _, c := range p.Cases {
		if c.Site().Near() == near {
			b.Independent = max(b.Independent, c.Lock.Traits.Servers)
		}
	}
	return b
}

func nearSites(p *measure.Plan) (near []measure.Site) {
	for _, site := range p.Sites() {
		if !slices.Contains(near, site.Near()) {
			near = append(near, site.Near())
		}
	}
	return near
}

// Check returns an error if a site of p cannot be set up: the user's servers, or too many.
func Check(p *measure.Plan) error {
	for _, site := range p.Sites() {
		env := backend.UsersServer(site.Kind)
		if env == "" || site.Plain() {
			continue
		}
		what, flag := "a delay on a user's server", "--delay"
		if !site.Near().Plain() {
			what, flag = "another setup of a user's server", "--servers, --durable and --tls"
		}
		return fmt.Errorf("%w: %s: %s names it, and %s is for servers that the lab starts; leave out one of the two", harness.ErrUsage, what, env, flag)
	}
	processes := 0
	for _, near := range nearSites(p) {
		if backend.UsersServer(near.Kind) == "" {
			processes += setup(p, near).Processes()
		}
	}
	if processes > mostServers {
		return fmt.Errorf("%w: these conditions take %d servers at a time, and a run may have %d: choose fewer of --servers, --durable and --tls, or fewer locks", harness.ErrUsage, processes, mostServers)
	}
	return nil
}

// Unfit returns why the lock of c cannot be measured under its workload, or "".
func Unfit(c measure.Case) string {
	return cmp.Or(c.Lock.Traits.Misfit(c.Workload), measure.Unguarded(c.Lock, c.Workload))
}

// Drop removes the cases for which why gives a reason from p.
func Drop(p *measure.Plan, why func(c measure.Case) string) (skipped []result.Skip) {
	var all []result.Skip
	p.Cases = slices.DeleteFunc(p.Cases, func(c measure.Case) bool {
		reason := why(c)
		if reason != "" {
			all = append(all, result.Skip{Lock: c.Lock.Name, Reason: reason, Conditions: Conditions(c)})
		}
		return reason != ""
	})
	for _, s := range all {
		if !slices.ContainsFunc(p.Cases, func(c measure.Case) bool { return c.Lock.Name == s.Lock }) {
			s.Conditions = "" // in all of them
		}
		if !slices.Contains(skipped, s) {
			skipped = append(skipped, s)
		}
	}
	return skipped
}

// Conditions returns the conditions of c that can rule out its lock, in the form of Skip.
func Conditions(c measure.Case) string {
	w := c.Workload
	if c.Lock.Local != nil {
		return fmt.Sprintf("section=%s read=%d", w.Section, w.Reads)
	}
	site := measure.Site{Servers: max(1, w.Servers), Durable: w.Durable, TLS: w.TLS, Delay: w.Delay}
	return cmp.Or(site.Conditions(), "servers=1")
}

// Stop stops the servers and their proxies.
func (s *Servers) Stop() {
	if s == nil {
		return
	}
	for _, f := range s.proxies {
		f.Close()
	}
	for _, srv := range s.Running {
		srv.Stop() // a server that cannot be stopped dies with this process
	}
}

// Versions returns the versions of the servers, by kind.
func (s *Servers) Versions() map[string]string {
	v := make(map[string]string)
	for site, srv := range s.Running {
		v[site.Kind] = srv.Version()
	}
	return v
}
