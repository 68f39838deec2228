package backend

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness"
)

// TestSetup starts servers in each way and checks their settings.
func TestSetup(t *testing.T) {
	for _, test := range []struct {
		name             string
		s                Setup
		lists, processes int
		config           map[string]string // of each list's first server
	}{
		{"default", Setup{}, 1, 1, map[string]string{"appendonly": "no", "min-replicas-to-write": "0"}},
		{"durable", Setup{Durable: true}, 1, 1, map[string]string{"appendonly": "yes", "appendfsync": "always", "min-replicas-to-write": "0"}},
		{"independent and durable", Setup{Durable: true, Independent: 3}, 3, 3, map[string]string{"appendonly": "yes", "appendfsync": "always"}},
		{"replicas", Setup{Servers: 3}, 1, 3, map[string]string{"appendonly": "no", "min-replicas-to-write": "1"}},
		{"TLS", Setup{TLS: true}, 1, 1, map[string]string{"appendonly": "no"}},
		{"independent by TLS", Setup{TLS: true, Independent: 3}, 3, 3, nil},
		{"replicas by TLS", Setup{Servers: 3, TLS: true}, 1, 3, map[string]string{"min-replicas-to-write": "1"}},
		{"replicas and durable", Setup{Servers: 3, Durable: true}, 1, 3, map[string]string{"appendfsync": "always", "min-replicas-to-write": "1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			needServers(t, harness.KindRedis)
			sys := labSystem(t)
			s, err := startSetup(t.Context(), sys, harness.KindRedis, test.s)
			if errors.Is(err, harness.ErrUnavailable) && !Required(harness.KindRedis) { // built without TLS
				t.Skip(err)
			}
			requireNoError(t, err)
			defer s.Stop()
			at := s.Endpoint()
			if len(at.Addrs) != test.lists || len(at.PIDs) != test.processes || test.s.Processes() != test.processes {
				t.Errorf("%d lists and processes %v, %d expected, want %d and %d", len(at.Addrs), at.PIDs, test.s.Processes(), test.lists, test.processes)
			}
			for i, list := range at.Addrs {
				if len(list) != 1 {
					t.Errorf("addresses %v: clients are to know one server of each", at.Addrs)
				}
				m := s.servers[i].member
				if m.clientAddr() != list[0] {
					t.Errorf("%s is not server %d, %s", list[0], i, m.addr())
				}
				wantTLS(t, at, list[0], test.s.TLS)
				for name, want := range test.config {
					if got := configOf(t, m, name); got != want {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}
				info, err := runCommand(t.Context(), m, "INFO", "replication")
				want := "connected_slaves:" + strconv.Itoa(max(1, test.s.Servers)-1)
				if err != nil || !strings.Contains(info, "role:master") || !strings.Contains(info, want) {
					t.Errorf("replication: %v, want a master and %s:\n%s", err, want, info)
				}
			}
			requireNoError(t, s.Stop())
			wantEmpty(t, sys.temp)
		})
	}
}

// wantTLS connects to addr as clients do, also without a certificate and with an unknown one.
func wantTLS(t *testing.T, at harness.Endpoint, addr string, want bool) {
	t.Helper()
	ask := func(at harness.Endpoint) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if at.Kind == harness.KindRedis {
			_, err := probeRedis(ctx, at, addr)
			return err
		}
		text, err := FourLetters(ctx, at, addr, "srvr")
		return cmp.Or(err, map[bool]error{true: errors.New("no answer")}[text == ""])
	}
	if (at.TLS != nil) != want {
		t.Errorf("TLS is %v, want %v", at.TLS != nil, want)
	}
	if err := ask(at); err != nil {
		t.Errorf("%s does not answer: %v", addr, err)
	}
	if at.TLS == nil {
		return
	}
	if at.Kind == harness.KindRedis { // ZooKeeper waits for the handshake
		if err := ask(harness.Endpoint{Kind: at.Kind}); err == nil {
			t.Errorf("%s answers without TLS", addr)
		}
	}
	if err := ask(harness.Endpoint{Kind: at.Kind, TLS: &tls.Config{ServerName: "127.0.0.1"}}); err == nil {
		t.Errorf("%s has a certificate that the system trusts", addr)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(at.Roots) || !roots.Equal(at.TLS.RootCAs) {
		t.Error("Roots are not what TLS trusts")
	}
}

func configOf(t *testing.T, m member, name string) string {
	t.Helper()
	client, err := openRedis(harness.Endpoint{}, m.addr())
	requireNoError(t, err)
	defer client.Close()
	reply, err := client.ConfigGet(t.Context(), name).Result()
	requireNoError(t, err)
	return reply[name]
}

// TestSetupOfZooKeeper: a durable ensemble is one, and forces its log to disk.
func TestSetupOfZooKeeper(t *testing.T) {
	needServers(t, harness.KindZooKeeper)
	if runtime.GOOS != "linux" {
		t.Skip("the arguments of a process are read from /proc")
	}
	sys := labSystem(t)
	for _, setup := range []Setup{{Servers: 3, Durable: true, TLS: true}, {}} {
		s, err := startSetup(t.Context(), sys, harness.KindZooKeeper, setup)
		requireNoError(t, err)
		defer s.Stop()
		at := s.Endpoint()
		if n := max(1, setup.Servers); len(at.Addrs) != 1 || len(at.Addrs[0]) != n || len(at.PIDs) != n {
			t.Fatalf("%+v: addresses %v and processes %v", setup, at.Addrs, at.PIDs)
		}
		modes := make(map[string]int)
		for i, addr := range at.Addrs[0] {
			line, err := os.ReadFile("/proc/" + strconv.Itoa(at.PIDs[i]) + "/cmdline")
			want := map[bool]string{false: "-Dzookeeper.forceSync=no", true: "-Dzookeeper.forceSync=yes"}[setup.Durable]
			if args := strings.Split(string(line), "\x00"); err != nil || !slices.Contains(args, want) {
				t.Errorf("%+v: the arguments lack %s: %q, %v", setup, want, args, err)
			}
			wantTLS(t, at, addr, setup.TLS)
			text, err := FourLetters(t.Context(), at, addr, "srvr")
			requireNoError(t, err)
			modes[fieldsOf(text, ":")["Mode"]]++
		}
		if setup.Servers == 3 && (modes["leader"] != 1 || modes["follower"] != 2) || setup.Servers == 0 && modes["standalone"] != 1 {
			t.Errorf("%+v: modes %v", setup, modes)
		}
		if took, err := s.SyncTime(); err != nil || took <= 0 {
			t.Errorf("a small write takes %v, %v", took, err)
		}
		requireNoError(t, s.Stop())
	}
	wantEmpty(t, sys.temp)
}

// TestSetupRefuses: neither the user's servers nor unsupported setups are configured.
func TestSetupRefuses(t *testing.T) {
	for _, test := range []struct {
		kind, env string
		s         Setup
		want      string
	}{
		{harness.KindRedis, "LOCKLAB_REDIS", Setup{Durable: true}, "LOCKLAB_REDIS names servers of yours"},
		{harness.KindRedis, "LOCKLAB_REDIS", Setup{Servers: 3}, "LOCKLAB_REDIS names servers of yours"},
		{harness.KindZooKeeper, "LOCKLAB_ZOOKEEPER", Setup{Durable: true}, "LOCKLAB_ZOOKEEPER names servers of yours"},
		{harness.KindRedis, "", Setup{Servers: 3, Independent: 3}, "3 times 3 servers"},
		{harness.KindZooKeeper, "", Setup{Independent: 3}, "3 times 0 servers"},
		{harness.KindRedis, "", Setup{Servers: -1}, "-1 servers"},
		{"etcd", "", Setup{}, "unknown kind"},
	} {
		var pairs []string
		if test.env != "" {
			pairs = []string{test.env, "127.0.0.1:1"}
		}
		s, err := startSetup(t.Context(), labSystem(t, pairs...), test.kind, test.s)
		if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %+v: %v, want ErrUsage with %q", test.kind, test.s, err, test.want)
		}
		if s != nil {
			s.Stop()
		}
	}
}

// TestOnDisk: a directory in memory is left for one on a disk.
func TestOnDisk(t *testing.T) {
	if got, err := onDisk("/nowhere"); err == nil && got != "/var/tmp" {
		t.Errorf("of a directory that is not there: %s", got)
	}
	if fileSystem("/dev/shm") != "tmpfs" {
		t.Skip("/dev/shm is not in memory here")
	}
	if got, err := onDisk("/dev/shm"); err == nil && got != "/var/tmp" || err != nil && !errors.Is(err, harness.ErrUnavailable) {
		t.Errorf("of /dev/shm: %s, %v", got, err)
	}
}
