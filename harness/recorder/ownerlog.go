package recorder

import (
	"math/bits"

	"locklab/atomics"
)

// The owner log keeps this many bursts of this many consecutive acquisitions.
const (
	burstBits = 10
	Burst     = 1 << burstBits // acquisitions in a burst
	bursts    = 16
)

// An OwnerLog keeps who held a lock, in order, in bursts of Burst consecutive
// acquisitions spread evenly over a run. It is written under the lock that it
// logs, at the price of one store in a burst and one test outside.
type OwnerLog struct {
	stride uint // log2 of how many bursts' worth of acquisitions share one logged burst
	_      atomics.CacheLinePad
	ids    [bursts * Burst]uint16
	_      atomics.CacheLinePad // the owners write ids, and all read stride
}

// NewOwnerLog returns a log for about expected acquisitions.
func NewOwnerLog(expected uint64) *OwnerLog {
	return &OwnerLog{stride: uint(bits.Len64(expected / (bursts * Burst)))}
}

// Record notes that worker made acquisition number n, counted from 0. The
// caller holds the lock.
func (l *OwnerLog) Record(n uint64, worker int) {
	group := n >> burstBits
	if group&(1<<l.stride-1) != 0 {
		return
	}
	if i := group>>l.stride<<burstBits | n&(Burst-1); i < uint64(len(l.ids)) {
		l.ids[i] = uint16(worker)
	}
}

// Owners returns the whole bursts among the first total acquisitions. If there
// is none, as after a short run, it returns them all as one shorter burst.
func (l *OwnerLog) Owners(total uint64) (owners []uint16, burst int) {
	for b := range uint64(bursts) {
		if (b<<l.stride+1)<<burstBits <= total {
			owners = append(owners, l.ids[b<<burstBits:(b+1)<<burstBits]...)
		}
	}
	if len(owners) > 0 {
		return owners, Burst
	}
	owners = append(owners, l.ids[:total]...)
	return owners, len(owners)
}
