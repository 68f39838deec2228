package harness

import (
	"fmt"
	"strings"
	"time"
)

// A Site describes the servers of a case: their kind, their configuration and their
// distance from the clients.
type Site struct {
	Kind    string // KindRedis or KindZooKeeper
	Servers int    // that keep one copy each of the same data; at least 1
	Durable bool
	TLS     bool
	Delay   time.Duration
}

// Site returns the servers that a lock with these traits needs under w; the zero Site for
// a local lock. Several independent servers count as one copy each, since they do not
// share data.
func (t Traits) Site(w Workload) Site {
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
	w := Workload{Workers: 1, Servers: s.Servers, Durable: s.Durable, TLS: s.TLS, Delay: s.Delay}
	parts := strings.Split(w.Name(), "/")
	return strings.Join(parts[1:len(parts)-1], " ")
}

// Misfit returns the reason why a lock with these traits cannot be measured under w with
// regard to servers, or "".
func (t Traits) Misfit(w Workload) string {
	switch {
	case t.Needs == "" && w.Ranks > 1:
		return "ranks share distributed locks, and this one lives in one process"
	case t.Needs == "" && (w.Servers > 1 || w.Durable || w.TLS || w.Delay != 0):
		return "servers, durable, tls and delay are axes of distributed locks, and this one is not"
	case t.Servers > 1 && w.Servers > 1 && w.Servers != t.Servers:
		return fmt.Sprintf("it is kept by %d independent servers, not by %d", t.Servers, w.Servers)
	}
	return ""
}
