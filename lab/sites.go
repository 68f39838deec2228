package lab

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
	"locklab/internal/machine"
	"locklab/internal/stat"
)

// farAway is proxies in front of all addresses of an endpoint, which add a delay.
type farAway struct {
	at      harness.Endpoint // the proxies' addresses
	proxies []*faultproxy.Proxy
}

// newFarAway returns at behind proxies without a delay yet.
func newFarAway(at harness.Endpoint) (*farAway, error) {
	f := &farAway{at: at}
	f.at.Addrs = nil
	for _, list := range at.Addrs {
		var through []string
		for _, addr := range list {
			p, err := faultproxy.New(addr, faultproxy.Unread, faultproxy.Options{})
			if err != nil {
				f.close()
				return nil, err
			}
			f.proxies = append(f.proxies, p)
			through = append(through, p.Addr())
		}
		f.at.Addrs = append(f.at.Addrs, through)
	}
	return f, nil
}

// delay adds by to each round trip.
func (f *farAway) delay(by time.Duration) {
	for _, p := range f.proxies {
		p.Delay(faultproxy.Request, by/2)
		p.Delay(faultproxy.Reply, by-by/2)
	}
}

func (f *farAway) close() {
	for _, p := range f.proxies {
		p.Close()
	}
}

// reach enters the endpoints of the cases in p, with proxies for delayed sites. It records
// the configuration of all sites and their round trips.
func (s *servers) reach(ctx context.Context, p *measure.Plan) error {
	clock := machine.Calibrate()
	for _, site := range p.Sites() {
		srv := s.running[site.Near()]
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
			s.proxies, at = append(s.proxies, far), far.at
		}
		p.Endpoints[site] = at
		s.accounts = append(s.accounts, a)
	}
	return ctx.Err()
}

// probes is the number of measurements of each round trip of a site, alternating with the
// others.
const probes = 3

// trips measures the round trips to at. If a has a delay it also measures those through a
// proxy without and with it, and returns the proxy.
func trips(ctx context.Context, clock machine.Clock, at harness.Endpoint, a *result.Site) (far *farAway, err error) {
	if a.Delay > 0 {
		if far, err = newFarAway(at); err != nil {
			return nil, err
		}
	}
	var direct, proxied, delayed []float64
	for range probes {
		direct = append(direct, measure.RoundTrip(ctx, clock, at))
		if far == nil {
			continue
		}
		far.delay(0)
		proxied = append(proxied, measure.RoundTrip(ctx, clock, far.at))
		far.delay(a.Delay)
		delayed = append(delayed, measure.RoundTrip(ctx, clock, far.at))
	}
	a.Direct = stat.Median(direct)
	if far != nil {
		a.Proxied, a.Delayed = stat.Median(proxied), stat.Median(delayed)
	}
	return far, nil
}
