package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
)

// A Layout is an arrangement of cooperating Redis servers, to check a lock under failures.
type Layout struct {
	Name string // in messages

	servers int // how many are started
	kind    Kind
}

// Sentinel is a primary, a replica, and three Redis Sentinels, which promote the replica if
// two of them cannot reach the primary for sentinelPatience. Their configuration contains the
// addresses that they would discover in the first seconds; Endpoint, the primary and the
// replica.
var Sentinel = &Layout{
	Name:    "redis-sentinel",
	servers: 2 + sentinels,
	kind:    layoutKind(sentinelCommand, settleSentinels),
}

// Cluster is three primaries without replicas that share the slots of a Redis Cluster evenly. It
// takes two seconds to start: primaries refuse to serve until then after they have found each
// other. Each serves on if another hangs.
var Cluster = &Layout{
	Name:    "redis-cluster",
	servers: 3,
	kind:    layoutKind(clusterCommand, settleCluster),
}

func layoutKind(command func(program, member, []member) (*exec.Cmd, error), settle func(context.Context, []member) error) Kind {
	k := redis
	k.alone, k.command, k.settle = false, command, settle
	return k
}

// StartAlone starts one new Redis server, for tests that disturb it, regardless of LOCKLAB_REDIS.
func StartAlone(ctx context.Context) (*Server, error) {
	return StartSetup(ctx, harness.KindRedis, Setup{Own: true})
}

