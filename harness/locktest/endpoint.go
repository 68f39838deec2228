package locktest

import (
	"errors"
	"sync"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
)

// Endpoint starts a server of the kind for tb, or uses the one that the environment names.
// Without one it skips tb with the reason, or fails it if LOCKLAB_REQUIRE names the kind.
func Endpoint(tb testing.TB, kind string) harness.Endpoint {
	tb.Helper()
	return Endpoints(tb, kind, 1)
}

// Endpoints is Endpoint for n independent servers, or fewer: see [harness.Traits.Lacks].
func Endpoints(tb testing.TB, kind string, n int) harness.Endpoint {
	tb.Helper()
	return newServers(tb).endpoint(tb, kind, n)
}

// Servers returns the greatest number of independent servers of a kind that any of vs
// needs, at least one.
func Servers(vs []*harness.Variant, kind string) int {
	n := 1
	for _, v := range vs {
		if v.Traits.Needs == kind {
			n = max(n, v.Traits.Servers)
		}
	}
	return n
}

// servers starts the servers of each kind once and stops them when its owner ends.
type servers struct {
	owner testing.TB
	mu    sync.Mutex // guards known
	known map[string]started
}

type started struct {
	at  harness.Endpoint
	err error
}

func newServers(owner testing.TB) *servers {
	return &servers{owner: owner, known: make(map[string]started)}
}

func (s *servers) endpoint(tb testing.TB, kind string, n int) harness.Endpoint {
	tb.Helper()
	st := s.ask(kind, n)
	switch {
	case st.err == nil:
		return st.at
	case errors.Is(st.err, harness.ErrUnavailable) && !backend.Required(kind):
		tb.Skipf("no %s: %v", kind, st.err)
	default:
		tb.Fatalf("no %s: %v", kind, st.err)
	}
	panic("unreachable")
}

func (s *servers) ask(kind string, n int) started {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.known[kind]
	if !ok {
		st = s.start(kind, n)
		s.known[kind] = st
	}
	return st
}

func (s *servers) start(kind string, n int) started {
	server, err := backend.StartSetup(s.owner.Context(), kind, backend.Setup{Independent: n})
	if err != nil {
		return started{err: err}
	}
	s.owner.Cleanup(func() {
		if err := server.Stop(); err != nil {
			s.owner.Errorf("stop %s: %v", kind, err)
		}
	})
	return started{at: server.Endpoint()}
}
