package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/runner"
	"locklab/internal/backend"
)

// servers are the servers of a run, by kind.
type servers struct {
	running map[string]*backend.Server
}

// startServers starts what the plan's locks need and enters it in the plan. A
// lock whose server cannot be had is taken out of the plan and returned as
// skipped, with the reason.
func startServers(ctx context.Context, p *runner.Plan) (*servers, []resultfile.Skip, error) {
	s := &servers{running: make(map[string]*backend.Server)}
	p.Endpoints = make(map[string]harness.Endpoint)
	var skipped []resultfile.Skip
	for _, kind := range p.Needs() {
		srv, err := backend.Start(ctx, kind)
		switch {
		case errors.Is(err, harness.ErrUnavailable) && !backend.Required(kind):
			skipped = append(skipped, drop(p, kind, err.Error())...)
		case err != nil:
			s.stop()
			return nil, nil, err
		default:
			s.running[kind] = srv
			p.Endpoints[kind] = srv.Endpoint()
		}
	}
	if len(skipped) > 0 && len(p.Cases) == 0 {
		s.stop()
		return nil, nil, fmt.Errorf("%w: nothing is left to measure: %s", harness.ErrUsage, skipped[0].Reason)
	}
	return s, skipped, nil
}

// drop takes the locks that need kind out of p.
func drop(p *runner.Plan, kind, reason string) (skipped []resultfile.Skip) {
	p.Cases = slices.DeleteFunc(p.Cases, func(c runner.Case) bool {
		if c.Lock.Traits.Needs != kind {
			return false
		}
		s := resultfile.Skip{Lock: c.Lock.Name, Reason: reason}
		if !slices.Contains(skipped, s) {
			skipped = append(skipped, s)
		}
		return true
	})
	return skipped
}

func (s *servers) stop() {
	if s == nil {
		return
	}
	for _, srv := range s.running {
		srv.Stop() // what cannot be stopped dies with this process
	}
}

// versions returns what the servers say they are.
func (s *servers) versions() map[string]string {
	v := make(map[string]string)
	for kind, srv := range s.running {
		v[kind] = srv.Version()
	}
	return v
}
