package chaos

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"time"

	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

// A Linked is a ZooKeeper ensemble. Any server can be cut off from the others while
// clients still reach it. Its methods may be called by any goroutine.
type Linked struct {
	server *backend.Server
	follow *links // connections for following
	votes  *links // connections for elections
}

type links struct {
	mu      sync.Mutex
	proxies map[[2]int]*faultproxy.Proxy // by source and destination server
	servers map[int]string               // addresses of destinations
}

func newLinks() *links {
	return &links{proxies: make(map[[2]int]*faultproxy.Proxy), servers: make(map[int]string)}
}

// StartLinked starts three new servers with the ticks and limits of ZooKeeper's sample
// configuration, even if LOCKLAB_ZOOKEEPER is set. The caller must Stop it. The error
// wraps [harness.ErrUnavailable] if there is no program to start.
func StartLinked(ctx context.Context) (*Linked, error) {
	e := &Linked{follow: newLinks(), votes: newLinks()}
	server, err := backend.StartEnsembleOf(ctx, backend.EnsembleOptions{
		TickTime: 2 * time.Second, SyncLimit: 5, InitLimit: initLimit,
		Link: e.follow.add, Elect: e.votes.add,
	})
	if err != nil {
		e.follow.close()
		e.votes.close()
		return nil, err
	}
	e.server = server
	return e, nil
}

// add puts a proxy between two servers, replacing one whose ports were taken.
func (l *links) add(from, to int, addr string) (string, error) {
	p, err := faultproxy.New(addr, faultproxy.Unread, faultproxy.Options{
		Await: 5 * time.Second,
		Edit:  func(_ faultproxy.Direction, raw []byte) []byte { return l.callBack(from, to, raw) },
	})
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	way := [2]int{from, to}
	if old := l.proxies[way]; old != nil {
		defer old.Close()
	}
	l.proxies[way], l.servers[to] = p, addr
	return p.Addr(), nil
}

// callBack edits an electing server's first message. It contains the server's own address,
// which a server of a greater number calls back, past the proxies: a proxy's address replaces
// it. The ports have the same number of digits, since the system chooses both.
func (l *links) callBack(from, to int, raw []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, back := l.servers[from], l.proxies[[2]int{to, from}]
	if own == "" || back == nil || len(own) != len(back.Addr()) {
		return raw
	}
	return bytes.Replace(raw, []byte(own), []byte(back.Addr()), 1)
}

func (l *links) all() map[[2]int]*faultproxy.Proxy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.proxies)
}

func (l *links) close() {
	for _, p := range l.all() {
		p.Close()
	}
}

func (l *links) part(server int) {
	for way, p := range l.all() {
		if way[0] == server || way[1] == server {
			p.Partition(true)
		}
	}
}

// Server returns the servers. They stop with the Linked.
func (e *Linked) Server() *backend.Server { return e.server }

// Isolate cuts a server off: traffic between it and the others disappears without notice
// to either side. It still answers pings of sessions and reads until SyncLimit is over.
func (e *Linked) Isolate(server int) {
	e.follow.part(server)
	e.votes.part(server)
}

// Depose breaks the connections of a leader on the side of its followers, which elect another,
// and hides that from the leader. It continues as a leader until SyncLimit is over.
func (e *Linked) Depose(leader int) {
	e.votes.part(leader)
	for way, p := range e.follow.all() {
		if way[1] == leader {
			p.Refuse(true)
			p.HalfClose()
		}
	}
}

// Stop ends the servers, in any state, and then the links.
func (e *Linked) Stop() error {
	err := e.server.Stop()
	e.follow.close()
	e.votes.close()
	return err
}
