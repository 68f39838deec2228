package backend

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
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

type questioner interface {
	ask(ctx context.Context) (map[string]string, error)
	close()
}

// gaugeTime is how long a server has to answer.
const gaugeTime = 2 * time.Second

// A Gauge reads the resource usage of servers, for one goroutine, and changes nothing there.
type Gauge struct {
	kind *Kind
	all  []questioner
}

// NewGauge returns a Gauge of the first lists of at.Addrs. The caller closes it.
func NewGauge(ctx context.Context, at harness.Endpoint, lists int) (*Gauge, error) {
	k, err := lookup(at.Kind)
	if err != nil {
		return nil, err
	}
	g := &Gauge{kind: k}
	for _, list := range at.Addrs[:min(lists, len(at.Addrs))] {
		for _, addr := range list {
			q, err := k.question(ctx, at, addr)
			if err != nil {
				g.Close()
				return nil, err
			}
			g.all = append(g.all, q)
		}
	}
	return g, nil
}

// Close ends the connections.
func (g *Gauge) Close() {
	for _, q := range g.all {
		q.close()
	}
}

// Read asks every server.
func (g *Gauge) Read(ctx context.Context) (Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, gaugeTime)
	defer cancel()
	var u Usage
	for _, q := range g.all {
		fields, err := q.ask(ctx)
		if err != nil {
			return Usage{-1, -1, -1}, err
		}
		one := g.kind.usage(fields)
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

// redisUsage reads fields of INFO (https://redis.io/docs/latest/commands/info/).
func redisUsage(fields map[string]string) Usage {
	cpu := total(fields, float64(time.Second), "used_cpu_user", "used_cpu_sys") // getrusage(2) of the server
	return Usage{time.Duration(cpu), total(fields, 1, "used_memory"), total(fields, 1, "connected_clients")}
}

type redisLine struct {
	conn net.Conn
	r    *bufio.Reader
}

// openRedis connects, under a name of its own.
func openRedis(ctx context.Context, at harness.Endpoint, addr string) (*redisLine, error) {
	conn, err := dial(ctx, addr, at.TLS)
	if err != nil {
		return nil, err
	}
	l := &redisLine{conn, bufio.NewReader(conn)}
	if at.Password != "" {
		auth := []string{"AUTH", at.Password}
		if at.Username != "" {
			auth = []string{"AUTH", at.Username, at.Password}
		}
		if _, err := l.do(auth...); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return l, nil
}

func (l *redisLine) do(args ...string) (string, error) {
	if _, err := l.conn.Write(redisRequest(args)); err != nil {
		return "", err
	}
	return readRedisReply(l.r)
}

func (l *redisLine) close() { l.conn.Close() }

// ask requests the sections one by one, as INFO before Redis 7 requires.
func (l *redisLine) ask(ctx context.Context) (map[string]string, error) {
	if deadline, ok := ctx.Deadline(); ok {
		l.conn.SetDeadline(deadline)
	}
	text := ""
	for _, section := range []string{"cpu", "clients", "memory"} {
		part, err := l.do("INFO", section)
		if err != nil {
			return nil, err
		}
		text += part
	}
	return fieldsOf(text, ":"), nil
}

func askRedis(ctx context.Context, at harness.Endpoint, addr string) (questioner, error) {
	ctx, cancel := context.WithTimeout(ctx, gaugeTime)
	defer cancel()
	l, err := openRedis(ctx, at, addr)
	if err != nil {
		return nil, err
	}
	if b, ok := l.conn.(*boundConn); ok && !b.stop() { // it outlives the context of its beginning
		l.conn.Close()
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// zooKeeperUsage reads lines of srvr, the only command that a ZooKeeper server answers by default.
// A server reports neither its CPU time nor its heap: the size in mntr is the size of the nodes.
func zooKeeperUsage(fields map[string]string) Usage {
	return Usage{-1, -1, total(fields, 1, "Connections")}
}

// zooKeeperLine asks one server, over a connection for each question, which the server ends.
type zooKeeperLine struct {
	at   harness.Endpoint
	addr string
}

func (l zooKeeperLine) close() {}

func (l zooKeeperLine) ask(ctx context.Context) (map[string]string, error) {
	text, err := FourLetters(ctx, l.at, l.addr, "srvr")
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper does not report its usage: %w", err)
	}
	return fieldsOf(text, ":"), nil
}

func askZooKeeper(_ context.Context, at harness.Endpoint, addr string) (questioner, error) {
	return zooKeeperLine{at, addr}, nil
}
