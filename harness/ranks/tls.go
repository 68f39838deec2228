package ranks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"locklab/harness"
)

const wantTLS = "its URL asks for no TLS: want rediss:// or zookeepers://"

func (a *address) trust(roots []byte) error {
	if len(roots) == 0 {
		return nil
	}
	if a.endpoint.TLS == nil {
		return usage("certificates are given to trust %v by, where the ranks meet, and %s", a, wantTLS)
	}
	a.endpoint.Roots = roots
	a.endpoint.TLS.RootCAs = x509.NewCertPool()
	if !a.endpoint.TLS.RootCAs.AppendCertsFromPEM(roots) {
		return usage("what is given to trust %v by, where the ranks meet, has no certificate: want PEM", a)
	}
	return nil
}

// present makes at show a certificate, in PEM, to servers that ask for one.
func (a *address) present(cert, key []byte) error {
	switch {
	case len(cert)+len(key) == 0:
		return nil
	case len(cert) == 0 || len(key) == 0:
		return usage("the certificate of the ranks and its key go together (--sync-cert, --sync-key): give both")
	case a.endpoint.TLS == nil:
		return usage("a certificate is given to show to %v, where the ranks meet, and %s", a, wantTLS)
	case locked(key):
		return usage("the key of the ranks (--sync-key) is encrypted by a passphrase, which the lab does not ask for: write it without one, as by openssl pkey")
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return usage("the certificate of the ranks and its key (--sync-cert, --sync-key) cannot be used: %w", err)
	}
	// Shown for any authorities that the server names, so that the server reports a
	// rejection.
	a.endpoint.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return nil
}

func locked(key []byte) bool {
	for block, rest := pem.Decode(key); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
	}
	return false
}

func alert(err error) error {
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == "remote error" { // the name that package tls uses
		return remote.Err
	}
	return nil
}

// hopeless reports whether a connection will fail the same way again: the server does not
// use TLS, its certificate is not trusted, or it sent an alert.
func hopeless(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) || alert(err) != nil
}

func insecure(at address, err error) error {
	var certificate *tls.CertificateVerificationError
	secure := at.endpoint.TLS != nil
	shown := secure && at.endpoint.TLS.GetClientCertificate != nil
	broken := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	switch said := alert(err); {
	case errors.As(err, &certificate):
		return usage("%v, where the ranks meet, has a certificate that this rank does not trust: %w: give the authority that signed it (--sync-ca)", at, certificate.Err)
	case said != nil && shown:
		return usage("%v, where the ranks meet, refuses this rank: %w: does it trust the authority of its certificate (--sync-cert)?", at, said)
	case said != nil:
		return usage("%v, where the ranks meet, refuses this rank: %w: if it asks for a certificate of its clients, give one and its key (--sync-cert, --sync-key)", at, said)
	case secure && broken && !shown: // the alert may be lost with the connection
		return usage("%v, where the ranks meet, does not answer: %w: does it ask for a certificate of its clients (--sync-cert, --sync-key)?", at, err)
	case secure && broken:
		return usage("%v, where the ranks meet, does not answer: %w: does it trust the authority of the certificate of this rank (--sync-cert)?", at, err)
	case secure && errors.Is(err, context.DeadlineExceeded): // a plain server waits for the end of a request
		return usage("%v, where the ranks meet, does not answer: %w: does it speak TLS there?", at, err)
	case !secure && at.endpoint.Kind == harness.KindRedis && errors.Is(err, io.EOF):
		return usage("%v, where the ranks meet, does not answer: %w: does it want TLS, by rediss://?", at, err)
	}
	return nil
}
