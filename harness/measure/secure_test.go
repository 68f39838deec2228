package measure

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	wireredis "locklab/internal/wire/redis"
)

// TestSecure: a wrong password, or too few rights, is an error of one line without the password.
func TestSecure(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	const word = "s3cr3t-w0rd"
	at := startServer(t, harness.KindRedis, backend.Setup{}).Endpoint()
	leaktest.Own(t)
	owner, _, err := wireredis.Connect(at)
	requireNoError(t, err)
	defer owner.Close()
	for _, command := range [][]any{
		{"acl", "setuser", "ranks", "on", ">" + word},
		{"acl", "setuser", "poor", "on", ">" + word, "~locklab:ranks:*", "+ping", "+hello"},
		{"config", "set", "requirepass", "another"},
	} {
		expectNoError(t, owner.Do(t.Context(), command...).Err())
	}
	for _, c := range []struct{ name, user, want string }{
		{"password", "ranks:wrong-" + word + "@", "refuses this rank: the server refuses a request: WRONGPASS"},
		{"no password", "", "NOAUTH"},
		{"rights", "poor:" + word + "@", "NOPERM"}, // the first claim shows it
	} {
		t.Run(c.name, func(t *testing.T) {
			o := RankOptions{Ranks: 1, Sync: "redis://" + c.user + at.Addrs[0][0], Job: jobOf(t)}
			_, err := JoinRanks(t.Context(), o, Rank{})
			errs := []error{err}
			if c.name != "rights" {
				errs = append(errs, CheckRanks(t.Context(), o))
			}
			for _, err := range errs {
				refused(t, err, c.want)
				if strings.Contains(fmt.Sprint(err), word) {
					t.Errorf("the password is in %q", err)
				}
			}
		})
	}
}
