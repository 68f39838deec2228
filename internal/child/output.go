package child

import (
	"strings"
	"sync"
)

// A Head keeps the beginning of the written data, up to Most bytes. It drops the rest without
// an error: the process must not end before it has printed the reason for a failure.
type Head struct {
	Most int

	mu   sync.Mutex
	text []byte
}

func (h *Head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), h.Most-len(h.text))]...)
	return len(p), nil
}

// String returns the kept text.
func (h *Head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}

// A Tail keeps the end of the written data, up to Most bytes.
type Tail struct {
	Most int

	mu   sync.Mutex
	text []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text); n > t.Most {
		t.text = append([]byte(nil), t.text[n-t.Most:]...)
	}
	return len(p), nil
}

// String returns the kept text.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
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
