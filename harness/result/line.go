package result

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness"
)

const (
	kindCase       = "case"       // the Result of one case and round
	kindExperiment = "experiment" // a Finding
	kindSample     = "sample"     // a finished part of an incomplete experiment
	kindChaos      = "chaos"      // a FaultResult
	kindSimulation = "simulation" // a Simulation: no measurement
	kindMachine    = "machine"    // a ModelMachine, of the simulations that follow
)

// A Record is the content of one line: exactly one field is set, or no field if this
// version does not support the kind of the line.
type Record struct {
	Result  *harness.Result
	Finding *harness.Finding
	Sample  *harness.Sample
	Fault   *harness.FaultResult

	Simulation *harness.Simulation
	Machine    *harness.ModelMachine
}

type header struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
}

type (
	caseLine struct {
		header
		*harness.Result
		Wait     string `json:"wait,omitempty"`     // HdrHistogram V2, compressed, base64; ns
		Handover string `json:"handover,omitempty"` // the same
		Owners   string `json:"owners,omitempty"`   // DEFLATE of one uvarint an owner, base64

		HandoverWait string `json:"handover_wait,omitempty"` // like Wait

		Slice  int64  `json:"slice,omitempty"`  // ns
		Slices string `json:"slices,omitempty"` // DEFLATE of one uvarint a count, base64

		Holds string `json:"holds,omitempty"` // see encodeHolds
	}
	findingLine struct {
		header
		*harness.Finding
	}
	sampleLine struct {
		header
		*harness.Sample
	}
	faultLine struct {
		header
		*harness.FaultResult
	}
)

// Encode returns r as one line of results.jsonl, with its newline.
func Encode(r *harness.Result) ([]byte, error) {
	l, err := pack(r)
	if err != nil {
		return nil, err
	}
	return encodeLine(l)
}

// pack returns r with its packed parts.
func pack(r *harness.Result) (l caseLine, err error) {
	l = caseLine{header: header{Schema, kindCase}, Result: r}
	if l.Wait, err = encodeHistogram(r.Wait); err != nil {
		return l, err
	}
	if l.Handover, err = encodeHistogram(r.Handover); err != nil {
		return l, err
	}
	if l.HandoverWait, err = encodeHistogram(r.HandoverWait); err != nil {
		return l, err
	}
	if l.Holds, err = encodeHolds(r.Holds); err != nil {
		return l, err
	}
	if l.Owners, err = encodeNumbers("owners", r.Owners); err != nil || len(r.Slices) == 0 {
		return l, err
	}
	l.Slice = int64(harness.SliceLength)
	l.Slices, err = encodeNumbers("slices", r.Slices)
	return l, err
}

// EncodeFinding returns f as one line of results.jsonl, with its newline.
func EncodeFinding(f *harness.Finding) ([]byte, error) {
	return encodeLine(findingLine{header{Schema, kindExperiment}, f})
}

// EncodeSample returns s as one line of results.jsonl, with its newline.
func EncodeSample(s harness.Sample) ([]byte, error) {
	return encodeLine(sampleLine{header{Schema, kindSample}, &s})
}

// EncodeFault returns r as one line of results.jsonl, with its newline.
func EncodeFault(r *harness.FaultResult) ([]byte, error) {
	return encodeLine(faultLine{header{Schema, kindChaos}, r})
}

func encodeLine(l any) ([]byte, error) {
	out, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return append(out, '\n'), nil
}

// Decode reads one line of results.jsonl. Every text in it is a [Line], except a listing,
// which has several.
func Decode(text []byte) (Record, error) { return new(unpacker).decode(text) }

func (u *unpacker) decode(text []byte) (Record, error) {
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return Record{}, fmt.Errorf("result: %w", err)
	}
	switch {
	case h.Schema < 1:
		return Record{}, fmt.Errorf("result: the line names no schema")
	case h.Schema > Schema:
		return Record{}, fmt.Errorf("result: the line has schema %d, this program reads up to %d", h.Schema, Schema)
	}
	switch h.Kind {
	case kindCase:
		r, err := u.decodeCase(text)
		clean(r)
		return Record{Result: r}, err
	case kindExperiment:
		l := findingLine{Finding: new(harness.Finding)}
		err := decodeLine(text, &l, "experiment", func() bool { return l.Finding != nil && l.Name != "" })
		clean(l.Finding)
		return Record{Finding: l.Finding}, err
	case kindSample:
		l := sampleLine{Sample: new(harness.Sample)}
		err := decodeLine(text, &l, "experiment", func() bool { return l.Sample != nil && l.Experiment != "" })
		return Record{Sample: l.Sample}, err
	case kindChaos:
		r, err := decodeFault(text)
		return Record{Fault: r}, err
	case kindSimulation:
		s, err := decodeSimulation(text)
		return Record{Simulation: s}, err
	case kindMachine:
		m, err := decodeMachine(text)
		return Record{Machine: m}, err
	default:
		return Record{}, nil
	}
}

func decodeLine(text []byte, l any, thing string, named func() bool) error {
	if err := json.Unmarshal(text, l); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if !named() {
		return fmt.Errorf("result: the line names no %s", thing)
	}
	return nil
}

func decodeFault(text []byte) (*harness.FaultResult, error) {
	l := faultLine{FaultResult: new(harness.FaultResult)}
	if err := decodeLine(text, &l, "scenario", func() bool { return l.FaultResult != nil && l.Scenario != "" }); err != nil {
		return nil, err
	}
	r := l.FaultResult
	if r.Lock.Name == "" {
		return nil, fmt.Errorf("result: the line names no lock")
	}
	clean(r)
	// A history is in the run's directory: no file leads a reader elsewhere.
	r.Histories = slices.DeleteFunc(r.Histories, func(name string) bool { return !filepath.IsLocal(name) })
	return r, nil
}

func (u *unpacker) decodeCase(text []byte) (*harness.Result, error) {
	l := caseLine{Result: new(harness.Result)}
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if l.Result == nil || l.Lock.Name == "" {
		return nil, fmt.Errorf("result: the line names no lock")
	}
	r := l.Result
	var err error
	if r.Wait, err = u.histogram(l.Wait); err != nil {
		return nil, err
	}
	if r.Handover, err = u.histogram(l.Handover); err != nil {
		return nil, err
	}
	if r.HandoverWait, err = u.histogram(l.HandoverWait); err != nil {
		return nil, err
	}
	if r.Owners, err = numbers[uint16](u, "owners", l.Owners); err != nil {
		return nil, err
	}
	if r.Holds, err = u.holds(l.Holds); err != nil {
		return nil, err
	}
	if l.Slice == int64(harness.SliceLength) { // slices of another length are another figure
		r.Slices, err = numbers[uint32](u, "slices", l.Slices)
	}
	return r, err
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
			return "", fmt.Errorf("result: histogram: %w", err)
		}
	}
	text, err := out.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("result: histogram: %w", err)
	}
	return string(text), nil
}

// maxNumbers limits the unpacked size of a part of a line.
const maxNumbers = 1 << 20

func encodeNumbers[N uint16 | uint32](name string, numbers []N) (string, error) {
	if len(numbers) == 0 {
		return "", nil
	}
	bad := func(err error) (string, error) { return "", fmt.Errorf("result: %s: %w", name, err) }
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err != nil {
		return bad(err)
	}
	raw := make([]byte, 0, 2*len(numbers))
	for _, n := range numbers {
		raw = binary.AppendUvarint(raw, uint64(n))
	}
	if _, err := w.Write(raw); err != nil {
		return bad(err)
	}
	if err := w.Close(); err != nil {
		return bad(err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}
