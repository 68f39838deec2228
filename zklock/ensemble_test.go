package zklock_test

import (
	"context"
	"errors"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
)

// requireStarted fails t, or skips it without servers. It stops the server at the end of t.
func requireStarted[S interface{ Stop() error }](t *testing.T, server S, err error) S {
	t.Helper()
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindZooKeeper) {
		t.Skip(err)
	}
	requireNoError(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return server
}

func startServer(t *testing.T, o backend.EnsembleOptions) harness.Endpoint {
	t.Helper()
	o.Servers = 1
	server, err := backend.StartEnsembleOf(t.Context(), o)
	return requireStarted(t, server, err).Endpoint()
}

func ensemble(t *testing.T) *backend.Server {
	t.Helper()
	server, err := backend.StartEnsembleOf(t.Context(), backend.EnsembleOptions{})
	requireStarted(t, server, err)
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
	requireNoError(t, err)
	return i
}
