package result

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"locklab/harness"
)

func turns(n int) []harness.Hold {
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
	text, err := encodeHolds(turns(n))
	if err != nil {
		t.Fatal(err)
	}
	per := float64(len(text)) / n
	if t.Logf("%.1f bytes of text a hold", per); per > 12 {
		t.Errorf("a hold takes %.1f bytes of text, want 12 at most", per)
	}
	if most := per * MaxHolds; most > maxLine/2 {
		t.Errorf("%d holds take about %.0f bytes: too many for a line of %d", MaxHolds, most, maxLine)
	}
	got, err := new(unpacker).holds(text)
	if err != nil || !reflect.DeepEqual(got, turns(n)) {
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
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good, err := encodeHolds(turns(3))
	if err != nil {
		t.Fatal(err)
	}
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
		if got, err := u.holds(good); err != nil || !reflect.DeepEqual(got, turns(3)) {
			t.Errorf("after %s: %v, %v", name, got, err)
		}
	}
}
