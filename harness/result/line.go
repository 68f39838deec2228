package result

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
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
	Finding *Finding
	Sample  *Sample
	Fault   *FaultResult

	Simulation *Simulation
	Machine    *ModelMachine
}

type header struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
}

// A caseLine is the line of a result, without its header.
type caseLine struct {
	*harness.Result
	Wait     string `json:"wait,omitempty"`     // HdrHistogram V2, compressed, base64; ns
	Handover string `json:"handover,omitempty"` // the same
	Owners   string `json:"owners,omitempty"`   // DEFLATE of one uvarint an owner, base64

	HandoverWait string `json:"handover_wait,omitempty"` // like Wait

	Slice  int64  `json:"slice,omitempty"`  // ns
	Slices string `json:"slices,omitempty"` // DEFLATE of one uvarint a count, base64

	Holds string `json:"holds,omitempty"` // see encodeHolds
}

// A packing is the counts of a histogram and its packed form.
type packing struct {
	counts *harness.Histogram
	text   *string
}

func (l *caseLine) histograms() []packing {
	return []packing{{&l.Result.Wait, &l.Wait}, {&l.Result.Handover, &l.Handover}, {&l.Result.HandoverWait, &l.HandoverWait}}
}

// Encode returns rec, which has one field set, as one line of results.jsonl, with its newline.
func Encode(rec Record) ([]byte, error) {
	switch {
	case rec.Result != nil:
		l, err := pack(rec.Result)
		if err != nil {
			return nil, err
		}
		return encodeLine(kindCase, l)
	case rec.Finding != nil:
		return encodeLine(kindExperiment, rec.Finding)
	case rec.Sample != nil:
		return encodeLine(kindSample, rec.Sample)
	case rec.Fault != nil:
		return encodeLine(kindChaos, rec.Fault)
	case rec.Simulation != nil:
		return encodeLine(kindSimulation, rec.Simulation)
	case rec.Machine != nil:
		return encodeLine(kindMachine, rec.Machine)
	}
	return nil, errors.New("result: the record is empty")
}

// encodeLine returns a line of a header and body, a valid struct.
func encodeLine(kind string, body any) ([]byte, error) {
	head, err := json.Marshal(header{Schema, kind})
	rest, berr := json.Marshal(body)
	if err := cmp.Or(validate(body), err, berr); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	head[len(head)-1] = ','
	return slices.Concat(head, rest[1:], []byte("\n")), nil
}

func pack(r *harness.Result) (l caseLine, err error) {
	l = caseLine{Result: r}
	for _, h := range l.histograms() {
		if *h.text, err = encodeHistogram(*h.counts); err != nil {
			return l, err
		}
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
		f, err := decodeAs(text, "experiment", func(f *Finding) string { return f.Name })
		return Record{Finding: f}, err
	case kindSample:
		s, err := decodeAs(text, "experiment", func(s *Sample) string { return s.Experiment })
		return Record{Sample: s}, err
	case kindChaos:
		r, err := decodeAs(text, "scenario", func(r *FaultResult) string { return r.Scenario })
		if err == nil && r.Lock.Name == "" {
			err = errNoLock
		}
		if err == nil { // a history is in the run's directory: no file leads a reader elsewhere.
			r.Histories = slices.DeleteFunc(r.Histories, func(name string) bool { return !filepath.IsLocal(name) })
		}
		return Record{Fault: r}, err
	case kindSimulation:
		s, err := decodeAs(text, "machine", func(s *Simulation) string { return s.Simulated })
		return Record{Simulation: s}, err
	case kindMachine:
		m, err := decodeAs(text, "machine", func(m *ModelMachine) string { return m.Name })
		return Record{Machine: m}, err
	default:
		return Record{}, nil
	}
}

var errNoLock = errors.New("result: the line names no lock")

func decodeAs[T any](text []byte, thing string, name func(*T) string) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(text, v); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if name(v) == "" {
		return nil, fmt.Errorf("result: the line names no %s", thing)
	}
	clean(v)
	return v, wrapped(validate(v))
}

func validate(v any) error {
	if v, ok := v.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

func (u *unpacker) decodeCase(text []byte) (*harness.Result, error) {
	l := caseLine{Result: new(harness.Result)}
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if l.Result == nil || l.Lock.Name == "" {
		return nil, errNoLock
	}
	r := l.Result
	var err error
	for _, h := range l.histograms() {
		if *h.counts, err = u.histogram(*h.text); err != nil {
			return nil, err
		}
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

func encodeHistogram(h harness.Histogram) (string, error) {
	if len(h) == 0 {
		return "", nil
	}
	out := hdrhistogram.New(1, MaxRecorded, 3)
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
	raw := make([]byte, 0, 2*len(numbers))
	for _, n := range numbers {
		raw = binary.AppendUvarint(raw, uint64(n))
	}
	return deflate(name, raw)
}

func deflate(name string, raw []byte) (string, error) {
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err == nil {
		_, err = w.Write(raw)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return "", fmt.Errorf("result: %s: %w", name, err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}
