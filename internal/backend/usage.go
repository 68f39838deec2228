package backend

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
)

// A Usage is the resource usage of all servers of an endpoint together. An unreported value is -1.
type Usage struct {
	CPU         time.Duration // user and system
	Memory      int64         // allocated bytes
	Connections int64         // of clients, including the connection of the Gauge
}

// A meter reads the usage of one server.
type meter struct {
	read  func(ctx context.Context) (Usage, error)
	close func() error
}

// gaugeTime is how long a server has to answer.
const gaugeTime = 2 * time.Second

// A Gauge reads the resource usage of servers, for one goroutine, and changes nothing there. It
// connects when it first reads.
type Gauge struct{ all []meter }

// NewGauge returns a Gauge of the first lists of at.Addrs. The caller closes it.
func NewGauge(at harness.Endpoint, lists int) (*Gauge, error) {
	k, err := lookup(at.Kind)
	if err != nil {
		return nil, err
	}
	g := new(Gauge)
	for _, addr := range slices.Concat(at.Addrs[:min(lists, len(at.Addrs))]...) {
		m, err := k.meter(at, addr)
		if err != nil {
			g.Close()
			return nil, err
		}
		g.all = append(g.all, m)
	}
	return g, nil
}

// Close ends the connections.
func (g *Gauge) Close() {
	for _, m := range g.all {
		m.close()
	}
}

// Read asks every server.
func (g *Gauge) Read(ctx context.Context) (Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, gaugeTime)
	defer cancel()
	var u Usage
	for _, m := range g.all {
		one, err := m.read(ctx)
		if err != nil {
			return Usage{-1, -1, -1}, err
		}
		u = Usage{plus(u.CPU, one.CPU), plus(u.Memory, one.Memory), plus(u.Connections, one.Connections)}
	}
	return u, nil
}

func plus[N ~int64](a, b N) N {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// total returns the sum of the named fields in units, or -1 if one is missing.
func total(fields map[string]string, unit float64, names ...string) int64 {
	sum := 0.0
	for _, name := range names {
		x, err := strconv.ParseFloat(fields[name], 64)
		if err != nil || !(x >= 0) || x > 1e15 {
			return -1
		}
		sum += x * unit
	}
	return int64(math.Round(sum))
}

func fieldsOf(text, sep string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), sep); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

// meterRedis reads fields of INFO (https://redis.io/docs/latest/commands/info/).
func meterRedis(at harness.Endpoint, addr string) (meter, error) {
	client, err := openRedis(at, addr)
	if err != nil {
		return meter{}, err
	}
	read := func(ctx context.Context) (Usage, error) {
		text := ""
		for _, section := range []string{"cpu", "clients", "memory"} { // INFO before Redis 7 takes one
			part, err := client.Info(ctx, section).Result()
			if err != nil {
				return Usage{}, err
			}
			text += part
		}
		fields := fieldsOf(text, ":")
		cpu := total(fields, float64(time.Second), "used_cpu_user", "used_cpu_sys") // getrusage(2) of the server
		return Usage{time.Duration(cpu), total(fields, 1, "used_memory"), total(fields, 1, "connected_clients")}, nil
	}
	return meter{read, client.Close}, nil
}

// meterZooKeeper reads lines of srvr, the only command that a ZooKeeper server answers by default.
// Each question has its own connection, which the server ends. A server reports neither its CPU
// time nor its heap: the size in mntr is the size of the nodes.
func meterZooKeeper(at harness.Endpoint, addr string) (meter, error) {
	read := func(ctx context.Context) (Usage, error) {
		text, err := FourLetters(ctx, at, addr, "srvr")
		if err != nil {
			return Usage{}, fmt.Errorf("ZooKeeper does not report its usage: %w", err)
		}
		return Usage{-1, -1, total(fieldsOf(text, ":"), 1, "Connections")}, nil
	}
	return meter{read, func() error { return nil }}, nil
}
