package result

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestHistogramAgainstHDR(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var ours, other Recorder
	ref := hdrhistogram.New(1, MaxRecorded, 3)
	for range 200_000 {
		v := rng.Int64N(1 << (1 + rng.IntN(topBits)))
		other.Record(v)
		if rng.IntN(100) == 0 {
			other.Drain(&ours)
		}
		requireNoError(t, ref.RecordValue(v))
	}
	other.Drain(&ours)
	if got := ours.Snapshot(); !slices.Equal(got, bucketsOf(ref)) {
		t.Errorf("%v, the reference has %v", got, bucketsOf(ref))
	}
}

func TestHistogramEdges(t *testing.T) {
	for _, c := range []struct{ in, want int64 }{
		{-5, 0}, {0, 0}, {1, 1}, {2047, 2047}, {2048, 2049}, {2049, 2049}, {2050, 2051},
		{MaxRecorded, MaxRecorded}, {MaxRecorded + 1, MaxRecorded}, {1 << 62, MaxRecorded},
	} {
		var h Recorder
		h.Record(c.in)
		if s := h.Snapshot(); len(s) != 1 || s[0].Value != c.want {
			t.Errorf("Record(%d) gave %v, want one bucket of %d", c.in, s, c.want)
		}
		if clamped := h.Clamped != 0; clamped != (c.in > MaxRecorded) {
			t.Errorf("Record(%d): clamped is %v", c.in, clamped)
		}
	}
}

func TestRecordersDoNotAllocate(t *testing.T) {
	h, l := new(Recorder), NewOwnerLog(1e6, 1)
	n := uint64(0)
	if a := testing.AllocsPerRun(1000, func() { h.Record(123456); l.Record(n, 3); n++ }); a != 0 {
		t.Errorf("%v allocations per acquisition, want 0", a)
	}
}

func TestOwnerLog(t *testing.T) {
	for _, c := range []struct {
		name           string
		total          uint64 // acquisitions that happen
		expected       uint64 // the expected number
		bursts, length int
	}{
		{"none", 0, 100, 0, 0},
		{"short", 100, 100, 1, 100},
		{"exactly one", BurstHolds, BurstHolds, 1, BurstHolds},
		{"log full", 16 * BurstHolds, 16*BurstHolds - 1, 16, BurstHolds},
		{"long, spread", 1 << 20, 1 << 20, 8, BurstHolds},
		{"longer than foreseen", 1 << 20, 1 << 10, 16, BurstHolds},
		{"shorter than foreseen", 1 << 12, 1 << 20, 1, BurstHolds},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewOwnerLog(c.expected, 1)
			for n := range c.total {
				l.Record(n, int(n%7))
			}
			owners, burst := l.Owners(c.total)
			if burst != c.length || len(owners) != c.bursts*c.length {
				t.Fatalf("got %d owners in bursts of %d, want %d bursts of %d", len(owners), burst, c.bursts, c.length)
			}
			for i := 1; i < len(owners); i++ {
				if i%burst != 0 && owners[i] != (owners[i-1]+1)%7 {
					t.Fatalf("owner %d is %d after %d: not consecutive acquisitions", i, owners[i], owners[i-1])
				}
			}
		})
	}
}
