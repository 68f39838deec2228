package zksession

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

type server struct{ host, port string }

func (s server) String() string { return net.JoinHostPort(s.host, s.port) }

// named reports whether the host is a name, whose addresses may change.
func (s server) named() bool {
	_, err := netip.ParseAddr(s.host)
	return err != nil
}

const defaultPort = "2181"

// CheckServers returns an error if [Connect] would refuse the servers.
func CheckServers(addrs []string) error {
	_, err := parseServers(addrs)
	return err
}

func parseServers(addrs []string) (all []server, err error) {
	if len(addrs) == 0 {
		return nil, errors.New("no server is named")
	}
	for _, addr := range addrs {
		s, err := parseServer(addr)
		if err != nil {
			return nil, fmt.Errorf("server %.100q: %w", addr, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// parseServer parses host:port, or a host with the default port.
func parseServer(addr string) (server, error) {
	switch {
	case strings.Contains(addr, "://"):
		return server{}, errors.New("want host:port, not a URL")
	case strings.Contains(addr, "/"):
		return server{}, errors.New("a path behind the port (chroot) is not supported: put it in front of the paths of the nodes")
	case strings.Contains(addr, ","):
		return server{}, errors.New("want one server in each string of the list")
	case strings.ContainsAny(addr, " \t\r\n\x00@"):
		return server{}, errors.New("want host:port")
	}
	if strings.HasSuffix(addr, "]") || !strings.Contains(addr, ":") {
		addr += ":" + defaultPort
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || strings.Trim(host, ".") == "" {
		return server{}, errors.New("want host:port, and [host]:port for an IPv6 address")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return server{}, fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return server{host, port}, nil
}
