//go:build systematic && simulate

package hardware

import "locklab/internal/machine"

// PlayArbiter plays rounds of the named policy of the experiment arbiter for n contenders. It
// returns the wins of each contender, and false if there is no such policy.
func PlayArbiter(name string, rounds, n int) (wins []int, ok bool) {
	for _, p := range policies {
		if p.name == name {
			return play(rounds, n, p.start(n, machine.NewRandom(1))).wins, true
		}
	}
	return nil, false
}
