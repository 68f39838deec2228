//go:build systematic && simulate

package hardware

import "locklab/internal/machine"

// PlayArbiter plays rounds of a policy of the experiment arbiter, by its name, for n
// contenders. It returns the wins of each, and false if there is no such policy.
func PlayArbiter(name string, rounds, n int) (wins []int, ok bool) {
	for _, p := range policies {
		if p.name == name {
			return play(rounds, n, p.start(n, machine.NewRandom(1))).wins, true
		}
	}
	return nil, false
}
