package peers_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/oracle"
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
	for _, names := range [][]string{
		{"curator-mutex", "curator-mutex", "zk-handoff"},
		{"curator-semaphore-mutex", "curator-semaphore-mutex"},
		{"curator-rw", "curator-rw"},
	} {
		t.Run(names[0], func(t *testing.T) { contendSecurely(t, at, names) })
	}
	t.Run("in Java", func(t *testing.T) {
		w := harness.Workload{Workers: 4, TLS: true, Warmup: 200 * time.Millisecond, Window: 400 * time.Millisecond}
		r := measureLoop(t, measure.Calibrate(), at, "curator-mutex", w)
		if n, ok := result.Requests.Of(r); r.Ops > 40 && (!ok || n < 3*0.9 || n > 5*1.1) {
			t.Errorf("%.2f requests per acquisition, %t, want 3 to 5", n, ok)
		}
	})
	t.Run("refused", func(t *testing.T) { refusedSecurely(t, at) })
}

func contendSecurely(t *testing.T, at harness.Endpoint, names []string) {
	var vs []*harness.Variant
	for _, name := range names {
		vs = append(vs, variant(name))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g, err := gather(ctx, at, newKey(), vs)
	if err != nil {
		t.Fatal(errors.Join(err, g.close()))
	}
	const turns = 20
	err = g.turns(ctx, time.Now(), 0, func(turn int) bool { return turn < turns })
	if err := errors.Join(err, g.close()); err != nil {
		t.Fatal(err)
	}
	holds := slices.Concat(g.holds...)
	oracle.Sort(holds)
	if v := oracle.Overlaps(holds, 0); len(v) > 0 || len(holds) != turns*len(vs) {
		t.Errorf("%d holds, %v", len(holds), v)
	}
}

// refusedSecurely connects with invalid options, between two valid connections.
func refusedSecurely(t *testing.T, at harness.Endpoint) {
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	stranger := at
	stranger.RootsFile = filepath.Join(t.TempDir(), "other.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
	if err := os.WriteFile(stranger.RootsFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := connect(at, time.Minute); err != nil {
		t.Fatal(err)
	}
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
	if err := connect(at, time.Minute); err != nil {
		t.Error(err)
	}
}
