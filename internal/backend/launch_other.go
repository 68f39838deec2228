//go:build !(linux || darwin || freebsd)

package backend

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"locklab/harness"
)

var errLaunch = fmt.Errorf("%w: starting servers is not supported on %s: set LOCKLAB_REDIS or LOCKLAB_ZOOKEEPER to host:port of running ones", harness.ErrUnavailable, runtime.GOOS)

func launch(context.Context, system, *Kind, int) (*Server, error) {
	return nil, errLaunch
}

// A group is empty on this system: the lab cannot start servers.
type group struct{ kind *Kind }

func (*group) size() int                          { return 0 }
func (*group) path() string                       { return "" }
func (*group) pids() []int                        { return nil }
func (*group) signal(int, os.Signal) error        { return errLaunch }
func (*group) kill(int)                           {}
func (*group) restart(context.Context, int) error { return errLaunch }
func (*group) settle(context.Context) error       { return errLaunch }
func (*group) setClock(int, time.Duration) error  { return errLaunch }
func (*group) stop() error                        { return nil }
