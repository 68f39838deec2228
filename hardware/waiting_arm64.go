//go:build gc && !purego

package hardware

import (
	"errors"
	"os"
	"slices"
	"strings"

	"locklab/atomics"
)

// mostTicks bounds a wait by WFET: a few µs with the counters of today, from 25 MHz to 1
// GHz.
const mostTicks = 1000

// waitWays are the additional instructions of this architecture.
var waitWays = []waitWay{
	{"YIELD", always, yield},
	{"LDAXR, WFE", needEventStream, wfe},
	{"LDAXR, WFET", needWFXT, func(p *atomics.Uint64, v, n uint64) uint64 { return wfet(p, v, n, mostTicks) }},
}

const hintName = "ISB"

// needEventStream checks for the event stream of Linux, which ends a WFE after 100 µs at
// the latest. Without it a wait for a store that never comes need not end.
func needEventStream() error {
	if !slices.Contains(armFeatures(), "evtstrm") {
		return errors.New("this system promises no event stream (evtstrm in /proc/cpuinfo), without which WFE may wait for ever")
	}
	return nil
}

// needWFXT checks for FEAT_WFxT, of Armv8.7.
func needWFXT() error {
	if !slices.Contains(armFeatures(), "wfxt") {
		return errors.New("this processor has no FEAT_WFxT (wfxt in /proc/cpuinfo)")
	}
	return nil
}

// armFeatures returns the features of the first processor in /proc/cpuinfo.
func armFeatures() []string {
	text, _ := os.ReadFile("/proc/cpuinfo") // an unreadable file counts as unknown
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "Features" {
			return strings.Fields(value)
		}
	}
	return nil
}

// The functions below are in waiting_arm64.s. They wait while *p is v, at most n times, n
// > 0, and return the last loaded value.

//go:noescape
func yield(p *atomics.Uint64, v, n uint64) (last uint64)

//go:noescape
func wfe(p *atomics.Uint64, v, n uint64) (last uint64)

//go:noescape
func wfet(p *atomics.Uint64, v, n, most uint64) (last uint64)
