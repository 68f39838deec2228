package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"locklab/harness"
)

// secure gives servers of the kind a port for TLS beside the plain one, by which the lab starts
// them and they reach each other. When they serve, client says how to speak TLS with them.
func secure(k *Kind, client *harness.Endpoint) {
	k.secure = true
	k.prepare = func(dir string, _ *harness.Endpoint) error { return makeCertificate(dir, client) }
	plain, settle, options := k.command, k.settle, secureRedis
	if k.Name == harness.KindZooKeeper {
		options = secureZooKeeper
	}
	k.command = func(p program, m member, all []member) (*exec.Cmd, error) {
		cmd, err := plain(p, m, all)
		if err != nil {
			return nil, err
		}
		return cmd, options(cmd, m)
	}
	k.settle = func(ctx context.Context, all []member) error {
		if settle != nil {
			if err := settle(ctx, all); err != nil {
				return err
			}
		}
		for _, m := range all {
			if err := untilSecure(ctx, m, *client); err != nil {
				return err
			}
		}
		return nil
	}
}

// untilSecure returns when m speaks TLS: its plain port may be open before.
func untilSecure(ctx context.Context, m member, client harness.Endpoint) error {
	for {
		conn, err := dial(ctx, m.clientAddr(), client.TLS)
		if err == nil {
			err = handshaken(ctx, conn)
			conn.Close()
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: no TLS: %w", context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func secureRedis(cmd *exec.Cmd, m member) error {
	cert, key := certificateFiles(filepath.Dir(m.dir))
	cmd.Args = append(cmd.Args, "--tls-port", strconv.Itoa(m.secure), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	return nil
}

// secureZooKeeper adds TLS to a server's configuration, the last argument: only Netty has it.
func secureZooKeeper(cmd *exec.Cmd, m member) error {
	cert, key := certificateFiles(filepath.Dir(m.dir))
	store := filepath.Join(m.dir, "tls.pem")
	if err := join(store, key, cert); err != nil {
		return err
	}
	return encrypt(cmd.Args[len(cmd.Args)-1], m.secure, store, "none")
}

// encrypt makes a ZooKeeper server serve TLS at port; clientAuth is "none" or "need".
func encrypt(path string, port int, store, clientAuth string) error {
	config, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(config, `secureClientPort=%d
secureClientPortAddress=127.0.0.1
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location=%s
ssl.keyStore.type=PEM
ssl.trustStore.location=%[2]s
ssl.trustStore.type=PEM
ssl.clientAuth=%s
`, port, store, clientAuth)
	return errors.Join(err, config.Close())
}

func join(to string, from ...string) error {
	var all []byte
	for _, name := range from {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all = append(all, text...)
	}
	return os.WriteFile(to, all, 0o600)
}
