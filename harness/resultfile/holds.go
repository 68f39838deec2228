package resultfile

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"locklab/harness"
)

// MaxHolds is how many holds a line may have, so that it does not become longer than a
// reader takes. A result that has more is not written: what measures keeps no more, and
// counts the others in HoldsLost.
const MaxHolds = 1 << 19

// mostHold is the most bytes that a hold takes unpacked: five numbers.
const mostHold = 5 * binary.MaxVarintLen64

// encodeHolds packs holds: DEFLATE of their number and then, column by column, as
// zigzag varints but for the first, 2·worker + shared, the time of each grant less that
// of the grant before, the wait, the length, and the token less that before. Differences
// wrap around, so that any times come back as they were. In columns each number is like
// the one before it, which DEFLATE makes use of.
func encodeHolds(holds []harness.Hold) (string, error) {
	if len(holds) == 0 {
		return "", nil
	}
	bad := func(err error) (string, error) { return "", fmt.Errorf("resultfile: holds: %w", err) }
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
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err != nil {
		return bad(err)
	}
	if _, err := w.Write(raw); err != nil {
		return bad(err)
	}
	if err := w.Close(); err != nil {
		return bad(err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}

// A holdColumn is a number of a hold, taken relative to the hold before it or to
// another number of the same hold, and back. Those before it in the list are known.
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

// holds reads what encodeHolds wrote.
func (u *unpacker) holds(text string) ([]harness.Hold, error) {
	bad := func(err error) ([]harness.Hold, error) { return nil, fmt.Errorf("resultfile: holds: %w", err) }
	if text == "" {
		return nil, nil
	}
	if err := u.deflated(text, binary.MaxVarintLen64+MaxHolds*mostHold); err != nil {
		return bad(err)
	}
	raw := u.raw.Bytes()
	n, size := binary.Uvarint(raw)
	// A hold has five bytes at least: what says otherwise takes no memory.
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
