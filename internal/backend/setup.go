package backend

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"locklab/harness"
)

// A Setup is a configuration of servers. The zero value forces nothing to disk.
type Setup struct {
	// Servers is the number of copies of the data: a ZooKeeper ensemble, or a Redis primary and
	// its replicas. At least one replica must follow, or the primary accepts no write. 0 is 1.
	Servers int

	// Independent is the number of independent groups, each with its own list in Endpoint.Addrs. 0
	// is 1. Only Redis allows more than one, and then without replicas.
	Independent int

	// Durable servers force each write to disk before they answer, in directories on a disk.
	Durable bool

	// TLS makes clients use TLS with each server. Servers communicate without TLS.
	TLS bool

	// ClientCertificate makes a ZooKeeper server with TLS require Endpoint.TLS.Certificates.
	ClientCertificate bool

	// Layout, if not nil, is an arrangement of Redis servers, without other fields.
	Layout *Layout

	// Own starts new servers even if the user names some. The servers of a Layout always are.
	Own bool
}

func (s Setup) plain() bool { return s.Servers <= 1 && !s.Durable && !s.TLS }

// Processes returns how many servers s starts.
func (s Setup) Processes() int { return max(1, s.Servers) * max(1, s.Independent) }

// Settings returns the settings that configure a server of the kind for s, in its own syntax.
func (s Setup) Settings(kind string) string {
	if kind == harness.KindZooKeeper {
		text := map[bool]string{false: "forceSync=no", true: "forceSync=yes"}[s.Durable]
		if s.TLS {
			text += ", secureClientPort, NettyServerCnxnFactory"
		}
		return text
	}
	text := "appendonly no"
	if s.Durable {
		text = "appendonly yes, appendfsync always"
	}
	if s.Servers > 1 {
		text += fmt.Sprintf(", min-replicas-to-write %d", minReplicas)
	}
	if s.TLS {
		text += ", tls-port"
	}
	return text
}

// minReplicas is the number of replicas in contact, without which a primary accepts no write.
const minReplicas = 1

// StartSetup starts new servers, which the caller must Stop, or returns the user's if s requires
// only their number. If the user specifies servers of the kind and s requires more, the error wraps
// [harness.ErrUsage]: the lab configures only its own servers.
func StartSetup(ctx context.Context, kind string, s Setup) (*Server, error) {
	return startSetup(ctx, host(), kind, s)
}

func startSetup(ctx context.Context, sys system, kind string, s Setup) (*Server, error) {
	k, err := lookup(kind)
	if err != nil {
		return nil, err
	}
	if s.Servers < 0 || s.Independent < 0 || s.Servers > 1 && s.Independent > 1 || s.Independent > 1 && !k.alone {
		return nil, fmt.Errorf("%w: %d times %d servers of kind %s", harness.ErrUsage, s.Independent, s.Servers, kind)
	}
	if s.Layout != nil {
		return startLayout(ctx, sys, s.Layout)
	}
	if text := sys.getenv(k.Env); text != "" && !s.Own {
		if s.plain() {
			return connect(ctx, k, text)
		}
		return nil, fmt.Errorf("%w: %s names servers of yours, and the lab sets up only those that it starts", harness.ErrUsage, k.Env)
	}
	if s.Durable {
		if sys.temp, err = onDisk(sys.temp); err != nil {
			return nil, err
		}
	}
	as := s.kind(k)
	var client harness.Endpoint
	if s.TLS {
		s.secure(&as, &client)
	}
	server, err := launch(ctx, sys, &as, s.Processes())
	if err != nil {
		if s.TLS && strings.Contains(err.Error(), "TLS support") {
			return nil, fmt.Errorf("%w: the program was built without TLS: %w", harness.ErrUnavailable, err)
		}
		return nil, err
	}
	server.endpoint.TLS, server.endpoint.Roots, server.endpoint.RootsFile = client.TLS, client.Roots, client.RootsFile
	if kind == harness.KindRedis && s.Servers > 1 {
		server.endpoint.Addrs[0] = server.endpoint.Addrs[0][:1] // clients know the primary alone
		server.replicas = s.Servers - 1
	}
	return server, nil
}

// kind returns k as s sets it up.
func (s Setup) kind(k *Kind) Kind {
	out := *k
	if k.Name == harness.KindZooKeeper {
		out.command = EnsembleOptions{durable: s.Durable}.command
		return out
	}
	o := RedisOptions{Replicas: max(1, s.Servers) - 1}
	if s.Durable {
		o.Persistence = Always
	}
	if o.Replicas == 0 {
		out.command = o.command
		return out
	}
	o.Args = []string{"--min-replicas-to-write", strconv.Itoa(minReplicas)}
	return layoutKind(o.command, settleReplicas)
}

// UsersServer returns the variable that contains the user's servers of the kind, "" if unset.
func UsersServer(kind string) string {
	if k, err := lookup(kind); err == nil && os.Getenv(k.Env) != "" {
		return k.Env
	}
	return ""
}
