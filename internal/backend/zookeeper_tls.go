package backend

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// StartZooKeeperTLS starts a new ZooKeeper server and returns its TLS port (secureClientPort), with
// the client certificate that it requires. It never uses the user's server.
func StartZooKeeperTLS(ctx context.Context) (*Server, error) {
	sys := host()
	p, err := zooKeeper.find(sys)
	if err != nil {
		return nil, err
	}
	p.classPath += NettyOfDebian(p.classPath)
	secure, err := newSecurePort(sys)
	if err != nil {
		return nil, err
	}
	kind := zooKeeper
	kind.command = secure.command
	s, err := launch(ctx, sys, &kind, p, 1)
	if err != nil {
		return nil, err
	}
	s.endpoint.Addrs = [][]string{{net.JoinHostPort("127.0.0.1", strconv.Itoa(secure.port))}}
	s.endpoint.TLS = secure.client
	return s, nil
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

type securePort struct {
	port   int
	pem    []byte // certificate and key
	client *tls.Config
}

// newSecurePort creates a certificate for the server, its clients and the authority.
func newSecurePort(sys system) (*securePort, error) {
	ports, err := sys.ports(1)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:      pkix.Name{CommonName: "locklab"}, // Java does not take a certificate without a name
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, block := range []*pem.Block{{Type: "PRIVATE KEY", Bytes: private}, {Type: "CERTIFICATE", Bytes: der}} {
		if err := pem.Encode(&text, block); err != nil {
			return nil, err
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &securePort{ports[0], text.Bytes(), &tls.Config{
		RootCAs: pool, MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}}, nil
}

// command is zooKeeperCommand with the TLS port. Only ZooKeeper's Netty server supports TLS.
func (s *securePort) command(p program, m member, all []member) (*exec.Cmd, error) {
	cmd, err := zooKeeperCommand(p, m, all)
	if err != nil {
		return nil, err
	}
	store := filepath.Join(m.dir, "tls.pem")
	if err := os.WriteFile(store, s.pem, 0o600); err != nil {
		return nil, err
	}
	return cmd, encrypt(filepath.Join(m.dir, "zoo.cfg"), s.port, store, "need")
}
