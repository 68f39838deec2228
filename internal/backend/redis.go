package backend

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"locklab/harness"
	wireredis "locklab/internal/wire/redis"
)

var redis = Kind{
	Name:    harness.KindRedis,
	Env:     "LOCKLAB_REDIS",
	parse:   parseRedis,
	find:    findRedis,
	command: RedisOptions{}.command,
	probe:   probeRedis,
	alone:   true,
	usage:   usageOfRedis,
	owns: func(a answer, _ member, pid int) bool {
		return a.identity == strconv.Itoa(pid)
	},
}

// parseRedis reads host:port[,host:port], which are independent servers, or one redis:// or
// rediss:// URL (https://www.iana.org/assignments/uri-schemes/prov/redis), rediss being TLS.
func parseRedis(text string) (harness.Endpoint, error) {
	bad := func(why string) (harness.Endpoint, error) {
		return harness.Endpoint{}, fmt.Errorf("%w: LOCKLAB_REDIS: %s", harness.ErrUsage, why)
	}
	at := harness.Endpoint{Kind: harness.KindRedis}
	if !strings.Contains(text, "://") {
		addrs, err := hostPorts(text)
		if err != nil {
			return bad(err.Error() + " or redis://user:password@host:port/")
		}
		for _, addr := range addrs {
			at.Addrs = append(at.Addrs, []string{addr})
		}
		return at, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // it quotes the text, password and all
		return bad("not a URL of the form redis://user:password@host:port/")
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return bad(fmt.Sprintf("unknown scheme %q: want redis or rediss", u.Scheme))
	case u.Hostname() == "":
		return bad("the URL names no host")
	case strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "["):
		return bad("the URL names more than one port")
	case strings.Trim(u.Path, "/") != "" && u.Path != "/0":
		return bad("the URL names a database: the lab uses database 0 only")
	case u.RawQuery != "" || u.Fragment != "":
		return bad("the URL has options: the lab supports none")
	}
	at.Addrs = [][]string{{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))}}
	at.Username = u.User.Username()
	at.Password, _ = u.User.Password()
	if u.Scheme == "rediss" {
		at.TLS = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	}
	return at, nil
}

// redisProgram names the variable of the program to start, for tests on another version.
const redisProgram = "LOCKLAB_REDIS_SERVER"

func findRedis(s system) (program, error) {
	if name := s.getenv(redisProgram); name != "" {
		path, err := s.lookPath(name)
		if err != nil {
			return program{}, fmt.Errorf("%w: %s: want the absolute path of a redis-server or valkey-server: %w", harness.ErrUsage, redisProgram, err)
		}
		return program{path: path}, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := s.lookPath(name); err == nil {
			return program{path: path}, nil
		}
	}
	return program{}, fmt.Errorf("%w: no redis-server or valkey-server on PATH: run scripts/deps redis, or set LOCKLAB_REDIS=host:port", harness.ErrUnavailable)
}

// redisWith returns the command of a server with more arguments, which override the others. It
// keeps everything in memory: the disk is not part of a lock's cost.
func redisWith(p program, m member, args ...string) *exec.Cmd {
	cmd := exec.Command(p.path,
		"--bind", "127.0.0.1",
		"--port", strconv.Itoa(m.port),
		"--protected-mode", "yes",
		"--dir", m.dir,
		"--save", "",
		"--appendonly", "no",
		"--daemonize", "no",
		"--loglevel", "warning",
	)
	// Redis 7.2 does not start under a locale that the machine lacks.
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Args = append(cmd.Args, args...)
	return cmd
}

// probeRedis sends PING, which fails while a server loads its data or requires a password, and
// reads the version from INFO. A user's server may forbid INFO: then the version is unknown.
func probeRedis(ctx context.Context, at harness.Endpoint, addr string) (answer, error) {
	_, end, err := dial(ctx, addr, nil)
	if err != nil {
		return answer{}, err // the client would also print it
	}
	end()
	client, err := openRedis(at, addr)
	if err != nil {
		return answer{}, err
	}
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return answer{}, err
	}
	info, err := client.Info(ctx, "server").Result()
	if _, refused := errors.AsType[goredis.Error](err); err != nil && !refused {
		return answer{}, err
	}
	return redisAnswer(info), nil
}

// redisAnswer: Valkey reports redis_version 7.2.4 and its own version separately.
func redisAnswer(info string) answer {
	fields := fieldsOf(info, ":")
	valkey := fields["valkey_version"]
	if valkey != "" {
		valkey = "valkey " + valkey
	}
	return answer{version: cmp.Or(valkey, fields["redis_version"], "unknown"), identity: fields["process_id"]}
}

// openRedis returns a client that connects on first use.
func openRedis(at harness.Endpoint, addr string) (*goredis.Client, error) {
	at.Kind, at.Cluster, at.Addrs = harness.KindRedis, false, [][]string{{addr}}
	client, _, err := wireredis.Connect(at, func(o *goredis.Options) { o.PoolSize = 1 })
	return client, err
}
