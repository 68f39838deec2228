package zksession

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// hosts chooses the server to connect to, like the library's provider. When all
// have been tried the library waits for a second, in which an ensemble may have
// elected another leader long ago: so the first rounds end with shorter waits, which
// are the dialer's.
type hosts struct {
	zk.HostProvider

	mu     sync.Mutex
	rounds int           // without a session
	pause  time.Duration // before the next connection
}

// The waits of the first rounds, together as long as one of the library's.
const (
	firstRound  = 60 * time.Millisecond
	shortRounds = 4
)

func (h *hosts) Next() (server string, wait bool) {
	server, wait = h.HostProvider.Next()
	h.mu.Lock()
	defer h.mu.Unlock()
	if wait && h.rounds < shortRounds {
		h.pause = firstRound << h.rounds
		h.rounds++
		wait = false
	}
	return server, wait
}

func (h *hosts) Connected() {
	h.mu.Lock()
	h.rounds = 0
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
