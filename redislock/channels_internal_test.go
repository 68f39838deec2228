package redislock

import (
	"runtime"
	"strconv"
	"testing"
)

func TestChannels(t *testing.T) {
	var s channels[[64]byte]
	first := s.get("a", func() *[64]byte { return new([64]byte) })
	if s.get("a", func() *[64]byte { return new([64]byte) }) != first {
		t.Error("two listen to one channel")
	}
	for i := range 100_000 {
		s.get(strconv.Itoa(i), func() *[64]byte { return new([64]byte) })
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	if n := len(s.all); n > 5000 {
		t.Errorf("%d of 100,000 channels are kept", n)
	}
	if s.get("a", func() *[64]byte { return new([64]byte) }) != first {
		t.Error("one that is in use was forgotten")
	}
	runtime.KeepAlive(first)
}
