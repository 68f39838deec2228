package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The bounds of what ReadHistory reads.
const (
	MaxEvents = 4 << 20  // events of a history
	maxLine   = 64 << 10 // bytes of one
)

// ErrHistory is wrapped by the errors of ReadHistory about what it reads.
var ErrHistory = errors.New("oracle: not a history")

// WriteTo writes h as JSON, one event a line. It cuts texts that would make a
// line too long to be read back, and replaces bytes that are not UTF-8.
func (h History) WriteTo(w io.Writer) (int64, error) {
	count := &counting{w: w}
	buf := bufio.NewWriter(count)
	for i := range h {
		line, err := h[i].line()
		if err != nil {
			return count.n, fmt.Errorf("oracle: %w", err)
		}
		if _, err := buf.Write(line); err != nil {
			return count.n, fmt.Errorf("oracle: write history: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return count.n, fmt.Errorf("oracle: write history: %w", err)
	}
	return count.n, nil
}

// maxText leaves room for a text whose every byte is escaped.
const maxText = maxLine/6 - 256

func (e Event) line() ([]byte, error) {
	if len(e.Text) > maxText {
		e.Text = e.Text[:maxText]
	}
	e.Text = strings.ToValidUTF8(e.Text, "?")
	line, err := json.Marshal(e)
	return append(line, '\n'), err
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// ReadHistory reads what WriteTo wrote. A last line that has no end is left out:
// its writer was killed. It reads at most MaxEvents events.
func ReadHistory(r io.Reader) (History, error) {
	buf := bufio.NewReaderSize(r, maxLine)
	var h History
	for {
		line, err := buf.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return h, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return h, fmt.Errorf("%w: line %d is longer than %d bytes", ErrHistory, len(h)+1, maxLine)
		case err != nil:
			return h, fmt.Errorf("oracle: read history: %w", err)
		case len(h) == MaxEvents:
			return h, fmt.Errorf("%w: more than %d events", ErrHistory, MaxEvents)
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var e Event
		if err := dec.Decode(&e); err != nil {
			return h, fmt.Errorf("%w: line %d: %v", ErrHistory, len(h)+1, err)
		}
		if e.Kind == "" || dec.More() {
			return h, fmt.Errorf("%w: line %d is not one event with a kind", ErrHistory, len(h)+1)
		}
		h = append(h, e)
	}
}
