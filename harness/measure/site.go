package measure

import (
	"strings"
	"time"

	"locklab/harness"
)

// A Site describes the servers of a case: their kind, their configuration and their
// distance from the clients.
type Site struct {
	Kind    string // harness.KindRedis or harness.KindZooKeeper
	Servers int    // that keep one copy each of the same data; at least 1
	Durable bool
	TLS     bool
	Delay   time.Duration
}

// SiteOf returns the servers that a lock with traits t needs under w; the zero Site for a
// local lock. Several independent servers count as one copy each, since they do not
// share data.
func SiteOf(t harness.Traits, w harness.Workload) Site {
	if t.Needs == "" {
		return Site{}
	}
	s := Site{Kind: t.Needs, Servers: max(1, w.Servers), Durable: w.Durable, TLS: w.TLS, Delay: w.Delay}
	if t.Servers > 1 {
		s.Servers = 1
	}
	return s
}

// Near returns s without its delay.
func (s Site) Near() Site {
	s.Delay = 0
	return s
}

// Plain reports whether s is one server, not durable, without TLS and not delayed.
func (s Site) Plain() bool { return s == Site{Kind: s.Kind, Servers: 1} }

// Conditions returns the non-default parts of s, such as "servers=3 durable=on delay=2ms".
func (s Site) Conditions() string {
	w := harness.Workload{Workers: 1, Servers: s.Servers, Durable: s.Durable, TLS: s.TLS, Delay: s.Delay}
	parts := strings.Split(w.Name(), "/")
	return strings.Join(parts[1:len(parts)-1], " ")
}
