package ranks

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"locklab/harness"
)

// A board is a server's part of a meeting, for one rank. Every method is one request or
// a few. Where a reply may have been lost it may be called again.
type board interface {
	// claim takes the rank, exclusively, until it was not renewed for some time. If
	// another process has it, it returns the value that that has claimed it with. It
	// may return nil for one that is just ending.
	claim(ctx context.Context, value []byte) (taken bool, holder []byte, err error)

	// beat renews the claim, and what is posted in run unless that is "". It returns the
	// values of all claims, by rank, nil where there is none. The error wraps errClaim if
	// the own claim has ended.
	beat(ctx context.Context, run string) ([][]byte, error)

	// post posts the rank's value at a place of a run, once.
	post(ctx context.Context, run, at string, value []byte) error

	// read returns what the ranks posted at a place of a run, nil for those that have not.
	read(ctx context.Context, run, at string) ([][]byte, error)

	// drop takes away what the rank posted at a place.
	drop(ctx context.Context, run, at string) error

	// now reads the server's clock, in ns since 1970, and how much that may be behind it.
	now(ctx context.Context) (now, resolution int64, err error)

	// leave gives up the claim, removes what no rank needs any more, and disconnects, even if it fails.
	leave(ctx context.Context, run string) error

	// expiry is by when a claim that is not renewed has surely ended.
	expiry() time.Duration

	// spread is how far apart the claims of ranks that are gone at once may end.
	spread() time.Duration
}

// A place is whose board it is.
type place struct {
	job         string
	rank, ranks int
}

var (
	// errClaim says that the server does not know the claim of this rank.
	errClaim = errors.New("the server does not know this rank's claim")

	// errRefused says that the server has understood a request, and will refuse it again.
	errRefused = errors.New("the server refuses a request")
)

const (
	answerTime  = 2 * time.Second  // for one request
	connectTime = 10 * time.Second // for a server that does not answer at first
)

// An address is a server where ranks meet.
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

const forms = "redis://[user:password@]host:port[/db], rediss://… or zookeeper://host:port[,host:port…]"

// parseSync reads Options.Sync. Its errors quote nothing of it but the scheme, which
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
	case "zookeeper":
		at, err = parseZooKeeper(rest)
	default:
		return address{}, usage("ranks do not meet at a server of the kind %.20q: want %s", scheme, forms)
	}
	if err != nil {
		return address{}, usage("the server where the ranks meet is not named rightly: %w: want %s", err, forms)
	}
	return at, nil
}

func parseRedis(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil { // which quotes the password
		return address{}, errors.New("it is no URL; characters such as / and # in a password are written %2F and %23")
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
	if u.Scheme == "rediss" {
		at.endpoint.TLS = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
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

func parseZooKeeper(rest string) (address, error) {
	var addrs []string
	for addr := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), ",") {
		if err := hostPort(addr); err != nil {
			return address{}, err
		}
		addrs = append(addrs, addr)
	}
	return address{endpoint: harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{addrs}}}, nil
}

// hostPort returns what is wrong with an address, and does not quote it.
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

// connect returns the board at a server that answers.
func connect(ctx context.Context, at address, p place, expiry time.Duration) (board, error) {
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var b board
	var err error
	if at.endpoint.Kind == harness.KindZooKeeper {
		b, err = openZooKeeper(connecting, at, p, expiry)
	} else {
		b, err = openRedis(connecting, at, p, expiry)
	}
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, unreachable(at, err)
	}
	return b, nil
}

func unreachable(at address, err error) error {
	if errors.Is(err, errRefused) {
		return usage("%v, where the ranks meet, refuses this rank: %w", at, err)
	}
	return usage("%v, where the ranks meet, does not answer: %w", at, err)
}
