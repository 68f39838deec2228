//go:build !race

package locktest

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// remotePatience limits the time for a lock that is stuck on purpose: see [hasty].
func remotePatience(rule string) time.Duration {
	switch rule {
	case "exclusion", "lost-update", "fifo", "fencing":
		return DefaultPatience
	}
	return time.Second
}

func TestBrokenRemoteIsRejected(t *testing.T) {
	var group errgroup.Group
	group.SetLimit(8) // more than there are processors: they mostly wait
	defer group.Wait()
	for _, f := range faults {
		group.Go(func() error {
			t.Run(string(f.fault), func(t *testing.T) {
				m := newMemoryServer(f.fault, f.claims)
				defer close(m.quit)
				err := rule(t, f.rule).apply(t.Context(), Subject{Variant: m.variant(), Patience: remotePatience(f.rule)})
				var broken *Failure
				if !errors.As(err, &broken) || broken.Rule.Name != f.rule {
					t.Fatalf("rule %q does not reject it: %v", f.rule, err)
				}
				t.Log(err)
			})
			return nil
		})
	}
}
