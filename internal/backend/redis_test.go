package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
)

func TestParseRedis(t *testing.T) {
	for text, want := range map[string]struct {
		addrs          string
		user, password string
		tls            string
	}{
		"localhost:6379":                    {addrs: "localhost:6379"},
		" a:1, [::1]:2 ":                    {addrs: "a:1 [::1]:2"},
		"redis://a":                         {addrs: "a:6379"},
		"redis://a:1/0":                     {addrs: "a:1"},
		"redis://lab:p%40ss%2Cword@a:1/":    {addrs: "a:1", user: "lab", password: "p@ss,word"},
		"rediss://:pw@redis.example.org:99": {addrs: "redis.example.org:99", password: "pw", tls: "redis.example.org"},
	} {
		at, err := parseRedis(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var addrs []string
		for _, list := range at.Addrs {
			addrs = append(addrs, strings.Join(list, ","))
		}
		if got := strings.Join(addrs, " "); got != want.addrs || at.Username != want.user || at.Password != want.password {
			t.Errorf("%q is read as %s, %q, %q", text, got, at.Username, at.Password)
		}
		if (at.TLS != nil) != (want.tls != "") || at.TLS != nil && at.TLS.ServerName != want.tls {
			t.Errorf("%q: TLS is %+v", text, at.TLS)
		}
	}
}

// What cannot be read may hold a password all the same.
func TestParseRedisKeepsSecrets(t *testing.T) {
	for _, text := range []string{
		"secret", "host", ":6379", "host:", "secret@host:1", "user:secret@host:1", "a:1,,b:2", "host:1/secret",
		"redis://user:secret@host:port/", "redis://user:secret@host:1:2", "redis://u:%zzsecret@host:1",
		"redis://:secret@", "redis://:secret@host/1", "redis://:secret@host?db=1", "redis://:secret@host#x",
		"http://:secret@host:1", "redis://u:secret@h\n:1",
	} {
		_, err := parseRedis(text)
		if !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%q: error is %v, want ErrUsage", text, err)
		} else if msg := err.Error(); strings.Contains(msg, "secret") || strings.Contains(msg, "\n") {
			t.Errorf("%q: %q shows the secret or more than a line", text, msg)
		}
	}
}

func FuzzParseRedis(f *testing.F) {
	for _, text := range []string{"a:1,b:2", "redis://u:p@h:1/0", "rediss://h", "[::1]:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parseRedis(text)
		if err != nil {
			if !errors.Is(err, harness.ErrUsage) {
				t.Errorf("%v does not wrap ErrUsage", err)
			}
			return
		}
		if len(at.Addrs) == 0 {
			t.Error("no address")
		}
		for _, list := range at.Addrs {
			if host, port, err := net.SplitHostPort(list[0]); len(list) != 1 || err != nil || host == "" || port == "" {
				t.Errorf("%q is read as %q", text, list)
			}
		}
	})
}

// TestFindRedis: LOCKLAB_REDIS_SERVER names the program, and a missing program is an error.
func TestFindRedis(t *testing.T) {
	for _, test := range []struct {
		env, want string
		err       error
		have      []string
	}{
		{"", "/bin/redis-server", nil, []string{"redis-server", "valkey-server"}},
		{"", "/bin/valkey-server", nil, []string{"valkey-server"}},
		{"", "", harness.ErrUnavailable, nil},
		{"valkey-server", "/bin/valkey-server", nil, []string{"redis-server", "valkey-server"}},
		{"missing", "", harness.ErrUsage, []string{"redis-server"}},
	} {
		sys := system{
			getenv: func(name string) string { return map[string]string{"LOCKLAB_REDIS_SERVER": test.env}[name] },
			lookPath: func(name string) (string, error) {
				if !slices.Contains(test.have, name) {
					return "", exec.ErrNotFound
				}
				return "/bin/" + name, nil
			},
		}
		p, err := findRedis(sys)
		if p.path != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q of %q: %q, %v", test.env, test.have, p.path, err)
		}
		if err != nil && !strings.Contains(err.Error(), "LOCKLAB_REDIS") {
			t.Errorf("%q does not say what to do", err)
		}
	}
}

func TestRedisAnswer(t *testing.T) {
	for info, want := range map[string]answer{
		"# Server\r\nredis_version:7.0.15\r\nprocess_id:12\r\n":                 {"7.0.15", "12"},
		"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n": {"valkey 8.0.1", ""},
		"": {"unknown", ""},
	} {
		if got := redisAnswer(info); got != want {
			t.Errorf("%q is read as %+v, want %+v", info, got, want)
		}
	}
}

func TestUserRedisWithPassword(t *testing.T) {
	needServers(t, harness.KindRedis)
	sys := labSystem(t)
	k := redis
	k.command = func(p program, m member, _ []member) (*exec.Cmd, error) {
		return redisWith(p, m, "--requirepass", "s3cret", "--user", "lab", "on", ">other", "~locklab:*", "+ping"), nil
	}
	k.probe = func(ctx context.Context, _ harness.Endpoint, addr string) (answer, error) {
		return probeRedis(ctx, harness.Endpoint{Password: "s3cret"}, addr)
	}
	own, err := launch(t.Context(), sys, &k, 1)
	addr := stopAtEnd(t, own, err).Endpoint().Addrs[0][0]
	for url, want := range map[string]string{
		"redis://:s3cret@" + addr:        "",
		"redis://default:s3cret@" + addr: "",
		"redis://lab:other@" + addr:      "", // may not use INFO
		"redis://:wr0ng@" + addr:         "WRONGPASS",
		addr:                             "NOAUTH",
	} {
		s, err := startSetup(t.Context(), labSystem(t, "LOCKLAB_REDIS", url), harness.KindRedis, Setup{})
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", url, err)
			} else if unknown := s.Version() == "unknown"; unknown != strings.Contains(url, "lab:") {
				t.Errorf("%s: version is %s", url, s.Version())
			}
			continue
		}
		if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %s", url, err, want)
		} else if strings.Contains(err.Error(), "wr0ng") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q shows a password", err)
		}
	}
}

func TestUserRedisWithTLS(t *testing.T) {
	needServers(t, harness.KindRedis)
	own, err := startSetup(t.Context(), labSystem(t), harness.KindRedis, Setup{TLS: true})
	if errors.Is(err, harness.ErrUnavailable) && !Required(harness.KindRedis) { // built without TLS
		t.Skip(err)
	}
	addr := stopAtEnd(t, own, err).Endpoint().Addrs[0][0]
	// The machine does not trust the certificate, so a client that checks it fails.
	_, err = startSetup(t.Context(), labSystem(t, "LOCKLAB_REDIS", "rediss://"+addr), harness.KindRedis, Setup{})
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok || !errors.Is(err, harness.ErrUsage) {
		t.Errorf("error is %v, want a refused certificate", err)
	}
	if _, err := startSetup(t.Context(), labSystem(t, "LOCKLAB_REDIS", addr), harness.KindRedis, Setup{}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("plain TCP: error is %v", err)
	}
}
