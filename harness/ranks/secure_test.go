package ranks

import (
	"context"
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

const (
	secretUser = "ranks"
	secretWord = "s3cr3t-w0rd"
)

// urlOf is Options.Sync of a server, with a password.
func urlOf(at harness.Endpoint, password string) string {
	return at.Kind + "://" + secretUser + ":" + password + "@" + strings.Join(at.Addrs[0], ",")
}

// TestSecureRedis: ranks meet as a user with a password, who may use their names alone; and
// whatever is wrong with that, or with TLS, is one line without the password, and soon.
// TestRanksSecure of package lab has ranks that meet over TLS.
func TestSecureRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	server := start(t, harness.KindRedis, func(ctx context.Context, kind string) (*backend.Server, error) { return backend.StartAlone(ctx) })
	t.Cleanup(func() { check(t, server.Stop()) })
	at, tls := server.Endpoint(), secured(t, harness.KindRedis).Addrs[0][0]
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
	all := groups(t, join(t, urlOf(at, secretWord), 3, func(o *Options, m *Member) { m.Clock = fmt.Sprint(o.Rank) }))
	together(3, func(r int) { use(t, all[r]) })

	for _, c := range []struct {
		name, sync, want string
	}{
		{"password", urlOf(at, "wrong-"+secretWord), "refuses this rank: the server refuses a request: WRONGPASS"},
		{"no password", "redis://" + at.Addrs[0][0], "NOAUTH"},
		{"rights", strings.Replace(urlOf(at, secretWord), secretUser, "poor", 1), "NOPERM"},
		{"authority", "rediss://u:" + secretWord + "@" + tls, "does not answer: tls: failed to verify certificate: x509: "},
		{"plain server", "rediss://u:" + secretWord + "@" + at.Addrs[0][0], "does not answer"},
		{"plain client", "redis://u:" + secretWord + "@" + tls, "does not answer: EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Ranks: 1, Sync: c.sync, Job: jobOf(t)}
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

// TestSecureZooKeeper: ranks meet with credentials, their nodes are theirs alone,
// and a rank with others is told so and does no harm.
func TestSecureZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	at := commonServer(t, harness.KindZooKeeper).Endpoint()
	leaktest.Own(t)
	all := groups(t, join(t, urlOf(at, secretWord), 2, func(o *Options, m *Member) { m.Clock = fmt.Sprint(o.Rank) }))
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
	t.Run("refused", func(t *testing.T) { zooRefused(t, at, b.job) })
	together(2, func(r int) {
		_, err := all[r].Gather(t.Context(), "after the others", nil)
		check(t, err)
	})
}

// zooRefused joins, wrongly, a job that is under way.
func zooRefused(t *testing.T, at harness.Endpoint, job string) {
	for _, c := range []struct {
		name, sync, want string
	}{
		{"password", urlOf(at, "wrong-"+secretWord), "what is there is of other credentials: give all ranks the same"},
		{"none", strings.Replace(urlOf(at, secretWord), secretUser+":"+secretWord+"@", "", 1), "other credentials"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Join(t.Context(), Options{Rank: 1, Ranks: 2, Sync: c.sync, Job: job, Assemble: patience}, Member{})
			refused(t, err, c.want)
			secretless(t, err)
		})
	}
}
