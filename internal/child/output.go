package child

import (
	"slices"
	"strings"
	"sync"
)

// An Output keeps the beginning of the written data, or the end if End is set, up to Most bytes.
// It drops the rest without an error: the process must not end before it has printed the reason
// for a failure.
type Output struct {
	Most int
	End  bool

	mu   sync.Mutex
	text []byte
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	switch excess := len(o.text) - o.Most; {
	case excess > 0 && o.End:
		o.text = slices.Delete(o.text, 0, excess)
	case excess > 0:
		o.text = o.text[:o.Most]
	}
	return len(p), nil
}

// String returns the kept text.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// LastWords returns the end of a process's output in one line of at most 600 bytes, without
// the stack frames of Java, or "".
func LastWords(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\tat ") {
			words = append(words, strings.Fields(line)...)
		}
	}
	const most, cut = 600, "…"
	line := strings.Join(words, " ")
	if len(line) > most {
		line = cut + strings.ToValidUTF8(line[len(line)-most+len(cut):], "")
	}
	return strings.ToValidUTF8(line, "")
}
