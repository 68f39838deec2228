package result

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"locklab/harness"
)

// An unpacker reads the packed parts of lines. It reuses its buffers: fresh ones for tens of
// thousands of parts would cost most of the time in garbage collection. The zero value is
// ready.
type unpacker struct {
	packed  []byte
	raw     bytes.Buffer
	buckets Histogram
	zlib    io.ReadCloser
	flate   io.ReadCloser
}

func (u *unpacker) base64(text string) (err error) {
	u.packed, err = base64.StdEncoding.AppendDecode(u.packed[:0], []byte(text))
	return err
}

func (u *unpacker) inflate(in io.Reader, most int64) error {
	u.raw.Reset()
	n, err := u.raw.ReadFrom(io.LimitReader(in, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	return err
}

// deflated reads the base64 of a DEFLATE stream into u.raw, at most `most` bytes.
func (u *unpacker) deflated(text string, most int64) error {
	if err := u.base64(text); err != nil {
		return err
	}
	if u.flate == nil {
		u.flate = flate.NewReader(nil)
	}
	if err := u.flate.(flate.Resetter).Reset(bytes.NewReader(u.packed), nil); err != nil {
		return err
	}
	return u.inflate(u.flate, most)
}

func numbers[N uint16 | uint32](u *unpacker, name, text string) ([]N, error) {
	bad := func(err error) error { return fmt.Errorf("%s: %w", name, err) }
	if text == "" {
		return nil, nil
	}
	if err := u.deflated(text, 5*MaxNumbers); err != nil {
		return nil, bad(err)
	}
	raw := u.raw.Bytes()
	n := 0 // each entry ends with a byte whose first bit is clear
	for _, b := range raw {
		n += int(1 - b>>7)
	}
	out := make([]N, 0, min(n, MaxNumbers))
	for len(raw) > 0 {
		v, n := binary.Uvarint(raw)
		if n <= 0 || v > uint64(^N(0)) || len(out) == MaxNumbers {
			return nil, bad(fmt.Errorf("damaged after %d entries", len(out)))
		}
		out, raw = append(out, N(v)), raw[n:]
	}
	return out, nil
}

// The first words of an encoded histogram, outside and inside of its compression.
const (
	hdrCompressed = 0x1c849304 | 0x10
	hdrPlain      = 0x1c849303 | 0x10
	hdrHeader     = 40 // bytes, inside
	hdrFigures    = 3
)

var errDamaged = errors.New("damaged")

// histogram reads a histogram in the V2 compressed encoding of HdrHistogram, of the layout
// of a [Recorder]. Source: HdrHistogram 2.2.2, AbstractHistogram.
func (u *unpacker) histogram(text string) (Histogram, error) {
	bad := func(err error) error { return fmt.Errorf("histogram: %w", err) }
	if text == "" {
		return nil, nil
	}
	if err := u.base64(text); err != nil {
		return nil, bad(err)
	}
	if len(u.packed) < 8 || binary.BigEndian.Uint32(u.packed) != hdrCompressed {
		return nil, bad(errors.New("not in the V2 compressed encoding"))
	}
	packed := bytes.NewReader(u.packed[8:])
	var err error
	if u.zlib == nil {
		u.zlib, err = zlib.NewReader(packed)
	} else {
		err = u.zlib.(zlib.Resetter).Reset(packed, nil)
	}
	if err != nil {
		u.zlib = nil // it is unusable after an error
		return nil, bad(err)
	}
	const most = hdrHeader + 9*counters
	if err := u.inflate(u.zlib, most); err != nil {
		return nil, bad(err)
	}
	if err := u.parseHistogram(u.raw.Bytes()); err != nil {
		return nil, bad(err)
	}
	return append(Histogram(nil), u.buckets...), nil // nil if it is empty
}

func (u *unpacker) parseHistogram(raw []byte) error {
	if len(raw) < hdrHeader || binary.BigEndian.Uint32(raw) != hdrPlain || binary.BigEndian.Uint32(raw[8:]) != 0 {
		return errDamaged
	}
	if binary.BigEndian.Uint32(raw[12:]) != hdrFigures || binary.BigEndian.Uint64(raw[16:]) != 1 || binary.BigEndian.Uint64(raw[24:]) != MaxRecorded {
		return errors.New("of another layout")
	}
	counts := raw[hdrHeader:]
	if uint64(len(counts)) != uint64(binary.BigEndian.Uint32(raw[4:])) {
		return errDamaged
	}
	u.buckets = u.buckets[:0]
	var index, total int64
	for len(counts) > 0 {
		v, size := zigzag(counts)
		switch {
		case size == 0 || v == math.MinInt64 || -v > counters-index || v >= 0 && index >= counters || v > math.MaxInt64-total:
			return errDamaged
		case v < 0: // stands for that many zeros
			index -= v
		default:
			if v > 0 {
				total += v
				u.buckets = append(u.buckets, Bucket{Value: top(int(index)), N: v})
			}
			index++
		}
		counts = counts[size:]
	}
	return nil
}

// zigzag reads a number of one to nine bytes; the ninth has eight bits. The size is 0 if
// it is cut short.
func zigzag(b []byte) (v int64, size int) {
	var x uint64
	for i := range min(len(b), 9) {
		if i == 8 || b[i] < 0x80 {
			x |= uint64(b[i]) << (7 * i)
			return int64(x>>1) ^ -int64(x&1), i + 1
		}
		x |= uint64(b[i]&0x7f) << (7 * i)
	}
	return 0, 0
}

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
	bad := func(err error) (string, error) { return "", fmt.Errorf("holds: %w", err) }
	if len(holds) > MaxHolds {
		return bad(fmt.Errorf("there are %d: want %d at most", len(holds), MaxHolds))
	}
	raw := binary.AppendUvarint(make([]byte, 0, 12*len(holds)), uint64(len(holds)))
	for _, h := range holds {
		if h.Worker < 0 || h.Worker > math.MaxUint16 {
			return bad(fmt.Errorf("one is of worker %d: want 0 to %d", h.Worker, math.MaxUint16))
		}
		v := uint64(h.Worker) << 1
		if h.Shared {
			v |= 1
		}
		raw = binary.AppendUvarint(raw, v)
	}
	for c := range holdColumns {
		var before harness.Hold
		for _, h := range holds {
			raw = binary.AppendVarint(raw, differences(h, before)[c])
			before = h
		}
	}
	return deflate("holds", raw)
}

const holdColumns = 4

func differences(h, before harness.Hold) [holdColumns]int64 {
	return [...]int64{h.Acquired - before.Acquired, h.Acquired - h.Requested, h.Releasing - h.Acquired, int64(h.Token - before.Token)}
}

func (u *unpacker) holds(text string) ([]harness.Hold, error) {
	bad := func(err error) ([]harness.Hold, error) { return nil, fmt.Errorf("holds: %w", err) }
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
		return bad(errDamaged)
	}
	raw = raw[size:]
	out := make([]harness.Hold, n)
	for i := range out {
		v, size := binary.Uvarint(raw)
		if size <= 0 || v>>1 > math.MaxUint16 {
			return bad(errDamaged)
		}
		out[i].Worker, out[i].Shared, raw = int(v>>1), v&1 == 1, raw[size:]
	}
	columns := make([][holdColumns]int64, n)
	for c := range holdColumns {
		for i := range columns {
			d, size := binary.Varint(raw)
			if size <= 0 {
				return bad(errDamaged)
			}
			columns[i][c], raw = d, raw[size:]
		}
	}
	var before harness.Hold
	for i, d := range columns {
		h := &out[i]
		h.Acquired = before.Acquired + d[0]
		h.Requested, h.Releasing, h.Token = h.Acquired-d[1], h.Acquired+d[2], before.Token+uint64(d[3])
		before = *h
	}
	if len(raw) > 0 {
		return bad(errDamaged)
	}
	return out, nil
}
