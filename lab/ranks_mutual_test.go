package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// A certified is a server that asks its clients for a certificate, and the files for it.
type certified struct{ url, ca, cert, key string }

// certifying starts such a server.
func certifying(t *testing.T, kind string) (c certified) {
	t.Helper()
	s, err := backend.StartSetup(t.Context(), kind, backend.Setup{TLS: true, ClientAuth: true})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(kind) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	at, dir := s.Endpoint(), t.TempDir()
	c = certified{map[string]string{harness.KindRedis: "rediss", harness.KindZooKeeper: "zookeepers"}[kind] + "://" + at.Addrs[0][0],
		filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	key, err := os.ReadFile(filepath.Join(filepath.Dir(at.RootsFile), "key.pem"))
	for name, text := range map[string][]byte{c.ca: at.Roots, c.cert: at.Roots, c.key: key} {
		err = errors.Join(err, os.WriteFile(name, text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// flags are those by which ranks meet there.
func (c certified) flags() []string {
	return []string{"--sync", c.url, "--sync-ca", c.ca, "--sync-cert", c.cert, "--sync-key", c.key}
}

// mutual measures with ranks, spawned and by hand, that show certificates, whose key comes
// into no file, output, command line or environment; and gives wrong ones.
func mutual(t *testing.T, kind string) {
	c, other := certifying(t, kind), certifying(t, harness.KindRedis)
	secret := middle(t, c.key)
	cmd := spawning(t, append(c.flags(), "--rounds", "2")...)
	p := &rankProcess{cmd, new(said), filepath.Join(cmd.Dir, "run.ranks", "0")}
	cmd.Stdout, cmd.Stderr = p.stderr, p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen, over := 0, false
	for !over {
		select {
		case <-ended: // the status says it
			over = true
		case <-time.After(20 * time.Millisecond):
			seen = max(seen, secretless(t, cmd.Process.Pid, secret))
		}
	}
	if status := cmd.ProcessState.ExitCode(); status != 0 && status != exitUnfit { // windows apart
		t.Errorf("exit status %d, said\n%s", status, p.stderr)
	}
	if seen < 1+3 && len(children(t, os.Getpid())) > 0 {
		t.Errorf("%d processes seen, want the ranks as well", seen)
	}
	for rank := range 3 {
		once(t, filepath.Join(cmd.Dir, "run.ranks", fmt.Sprint(rank)), 2, 2)
	}
	fileless(t, cmd.Dir, secret)

	all := ranksAt(t, 2, c.url, append(c.flags(), "--locks", "redis-token", "--workers", "2", "--rounds", "1", "--duration", "50ms")...)
	for rank, p := range all {
		if err := p.Wait(); err != nil {
			t.Errorf("rank %d: %v, said\n%s", rank, err, p.stderr)
			continue
		}
		once(t, p.dir, 1, 1)
		fileless(t, p.Dir, secret)
	}
	certificatesRefused(t, c, other, secret)
}

// certificatesRefused gives wrong ones: one line each, status 2, no directory, no key.
func certificatesRefused(t *testing.T, c, other certified, secret string) {
	for _, x := range []struct{ cert, key, want string }{
		{"", "", "of its clients"},
		{other.cert, other.key, "does it trust the authority of "},
		{c.cert, other.key, "private key does not match public key"},
		{c.cert, c.cert, "found a certificate rather than a key"},
		{c.cert, c.key + ".none", "--sync-key: open "},
	} {
		for _, how := range [][]string{{"--spawn"}, {"--rank", "0"}} {
			args := append([]string{"run", "--locks", "redis-token", "--ranks", "2", "--sync", c.url, "--sync-ca", c.ca, "--out", "run"}, how...)
			if x.cert != "" {
				args = append(args, "--sync-cert", x.cert, "--sync-key", x.key)
			}
			cmd := locklab(t, args...)
			_, stderr, status := output(t, cmd)
			if status != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, x.want) || strings.Contains(stderr, secret) {
				t.Errorf("%q: exit status %d, said %q, want one line with %q and no key", how, status, stderr, x.want)
			}
			if entries, err := os.ReadDir(cmd.Dir); err != nil || len(entries) > 0 {
				t.Errorf("%q: it has left %v, %v", how, entries, err)
			}
		}
	}
}

// middle returns a line of the key in a file.
func middle(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 4 || len(lines[1]) < 40 {
		t.Fatalf("%s is no key", file)
	}
	return lines[1]
}

// secretless fails t if the secret is in the command line or the environment of a process
// or of those that it has started. It returns how many it has looked at.
func secretless(t *testing.T, pid int, secret string) (seen int) {
	t.Helper()
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			return 0 // it has ended
		}
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the key is in the %s %q", name, text)
		}
	}
	for _, child := range children(t, pid) {
		seen += secretless(t, child, secret)
	}
	return seen + 1
}

// fileless fails t if the secret is in a file below dir.
func fileless(t *testing.T, dir, secret string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the key is in %s", name)
		}
		files++
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files in %s, %v", files, dir, err)
	}
}
