package result

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness"
	"locklab/internal/stat"
)

func TestUnpackHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	u := new(unpacker) // one for all, as for the lines of a file
	pack := func(h *hdrhistogram.Histogram) string {
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		requireNoError(t, err)
		return string(text)
	}
	for n := range 8 {
		h := hdrhistogram.New(1, MaxRecorded, hdrFigures)
		for range n {
			v := int64(math.Exp(rnd.Float64() * math.Log(MaxRecorded)))
			requireNoError(t, h.RecordValues(v, 1+rnd.Int64N(1<<uint(rnd.IntN(50)))))
		}
		if got, err := u.histogram(pack(h)); err != nil || !slices.Equal(got, bucketsOf(h)) {
			t.Fatalf("%d values: read %v (%v), want %v", n, got, err, bucketsOf(h))
		}
	}
	for _, h := range []*hdrhistogram.Histogram{hdrhistogram.New(1, MaxRecorded, 2), hdrhistogram.New(2, MaxRecorded, 3), hdrhistogram.New(1, MaxRecorded+1, 3)} {
		if _, err := u.histogram(pack(h)); err == nil || !strings.Contains(err.Error(), "of another layout") {
			t.Errorf("a histogram from %d to %d with %d figures: %v", h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), err)
		}
	}
}

func FuzzHistogram(f *testing.F) {
	for _, h := range []Histogram{{{Value: 1, N: 1}}, sample().Wait} {
		text, err := encodeHistogram(h)
		requireNoError(f, err)
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
		want, err := hdrhistogram.Decode([]byte(text))
		if err != nil || !slices.Equal(got, bucketsOf(want)) {
			t.Errorf("%x: read %v, hdrhistogram-go reads %v (%v)", raw, got, want, err)
		}
	})
}

func TestUnpackReuse(t *testing.T) {
	text, err := encodeHistogram(sample().Wait)
	requireNoError(t, err)
	owners, err := encodeNumbers("owners", sample().Owners)
	requireNoError(t, err)
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

func packInside(t *testing.T, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	requireNoError(t, z.Close())
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, hdrCompressed), uint32(out.Len()))
	return base64.StdEncoding.EncodeToString(append(head, out.Bytes()...))
}

// BenchmarkAppend measures the writing between two cases; sync-ms is the median disk time.
func BenchmarkAppend(b *testing.B) {
	run := loadRun(b, "../../reports/testdata/run")
	w := createRun(b, b.TempDir(), Manifest{})
	var syncs []float64
	for i := 0; b.Loop(); i++ {
		err := w.Append(Record{Result: run.Results[i%len(run.Results)]})
		begin := time.Now()
		requireNoError(b, errors.Join(err, w.Sync()))
		syncs = append(syncs, float64(time.Since(begin).Microseconds())/1000)
	}
	b.ReportMetric(stat.Median(syncs), "sync-ms")
	finishRun(b, w)
}

func alternateHolds(n int) []harness.Hold {
	rnd := rand.New(rand.NewPCG(3, 4))
	out := make([]harness.Hold, n)
	now, token := int64(1e9), uint64(1<<40)
	for i := range out {
		now, token = now+50_000+rnd.Int64N(40_000), token+1+rnd.Uint64N(2)
		wait := 100_000 + rnd.Int64N(1_000_000)
		length := 10_000 + rnd.Int64N(5_000)
		out[i] = harness.Hold{Worker: rnd.IntN(16), Requested: now - wait, Acquired: now, Releasing: now + length, Token: token}
		now += length
	}
	return out
}

func TestHoldsAreSmall(t *testing.T) {
	const n = 10_000
	text, err := encodeHolds(alternateHolds(n))
	requireNoError(t, err)
	per := float64(len(text)) / n
	if t.Logf("%.1f bytes of text a hold", per); per > 12 {
		t.Errorf("a hold takes %.1f bytes of text, want 12 at most", per)
	}
	if most := per * MaxHolds; most > maxLine/2 {
		t.Errorf("%d holds take about %.0f bytes: too many for a line of %d", MaxHolds, most, maxLine)
	}
	got, err := new(unpacker).holds(text)
	if err != nil || !reflect.DeepEqual(got, alternateHolds(n)) {
		t.Errorf("%d holds came back as %d, or as others (%v)", n, len(got), err)
	}
}

func TestHoldsRefused(t *testing.T) {
	if _, err := encodeHolds(make([]harness.Hold, MaxHolds+1)); err == nil || !strings.Contains(err.Error(), "want 524288 at most") {
		t.Errorf("too many: %v", err)
	}
	for _, worker := range []int{-1, 1 << 16} {
		if _, err := encodeHolds([]harness.Hold{{Worker: worker}}); err == nil || !strings.Contains(err.Error(), "want 0 to 65535") {
			t.Errorf("worker %d: %v", worker, err)
		}
	}
}

func TestHoldsDamaged(t *testing.T) {
	pack := func(raw []byte) string {
		text, err := deflate("holds", raw)
		requireNoError(t, err)
		return text
	}
	good, err := encodeHolds(alternateHolds(3))
	requireNoError(t, err)
	u := new(unpacker)
	for name, text := range map[string]string{
		"no base64":          good[:len(good)/2] + "!",
		"no DEFLATE":         base64.StdEncoding.EncodeToString([]byte{255, 255, 255}),
		"cut":                good[:len(good)/8*4],
		"nothing":            pack(nil),
		"none":               pack([]byte{0}),
		"more than there is": pack(binary.AppendUvarint(nil, 1<<19)),
		"too many":           pack(append(binary.AppendUvarint(nil, 1<<19+1), make([]byte, 5*(1<<19+1))...)),
		"a great number":     pack(bytes.Repeat([]byte{255}, 9)),
		"worker":             pack(append(append([]byte{1}, binary.AppendUvarint(nil, 1<<17)...), 0, 0, 0, 0)),
		"a column cut":       pack([]byte{1, 0, 0, 0, 0x80, 0x80}),
		"a rest":             pack([]byte{1, 0, 0, 0, 0, 0, 0}),
		"bomb":               pack(make([]byte, 30<<20)),
	} {
		if got, err := u.holds(text); err == nil || !strings.Contains(err.Error(), "holds: ") {
			t.Errorf("%s: %d holds, %v", name, len(got), err)
		}
		if got, err := u.holds(good); err != nil || !reflect.DeepEqual(got, alternateHolds(3)) {
			t.Errorf("after %s: %v, %v", name, got, err)
		}
	}
}
