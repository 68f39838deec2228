package lab

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
	skipped := drop(p, func(v *harness.Variant) string { return v.Unavailable })
	for _, kind := range p.Needs() {
		srv, err := backend.StartSeveral(ctx, kind, harness.Servers(p.Locks(), kind))
		switch {
		case errors.Is(err, harness.ErrUnavailable) && !backend.Required(kind):
			skipped = append(skipped, drop(p, func(v *harness.Variant) string {
				if v.Traits.Needs != kind {
					return ""
				}
				return err.Error()
			})...)
		case err != nil:
			s.stop()
			return nil, nil, err
		default:
			s.running[kind] = srv
			p.Endpoints[kind] = srv.Endpoint()
			skipped = append(skipped, drop(p, func(v *harness.Variant) string {
				if v.Traits.Needs != kind {
					return ""
				}
				return v.Traits.Lacks(srv.Endpoint())
			})...)
		}
	}
	if len(skipped) > 0 && len(p.Cases) == 0 {
		s.stop()
		return nil, nil, fmt.Errorf("%w: nothing is left to measure: %s", harness.ErrUsage, skipped[0].Reason)
	}
	return s, skipped, nil
}

// drop takes the locks for which why gives a reason out of p.
func drop(p *runner.Plan, why func(v *harness.Variant) string) (skipped []resultfile.Skip) {
	p.Cases = slices.DeleteFunc(p.Cases, func(c runner.Case) bool {
		s := resultfile.Skip{Lock: c.Lock.Name, Reason: why(c.Lock)}
		if s.Reason != "" && !slices.Contains(skipped, s) {
			skipped = append(skipped, s)
		}
		return s.Reason != ""
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
