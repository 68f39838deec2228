package chaos

import (
	"context"
	"math"
	"strings"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

var zooNumbersEnd = operatorScenario("zk-numbers-end",
	"Does a lock exclude when the numbers of tickets end?",
	"none: the first snapshot of the server counts all tickets of each lock but a few of the 2^31, which is 15 days at 1,700 acquisitions a second",
	"ZOOKEEPER-3249; DataTree.createNode of ZooKeeper 3.8",
	func(ctx context.Context, t *Try) {
		const next = math.MaxInt32 - 5
		counters := map[string]int32{"/locklab": 0}
		for _, s := range t.Subjects {
			counters[s.path()] = next
			for _, dir := range s.queueNodes() {
				counters[s.path()], counters[s.path()+dir] = 0, next
			}
		}
		server := must(t.Own(ctx, func(ctx context.Context) (*backend.Server, error) {
			return backend.StartEnsembleOf(ctx, backend.EnsembleOptions{Servers: 1, Counters: counters})
		}))
		at := Short(server.Endpoint())
		t.Fault("the last numbers are given out")
		c := contend(ctx, t, 3, everywhere(at))
		t.Sleep(ctx, time.Second)
		c.served(ctx, t.Now(), zooRequestPrompt)
		c.settle(ctx, at)
	},
	Expectation{zooSessions + "|zk-persistent", nil, "it refuses numbers near the end, and makes its node again while there is no ticket"},
	Expectation{".*", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.TokenFell, harness.Overtaken, harness.Stall, harness.Stuck, harness.LeftBehind, harness.Misled}, "it orders tickets by numbers, which are equal or negative now"})

// queueNodes returns the relative paths of the queues of a lock, nil if its path is the
// only queue.
func (s *Subject) queueNodes() []string {
	switch name := s.Variant.Name; {
	case name == "zk-multi":
		return []string{"/a", "/b"}
	case name == "zk-semaphore-v2" || strings.HasPrefix(name, "curator-semaphore"):
		return []string{"/locks", "/leases"}
	}
	return nil
}
