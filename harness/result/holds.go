package result

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"locklab/harness"
)

// MaxHolds limits the holds in a line. The recorder keeps no more, and counts them in
// HoldsLost.
const MaxHolds = 1 << 19

const mostHold = 5 * binary.MaxVarintLen64

// encodeHolds packs holds as DEFLATE of their number and five columns of zigzag varints
// (the first column unsigned). These are 2·worker + shared, the time of each grant minus
// the previous grant's, the wait, the length, and the token minus the previous one.
// Differences wrap around, so any times are restored exactly. In a column, consecutive
// numbers are similar, which helps DEFLATE.
func encodeHolds(holds []harness.Hold) (string, error) {
	if len(holds) == 0 {
		return "", nil
	}
	bad := func(err error) (string, error) { return "", fmt.Errorf("result: holds: %w", err) }
	if len(holds) > MaxHolds {
		return bad(fmt.Errorf("there are %d: want %d at most", len(holds), MaxHolds))
	}
	raw := binary.AppendUvarint(make([]byte, 0, 12*len(holds)), uint64(len(holds)))
	for _, h := range holds {
		if h.Worker < 0 || h.Worker > math.MaxUint16 {
			return bad(fmt.Errorf("one is of worker %d: want 0 to %d", h.Worker, math.MaxUint16))
		}
		raw = binary.AppendUvarint(raw, uint64(h.Worker)<<1|bit(h.Shared))
	}
	for _, c := range holdColumns {
		var before harness.Hold
		for _, h := range holds {
			raw = binary.AppendVarint(raw, c.less(h, before))
			before = h
		}
	}
	return deflate("holds", raw)
}

// A holdColumn encodes a number of a hold relative to the previous hold or to another
// number of the same hold, and decodes it. Earlier columns are decoded first.
type holdColumn struct {
	less func(h, before harness.Hold) int64
	add  func(h *harness.Hold, before harness.Hold, d int64)
}

var holdColumns = []holdColumn{
	{func(h, before harness.Hold) int64 { return h.Acquired - before.Acquired },
		func(h *harness.Hold, before harness.Hold, d int64) { h.Acquired = before.Acquired + d }},
	{func(h, _ harness.Hold) int64 { return h.Acquired - h.Requested },
		func(h *harness.Hold, _ harness.Hold, d int64) { h.Requested = h.Acquired - d }},
	{func(h, _ harness.Hold) int64 { return h.Releasing - h.Acquired },
		func(h *harness.Hold, _ harness.Hold, d int64) { h.Releasing = h.Acquired + d }},
	{func(h, before harness.Hold) int64 { return int64(h.Token - before.Token) },
		func(h *harness.Hold, before harness.Hold, d int64) { h.Token = before.Token + uint64(d) }},
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

var errHolds = errors.New("damaged")

func (u *unpacker) holds(text string) ([]harness.Hold, error) {
	bad := func(err error) ([]harness.Hold, error) { return nil, fmt.Errorf("result: holds: %w", err) }
	if text == "" {
		return nil, nil
	}
	if err := u.deflated(text, binary.MaxVarintLen64+MaxHolds*mostHold); err != nil {
		return bad(err)
	}
	raw := u.raw.Bytes()
	n, size := binary.Uvarint(raw)
	// A hold has at least five bytes: check the number before allocating.
	if size <= 0 || n == 0 || n > MaxHolds || n > uint64(len(raw)-size)/5 {
		return bad(errHolds)
	}
	raw = raw[size:]
	out := make([]harness.Hold, n)
	for i := range out {
		v, size := binary.Uvarint(raw)
		if size <= 0 || v>>1 > math.MaxUint16 {
			return bad(errHolds)
		}
		out[i].Worker, out[i].Shared, raw = int(v>>1), v&1 == 1, raw[size:]
	}
	for _, c := range holdColumns {
		var before harness.Hold
		for i := range out {
			d, size := binary.Varint(raw)
			if size <= 0 {
				return bad(errHolds)
			}
			c.add(&out[i], before, d)
			before, raw = out[i], raw[size:]
		}
	}
	if len(raw) > 0 {
		return bad(errHolds)
	}
	return out, nil
}
