package zksession

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hosts chooses the address for the next connection, instead of the library's provider, which
// resolves names once. A round begins with a lookup and tries each address of each server in
// random order, the address of the last session last.
//
// After a round the library waits for a second, although the ensemble may have elected another
// leader long ago. So the first rounds end with shorter waits, in the dialer. In these rounds a
// server with a late handshake, or without a connection, is skipped if there is another.
type hosts struct {
	servers  []server
	find     func(ctx context.Context, host string) ([]string, error)
	open     context.Context      // ends with Close
	known    [][]string           // addresses of each server by the latest lookup that succeeded
	patience func() time.Duration // for lookups

	mu     sync.Mutex
	left   []target        // of this round
	now    target          // the latest choice
	tried  bool            // all were tried since the last session, or that was too short
	since  time.Time       // start of the last session
	last   string          // the address of the last session
	rounds int             // without a session
	pause  time.Duration   // before the next connection
	hung   map[string]bool // addresses with a late handshake, or no connection, since the last session
}

// The waits of the first rounds; together they are as long as one of the library's.
const (
	firstRound  = 60 * time.Millisecond
	shortRounds = 4
)

// hasty is the interval between two connections that makes the next one wait.
const hasty = time.Second

// Init does nothing: the servers are known.
func (h *hosts) Init([]string) error { return nil }

func (h *hosts) Len() int { return len(h.servers) }

func (h *hosts) Next() (server string, wait bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.left) == 0 {
		wait = h.begin(h.targets(h.patience()))
	}
	h.now, h.left = h.left[0], h.left[1:]
	if wait && h.rounds < shortRounds {
		h.pause = firstRound << h.rounds
		h.rounds++
		wait = false
	}
	return h.now.server.String(), wait
}

// begin starts a round, and reports whether to wait before it. The caller holds h.mu.
func (h *hosts) begin(all []target) (wait bool) {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if h.rounds < shortRounds {
		rest := slices.DeleteFunc(slices.Clone(all), func(t target) bool { return h.hung[t.address] })
		if len(rest) > 0 {
			all = rest
		} else { // all are slow: try each of them
			clear(h.hung)
		}
	}
	wait = h.tried
	if !h.tried && h.last != "" {
		rest := slices.DeleteFunc(slices.Clone(all), func(t target) bool { return t.address == h.last })
		if wait = len(rest) == 0; !wait {
			all = rest
		}
	}
	h.left, h.tried = all, true
	return wait
}

func (h *hosts) hangs(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hung[address] = true
}

func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.rounds, h.left, h.tried, h.last = 0, nil, now.Sub(h.since) < hasty, h.now.address
	h.since = now
	clear(h.hung)
}

func (h *hosts) due() (to target, pause time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pause, h.pause = h.pause, 0
	return h.now, pause
}

type target struct {
	server  server // as given
	address string // IP:port
	err     error  // why there is no address
}

// lookupWait limits the lookups while no server has an address.
const lookupWait = 10 * time.Second

// targets resolves all servers and returns their addresses. For a name whose lookup fails or
// takes longer than wait, it returns the previous addresses. It waits longer while no server
// has an address. It must not be called concurrently.
func (h *hosts) targets(wait time.Duration) (all []target) {
	for i, s := range h.servers {
		if !s.named() {
			h.known[i] = []string{s.host}
		}
	}
	if len(slices.Concat(h.known...)) == 0 {
		wait = max(wait, lookupWait)
	}
	ctx, cancel := context.WithTimeout(h.open, wait)
	defer cancel()
	errs := make([]error, len(h.servers))
	var work sync.WaitGroup
	for i, s := range h.servers {
		if s.named() {
			work.Go(func() { errs[i] = h.lookUp(ctx, i) })
		}
	}
	work.Wait()
	for i, s := range h.servers {
		for _, addr := range h.known[i] {
			all = append(all, target{server: s, address: net.JoinHostPort(addr, s.port)})
		}
		if len(h.known[i]) == 0 {
			all = append(all, target{server: s, err: errs[i]})
		}
	}
	return all
}

func (h *hosts) lookUp(ctx context.Context, i int) error {
	addrs, err := h.find(ctx, h.servers[i].host)
	if len(addrs) > 0 {
		h.known[i] = addrs
	} else if err == nil {
		err = &net.DNSError{Err: "no address", Name: h.servers[i].host}
	}
	return err
}

type server struct{ host, port string }

func (s server) String() string { return net.JoinHostPort(s.host, s.port) }

// named reports whether the host is a name, whose addresses may change.
func (s server) named() bool {
	_, err := netip.ParseAddr(s.host)
	return err != nil
}

const defaultPort = "2181"

// CheckServers returns an error if [Connect] would refuse the servers.
func CheckServers(addrs []string) error {
	_, err := parseServers(addrs)
	return err
}

func parseServers(addrs []string) (all []server, err error) {
	if len(addrs) == 0 {
		return nil, errors.New("no server is named")
	}
	for _, addr := range addrs {
		s, err := parseServer(addr)
		if err != nil {
			return nil, fmt.Errorf("server %.100q: %w", addr, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// parseServer parses host:port, or a host with the default port.
func parseServer(addr string) (server, error) {
	switch {
	case strings.Contains(addr, "://"):
		return server{}, errors.New("want host:port, not a URL")
	case strings.Contains(addr, "/"):
		return server{}, errors.New("a path behind the port (chroot) is not supported: put it in front of the paths of the nodes")
	case strings.Contains(addr, ","):
		return server{}, errors.New("want one server in each string of the list")
	case strings.ContainsAny(addr, " \t\r\n\x00@"):
		return server{}, errors.New("want host:port")
	}
	if strings.HasSuffix(addr, "]") || !strings.Contains(addr, ":") {
		addr += ":" + defaultPort
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || strings.Trim(host, ".") == "" {
		return server{}, errors.New("want host:port, and [host]:port for an IPv6 address")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return server{}, fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return server{host, port}, nil
}
