package backend

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/require"

	"golang.org/x/sys/unix"
)

var requireNoError = require.NoError

// needServers skips or fails the test unless servers of the kind can be started.
func needServers(tb testing.TB, kind string) {
	tb.Helper()
	sys := host()
	sys.getenv = fixedEnv() // without the user's servers
	if err := available(sys, kind); err != nil {
		if Required(kind) {
			tb.Fatalf("required: %v", err)
		}
		tb.Skip(err)
	}
}

// fixedEnv returns a getenv with the given names and values only, and PATH and the like.
func fixedEnv(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		if name == "ZOOKEEPER_HOME" || name == "JAVA_HOME" {
			return os.Getenv(name)
		}
		return ""
	}
}

func labSystem(tb testing.TB, pairs ...string) system {
	sys := host()
	sys.getenv = fixedEnv(pairs...)
	sys.temp = tb.TempDir()
	return sys
}

func mustStart(tb testing.TB, sys system, kind string) *Server {
	tb.Helper()
	needServers(tb, kind)
	s, err := startSetup(context.Background(), sys, kind, Setup{})
	return stopAtEnd(tb, s, err)
}

func stopAtEnd(tb testing.TB, s *Server, err error) *Server {
	tb.Helper()
	requireNoError(tb, err)
	tb.Cleanup(func() { requireNoError(tb, s.Stop()) })
	return s
}

func checkAnswers(kind, addr string) error {
	k, err := lookup(kind)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = k.probe(ctx, harness.Endpoint{Kind: kind}, addr)
	return err
}

func wantEmpty(tb testing.TB, dir string) {
	tb.Helper()
	if left, err := filepath.Glob(dir + "/*"); err != nil || len(left) > 0 {
		tb.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestStartStop(t *testing.T) {
	for _, k := range Kinds {
		t.Run(k.Name, func(t *testing.T) {
			sys := labSystem(t)
			begin := time.Now()
			s := mustStart(t, sys, k.Name)
			t.Logf("%s %s: ready after %v", k.Name, s.Version(), time.Since(begin))
			at := s.Endpoint()
			if at.Kind != k.Name || len(at.Addrs) != 1 || len(at.Addrs[0]) != 1 {
				t.Fatalf("endpoint is %+v", at)
			}
			addr := at.Addrs[0][0]
			if !strings.HasPrefix(addr, "127.0.0.1:") {
				t.Errorf("%s is not on loopback", addr)
			}
			if !s.Owned() {
				t.Error("a server that Start started is not owned")
			}
			if !regexp.MustCompile(`^(valkey )?\d+\.\d+\.\d+$`).MatchString(s.Version()) {
				t.Errorf("version is %q", s.Version())
			}
			at.Addrs[0][0] = "changed"
			if s.Endpoint().Addrs[0][0] != addr {
				t.Error("a caller can change the endpoint")
			}
			requireNoError(t, checkAnswers(k.Name, addr))
			for range 2 {
				requireNoError(t, s.Stop())
			}
			if err := checkAnswers(k.Name, addr); err == nil {
				t.Error("answers after Stop")
			}
			if err := unix.Kill(s.PIDs()[0], 0); err != unix.ESRCH {
				t.Errorf("process %d is still there after Stop (%v)", s.PIDs()[0], err)
			}
			wantEmpty(t, sys.temp)
		})
	}
}

func TestNothingInstalled(t *testing.T) {
	nowhere := func(string) (string, error) { return "", exec.ErrNotFound }
	nothing := func(string) ([]string, error) { return nil, nil }
	onlyJava := func(name string) (string, error) {
		if name == "java" {
			return "/opt/java/bin/java", nil
		}
		return "", exec.ErrNotFound
	}
	tests := map[string]struct {
		kind string
		look func(string) (string, error)
		env  []string
		want []string
	}{
		"redis":          {harness.KindRedis, nowhere, nil, []string{"redis-server", "scripts/deps redis", "LOCKLAB_REDIS="}},
		"java":           {harness.KindZooKeeper, nowhere, nil, []string{"no java", "scripts/deps zookeeper", "LOCKLAB_ZOOKEEPER="}},
		"zookeeper":      {harness.KindZooKeeper, onlyJava, nil, []string{"no ZooKeeper", "scripts/deps zookeeper", "LOCKLAB_ZOOKEEPER="}},
		"zookeeper home": {harness.KindZooKeeper, onlyJava, []string{"ZOOKEEPER_HOME", "/opt/zk"}, []string{"ZOOKEEPER_HOME=/opt/zk", "unpacked release"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sys := system{fixedEnv(append(test.env, "ZOOKEEPER_HOME", "", "JAVA_HOME", "")...), test.look, nothing, freePorts, t.TempDir()}
			_, startErr := startSetup(t.Context(), sys, test.kind, Setup{})
			for _, err := range []error{available(sys, test.kind), startErr} {
				if !errors.Is(err, harness.ErrUnavailable) {
					t.Fatalf("error is %v, want one that wraps ErrUnavailable", err)
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q does not say %q", err, want)
					}
				}
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("%q is not one line", err)
				}
			}
		})
	}
}

func TestNoTemporaryDirectory(t *testing.T) {
	_, err := newWorkdir(filepath.Join(t.TempDir(), "none"), harness.KindRedis)
	if !errors.Is(err, harness.ErrUnavailable) || !strings.Contains(err.Error(), "set TMPDIR to a writable directory") {
		t.Errorf("error is %v, want ErrUnavailable with a remedy", err)
	}
}

func TestAvailableReadsTheAddress(t *testing.T) {
	requireNoError(t, available(labSystem(t, "LOCKLAB_REDIS", "host:1"), harness.KindRedis))
	if err := Available("etcd"); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "redis, zookeeper") {
		t.Errorf("an unknown kind: %v", err)
	}
	if err := available(labSystem(t, "LOCKLAB_ZOOKEEPER", "host"), harness.KindZooKeeper); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("error is %v, want ErrUsage", err)
	}
}

func TestRequired(t *testing.T) {
	for list, want := range map[string][]string{
		"":                 nil,
		"redis":            {"redis"},
		"zookeeper, java":  {"zookeeper", "java"},
		",redis-server,,":  nil,
		"qemu,redis,other": {"redis", "qemu"},
	} {
		t.Setenv("LOCKLAB_REQUIRE", list)
		for _, kind := range []string{"redis", "zookeeper", "java", "qemu"} {
			if got := Required(kind); got != slices.Contains(want, kind) {
				t.Errorf("%q requires %s: %t", list, kind, got)
			}
		}
	}
}
