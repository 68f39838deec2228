package measure

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"

	"locklab/harness"
)

type address struct {
	endpoint harness.Endpoint
	db       int
}

// String names the server, without credentials.
func (a address) String() string { return "Redis at " + a.endpoint.Addrs[0][0] }

const forms = "redis://[user:password@]host:port[/db], with TLS rediss://"

// RedactedSync returns a URL of [RankOptions] without its password, for files and messages. If it
// is not a URL, but may contain a password, everything before its last @ is removed.
func RedactedSync(sync string) string {
	scheme, rest, ok := strings.Cut(sync, "://")
	if !ok {
		scheme, rest = "", sync
	} else {
		scheme += "://"
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return sync
	}
	user, _, _ := strings.Cut(rest[:at], ":")
	if !ok || user == rest[:at] { // it may be the password
		user = ""
	}
	return scheme + user + ":xxxxx" + rest[at:]
}

// parseSync reads [Options.Sync]. Its errors quote the scheme at most.
func parseSync(text string) (address, error) {
	scheme, _, ok := strings.Cut(text, "://")
	switch {
	case text == "":
		return address{}, usage("no server is named where the ranks meet: want %s", forms)
	case !ok:
		return address{}, usage("the server where the ranks meet is not named by a URL: want %s", forms)
	case scheme != "redis" && scheme != "rediss":
		return address{}, usage("ranks do not meet at a server of the kind %.20q: want %s", scheme, forms)
	}
	at, err := parseRedis(text)
	if err != nil {
		return address{}, usage("the server where the ranks meet is not named rightly: %w: want %s", err, forms)
	}
	if scheme == "rediss" {
		host, _, _ := net.SplitHostPort(at.endpoint.Addrs[0][0])
		at.endpoint.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	return at, nil
}

var errNoURL = errors.New("it is no URL; characters such as / and # in a password are written %2F and %23")

func parseRedis(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil { // which quotes the password
		return address{}, errNoURL
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return address{}, errors.New("it has a part behind ? or #, which the lab does not know; in a password they are written %3F and %23")
	}
	if err := hostPort(u.Host); err != nil {
		return address{}, err
	}
	at := address{endpoint: harness.Endpoint{Kind: harness.KindRedis, Addrs: [][]string{{u.Host}}}}
	if u.User != nil {
		at.endpoint.Username = u.User.Username()
		at.endpoint.Password, _ = u.User.Password()
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil {
			return address{}, errors.New("its path is not the number of a database")
		}
		at.db = int(n)
	}
	return at, nil
}

func hostPort(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || strings.ContainsAny(host, "@/?#% \t\r\n\x00") {
		return errors.New("an address is not host:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("a port is not a number from 1 to 65535")
	}
	return nil
}

func unreachableSync(at address, err error) error {
	if errors.Is(err, errRefused) {
		return usage("%v, where the ranks meet, refuses this rank: %w", at, err)
	}
	return usage("%v, where the ranks meet, does not answer: %w", at, err)
}
