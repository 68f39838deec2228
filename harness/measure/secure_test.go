package measure

import (
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	wireredis "locklab/internal/wire/redis"
)

const (
	secretUser = "ranks"
	secretWord = "s3cr3t-w0rd"
)

func urlOf(at harness.Endpoint, password string) string {
	return "redis://" + secretUser + ":" + password + "@" + at.Addrs[0][0]
}

// TestSecure: a wrong password, or too few rights, is an error of one line without the password.
func TestSecure(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	at := startServer(t, harness.KindRedis, backend.Setup{}).Endpoint()
	leaktest.Own(t)
	owner, _, err := wireredis.Connect(at)
	requireNoError(t, err)
	defer owner.Close()
	for _, command := range [][]any{
		{"acl", "setuser", secretUser, "on", ">" + secretWord},
		{"acl", "setuser", "poor", "on", ">" + secretWord, "~locklab:ranks:*", "+ping", "+hello"},
		{"config", "set", "requirepass", "another"},
	} {
		expectNoError(t, owner.Do(t.Context(), command...).Err())
	}
	for _, c := range []struct {
		name, sync, want string
	}{
		{"password", urlOf(at, "wrong-"+secretWord), "refuses this rank: the server refuses a request: WRONGPASS"},
		{"no password", "redis://" + at.Addrs[0][0], "NOAUTH"},
		{"rights", strings.Replace(urlOf(at, secretWord), secretUser, "poor", 1), "NOPERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := RankOptions{Ranks: 1, Sync: c.sync, Job: jobOf(t)}
			_, err := JoinRanks(t.Context(), o, Rank{})
			refused(t, err, c.want)
			secretless(t, err)
			if c.name == "rights" {
				return // the first claim shows it
			}
			err = CheckRanks(t.Context(), o)
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
