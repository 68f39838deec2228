package peers

import (
	"context"

	"locklab/harness"
)

// For the tests, which import packages that this one must not.
type JavaPeer = javaPeer

var (
	NewJavaPeer = newJavaPeer
	FindCurator = findCurator
	CuratorJars = curatorJars
	CuratorJava = curatorJava
)

func MeasureCurator(ctx context.Context, p *JavaPeer, at harness.Endpoint, key, recipe string, w harness.Workload, edge func()) error {
	_, err := measureCurator(ctx, p, at, key, curatorRecipe{name: recipe}, w, func() (harness.Counts, error) {
		edge()
		return harness.Counts{}, nil
	})
	return err
}

func (p *javaPeer) Client(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
	return newCuratorClient(ctx, p, curatorRecipe{name: "mutex"}, at, key)
}

func (p *javaPeer) PID() int {
	if p.now == nil {
		return 0
	}
	return p.now.child.PID()
}

func (p *javaPeer) Done() <-chan struct{} { return p.now.child.Done() }

func (p *javaPeer) EndInput() { p.now.stdin.Close() }

// TakeLine parses a line about a cell of that many workers.
func TakeLine(text string, workers int) (*harness.LoopLog, error) {
	r := &cellRun{workers: workers, count: func() (harness.Counts, error) { return harness.Counts{}, nil }}
	return &r.log, r.take(text)
}

// CuratorVersion returns the version of the Curator that runs, or ran last.
func CuratorVersion() string {
	<-curatorJava.turn
	defer func() { curatorJava.turn <- struct{}{} }()
	return curatorJava.now.version
}
