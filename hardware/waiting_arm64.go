//go:build gc && !purego

package hardware

import (
	"errors"
	"os"
	"slices"

	"locklab/atomics"
)

// mostTicks bounds a wait by WFET: a few µs with the counters of today, from 25 MHz to 1 GHz.
const mostTicks = 1000

var waitWays = []waitWay{
	{"YIELD", always, yield},
	{"LDAXR, WFE", needEventStream, wfe},
	{"LDAXR, WFET", needWFXT, func(p *atomics.Uint64, v, n uint64) uint64 { return wfet(p, v, n, mostTicks) }},
}

const hintName = "ISB"

// needEventStream checks for Linux's event stream: without it a WFE need not end.
func needEventStream() error {
	return needFeature("evtstrm", "this system promises no event stream (evtstrm in /proc/cpuinfo), without which WFE may wait for ever")
}

func needWFXT() error {
	return needFeature("wfxt", "this processor has no FEAT_WFxT (wfxt in /proc/cpuinfo)")
}

func needFeature(name, missing string) error {
	if slices.Contains(cpuFeatures(os.DirFS("/"), "Features"), name) {
		return nil
	}
	return errors.New(missing)
}

// The functions below are in waiting_arm64.s. They wait while *p is v, at most n times, n
// > 0, and return the last loaded value.

//go:noescape
func yield(p *atomics.Uint64, v, n uint64) (last uint64)

//go:noescape
func wfe(p *atomics.Uint64, v, n uint64) (last uint64)

//go:noescape
func wfet(p *atomics.Uint64, v, n, most uint64) (last uint64)
