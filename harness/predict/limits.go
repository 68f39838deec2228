package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/stat"
)

// A Limit is a resource that runs out before a lock fails, as contenders grow.
type Limit struct {
	Name   string  // identifies the limit in tables
	Doc    string  // one line, without a capital or a full stop: the limited resource
	Paper  string  // source of Most, short form
	Kind   string  // of the affected servers, as in harness.Endpoint; "" is any
	Most   float64 // its default amount; 0 if that depends on the run
	Each   string  // a contender's use, for sentences: "connections"
	Remedy string  // remedy, one sentence without a full stop
	Hard   bool    // no setting lifts it: nothing is extrapolated beyond it

	// of returns the number of contenders that reach it; false if the run does not
	// show it.
	of func(l *Limit, c *Crowd) (contenders float64, ok bool)
}

// Limits lists every limit, in the order of tables.
var Limits = []*Limit{
	{
		Name: "maxclients", Doc: "connections that a Redis server takes", Paper: "redis.conf 7.0, maxclients", Kind: harness.KindRedis,
		Most: 10000, Each: "connections", of: byConnections,
		Remedy: "raise maxclients of Redis and ulimit -n of its process, or let contenders share clients (--clients)",
	},
	{
		Name: "maxClientCnxns", Doc: "connections that a ZooKeeper server takes from one address of clients", Paper: "ZooKeeper 3.8 Administrator's Guide, maxClientCnxns", Kind: harness.KindZooKeeper,
		Most: 60, Each: "connections", of: byConnections,
		Remedy: "raise maxClientCnxns (the lab's own servers have no such limit), spread contenders over hosts, or let them share clients (--clients)",
	},
	{
		Name: "ports", Doc: "connections from one address to one port of a server: the ephemeral ports 32768 to 60999", Paper: "Linux ip-sysctl, ip_local_port_range",
		Most: 28232, Each: "connections", of: byConnections,
		Remedy: "spread contenders over hosts, widen net.ipv4.ip_local_port_range, or let them share clients (--clients)",
	},
	{
		Name: "files", Doc: "files that a process may have open where systemd starts it: those of a server are its connections", Paper: "systemd 252, systemd.exec(5), LimitNOFILE",
		Most: 524288, Each: "connections", of: byConnections,
		Remedy: "raise LimitNOFILE of the server, or let contenders share clients (--clients)",
	},
	{
		Name: "memory", Doc: "memory of the machine that was measured, of which the servers take some for each contender", Paper: "Redis INFO, used_memory", Hard: true,
		Each: "bytes", of: byMemory,
		Remedy: "give the server more memory, or let contenders share clients (--clients)",
	},
	{
		Name: "polls", Doc: "requests that the processors serve, by the utilization law: waiters that ask again take as many each, served or not", Paper: "Lazowska et al. 1984", Hard: true,
		Each: "requests a second", of: byPolls,
		Remedy: "lengthen the pause, or take a lock that queues",
	},
}

func byConnections(l *Limit, c *Crowd) (float64, bool) {
	each := c.uses(func(p Point) stat.Summary { return p.Connections })
	return l.Most / each, each > 0
}

func byMemory(_ *Limit, c *Crowd) (float64, bool) {
	each := c.uses(func(p Point) stat.Summary { return p.Memory })
	return c.machine.Memory / each, each > 0 && c.machine.Memory > 0
}

func byPolls(_ *Limit, c *Crowd) (float64, bool) {
	per := c.own.asks * c.own.busy
	return 1 / per, per > 0
}

func (c *Crowd) uses(of func(p Point) stat.Summary) float64 {
	points := c.Points
	if len(c.fitted) > 0 {
		points = c.fitted
	}
	for _, p := range slices.Backward(points) {
		if v := of(p); v.N > 0 && v.Median > 0 {
			return v.Median
		}
	}
	return 0
}

// A Breach is a limit and the number of contenders that reach it.
type Breach struct {
	Limit      *Limit
	Contenders float64
}

// Breaches returns the limits that the run determines, in the order of being reached.
func (c *Crowd) Breaches() (out []Breach) {
	for _, l := range Limits {
		if l.Kind != "" && l.Kind != c.Lock.Traits.Needs {
			continue
		}
		if n, ok := l.of(l, c); ok && n > 0 && !math.IsInf(n, 0) {
			out = append(out, Breach{l, n})
		}
	}
	slices.SortStableFunc(out, func(a, b Breach) int { return cmp.Compare(a.Contenders, b.Contenders) })
	return out
}

// Before returns the limits reached before this many contenders.
func (c *Crowd) Before(contenders int) []Breach {
	return slices.DeleteFunc(c.Breaches(), func(b Breach) bool { return b.Contenders >= float64(contenders) })
}

// ValidateLimits returns one error that joins every mistake in ls, or nil.
func ValidateLimits(ls []*Limit) error {
	var errs []error
	seen := make(map[string]bool)
	for _, l := range ls {
		bad := func(text string) { errs = append(errs, fmt.Errorf("limit %q %s", l.Name, text)) }
		if l.Name == "" {
			bad("has no name")
		}
		if seen[l.Name] {
			bad("is listed twice")
		}
		seen[l.Name] = true
		if l.Doc == "" || l.Paper == "" || l.Each == "" {
			bad("is undocumented, or names no source")
		}
		if l.Remedy == "" {
			bad("has no remedy")
		}
		if l.of == nil {
			bad("has no function")
		}
	}
	return errors.Join(errs...)
}
