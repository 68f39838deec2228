package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	wireredis "locklab/internal/wire/redis"
)

// word is a password that is looked for everywhere.
const word = "s3cr3t-w0rd"

// meetingPlace starts a server with a password, and returns its URL.
func meetingPlace(t *testing.T) (url string) {
	t.Helper()
	at := ownRedis(t)
	client, _, err := wireredis.Connect(harness.Endpoint{Kind: harness.KindRedis, Addrs: [][]string{{at}}})
	requireNoError(t, err)
	defer client.Close()
	for _, command := range [][]any{
		{"acl", "setuser", "ranks", "on", ">" + word, "~locklab:ranks:*", "+@all"},
		{"config", "set", "requirepass", "another"},
	} {
		requireNoError(t, client.Do(t.Context(), command...).Err())
	}
	return "redis://ranks:" + word + "@" + at
}

// requireNoPassword fails t if the password is in a file below dir, or in the output.
func requireNoPassword(t *testing.T, dir string, said ...string) {
	t.Helper()
	all := contents(t, dir)
	if len(all) == 0 {
		t.Errorf("no file in %s", dir)
	}
	for name, text := range all {
		if strings.Contains(text, word) {
			t.Errorf("the password is in %s", name)
		}
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, word) {
		t.Errorf("the password is in the output:\n%s", text)
	}
}

// TestRanksSecure: ranks meet with a password, by flag or environment, which is in no file
// and no output.
func TestRanksSecure(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	url := meetingPlace(t)
	t.Run("spawned", func(t *testing.T) {
		cmd := startSpawning(t, "--rounds", "2")
		cmd.Env = append(cmd.Env, "LOCKLAB_SYNC="+url)
		stdout, stderr, status := runCommand(t, cmd)
		if status != 0 && status != exitUnfit { // windows apart
			t.Errorf("exit status %d, said\n%s", status, stderr)
		}
		for rank := range 3 {
			checkOnce(t, filepath.Join(cmd.Dir, "run.ranks", fmt.Sprint(rank)), 2, 2)
		}
		requireNoPassword(t, cmd.Dir, stdout, stderr)
	})
	t.Run("by hand", func(t *testing.T) {
		for rank, p := range ranksAt(t, 2, url, "--locks", "redis-token", "--workers", "2", "--rounds", "2", "--duration", "50ms") {
			_ = p.Wait() // the status shows it
			if status := p.ProcessState.ExitCode(); status != 0 {
				t.Errorf("rank %d: exit status %d, said\n%s", rank, status, p.stderr)
				continue
			}
			m := checkOnce(t, p.dir, 1, 2).Manifest
			if !slices.ContainsFunc(m.Command, func(arg string) bool { return strings.Contains(arg, "://xxxxx@127.0.0.1:") }) {
				t.Errorf("rank %d: the manifest has the command %q", rank, m.Command)
			}
			requireNoPassword(t, p.Dir, p.stderr.String())
		}
	})
}
