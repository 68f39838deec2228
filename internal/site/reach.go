package site

import (
	"context"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// reach enters the endpoints of the cases in p, with proxies for delayed sites. It records
// the configuration of all sites and their round trips.
func (s *Servers) reach(ctx context.Context, p *measure.Plan) error {
	clock := machine.Calibrate()
	for _, site := range p.Sites() {
		srv := s.Running[site.Near()]
		at := srv.Endpoint()
		a := result.Site{
			Kind: site.Kind, Version: srv.Version(), Conditions: site.Conditions(), Servers: site.Servers,
			Independent: len(at.Addrs), Delay: site.Delay, WarmUp: s.warmth[site.Near()],
		}
		if srv.Owned() {
			a.Settings = setup(p, site.Near()).Settings(site.Kind)
		} else {
			a.Servers = len(at.Addrs[0])
		}
		if site.Durable {
			sync, err := srv.SyncTime()
			if err != nil {
				return err
			}
			a.FileSystem, a.SyncTime = srv.FileSystem(), float64(sync)
		}
		far, err := trips(ctx, clock, at, &a)
		if err != nil {
			return err
		}
		if far != nil {
			s.proxies, at.Addrs = append(s.proxies, far), far.Addrs
		}
		p.Endpoints[site] = at
		s.Sites = append(s.Sites, a)
	}
	return ctx.Err()
}

// probes is the measurements of each round trip of a site, alternating.
const probes = 3

// trips measures the round trips to at. If a has a delay it also measures those through a
// proxy without and with it, and returns the proxy.
func trips(ctx context.Context, clock machine.Clock, at harness.Endpoint, a *result.Site) (far *faultproxy.Row, err error) {
	away := at
	if a.Delay > 0 {
		none := func(int) faultproxy.Options { return faultproxy.Options{} }
		if far, err = faultproxy.NewRow(at.Addrs, faultproxy.Unread, none); err != nil {
			return nil, err
		}
		away.Addrs = far.Addrs
	}
	var direct, proxied, delayed []float64
	for range probes {
		direct = append(direct, measure.RoundTrip(ctx, clock, at))
		if far != nil {
			far.Delay(0)
			proxied = append(proxied, measure.RoundTrip(ctx, clock, away))
			far.Delay(a.Delay)
			delayed = append(delayed, measure.RoundTrip(ctx, clock, away))
		}
	}
	a.Direct = stat.Median(direct)
	if far != nil {
		a.Proxied, a.Delayed = stat.Median(proxied), stat.Median(delayed)
	}
	return far, nil
}
