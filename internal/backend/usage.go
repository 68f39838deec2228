package backend

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"locklab/harness"
)

// A Usage is the resource usage of all servers of an endpoint together. An unreported value is -1.
type Usage struct {
	CPU         time.Duration // user and system
	Memory      int64         // allocated bytes
	Connections int64         // of clients, including the connection that asks
}

// UnknownUsage is the usage of servers that do not report it.
var UnknownUsage = Usage{-1, -1, -1}

// usageTime is how long the servers have to answer, all together.
const usageTime = 2 * time.Second

// ReadUsage asks every server of the first lists of at.Addrs, by a connection that it closes after
// the answer. It changes nothing there. With an error the usage is [UnknownUsage].
func ReadUsage(ctx context.Context, at harness.Endpoint, lists int) (u Usage, err error) {
	k, err := lookup(at.Kind)
	if err != nil {
		return UnknownUsage, err
	}
	ctx, cancel := context.WithTimeout(ctx, usageTime)
	defer cancel()
	for _, addr := range slices.Concat(at.Addrs[:min(lists, len(at.Addrs))]...) {
		one, err := k.usage(ctx, at, addr)
		if err != nil {
			return UnknownUsage, err
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

// usageOfRedis reads fields of INFO (https://redis.io/docs/latest/commands/info/).
func usageOfRedis(ctx context.Context, at harness.Endpoint, addr string) (Usage, error) {
	client, err := openRedis(at, addr)
	if err != nil {
		return UnknownUsage, err
	}
	defer client.Close()
	text := ""
	replies, err := client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for _, section := range []string{"cpu", "clients", "memory"} { // INFO before Redis 7 takes one
			p.Info(ctx, section)
		}
		return nil
	})
	if err != nil {
		return UnknownUsage, err
	}
	for _, r := range replies {
		text += r.(*goredis.StringCmd).Val()
	}
	fields := fieldsOf(text, ":")
	cpu := total(fields, float64(time.Second), "used_cpu_user", "used_cpu_sys") // getrusage(2) of the server
	return Usage{time.Duration(cpu), total(fields, 1, "used_memory"), total(fields, 1, "connected_clients")}, nil
}

// usageOfZooKeeper reads lines of srvr, the only command that a ZooKeeper server answers by
// default. A server reports neither its CPU time nor its heap: the size in mntr is the size of the
// nodes.
func usageOfZooKeeper(ctx context.Context, at harness.Endpoint, addr string) (Usage, error) {
	text, err := FourLetters(ctx, at, addr, "srvr")
	if err != nil {
		return UnknownUsage, fmt.Errorf("ZooKeeper does not report its usage: %w", err)
	}
	return Usage{-1, -1, total(fieldsOf(text, ":"), 1, "Connections")}, nil
}
