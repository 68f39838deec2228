package chaos_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/child"
)

// TestServerDelayed checks that a server that is ready but not run is detected.
func TestServerDelayed(t *testing.T) {
	t.Parallel()
	locktest.Endpoint(t, harness.KindRedis) // skips without Redis, or fails if it is required
	s := chaos.Scenario{Name: "server-delayed", Deadline: time.Minute, Try: func(ctx context.Context, t *chaos.Try) {
		var one unix.CPUSet
		one.Set(0)
		for range 2 {
			p := chaos.Must(child.Start(exec.Command("sh", "-c", "while :; do :; done")))
			t.Defer(p.Kill)
			chaos.Check(unix.SchedSetaffinity(p.PID(), &one))
		}
		server := t.Own(ctx, backend.StartAlone)
		pid := server.PIDs()[0]
		chaos.Check(errors.Join(unix.SchedSetaffinity(pid, &one), unix.Setpriority(unix.PRIO_PROCESS, pid, 19)))
		c := t.Redis(server.Endpoint().Addrs[0][0])
		t.Until(ctx, "a delay of the server", func() bool {
			for range 100 {
				if err := c.Ping(ctx).Err(); err != nil {
					return false
				}
			}
			for _, d := range chaos.Delays(t) {
				if strings.HasPrefix(d.Process, "server process") && d.To > d.From {
					return true
				}
			}
			return false
		})
	}}
	r := tryScenario(t, s, chaos.Plan{}, "free")["free"]
	if r.Tries != 1 || len(r.Seen) > 0 || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
}
