package resultfile

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness"
)

// kindCase marks a line that holds the Result of one case and round.
const kindCase = "case"

// A line is one line of results.jsonl.
type line struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	*harness.Result
	Wait     string `json:"wait,omitempty"`     // HdrHistogram V2, compressed, base64; ns
	Handover string `json:"handover,omitempty"` // the same
	Owners   string `json:"owners,omitempty"`   // DEFLATE of one uvarint an owner, base64
}

// Encode returns r as one line of results.jsonl, with its newline.
func Encode(r *harness.Result) ([]byte, error) {
	l := line{Schema: Schema, Kind: kindCase, Result: r}
	var err error
	if l.Wait, err = encodeHistogram(r.Wait); err != nil {
		return nil, err
	}
	if l.Handover, err = encodeHistogram(r.Handover); err != nil {
		return nil, err
	}
	if l.Owners, err = encodeOwners(r.Owners); err != nil {
		return nil, err
	}
	out, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("resultfile: %w", err)
	}
	return append(out, '\n'), nil
}

// Decode reads one line of results.jsonl. A line of a kind that this version
// does not know gives a nil Result and no error.
func Decode(text []byte) (*harness.Result, error) {
	l := line{Result: new(harness.Result)}
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("resultfile: %w", err)
	}
	switch {
	case l.Schema < 1:
		return nil, fmt.Errorf("resultfile: the line names no schema")
	case l.Schema > Schema:
		return nil, fmt.Errorf("resultfile: the line has schema %d, this program reads up to %d", l.Schema, Schema)
	case l.Kind != kindCase:
		return nil, nil
	case l.Result == nil || l.Lock.Name == "":
		return nil, fmt.Errorf("resultfile: the line names no lock")
	}
	r := l.Result
	var err error
	if r.Wait, err = decodeHistogram(l.Wait); err != nil {
		return nil, err
	}
	if r.Handover, err = decodeHistogram(l.Handover); err != nil {
		return nil, err
	}
	if r.Owners, err = decodeOwners(l.Owners); err != nil {
		return nil, err
	}
	return r, nil
}

// The recorder's layout: 1 ns to 2^36-1 ns with three significant figures.
const (
	hdrLowest  = 1
	hdrHighest = 1<<36 - 1
	hdrFigures = 3
)

func encodeHistogram(h harness.Histogram) (string, error) {
	if len(h) == 0 {
		return "", nil
	}
	out := hdrhistogram.New(hdrLowest, hdrHighest, hdrFigures)
	for _, b := range h {
		if err := out.RecordValues(b.Value, b.N); err != nil {
			return "", fmt.Errorf("resultfile: histogram: %w", err)
		}
	}
	text, err := out.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("resultfile: histogram: %w", err)
	}
	return string(text), nil
}

func decodeHistogram(text string) (h harness.Histogram, err error) {
	if text == "" {
		return nil, nil
	}
	in, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("resultfile: histogram: %w", err)
	}
	for _, b := range in.Distribution() {
		if b.Count != 0 {
			h = append(h, harness.Bucket{Value: b.To, N: b.Count})
		}
	}
	return h, nil
}

// maxOwners bounds what a line may unpack to.
const maxOwners = 1 << 20

func encodeOwners(owners []uint16) (string, error) {
	if len(owners) == 0 {
		return "", nil
	}
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err != nil {
		return "", fmt.Errorf("resultfile: owners: %w", err)
	}
	raw := make([]byte, 0, 2*len(owners))
	for _, o := range owners {
		raw = binary.AppendUvarint(raw, uint64(o))
	}
	if _, err := w.Write(raw); err != nil {
		return "", fmt.Errorf("resultfile: owners: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("resultfile: owners: %w", err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}

func decodeOwners(text string) ([]uint16, error) {
	if text == "" {
		return nil, nil
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("resultfile: owners: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 3*maxOwners))
	if err != nil {
		return nil, fmt.Errorf("resultfile: owners: %w", err)
	}
	var owners []uint16
	for len(raw) > 0 {
		v, n := binary.Uvarint(raw)
		if n <= 0 || v > 1<<16-1 || len(owners) == maxOwners {
			return nil, fmt.Errorf("resultfile: owners: damaged after %d entries", len(owners))
		}
		owners, raw = append(owners, uint16(v)), raw[n:]
	}
	return owners, nil
}
