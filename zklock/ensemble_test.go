package zklock_test

import (
	"context"
	"errors"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
)

func ensemble(t *testing.T) *backend.Server {
	t.Helper()
	server, err := backend.StartEnsembleOf(t.Context(), backend.EnsembleOptions{})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	if !server.Owned() {
		t.Skip("the servers at hand were not started here, and so are not to be killed")
	}
	return server
}

func leader(t *testing.T, server *backend.Server) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	i, err := server.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return i
}
