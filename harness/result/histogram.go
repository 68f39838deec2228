package result

import (
	"math/bits"

	"locklab/harness"
)

// The layout of HdrHistogram with three significant figures: values up to 2047 ns have a
// counter each. Above, every doubling of the value has 1024 counters, so a counter is
// never wider than 1/1024 of its value.
//
// Source: G. Tene, HdrHistogram, https://github.com/HdrHistogram/HdrHistogram.
const (
	halfBits = 10
	half     = 1 << halfBits
	full     = 2 * half
	topBits  = 36 // the greatest value is 2^36-1 ns, 68.7 s
	counters = (topBits - halfBits + 1) * half
)

var recorded = layout{half: halfBits, len: counters}

// MaxRecorded is the greatest latency that a Histogram resolves, in ns. Greater ones are
// counted as MaxValue and in Clamped.
const MaxRecorded = 1<<topBits - 1

// A Histogram counts latencies in nanoseconds. The zero value is empty. Its size is 216
// KiB, but only the used part is touched.
type Histogram struct {
	counts  [counters]int64
	Clamped int64 // values above MaxValue
}

// Record counts one latency of ns nanoseconds; a negative one counts as 0.
func (h *Histogram) Record(ns int64) {
	if ns > MaxRecorded {
		ns = MaxRecorded
		h.Clamped++
	}
	h.counts[index(uint64(max(ns, 0)))]++
}

func index(v uint64) int {
	shift := bits.Len64(v|(full-1)) - (halfBits + 1)
	return shift<<halfBits + int(v>>shift)
}

// Snapshot returns the counts as a harness.Histogram.
func (h *Histogram) Snapshot() harness.Histogram {
	var out harness.Histogram
	for i, n := range h.counts {
		if n != 0 {
			out = append(out, harness.Bucket{Value: recorded.top(i), N: n})
		}
	}
	return out
}
