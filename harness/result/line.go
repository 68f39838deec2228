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
	"reflect"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness"
)

// A Record is the content of one line: exactly one field is set, or no field if this
// version does not support the kind of the line.
type Record struct {
	Result     *Result       `kind:"case"` // of one case and round
	Finding    *Finding      `kind:"experiment"`
	Sample     *Sample       `kind:"sample"` // a finished part of an incomplete experiment
	Fault      *FaultResult  `kind:"chaos"`
	Simulation *Simulation   `kind:"simulation"` // no measurement
	Machine    *ModelMachine `kind:"machine"`    // of the simulations that follow
}

type header struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
}

// A caseLine is the line of a result, without its header.
type caseLine struct {
	*Result
	Wait     string `json:"wait,omitempty"`     // HdrHistogram V2, compressed, base64; ns
	Handover string `json:"handover,omitempty"` // the same
	Owners   string `json:"owners,omitempty"`   // DEFLATE of one uvarint an owner, base64

	HandoverWait string `json:"handover_wait,omitempty"` // like Wait

	Bucket       int64  `json:"bucket,omitempty"`        // ns
	BucketCounts string `json:"bucket_counts,omitempty"` // DEFLATE of one uvarint a count, base64

	Holds string `json:"holds,omitempty"` // see encodeHolds
}

// A packing is the counts of a histogram and its packed form.
type packing struct {
	counts *Histogram
	text   *string
}

func (l *caseLine) histograms() []packing {
	return []packing{{&l.Result.Wait, &l.Wait}, {&l.Result.Handover, &l.Handover}, {&l.Result.HandoverWait, &l.HandoverWait}}
}

// Encode returns rec, which has one field set, as one line of results.jsonl, with its newline.
func Encode(rec Record) ([]byte, error) {
	for field, v := range reflect.ValueOf(rec).Fields() {
		if v.IsNil() {
			continue
		}
		body := v.Interface()
		if rec.Result != nil {
			l, err := pack(rec.Result)
			if err != nil {
				return nil, wrapped(err)
			}
			body = l
		}
		head, err := json.Marshal(header{Schema, field.Tag.Get("kind")})
		rest, berr := json.Marshal(body)
		if err := cmp.Or(validate(v.Interface()), err, berr); err != nil {
			return nil, wrapped(err)
		}
		head[len(head)-1] = ','
		return slices.Concat(head, rest[1:], []byte("\n")), nil
	}
	return nil, errors.New("result: the record is empty")
}

func pack(r *Result) (l caseLine, err error) {
	l = caseLine{Result: r}
	for _, h := range l.histograms() {
		if *h.text, err = encodeHistogram(*h.counts); err != nil {
			return l, err
		}
	}
	if l.Holds, err = encodeHolds(r.Holds); err != nil {
		return l, err
	}
	if l.Owners, err = encodeNumbers("owners", r.Owners); err != nil || len(r.BucketCounts) == 0 {
		return l, err
	}
	l.Bucket = int64(harness.BucketLength)
	l.BucketCounts, err = encodeNumbers("bucket_counts", r.BucketCounts)
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
	var rec Record
	for field, v := range reflect.ValueOf(&rec).Elem().Fields() {
		if field.Tag.Get("kind") != h.Kind {
			continue
		}
		v.Set(reflect.New(field.Type.Elem()))
		var err error
		if rec.Result != nil {
			err = u.decodeCase(text, rec.Result)
		} else {
			err = json.Unmarshal(text, v.Interface())
		}
		clean(v.Interface())
		if err = cmp.Or(err, validate(v.Interface())); err != nil {
			return Record{}, wrapped(err)
		}
	}
	if f := rec.Fault; f != nil { // a history is in the run's directory: no file leads a reader elsewhere.
		f.Histories = slices.DeleteFunc(f.Histories, func(name string) bool { return !filepath.IsLocal(name) })
	}
	return rec, nil
}

// validate returns what is wrong with the content of a line.
func validate(v any) error {
	switch v := v.(type) {
	case *Result:
		return cmp.Or(named(v.Lock.Name, "lock"), v.check())
	case *Finding:
		return named(v.Name, "experiment")
	case *Sample:
		return named(v.Experiment, "experiment")
	case *FaultResult:
		return cmp.Or(named(v.Scenario, "scenario"), named(v.Lock.Name, "lock"))
	case interface{ Validate() error }:
		return v.Validate()
	}
	return nil
}

// check accepts words of another version, such as a wait policy.
func (r *Result) check() error {
	w := r.Workload
	if w.Workers < 1 || r.Round < 0 || min(w.Hold.Mean, w.Think.Mean) < 0 {
		return fmt.Errorf("no run measures %s in round %d", w.Name(), r.Round+1)
	}
	return nil
}

func named(name, thing string) error {
	if name == "" {
		return fmt.Errorf("the line names no %s", thing)
	}
	return nil
}

func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

func (u *unpacker) decodeCase(text []byte, r *Result) error {
	l := caseLine{Result: r}
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	var err error
	for _, h := range l.histograms() {
		if *h.counts, err = u.histogram(*h.text); err != nil {
			return err
		}
	}
	if r.Owners, err = numbers[uint16](u, "owners", l.Owners); err != nil {
		return err
	}
	if r.Holds, err = u.holds(l.Holds); err != nil {
		return err
	}
	if l.Bucket == int64(harness.BucketLength) { // buckets of another length are another figure
		r.BucketCounts, err = numbers[uint32](u, "bucket_counts", l.BucketCounts)
	}
	return err
}

func encodeHistogram(h Histogram) (string, error) {
	if len(h) == 0 {
		return "", nil
	}
	out := hdrhistogram.New(1, MaxRecorded, hdrFigures)
	for _, b := range h {
		if err := out.RecordValues(b.Value, b.N); err != nil {
			return "", fmt.Errorf("histogram: %w", err)
		}
	}
	text, err := out.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("histogram: %w", err)
	}
	return string(text), nil
}

// MaxNumbers limits the owners, and the counts of buckets, in a line.
const MaxNumbers = 1 << 20

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
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}
