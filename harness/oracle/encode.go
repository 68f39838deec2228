package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// The limits of ReadHistory.
const (
	MaxEvents = 4 << 20  // events of a history
	maxLine   = 64 << 10 // bytes of one
)

// ErrHistory is wrapped by errors of ReadHistory about its input.
var ErrHistory = errors.New("oracle: not a history")

// WriteTo writes h as JSON, one event per line. It cuts texts that would make a line too
// long for a reader, and replaces bytes that are not UTF-8.
func (h History) WriteTo(w io.Writer) (int64, error) { return WriteEvents(w, h.Each()) }

// WriteEvents writes events as [History.WriteTo] does.
func WriteEvents(w io.Writer, events iter.Seq[*Event]) (int64, error) {
	count := &counting{w: w}
	buf := bufio.NewWriter(count)
	for e := range events {
		line, err := e.line()
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

// maxText leaves room for escaping every byte of a text.
const maxText = maxLine/6 - 256

func (event *Event) line() ([]byte, error) {
	e := *event
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

// ReadHistory reads the output of WriteTo, at most MaxEvents events. It ignores a last
// line without an end: its writer was killed.
func ReadHistory(r io.Reader) (History, error) {
	events := NewReader(r, maxLine)
	var h History
	for {
		e, err := events.Next()
		switch {
		case err == io.EOF:
			return h, nil
		case err != nil:
			return h, err
		case len(h) == MaxEvents:
			return h, fmt.Errorf("%w: more than %d events", ErrHistory, MaxEvents)
		}
		h = append(h, e)
	}
}

// A Reader reads the output of WriteTo, one event at a time.
type Reader struct {
	buf   *bufio.Reader
	lines int
}

// NewReader returns a Reader of r for lines of at most `most` bytes.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{buf: bufio.NewReaderSize(r, min(most, maxLine))}
}

// Next returns the next event; the error is io.EOF after the last, and at an incomplete line.
func (r *Reader) Next() (e Event, err error) {
	line, err := r.buf.ReadSlice('\n')
	r.lines++
	switch {
	case err == io.EOF:
		return e, err
	case errors.Is(err, bufio.ErrBufferFull):
		return e, fmt.Errorf("%w: line %d is longer than %d bytes", ErrHistory, r.lines, r.buf.Size())
	case err != nil:
		return e, fmt.Errorf("oracle: read history: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return e, fmt.Errorf("%w: line %d: %v", ErrHistory, r.lines, err)
	}
	if e.Kind == "" || dec.More() {
		return e, fmt.Errorf("%w: line %d is not one event with a kind", ErrHistory, r.lines)
	}
	return e, nil
}
