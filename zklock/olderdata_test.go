package zklock_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/zklock"
)

// TestOlderData: servers with older data than seen refuse a session: the lease is lost.
func TestOlderData(t *testing.T) {
	t.Parallel()
	log := t.TempDir()
	server, err := backend.StartEnsembleOf(t.Context(), backend.EnsembleOptions{Servers: 1, Config: "dataLogDir=" + log})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	at, o := server.Endpoint(), zklock.ClientOptions{SessionTimeout: time.Second}
	m := dial(t, at, o).Mutex(newPath(), zklock.Options{})
	n := dial(t, at, o).Mutex(m.Path(), zklock.Options{})
	for range 10 {
		unlock(t, lock(t, m))
	}
	held := lock(t, m)
	next := behind(t.Context(), n.Lock)
	if err := errors.Join(server.Kill(0), os.RemoveAll(log), server.Restart(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	<-held.Done()
	lost(t, held)
	unlock(t, take(t, next))
	unlock(t, lock(t, m))
}
