package result

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness"
	"locklab/internal/stat"
)

func decodeByLibrary(text string) (h harness.Histogram, err error) {
	in, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	for _, b := range in.Distribution() {
		if b.Count != 0 {
			h = append(h, harness.Bucket{Value: b.To, N: b.Count})
		}
	}
	return h, nil
}

func TestUnpackHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	u := new(unpacker) // one for all, as for the lines of a file
	for _, l := range []struct {
		lowest, highest int64
		figures         int
	}{{1, MaxRecorded, 3}, {1, 2, 1}, {1, 60e9, 3}, {1000, 60e9, 2}, {7, 1e6, 4}, {1, math.MaxInt64, 3}, {1 << 40, math.MaxInt64, 1}, {1, 1e6, 5}} {
		for n := range 8 {
			h := hdrhistogram.New(l.lowest, l.highest, l.figures)
			for range n {
				v := int64(math.Exp(rnd.Float64() * math.Log(float64(l.highest))))
				if err := h.RecordValues(min(l.highest, max(0, v)), 1+rnd.Int64N(1<<uint(rnd.IntN(50)))); err != nil {
					t.Fatal(err)
				}
			}
			text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
			if err != nil {
				t.Fatal(err)
			}
			want, err := decodeByLibrary(string(text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := u.histogram(string(text))
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("layout %v, %d values: read %v (%v), want %v", l, n, got, err, want)
			}
		}
	}
}

func FuzzHistogram(f *testing.F) {
	for _, h := range []harness.Histogram{{{Value: 1, N: 1}}, sample().Wait} {
		text, err := encodeHistogram(h)
		if err != nil {
			f.Fatal(err)
		}
		u := new(unpacker)
		if _, err := u.histogram(text); err != nil {
			f.Fatal(err)
		}
		f.Add(slices.Clone(u.raw.Bytes()))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<16 {
			return
		}
		text := packInside(t, raw)
		got, err := new(unpacker).histogram(text)
		if err != nil {
			return
		}
		want, werr := decodeByLibrary(text)
		if werr != nil || !slices.Equal(got, want) {
			t.Errorf("%x: read %v, hdrhistogram-go reads %v (%v)", raw, got, want, werr)
		}
	})
}

func TestUnpackReuse(t *testing.T) {
	text, err := encodeHistogram(sample().Wait)
	if err != nil {
		t.Fatal(err)
	}
	owners, err := encodeNumbers("owners", sample().Owners)
	if err != nil {
		t.Fatal(err)
	}
	u := new(unpacker)
	for _, bad := range []string{"x", "HIST", text[:len(text)/2], text[:8] + text[12:], "HISTFAAAAAF4nGNgYAAAAAMAAQ=="} {
		if _, err := u.histogram(bad); err == nil {
			t.Errorf("accepts the histogram %.20q", bad)
		}
		if h, err := u.histogram(text); err != nil || !slices.Equal(h, sample().Wait) {
			t.Errorf("after %.20q: %v (%v)", bad, h, err)
		}
		if _, err := numbers[uint16](u, "owners", bad+"!"); err == nil {
			t.Errorf("accepts the owners %.20q", bad)
		}
		if o, err := numbers[uint16](u, "owners", owners); err != nil || !slices.Equal(o, sample().Owners) {
			t.Errorf("after %.20q: %v (%v)", bad, o, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load("../../reports/testdata/run"); err != nil {
			b.Fatal(err)
		}
	}
}

func packInside(t *testing.T, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, hdrCompressed), uint32(out.Len()))
	return base64.StdEncoding.EncodeToString(append(head, out.Bytes()...))
}

// BenchmarkAppend measures the writing between two cases; sync-ms is the median disk time.
func BenchmarkAppend(b *testing.B) {
	run := loadRun(b, "../../reports/testdata/run")
	w := createRun(b, b.TempDir(), Manifest{})
	var syncs []float64
	for i := 0; b.Loop(); i++ {
		err := w.Append(run.Results[i%len(run.Results)])
		begin := time.Now()
		if err = errors.Join(err, w.Sync()); err != nil {
			b.Fatal(err)
		}
		syncs = append(syncs, float64(time.Since(begin).Microseconds())/1000)
	}
	b.ReportMetric(stat.Median(syncs), "sync-ms")
	finishRun(b, w)
}
