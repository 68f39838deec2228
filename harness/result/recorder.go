package result

import (
	"math/bits"
	"math/rand/v2"

	"locklab/atomics"
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

// MaxRecorded is the greatest latency that a Recorder resolves, in ns. Greater ones are
// counted as MaxValue and in Clamped.
const MaxRecorded = 1<<topBits - 1

// A Recorder counts latencies in nanoseconds. The zero value is empty. Its size is 216
// KiB, but only the used part is touched.
type Recorder struct {
	counts  [counters / half][half]int64
	used    uint32 // bit i: some of counts[i] may be above 0
	Clamped int64  // values above MaxValue
}

// Record counts one latency of ns nanoseconds; a negative one counts as 0.
func (h *Recorder) Record(ns int64) {
	if ns > MaxRecorded {
		ns = MaxRecorded
		h.Clamped++
	}
	i := index(uint64(max(ns, 0)))
	h.used |= 1 << (i >> halfBits)
	h.counts[i>>halfBits][i&(half-1)]++
}

// Drain moves the latencies of h to sum.
func (h *Recorder) Drain(sum *Recorder) {
	sum.used |= h.used
	for ; h.used != 0; h.used &= h.used - 1 {
		i := bits.TrailingZeros32(h.used)
		for k, n := range h.counts[i] {
			sum.counts[i][k] += n
		}
		clear(h.counts[i][:])
	}
	sum.Clamped += h.Clamped
	h.Clamped = 0
}

func index(v uint64) int {
	shift := bits.Len64(v|(full-1)) - (halfBits + 1)
	return shift<<halfBits + int(v>>shift)
}

// top returns the greatest value of the counter at index.
func top(index int) int64 {
	shift := max(0, index>>halfBits-1)
	return int64(index-shift<<halfBits+1)<<shift - 1
}

// Snapshot returns the counts as a Histogram.
func (h *Recorder) Snapshot() Histogram {
	var out Histogram
	for i := range h.counts {
		for k, n := range h.counts[i] {
			if n != 0 {
				out = append(out, Bucket{Value: top(i*half + k), N: n})
			}
		}
	}
	return out
}

// The owner log keeps this many bursts of this many consecutive acquisitions.
const (
	burstBits  = 10
	BurstHolds = 1 << burstBits // acquisitions in a burst
	bursts     = 16
)

// An OwnerLog records the workers that held a lock, in order, in bursts of Burst
// consecutive acquisitions spread over a run. Each of several equal stretches has one
// burst at a random place, so that no order of service keeps step with the log. It is
// written under the logged lock, and costs one store in a burst and one test outside.
type OwnerLog struct {
	stride uint           // log2 of the number of bursts' worth of acquisitions that share one logged burst
	at     [bursts]uint64 // which of them it is, counted from the first acquisition
	_      atomics.CacheLinePad
	ids    [bursts * BurstHolds]uint16
	first  [BurstHolds]uint16   // the first acquisitions, if not in a burst: for a run that ends before a whole burst
	_      atomics.CacheLinePad // the owners write ids, and all read stride and at
}

// NewOwnerLog returns a log for about expected acquisitions, with places drawn from seed.
func NewOwnerLog(expected, seed uint64) *OwnerLog {
	l := &OwnerLog{stride: uint(bits.Len64(expected / (bursts * BurstHolds)))}
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range l.at {
		l.at[i] = uint64(i)<<l.stride | rng.Uint64N(1<<l.stride)
	}
	return l
}

// Record records that worker made acquisition number n, counted from 0. The caller holds
// the lock.
func (l *OwnerLog) Record(n uint64, worker int) {
	group := n >> burstBits
	if b := group >> l.stride; b < bursts && l.at[b] == group {
		l.ids[b<<burstBits|n&(BurstHolds-1)] = uint16(worker)
	} else if group == 0 {
		l.first[n] = uint16(worker)
	}
}

// Owners returns the whole bursts among the first total acquisitions. Without any, as after a
// short run, it returns the first acquisitions as one burst, which may be shorter.
func (l *OwnerLog) Owners(total uint64) (owners []uint16, burst int) {
	for b, group := range l.at {
		if (group+1)<<burstBits <= total {
			owners = append(owners, l.ids[b<<burstBits:(b+1)<<burstBits]...)
		}
	}
	if len(owners) > 0 {
		return owners, BurstHolds
	}
	first := l.first[:]
	if l.at[0] == 0 {
		first = l.ids[:BurstHolds]
	}
	owners = append(owners, first[:min(total, BurstHolds)]...)
	return owners, len(owners)
}
