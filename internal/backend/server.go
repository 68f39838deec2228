package backend

import (
	"slices"

	"locklab/harness"
)

// A Server is a running server, or an ensemble of them. Its methods may be
// called by any goroutine.
type Server struct {
	endpoint harness.Endpoint
	version  string
	group    *group // nil for the user's

	sentinels []string // of the layout Sentinel
	replicas  int      // of a Setup, which have no address in endpoint
}

// Endpoint returns the addresses and settings to reach the server.
func (s *Server) Endpoint() harness.Endpoint {
	at := s.endpoint
	at.Addrs = make([][]string, len(s.endpoint.Addrs))
	for i, list := range s.endpoint.Addrs {
		at.Addrs[i] = slices.Clone(list)
	}
	addrs := 0
	for _, list := range at.Addrs {
		addrs += len(list)
	}
	if pids := s.PIDs(); len(pids) >= addrs {
		at.PIDs = pids[:min(len(pids), addrs+s.replicas)]
	}
	if at.TLS != nil {
		at.TLS = at.TLS.Clone()
	}
	return at
}

// Version returns the version reported by the server, such as "7.0.15", or "unknown".
func (s *Server) Version() string { return s.version }

// Owned reports whether the lab started the server. On a server that is not owned the lab
// touches only names under its own run id and never uses FLUSH, CONFIG, DEBUG or signals.
func (s *Server) Owned() bool { return s.group != nil }

// Sentinels returns the addresses of the sentinels of the layout [Sentinel], nil of others.
func (s *Server) Sentinels() []string { return slices.Clone(s.sentinels) }

// Stop ends the server in any state, and returns when its process is gone and its directory
// removed. A concurrent Restart fails. It does nothing to the user's server. Further calls return
// the result of the first.
func (s *Server) Stop() error {
	if s.group == nil {
		return nil
	}
	return s.group.stop()
}
