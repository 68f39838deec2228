package backend

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"locklab/harness"
)

// EnsembleOptions configure a ZooKeeper ensemble. The zero value is usable.
type EnsembleOptions struct {
	// Servers is the number of servers, an odd number. 0 is 3.
	Servers int

	// First is the number of the first server, up to 255; 0 is 1. Numbers from 128 make
	// session ids negative. It has no effect on a single server.
	First int

	// TickTime is the grain of the servers' clocks: a leader pings its followers every half
	// tick, and a session lasts at least two ticks. 0 is 500 ms.
	TickTime time.Duration

	// SyncLimit is the number of ticks after which a silent follower or leader is considered dead.
	// 0 is 4.
	SyncLimit int

	// InitLimit is the number of ticks that an elected leader waits for a majority, and a server
	// for its chosen leader, before the next vote. It is the cost of a failed vote. 0 is 20.
	InitLimit int

	// Config has further lines of each server's configuration, such as maxClientCnxns=1.
	Config string

	// Link, if not nil, returns the address, such as a proxy's, by which server from reaches
	// server to as leader at addr. Both count from 0, in the order of Endpoint.Addrs. It may be
	// called twice, with different ports.
	Link func(from, to int, addr string) (string, error)

	// Elect is Link for the ports of leader elections. The server with the greater number connects
	// to the other. If the other one connects first, it sends its own address, and the connection
	// back bypasses a proxy.
	Elect func(from, to int, addr string) (string, error)

	// Counters contains nodes that exist from the start, each with the number of its next
	// sequential child. It also contains their parents.
	Counters map[string]int32

	durable bool // see Setup
}

// StartEnsembleOf starts a new ensemble, which the caller must Stop, regardless of
// LOCKLAB_ZOOKEEPER. The error wraps [harness.ErrUnavailable] if there is no program to start.
func StartEnsembleOf(ctx context.Context, o EnsembleOptions) (*Server, error) {
	if o.Servers == 0 {
		o.Servers = 3
	}
	if o.Servers < 1 || o.TickTime < 0 || o.SyncLimit < 0 || o.InitLimit < 0 {
		return nil, fmt.Errorf("%w: ensemble of %d servers with ticks of %v and limits of %d and %d", harness.ErrUsage, o.Servers, o.TickTime, o.SyncLimit, o.InitLimit)
	}
	kind := zooKeeper
	kind.command = o.command
	return launch(ctx, host(), &kind, o.Servers)
}

// files returns the configuration of m, by path, with the list of the ensemble.
func (o EnsembleOptions) files(config, data string, m member, all []member) (map[string]string, error) {
	tick := cmp.Or(o.TickTime, 500*time.Millisecond).Milliseconds()
	text := fmt.Sprintf(zooKeeperConfig, tick, 2*tick, cmp.Or(o.InitLimit, 20), cmp.Or(o.SyncLimit, 4), m.port, data)
	files := make(map[string]string)
	from, first := slices.Index(all, m), cmp.Or(o.First, 1)
	if len(all) == 1 {
		all = nil
	}
	for to, other := range all {
		quorum, election := strconv.Itoa(other.quorum), strconv.Itoa(other.election)
		if to == from {
			files[filepath.Join(data, "myid")] = fmt.Sprintln(first + to)
		} else {
			var err, err2 error
			quorum, err = port(o.Link, from, to, other.quorum)
			election, err2 = port(o.Elect, from, to, other.election)
			if err := cmp.Or(err, err2); err != nil {
				return nil, err
			}
		}
		text += fmt.Sprintf("server.%d=127.0.0.1:%s:%s\n", first+to, quorum, election)
	}
	files[config] = text + o.Config + "\n"
	return files, nil
}

// port returns the port of 127.0.0.1 by which server from reaches port at of server to.
func port(link func(from, to int, addr string) (string, error), from, to, at int) (string, error) {
	if link == nil {
		return strconv.Itoa(at), nil
	}
	addr, err := link(from, to, net.JoinHostPort("127.0.0.1", strconv.Itoa(at)))
	if err != nil {
		return "", err
	}
	_, number, err := net.SplitHostPort(addr)
	return number, err
}
