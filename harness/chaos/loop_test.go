package chaos_test

import (
	"context"
	"testing"
	"time"

	"locklab/harness/chaos"
	"locklab/harness/oracle"
	"locklab/internal/leaktest"
)

// TestLoopTold: a looping holder whose lease ends early is recorded as notified.
func TestLoopTold(t *testing.T) {
	t.Parallel()
	leaktest.Own(t)
	told, released := 0, 0
	try(t, chaos.Scenario{
		Name: "told", Deadline: 10 * time.Second,
		Try: func(ctx context.Context, t *chaos.Try) {
			loops(ctx, t, chaos.Loop{Hold: time.Second})
			t.StopAll(ctx)
			for _, e := range t.Subjects[0].Events() {
				switch e.Kind {
				case oracle.Told:
					told++
				case oracle.Releasing:
					released++
				}
			}
		},
	}, chaos.Plan{}, "lapse")
	if told < 2 || released > 2 { // each of two workers releases its hold at the end
		t.Errorf("%d leases ended by themselves, %d were released", told, released)
	}
}
