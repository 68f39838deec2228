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

// The limits of ReadHistory.
const (
	MaxEvents = 4 << 20  // events of a history
	maxLine   = 64 << 10 // bytes of one
)

// maxText leaves room for escaping every byte of a text.
const maxText = maxLine/6 - 256

// ErrHistory is wrapped by errors of ReadHistory about its input.
var ErrHistory = errors.New("oracle: not a history")

// Write writes h as JSON, one event per line. It cuts texts that would make a line too
// long for a reader, and replaces bytes that are not UTF-8.
func (h History) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	lines := json.NewEncoder(buf)
	for _, e := range h {
		if len(e.Text) > maxText {
			e.Text = e.Text[:maxText]
		}
		e.Text = strings.ToValidUTF8(e.Text, "?")
		if err := lines.Encode(e); err != nil {
			return fmt.Errorf("oracle: write history: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("oracle: write history: %w", err)
	}
	return nil
}

// ReadHistory reads the output of Write, at most MaxEvents events. It ignores a last
// line without an end: its writer was killed.
func ReadHistory(r io.Reader) (h History, err error) {
	buf := bufio.NewReaderSize(r, maxLine)
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
