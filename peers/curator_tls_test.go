package peers_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/peers"
)

// TestCuratorTLS contends, measures and is refused over a server's TLS port.
func TestCuratorTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if raceEnabled {
		t.Skip("it is about Java and the server, of which the race detector sees nothing; it runs without -race")
	}
	t.Parallel()
	needJava(t)
	server, err := backend.StartSetup(t.Context(), harness.KindZooKeeper, backend.Setup{TLS: true})
	if err != nil {
		unavailable(t, harness.KindZooKeeper, err)
	}
	defer server.Stop()
	at := server.Endpoint()
	mutex := variant("curator-mutex")
	t.Run("curator-mutex", func(t *testing.T) {
		contend(t, at, []*harness.Variant{mutex, mutex, variant("zk-handoff")}, nil, 60)
	})
	t.Run("in Java", func(t *testing.T) {
		w := harness.Workload{Workers: 4, TLS: true, Warmup: 200 * time.Millisecond, Window: 400 * time.Millisecond}
		r := measureLoop(t, measure.Calibrate(), at, "curator-mutex", w)
		if n, ok := result.Requests.Of(r); r.Ops > 40 && (!ok || n < 3*0.9 || n > 5*1.1) {
			t.Errorf("%.2f requests per acquisition, %t, want 3 to 5", n, ok)
		}
	})
	t.Run("refused", func(t *testing.T) { refusedSecurely(t, at) })
}

// refusedSecurely connects with invalid options, between two valid connections.
func refusedSecurely(t *testing.T, at harness.Endpoint) {
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	stranger := at
	stranger.RootsFile = filepath.Join(t.TempDir(), "other.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
	requireNoError(t, os.WriteFile(stranger.RootsFile, text, 0o600))
	plain, nowhere, named := at, at, at
	plain.TLS, nowhere.RootsFile = nil, ""
	named.TLS = at.TLS.Clone()
	named.TLS.Certificates = []tls.Certificate{{}}
	java := peers.NewJavaPeer(javaAnswer, javaLinger, 0)
	connect := func(at harness.Endpoint, limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		c, err := java.Client(ctx, at, newKey())
		if err == nil {
			err = c.Close()
		}
		return err
	}
	requireNoError(t, connect(at, time.Minute))
	for _, c := range []struct {
		what string
		at   harness.Endpoint
		want error
	}{
		{"the certificate of another", stranger, context.DeadlineExceeded},
		{"no TLS", plain, context.DeadlineExceeded},
		{"no file of certificates", nowhere, harness.ErrUsage},
		{"a certificate of the client", named, harness.ErrUsage},
	} {
		if err := connect(c.at, 4*time.Second); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	expectNoError(t, connect(at, time.Minute))
}
