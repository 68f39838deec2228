package ranks

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	wireredis "locklab/internal/wire/redis"
	wirezk "locklab/internal/wire/zookeeper"
)

func secured(t *testing.T, kind string) harness.Endpoint {
	t.Helper()
	server := start(t, kind, func(ctx context.Context, kind string) (*backend.Server, error) {
		return backend.StartSetup(ctx, kind, backend.Setup{TLS: true})
	})
	t.Cleanup(func() { check(t, server.Stop()) })
	return server.Endpoint()
}

// strangers returns certificates of authorities that have signed nothing here.
func strangers(t *testing.T, at harness.Endpoint) []byte {
	t.Helper()
	other := secured(t, harness.KindRedis)
	if block, _ := pem.Decode(other.Roots); block == nil || string(other.Roots) == string(at.Roots) {
		t.Fatal("no other certificate")
	}
	return other.Roots
}

const (
	secretUser = "ranks"
	secretWord = "s3cr3t-w0rd"
)

func urlOf(at harness.Endpoint, password string) string {
	scheme := map[string]string{harness.KindRedis: "rediss", harness.KindZooKeeper: "zookeepers"}[at.Kind]
	return scheme + "://" + secretUser + ":" + password + "@" + strings.Join(at.Addrs[0], ",")
}

// TestSecureRedis checks that ranks meet over TLS as a user with a password and access to
// their names only. Every fault is reported soon, in one line without the password.
func TestSecureRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	at := secured(t, harness.KindRedis)
	others, plain := strangers(t, at), commonServer(t, harness.KindRedis).Endpoint().Addrs[0][0]
	leaktest.Own(t)
	owner, _, err := wireredis.Connect(at)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	for _, command := range [][]any{
		{"acl", "setuser", secretUser, "on", ">" + secretWord, "~locklab:ranks:*", "+@all"},
		{"acl", "setuser", "poor", "on", ">" + secretWord, "~locklab:ranks:*", "+ping", "+hello"},
		{"config", "set", "requirepass", "another"},
	} {
		check(t, owner.Do(t.Context(), command...).Err())
	}
	all := groups(t, join(t, urlOf(at, secretWord), 3, func(o *Options, m *Member) { o.Trust, m.Clock = at.Roots, fmt.Sprint(o.Rank) }))
	together(3, func(r int) { use(t, all[r]) })

	for _, c := range []struct {
		name, sync string
		trust      []byte
		want       string
	}{
		{"password", urlOf(at, "wrong-"+secretWord), at.Roots, "refuses this rank: the server refuses a request: WRONGPASS"},
		{"no password", "rediss://" + at.Addrs[0][0], at.Roots, "NOAUTH"},
		{"rights", strings.Replace(urlOf(at, secretWord), secretUser, "poor", 1), at.Roots, "NOPERM"},
		{"authority", urlOf(at, secretWord), others, "has a certificate that this rank does not trust: x509: "},
		{"system", urlOf(at, secretWord), nil, "has a certificate that this rank does not trust: x509: "},
		{"name", strings.Replace(urlOf(at, secretWord), "127.0.0.1", "localhost", 1), at.Roots, "does not trust: x509: certificate is not valid"},
		{"no TLS", "redis://" + plain, at.Roots, "its URL asks for no TLS"},
		{"plain server", "rediss://" + plain, at.Roots, "does it speak TLS there?"},
		{"plain client", "redis://" + at.Addrs[0][0], nil, "does it want TLS, by rediss://?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Ranks: 1, Sync: c.sync, Trust: c.trust, Job: jobOf(t)}
			_, err := Join(t.Context(), o, Member{})
			refused(t, err, c.want)
			secretless(t, err)
			if c.name == "rights" {
				return // the first claim shows it
			}
			err = Check(t.Context(), o)
			refused(t, err, c.want)
			secretless(t, err)
		})
	}
}

func secretless(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), secretWord) {
		t.Errorf("the password is in %q", err)
	}
}

// TestSecureZooKeeper checks that ranks meet over TLS with credentials and that their
// nodes are private. A rank with other credentials gets an error and does no damage.
func TestSecureZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	at := secured(t, harness.KindZooKeeper)
	others := strangers(t, at)
	leaktest.Own(t)
	all := groups(t, join(t, urlOf(at, secretWord), 2, func(o *Options, m *Member) { o.Trust, m.Clock = at.Roots, fmt.Sprint(o.Rank) }))
	together(2, func(r int) { use(t, all[r]) })

	stranger, err := wirezk.Connect(t.Context(), at, wirezk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	b := all[0].board.(*zooBoard)
	if _, _, err := stranger.Get(b.claimPath(0)); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a client without credentials reads a claim: %v", err)
	}
	t.Run("refused", func(t *testing.T) { zooRefused(t, at, others, b.job) })
	together(2, func(r int) {
		_, err := all[r].Gather(t.Context(), "after the others", nil)
		check(t, err)
	})
}

func zooRefused(t *testing.T, at harness.Endpoint, others []byte, job string) {
	for _, c := range []struct {
		name, sync string
		trust      []byte
		want       string
	}{
		{"password", urlOf(at, "wrong-"+secretWord), at.Roots, "what is there is of other credentials: give all ranks the same"},
		{"none", strings.Replace(urlOf(at, secretWord), secretUser+":"+secretWord+"@", "", 1), at.Roots, "other credentials"},
		{"authority", urlOf(at, secretWord), others, "has a certificate that this rank does not trust: x509: "},
		{"no TLS", strings.Replace(urlOf(at, secretWord), "zookeepers", "zookeeper", 1), nil, "does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Join(t.Context(), Options{Rank: 1, Ranks: 2, Sync: c.sync, Trust: c.trust, Job: job, Assemble: patience}, Member{})
			refused(t, err, c.want)
			secretless(t, err)
		})
	}
}
