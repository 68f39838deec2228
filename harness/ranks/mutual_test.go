package ranks

import (
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
)

func mutual(t *testing.T, kind string) (at harness.Endpoint, cert, key []byte) {
	t.Helper()
	server := start(t, kind, func(ctx context.Context, kind string) (*backend.Server, error) {
		return backend.StartSetup(ctx, kind, backend.Setup{TLS: true, ClientAuth: true})
	})
	t.Cleanup(func() { check(t, server.Stop()) })
	at = server.Endpoint()
	key, err := os.ReadFile(filepath.Join(filepath.Dir(at.RootsFile), "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return at, at.Roots, key
}

func TestMutual(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			at, cert, key := mutual(t, kind)
			_, otherCert, otherKey := mutual(t, harness.KindRedis)
			leaktest.Own(t)
			sync := map[string]string{harness.KindRedis: "rediss", harness.KindZooKeeper: "zookeepers"}[kind] + "://" + at.Addrs[0][0]
			all := groups(t, join(t, sync, 3, func(o *Options, m *Member) {
				o.Trust, o.Cert, o.Key, m.Clock = at.Roots, cert, key, fmt.Sprint(o.Rank)
			}))
			together(3, func(r int) { use(t, all[r]) })

			for _, c := range []struct {
				name      string
				cert, key []byte
				want      string
			}{
				{"none", nil, nil, "of its clients"},
				{"of another authority", otherCert, otherKey, "does it trust the authority of "},
				{"of another key", cert, otherKey, "cannot be used: tls: private key does not match public key"},
				{"without a key", cert, cert, "cannot be used: tls: found a certificate rather than a key"},
				{"passphrase", cert, passphrases[0], "is encrypted by a passphrase"},
				{"old passphrase", cert, passphrases[1], "is encrypted by a passphrase"},
			} {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					o := Options{Ranks: 1, Sync: sync, Trust: at.Roots, Cert: c.cert, Key: c.key, Job: jobOf(t)}
					_, err := Join(t.Context(), o, Member{})
					refused(t, err, c.want)
					keyless(t, err, c.key)
					if kind == harness.KindZooKeeper {
						return // it is asked again for ten seconds
					}
					err = Check(t.Context(), o)
					refused(t, err, c.want)
					keyless(t, err, c.key)
				})
			}
		})
	}
}

func keyless(t *testing.T, err error, key []byte) {
	t.Helper()
	for line := range strings.Lines(string(key)) {
		if line = strings.TrimSpace(line); len(line) > 30 && err != nil && strings.Contains(err.Error(), line) {
			t.Errorf("the key is in %q", err)
		}
	}
}

var passphrases = [][]byte{
	pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("of PKCS #8")}),
	pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("of OpenSSL")}),
}
