//go:build !(linux || darwin || freebsd)

package backend

import (
	"context"
	"fmt"
	"runtime"

	"locklab/harness"
)

var errLaunch = fmt.Errorf("%w: starting servers is not supported on %s: set LOCKLAB_REDIS or LOCKLAB_ZOOKEEPER to host:port of running ones", harness.ErrUnavailable, runtime.GOOS)

func launch(context.Context, system, *Kind, program, int) (*Server, error) {
	return nil, errLaunch
}
