package backend

import (
	"slices"

	"locklab/harness"
)

// A Server is a running server, or an ensemble of servers. Any goroutine may call its
// methods.
type Server struct {
	endpoint harness.Endpoint
	version  string
	group    *group // nil for the user's

	sentinels []string // of the layout Sentinel
	replicas  int      // of a Setup, without an address in endpoint
}

// Endpoint returns the address and credentials of the server.
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

// Version returns the version that the server reports, such as "7.0.15", or "unknown".
func (s *Server) Version() string { return s.version }

// Owned reports whether the lab started the server. On any other server the lab uses only
// names under its own run id and never FLUSH, CONFIG, DEBUG or signals.
func (s *Server) Owned() bool { return s.group != nil }

// Sentinels returns the addresses of the sentinels of the layout [Sentinel], nil for
// others.
func (s *Server) Sentinels() []string { return slices.Clone(s.sentinels) }

// Stop ends the server in any state, and returns when its process is gone and its
// directory removed. A running Restart fails. It does nothing to the user's server.
// Further calls return the result of the first one.
func (s *Server) Stop() error {
	if s.group == nil {
		return nil
	}
	return s.group.stop()
}
