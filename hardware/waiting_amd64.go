//go:build gc && !purego

package hardware

import (
	"fmt"
	"locklab/atomics"
)

// mostTicks bounds UMWAIT or MWAITX: 4 µs at 2.5 GHz; Linux's bound is 100,000.
const mostTicks = 10_000

// pauseTicks is the length of a TPAUSE: about a PAUSE of Intel since Skylake.
const pauseTicks = 140

var waitWays = []waitWay{
	{"TPAUSE, C0.1", needWAITPKG, func(p *atomics.Uint64, v, n uint64) uint64 { return tpause(p, v, n, pauseTicks, 1) }},
	{"UMWAIT, C0.1", needWAITPKG, func(p *atomics.Uint64, v, n uint64) uint64 { return umwait(p, v, n, mostTicks, 1) }},
	{"UMWAIT, C0.2", needWAITPKG, func(p *atomics.Uint64, v, n uint64) uint64 { return umwait(p, v, n, mostTicks, 0) }},
	{"MWAITX", needMONITORX, func(p *atomics.Uint64, v, n uint64) uint64 { return mwaitx(p, v, n, mostTicks) }},
}

const hintName = "PAUSE"

// needWAITPKG checks for UMWAIT and TPAUSE of Intel (SDM volume 2, CPUID leaf 7).
func needWAITPKG() error { return needFeature("WAITPKG", 7, 5) }

// needMONITORX checks for MONITORX and MWAITX: AMD, since Excavator and Zen (APM volume
// 3, CPUID function 8000_0001h).
func needMONITORX() error { return needFeature("MONITORX", 1<<31|1, 29) }

func needFeature(name string, leaf uint32, bit uint) error {
	if most, _, _, _ := cpuid(leaf&(1<<31), 0); most >= leaf {
		if _, _, c, _ := cpuid(leaf, 0); c>>bit&1 != 0 {
			return nil
		}
	}
	return fmt.Errorf("this processor, or the host of this machine, has no %s", name)
}

// The functions below are in waiting_amd64.s. They wait while *p is v, at most n times, n
// > 0, each for at most most ticks of the TSC, and return the last loaded value.

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func umwait(p *atomics.Uint64, v, n, most, light uint64) (last uint64)

//go:noescape
func tpause(p *atomics.Uint64, v, n, most, light uint64) (last uint64)

//go:noescape
func mwaitx(p *atomics.Uint64, v, n, most uint64) (last uint64)
