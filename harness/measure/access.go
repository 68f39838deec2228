package measure

import (
	"crypto/tls"
	"crypto/x509"

	"locklab/harness"
)

// An Access is an endpoint in transit. It has credentials and must go only into a pipe.
type Access struct {
	At                 harness.Endpoint
	Username, Password string
	TLS                bool
	ServerName         string
	Roots              []byte
	RootsFile          string
}

// NewAccess returns the access to at.
func NewAccess(at harness.Endpoint) Access {
	a := Access{At: at, Username: at.Username, Password: at.Password}
	if at.TLS != nil {
		a.TLS, a.ServerName, a.Roots, a.RootsFile = true, at.TLS.ServerName, at.Roots, at.RootsFile
	}
	return a
}

// Endpoint returns the endpoint.
func (a Access) Endpoint() harness.Endpoint {
	at := a.At
	at.Username, at.Password = a.Username, a.Password
	if a.TLS {
		at.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.ServerName}
		if at.Roots, at.RootsFile = a.Roots, a.RootsFile; len(at.Roots) > 0 {
			at.TLS.RootCAs = x509.NewCertPool()
			at.TLS.RootCAs.AppendCertsFromPEM(at.Roots)
		}
	}
	return at
}
