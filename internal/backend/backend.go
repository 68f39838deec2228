package backend

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
)

// A Kind describes one kind of server: a declarative value, listed in Kinds.
type Kind struct {
	Name string // the name in harness.Endpoint.Kind and LOCKLAB_REQUIRE
	Env  string // the environment variable that names the user's servers

	// parse reads the value of Env. Its errors quote no credentials.
	parse func(text string) (harness.Endpoint, error)

	// find returns the program that starts a server; the error wraps harness.ErrUnavailable.
	find func(s system) (program, error)

	// command writes the configuration of the server m, which is one of all, the servers that work
	// together, and returns the command that starts it.
	command func(p program, m member, all []member) (*exec.Cmd, error)

	// probe returns the server's version and identity; an error means that the server is not ready
	// to serve.
	probe func(ctx context.Context, at harness.Endpoint, addr string) (answer, error)

	// prepare, if set, is called before any server starts, and writes to dir.
	prepare func(dir string) error

	// settle, if set, is called when all servers answer, and returns when they serve together.
	settle func(ctx context.Context, all []member) error

	// secure gives each server an additional TLS port, which clients use.
	secure bool

	// alone means that several servers of this kind are independent, and not one ensemble.
	alone bool

	// usage returns a server's resource usage: see ReadUsage.
	usage func(ctx context.Context, at harness.Endpoint, addr string) (Usage, error)

	// owns reports whether the answer came from m, running as process pid, and not from a stranger
	// that took the port first.
	owns func(a answer, m member, pid int) bool
}

var Kinds = []*Kind{&redis, &zooKeeper}

type program struct {
	path      string // executable
	classPath string // for Java
}

type member struct {
	dir  string // private, exists
	port int    // of 127.0.0.1

	quorum, election int // ports for the others
	secure           int // the port for TLS, 0 without
}

func (m member) clientAddr() string {
	if m.secure == 0 {
		return m.addr()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.secure))
}

func (m member) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port)) }

type answer struct {
	version  string
	identity string // its process id or data directory
}

// system provides the means to find programs. Tests vary it.
type system struct {
	getenv   func(string) string
	lookPath func(string) (string, error)
	glob     func(string) ([]string, error)
	ports    func(n int) ([]int, error)
	temp     string // where directories are made
}

func host() system {
	return system{os.Getenv, exec.LookPath, filepath.Glob, freePorts, os.TempDir()}
}

// freePorts returns n different ports of 127.0.0.1 that were free a moment ago.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		// All listeners stay open until the end, so that no two ports are equal.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// Start returns a running server of the kind: the user's if its environment variable is set,
// else a new one, which the caller must Stop. If ctx ends first, Start stops it and returns
// the cause. The error wraps [harness.ErrUnavailable] without a program to start, and
// [harness.ErrUsage] if the user's server has an invalid address or does not answer.
func Start(ctx context.Context, kind string) (*Server, error) {
	return StartSetup(ctx, kind, Setup{})
}

// Available returns nil if Start could work: it searches for the programs, or checks the form of
// the user's address, but starts and dials nothing. The error wraps [harness.ErrUnavailable] or
// [harness.ErrUsage] and names in one line the missing program and how to install it.
func Available(kind string) error { return available(host(), kind) }

func available(sys system, kind string) error {
	k, err := lookup(kind)
	if err != nil {
		return err
	}
	if text := sys.getenv(k.Env); text != "" {
		_, err := k.parse(text)
		return err
	}
	_, err = k.find(sys)
	return err
}

// Required reports whether LOCKLAB_REQUIRE, a comma-separated list, contains kind: a test without
// it then fails instead of being skipped. The list may also contain tools, such as java and qemu.
func Required(kind string) bool {
	return slices.ContainsFunc(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), func(name string) bool {
		return strings.TrimSpace(name) == kind
	})
}

func lookup(kind string) (*Kind, error) {
	var names []string
	for _, k := range Kinds {
		if k.Name == kind {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return nil, fmt.Errorf("%w: unknown kind of server %q: want one of %s", harness.ErrUsage, kind, strings.Join(names, ", "))
}
