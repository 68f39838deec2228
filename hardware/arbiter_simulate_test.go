//go:build systematic && simulate

package hardware_test

import (
	"testing"

	"locklab/hardware"
	"locklab/harness/simulate"
)

// queue is a machine whose owner of a line changes it once and passes it to the next request.
func queue(favour int) *simulate.Machine {
	return &simulate.Machine{
		Name: "queue", Sockets: 2, Clusters: 1, Cores: 16, SMT: 1,
		Hit: 1, Store: 1, RMW: 5, Fence: 1, Pause: 10,
		Transfer: [4]float64{40, 40, 40, 40}, Shared: [4]float64{20, 20, 20, 20}, Memory: 50, Favour: favour,
	}
}

// TestArbiterAndLine: first come, first served is round robin; always favouring the last
// owner's socket is fixed priority, with a bound it is not.
func TestArbiterAndLine(t *testing.T) {
	const rounds = 4000
	for _, n := range []int{2, 4, 8, 16} {
		arbiter, ok := hardware.PlayArbiter("round robin", rounds, n)
		if !ok {
			t.Fatal("the experiment arbiter has no policy round robin")
		}
		line := contend(t, queue(0), 0, n, rounds)
		for i := range n {
			if d := arbiter[i] - line.Wins[i]; d < -1 || d > 1 {
				t.Errorf("%d contenders: %v grants by round robin, %v of the line", n, arbiter, line.Wins)
				break
			}
		}
		if line.Rounds < rounds || line.Rounds > rounds+n {
			t.Errorf("%d contenders: %d rounds for %d grants, want one a grant", n, line.Rounds, rounds)
		}
	}
	arbiter, ok := hardware.PlayArbiter("fixed priority", rounds, 2)
	if !ok {
		t.Fatal("the experiment arbiter has no policy fixed priority")
	}
	if a, b := sockets(contend(t, queue(rounds), 14, 4, rounds)); a != arbiter[0] || b != arbiter[1] {
		t.Errorf("%d and %d grants for two sockets, of which the last owner's is favoured; %v by fixed priority", a, b, arbiter)
	}
	if a, b := sockets(contend(t, queue(4), 14, 4, rounds)); a < rounds*4/10 || b < rounds*4/10 {
		t.Errorf("%d and %d grants for two sockets, of which the last owner's is favoured 4 times in a row: want both served", a, b)
	}
}

func contend(t *testing.T, m *simulate.Machine, first, n, grants int) simulate.Contention {
	t.Helper()
	var threads []int
	for i := range n {
		threads = append(threads, first+i)
	}
	c, err := simulate.Contend(m, threads, grants, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sockets(c simulate.Contention) (first, last int) {
	return c.Wins[0] + c.Wins[1], c.Wins[2] + c.Wins[3]
}
