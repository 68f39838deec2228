package backend

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
)

// secure gives servers of the kind a port for TLS in addition to the plain one, which the lab and
// the other servers use. It sets the TLS fields of client when they serve.
func (s Setup) secure(k *Kind, client *harness.Endpoint) {
	k.secure = true
	k.prepare = func(dir string) error { return makeCertificate(dir, client, s.ClientCertificate) }
	plain, settle := k.command, k.settle
	k.command = func(p program, m member, all []member) (*exec.Cmd, error) {
		p.classPath += NettyOfDebian(p.classPath)
		cmd, err := plain(p, m, all)
		if err != nil {
			return nil, err
		}
		if k.Name == harness.KindZooKeeper {
			return cmd, s.secureZooKeeper(cmd, m)
		}
		cert, key, _ := certificateFiles(filepath.Dir(m.dir))
		cmd.Args = append(cmd.Args, "--tls-port", strconv.Itoa(m.secure), "--tls-cert-file", cert, "--tls-key-file", key,
			"--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
		return cmd, nil
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
	err := retry(ctx, func() error {
		conn, err := (&tls.Dialer{Config: client.TLS}).DialContext(ctx, "tcp", m.clientAddr())
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("no TLS: %w", err)
	}
	return err
}

// secureZooKeeper adds TLS to a server's configuration, the last argument: only Netty has it.
func (s Setup) secureZooKeeper(cmd *exec.Cmd, m member) error {
	_, _, store := certificateFiles(filepath.Dir(m.dir))
	config, err := os.OpenFile(cmd.Args[len(cmd.Args)-1], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	clients := "none"
	if s.ClientCertificate {
		clients = "need"
	}
	_, err = fmt.Fprintf(config, `secureClientPort=%d
secureClientPortAddress=127.0.0.1
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location=%s
ssl.keyStore.type=PEM
ssl.trustStore.location=%[2]s
ssl.trustStore.type=PEM
ssl.clientAuth=%s
`, m.secure, store, clients)
	return errors.Join(err, config.Close())
}

// NettyOfDebian returns the addition to a class path of Debian's jars for TLS: Netty.
func NettyOfDebian(classPath string) (more string) {
	const debian = "/usr/share/java/"
	if strings.HasPrefix(classPath, debian) {
		for _, jar := range []string{"netty-codec", "netty-resolver", "netty-transport-native-unix-common"} {
			more += ":" + debian + jar + ".jar"
		}
	}
	return more
}

func certificateFiles(dir string) (cert, key, both string) {
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "tls.pem")
}

// certified is how long a certificate holds.
const certified = 30 * 24 * time.Hour

// makeCertificate writes a certificate for 127.0.0.1. at trusts only this one, and has it as
// the certificate of the client if client is set.
func makeCertificate(dir string, at *harness.Endpoint, client bool) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "locklab"},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(certified),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // of itself
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	certFile, keyFile, both := certificateFiles(dir)
	for name, text := range map[string][]byte{certFile: cert, keyFile: private, both: slices.Concat(private, cert)} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	at.Roots, at.RootsFile = cert, certFile
	at.TLS = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	if client {
		at.TLS.Certificates = []tls.Certificate{{Certificate: [][]byte{signed}, PrivateKey: key}}
	}
	return nil
}
