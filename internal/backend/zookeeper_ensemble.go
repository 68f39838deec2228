package backend

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	brief   bool // the servers compile without optimizing, which takes a third of the time of a brief use
}

// StartEnsembleOf starts a new ensemble, which the caller must Stop, regardless of
// LOCKLAB_ZOOKEEPER. It is for faults: it starts soon and is slow under load. The error wraps
// [harness.ErrUnavailable] if there is no program to start.
func StartEnsembleOf(ctx context.Context, o EnsembleOptions) (*Server, error) {
	o.Servers = cmp.Or(o.Servers, 3)
	if o.Servers < 1 || o.TickTime < 0 || o.SyncLimit < 0 || o.InitLimit < 0 {
		return nil, fmt.Errorf("%w: ensemble of %d servers with ticks of %v and limits of %d and %d", harness.ErrUsage, o.Servers, o.TickTime, o.SyncLimit, o.InitLimit)
	}
	kind := zooKeeper
	o.brief = true
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

// Leader returns the number of the leader of a ZooKeeper ensemble, and waits for one if need
// be. A stopped or dead server does not answer, so it does not count. Of two leaders the later
// election wins. A single server leads itself.
func (s *Server) Leader(ctx context.Context) (leader int, err error) {
	if s.endpoint.Kind != harness.KindZooKeeper {
		return 0, fmt.Errorf("%w: backend: %s servers elect no leader", harness.ErrUsage, s.endpoint.Kind)
	}
	limits := slices.Repeat([]time.Duration{saysWithin}, len(s.endpoint.Addrs[0]))
	err = retry(ctx, func() error {
		var found bool
		if leader, found = newestLeader(ctx, s.endpoint.Addrs[0], limits); !found {
			return errors.New("no ZooKeeper server leads")
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("backend: %w", err)
	}
	return leader, err
}

// Time limits for an answer of a server, and for one that gave none before. The second grows by
// a tenth with each query without an answer: a busy server answers late.
const (
	saysWithin   = time.Second
	silentWithin = 100 * time.Millisecond
)

// newestLeader asks all servers at once, each with its limit, and updates limits.
func newestLeader(ctx context.Context, addrs []string, limits []time.Duration) (int, bool) {
	epochs := make([]int64, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limits[i])
			defer cancel()
			text, err := FourLetters(ctx, harness.Endpoint{}, addr, "srvr")
			epochs[i] = leaderEpoch(text)
			switch {
			case err == nil:
				limits[i] = saysWithin
			case limits[i] == saysWithin:
				limits[i] = silentWithin
			default:
				limits[i] = min(limits[i]+limits[i]/10, saysWithin)
			}
		})
	}
	all.Wait()
	return newest(epochs)
}

func newest(epochs []int64) (i int, found bool) {
	most := slices.Max(append(epochs, -1))
	return slices.Index(epochs, most), most >= 0
}

var zooKeeperZxid = regexp.MustCompile(`(?m)^Zxid: 0x([0-9a-f]+)$`)

// leaderEpoch returns the election number from a leader's reply to srvr, and -1 if it does not
// lead. The number is the upper half of the last transaction id.
func leaderEpoch(text string) int64 {
	m := zooKeeperZxid.FindStringSubmatch(text)
	if m == nil || !strings.Contains(text, "\nMode: leader\n") && !strings.Contains(text, "\nMode: standalone\n") {
		return -1
	}
	zxid, err := strconv.ParseUint(m[1], 16, 64)
	if err != nil {
		return -1
	}
	return int64(zxid >> 32)
}

// writeSnapshot writes a ZooKeeper snapshot, for a server that starts in dir, with the nodes of
// counters and their parents, open to all clients; each value is the number of the next child.
//
// The format is org.apache.zookeeper.server.persistence.FileSnap, 3.4 and later: a header, no
// sessions, no ACLs, the nodes, a checksum.
func writeSnapshot(dir string, counters map[string]int32) error {
	be := binary.BigEndian
	b := []byte("ZKSN")
	b = be.AppendUint32(b, 2)           // version
	b = be.AppendUint64(b, 1<<64-1)     // database
	b = append(b, make([]byte, 4+4)...) // sessions, ACLs
	text := func(s string) { b = append(be.AppendUint32(b, uint32(len(s))), s...) }
	for _, node := range []string{"", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		counters = maps.Clone(counters)
		counters[node] = 0
	}
	for _, node := range slices.Sorted(maps.Keys(counters)) { // parents first
		text(node)
		text("")                        // data
		b = be.AppendUint64(b, 1<<64-1) // ACL: open to all
		b = append(b, make([]byte, 4*8+4)...)
		b = be.AppendUint32(b, uint32(counters[node]))
		b = append(b, make([]byte, 4+8+8)...)
	}
	text("/")
	b = be.AppendUint64(b, uint64(adler32.Checksum(b)))
	text("/")
	dir = filepath.Join(dir, "version-2")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "snapshot.1"), b, 0o600)
}