func startLayout(ctx context.Context, sys system, l *Layout) (*Server, error) {
	s, err := launch(ctx, sys, &l.kind, l.servers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	s.endpoint.Cluster = l == Cluster
	if l == Sentinel {
		s.sentinels = s.endpoint.Addrs[0][2:]
		s.endpoint.Addrs[0] = s.endpoint.Addrs[0][:2]
	}
	return s, nil
}

const (
	sentinels = 3

	// SentinelMaster is the sentinels' name of the primary.
	SentinelMaster = "lab"

	// sentinelPatience is a server's silence before a sentinel considers it dead, usually 30 s.
	sentinelPatience = 500 * time.Millisecond
)

// sentinelCommand starts the primary, its replica, then sentinels.
func sentinelCommand(p program, m member, all []member) (*exec.Cmd, error) {
	if m == all[0] || m == all[1] {
		return RedisOptions{}.command(p, m, all)
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, "port %d\nbind 127.0.0.1\ndir %q\nlogfile \"\"\nloglevel warning\n", m.port, m.dir)
	fmt.Fprintf(&conf, "sentinel myid %s\n", sentinelID(m))
	fmt.Fprintf(&conf, "sentinel monitor %s 127.0.0.1 %d 2\n", SentinelMaster, all[0].port)
	fmt.Fprintf(&conf, "sentinel down-after-milliseconds %s %d\n", SentinelMaster, sentinelPatience.Milliseconds())
	fmt.Fprintf(&conf, "sentinel failover-timeout %s 3000\n", SentinelMaster)
	fmt.Fprintf(&conf, "sentinel known-replica %s 127.0.0.1 %d\n", SentinelMaster, all[1].port)
	for _, other := range all[2:] {
		if other.port != m.port {
			fmt.Fprintf(&conf, "sentinel known-sentinel %s 127.0.0.1 %d %s\n", SentinelMaster, other.port, sentinelID(other))
		}
	}
	path := filepath.Join(m.dir, "sentinel.conf") // which a sentinel keeps up to date
	if err := os.WriteFile(path, []byte(conf.String()), 0o600); err != nil {
		return nil, err
	}
	cmd := redisWith(p, m)
	cmd.Args = []string{cmd.Args[0], path, "--sentinel"}
	return cmd, nil
}

func sentinelID(m member) string { return fmt.Sprintf("%040x", m.port) }

// settleSentinels waits until the replica has its copy and the sentinels see all others.
func settleSentinels(ctx context.Context, all []member) error {
	if err := settleReplicas(ctx, all[:2]); err != nil {
		return err
	}
	for _, m := range all[2:] {
		want := fmt.Sprintf("status=ok,address=127.0.0.1:%d,slaves=1,sentinels=%d", all[0].port, sentinels)
		if err := until(ctx, m, 1, want, "INFO", "sentinel"); err != nil {
			return err
		}
		if err := until(ctx, m, 1, "OK", "SENTINEL", "CKQUORUM", SentinelMaster); err != nil {
			return err
		}
	}
	return nil
}

func clusterCommand(p program, m member, _ []member) (*exec.Cmd, error) {
	return redisWith(p, m,
		"--cluster-enabled", "yes",
		"--cluster-port", strconv.Itoa(m.quorum), // else 10,000 more, which may be none
		"--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", "15000",
		"--cluster-require-full-coverage", "no",
	), nil
}

// settleCluster assigns the slots, introduces the members, and waits until all of them serve.
func settleCluster(ctx context.Context, all []member) error {
	const slots = 16384
	for i, m := range all {
		from, to := i*slots/len(all), (i+1)*slots/len(all)-1
		if _, err := runCommand(ctx, m, "CLUSTER", "ADDSLOTSRANGE", from, to); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		if _, err := runCommand(ctx, all[0], "CLUSTER", "MEET", "127.0.0.1", m.port, m.quorum); err != nil {
			return err
		}
	}
	for _, m := range all {
		for _, want := range []string{"cluster_slots_ok:16384", "cluster_state:ok"} {
			if err := until(ctx, m, 1, want, "CLUSTER", "INFO"); err != nil {
				return err
			}
		}
	}
	return nil
}

// runCommand sends one command to a member and returns the reply.
func runCommand(ctx context.Context, m member, args ...any) (string, error) {
	client, err := openRedis(harness.Endpoint{}, m.addr())
	if err != nil {
		return "", err
	}
	defer client.Close()
	reply, err := client.Do(ctx, args...).Text()
	if err != nil {
		return "", fmt.Errorf("%v: %w", args, err)
	}
	return reply, nil
}

func until(ctx context.Context, m member, times int, want string, args ...any) error {
	return retry(ctx, func() error {
		reply, err := runCommand(ctx, m, args...)
		if err == nil && strings.Count(reply, want) < times {
			err = fmt.Errorf("%q does not come in the reply to %v", want, args)
		}
		return err
	})
}

// retry calls try until it returns nil or ctx ends.
func retry(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A Persistence defines which data a Redis server has on disk after a restart.
type Persistence string

// The kinds of persistence. EverySecond and Always differ in when the append-only file is
// forced to disk, which matters only after a power failure. A killed server loses at most the
// data that it held back while EverySecond waited for a slow disk.
const (
	None        Persistence = ""         // nothing: it is empty after a restart
	EverySecond Persistence = "everysec" // an append-only file, appendfsync everysec
	Always      Persistence = "always"   // an append-only file, appendfsync always
)

// RedisOptions configure Redis servers for failure tests. The zero value is one server that keeps
// everything in memory.
type RedisOptions struct {
	// Replicas is the number of replicas of the first server. No sentinel watches them.
	Replicas int

	// Persistence is the persistence of each server.
	Persistence Persistence

	// Args are further arguments of each server, after the lab's, which they override.
	Args []string

	// Clock builds, with the machine's C compiler, and preloads the library for [Server.SetClock].
	Clock bool
}

// StartRedisOf starts a new primary and its replicas, in sync, which the caller must Stop,
// regardless of LOCKLAB_REDIS. Endpoint has them in one list, the primary first. The error
// wraps [harness.ErrUnavailable] without a program to start, or a C compiler for Clock.
func StartRedisOf(ctx context.Context, o RedisOptions) (*Server, error) {
	return startRedisOf(ctx, host(), o)
}

func startRedisOf(ctx context.Context, sys system, o RedisOptions) (*Server, error) {
	if o.Replicas < 0 {
		return nil, fmt.Errorf("%w: Redis with %d replicas", harness.ErrUsage, o.Replicas)
	}
	l := &Layout{Name: "redis", servers: 1 + o.Replicas, kind: layoutKind(o.command, settleReplicas)}
	if o.Clock {
		l.kind.prepare = func(dir string) error { return buildClockShim(ctx, dir) }
	}
	s, err := startLayout(ctx, sys, l)
	if err != nil || !o.Clock {
		return s, err
	}
	for i := range s.PIDs() {
		if err := s.SetClock(i, 0); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", harness.ErrUnavailable, err), s.Stop())
		}
	}
	return s, nil
}

// command returns the command of m, one of all, of which the first is the primary.
func (o RedisOptions) command(p program, m member, all []member) (*exec.Cmd, error) {
	// Synchronize at once, without the default wait of five seconds for other replicas. Any
	// server may become the primary.
	cmd := redisWith(p, m, "--repl-diskless-sync-delay", "0")
	if o.Persistence != None {
		cmd.Args = append(cmd.Args, "--appendonly", "yes", "--appendfsync", string(o.Persistence))
	}
	if m != all[0] {
		cmd.Args = append(cmd.Args, "--replicaof", "127.0.0.1", strconv.Itoa(all[0].port))
	}
	cmd.Args = append(cmd.Args, o.Args...)
	if !o.Clock {
		return cmd, nil
	}
	file, err := clockEnviron(m)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+filepath.Join(filepath.Dir(m.dir), clockLibrary), file)
	return cmd, nil
}

func settleReplicas(ctx context.Context, all []member) error {
	for _, m := range all[1:] {
		if err := until(ctx, m, 1, "master_link_status:up", "INFO", "replication"); err != nil {
			return err
		}
	}
	return until(ctx, all[0], len(all)-1, "state=online", "INFO", "replication")
}
