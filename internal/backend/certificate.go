package backend

import (
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
	"path/filepath"
	"slices"
	"time"

	"locklab/harness"
)

// certificateFiles returns the names of the files of the certificate, its key, and of both.
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
