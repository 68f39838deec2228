package backend

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"locklab/harness"
)

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

	// Under is a program and its arguments that run each server, such as valgrind: the server's
	// arguments follow. It must exec the server, or run it in its own process.
	Under []string

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
		l.kind.prepare = func(dir string, _ *harness.Endpoint) error { return buildClockShim(ctx, dir) }
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

// command is redisCommand with the options o, as arguments that override others.
func (o RedisOptions) command(p program, m member, all []member) (*exec.Cmd, error) {
	// Synchronize at once. Any server may become the primary.
	cmd := redisWith(p, m, "--repl-diskless-sync-delay", "0")
	if o.Persistence != None {
		cmd.Args = append(cmd.Args, "--appendonly", "yes", "--appendfsync", string(o.Persistence))
	}
	if m != all[0] {
		cmd.Args = append(cmd.Args, "--replicaof", "127.0.0.1", strconv.Itoa(all[0].port))
	}
	cmd.Args = append(cmd.Args, o.Args...)
	if len(o.Under) > 0 {
		env := cmd.Env
		cmd = exec.Command(o.Under[0], slices.Concat(o.Under[1:], cmd.Args)...)
		cmd.Env = env
	}
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

// settleReplicas waits until each replica has its copy and the primary reports all online.
func settleReplicas(ctx context.Context, all []member) error {
	for _, m := range all[1:] {
		if err := until(ctx, m, 1, "master_link_status:up", "INFO", "replication"); err != nil {
			return err
		}
	}
	return until(ctx, all[0], len(all)-1, "state=online", "INFO", "replication")
}
