package zksession

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// hosts chooses the server to connect to, like the library's provider. When all
// have been tried the library waits for a second, in which an ensemble may have
// elected another leader long ago: so the first rounds end with shorter waits, which
// are the dialer's. And in these rounds a server that did not answer a handshake in time
// is left out, while another may serve: a client that is with it when a leader has been
// elected comes back later by what it waits there.
type hosts struct {
	zk.HostProvider

	mu     sync.Mutex
	rounds int             // without a session
	pause  time.Duration   // before the next connection
	hung   map[string]bool // servers that did not answer a handshake since the last session
}

// The waits of the first rounds, together as long as one of the library's.
const (
	firstRound  = 60 * time.Millisecond
	shortRounds = 4
)

func (h *hosts) Next() (server string, wait bool) {
	server, wait = h.HostProvider.Next()
	for range h.Len() - 1 {
		if !h.skips(server) {
			break
		}
		next, last := h.HostProvider.Next()
		server, wait = next, wait || last
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hung[server] { // all of them are slow: each has its turn
		clear(h.hung)
	}
	if wait && h.rounds < shortRounds {
		h.pause = firstRound << h.rounds
		h.rounds++
		wait = false
	}
	return server, wait
}

// skips reports whether server is left out.
func (h *hosts) skips(server string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hung[server] && h.rounds < shortRounds
}

// hangs notes that server did not answer a handshake in time.
func (h *hosts) hangs(server string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hung == nil {
		h.hung = make(map[string]bool)
	}
	h.hung[server] = true
}

func (h *hosts) Connected() {
	h.mu.Lock()
	h.rounds = 0
	clear(h.hung)
	h.mu.Unlock()
	h.HostProvider.Connected()
}

// due returns how long to wait before the next connection.
func (h *hosts) due() (pause time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pause, h.pause = h.pause, 0
	return pause
}
