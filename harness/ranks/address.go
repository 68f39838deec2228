package ranks

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
func (a address) String() string {
	kind := "Redis"
	if a.endpoint.Kind == harness.KindZooKeeper {
		kind = "ZooKeeper"
	}
	return kind + " at " + strings.Join(a.endpoint.Addrs[0], ",")
}

const forms = "redis://[user:password@]host:port[/db] or zookeeper://[user:password@]host:port[,host:port…], with TLS rediss:// or zookeepers://"

// Redacted returns a URL of [Options] without its password, for files and messages. If it
// is not a URL, but may contain a password, everything before its last @ is removed.
func Redacted(sync string) string {
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

// parseSync reads [Options.Sync]. Its errors quote nothing of the URL but the scheme, which
// could hold no password.
func parseSync(text string) (address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if text == "" {
		return address{}, usage("no server is named where the ranks meet: want %s", forms)
	}
	if !ok {
		return address{}, usage("the server where the ranks meet is not named by a URL: want %s", forms)
	}
	var at address
	var err error
	switch scheme {
	case "redis", "rediss":
		at, err = parseRedis(text)
	case "zookeeper", "zookeepers":
		at, err = parseZooKeeper(rest)
	default:
		return address{}, usage("ranks do not meet at a server of the kind %.20q: want %s", scheme, forms)
	}
	if err != nil {
		return address{}, usage("the server where the ranks meet is not named rightly: %w: want %s", err, forms)
	}
	switch scheme {
	case "rediss":
		host, _, _ := net.SplitHostPort(at.endpoint.Addrs[0][0])
		at.endpoint.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	case "zookeepers": // each server has its own name
		at.endpoint.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
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

// parseZooKeeper parses the part after the scheme: package url does not support lists of
// hosts.
func parseZooKeeper(rest string) (address, error) {
	at := address{endpoint: harness.Endpoint{Kind: harness.KindZooKeeper}}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		var err error
		if at.endpoint.Username, at.endpoint.Password, err = digest(rest[:i]); err != nil {
			return address{}, err
		}
		rest = rest[i+1:]
	}
	var addrs []string
	for addr := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), ",") {
		if err := hostPort(addr); err != nil {
			return address{}, err
		}
		addrs = append(addrs, addr)
	}
	at.endpoint.Addrs = [][]string{addrs}
	return at, nil
}

// digest parses user:password. For ZooKeeper the user ends at the first colon.
func digest(text string) (user, password string, err error) {
	user, password, ok := strings.Cut(text, ":")
	if !ok || user == "" || password == "" {
		return "", "", errors.New("what is before the @ is not user:password")
	}
	if strings.ContainsAny(text, "/?#@ \t\r\n\x00") {
		return "", "", errNoURL
	}
	user, err = url.PathUnescape(user)
	if err == nil {
		password, err = url.PathUnescape(password)
	}
	if err != nil { // which quotes the password
		return "", "", errNoURL
	}
	if strings.Contains(user, ":") {
		return "", "", errors.New("the name of the user has a colon, which ZooKeeper does not know")
	}
	return user, password, nil
}

// hostPort returns the mistake in an address, without quoting it.
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

func unreachable(at address, err error) error {
	if errors.Is(err, errRefused) {
		return usage("%v, where the ranks meet, refuses this rank: %w", at, err)
	}
	return usage("%v, where the ranks meet, does not answer: %w", at, err)
}
