package faultproxy

import (
	"locklab/internal/wire"
	"slices"
	"strconv"
	"strings"
)

// Redis returns the framing of one connection of a Redis client. Replies come in the order of
// the commands, except messages to a subscriber, which must use RESP3. MONITOR, CLIENT REPLY and
// commands without lengths (inline commands) are not supported.
func Redis() Framing { return new(redis) }

type redis struct {
	calls int
	open  []call // oldest first
}

func (*redis) Cut(_ Direction, stream []byte) (int, error) {
	_, n, err := wire.ParseValue(stream)
	return n, err
}

func (r *redis) Read(d Direction, raw []byte) Message {
	if d == Request {
		return r.command(raw)
	}
	v, _, _ := wire.ParseValue(raw)
	var word string
	if len(v.Items) > 0 {
		word = strings.ToLower(v.Items[0].Text)
	}
	if v.Type == '>' && !subscribes(word) {
		return Message{Op: "push", Body: v}
	}
	i := slices.IndexFunc(r.open, func(c call) bool { return v.Type != '>' || c.op == word })
	if i < 0 {
		return Message{Body: v}
	}
	c := &r.open[i]
	m := Message{Op: c.op, Key: c.key, Call: c.number, Body: v}
	if c.parts--; c.parts <= 0 || v.Type == '-' {
		r.open = slices.Delete(r.open, i, i+1)
	}
	return m
}

func (r *redis) command(raw []byte) Message {
	v, _, _ := wire.ParseValue(raw)
	var words []string
	for _, item := range v.Items {
		words = append(words, item.Text)
	}
	if len(words) == 0 {
		return Message{} // the server does not answer that
	}
	r.calls++
	c := call{number: r.calls, op: strings.ToLower(words[0]), parts: 1}
	switch {
	case strings.HasPrefix(c.op, "eval") || strings.HasPrefix(c.op, "fcall"): // script, number of keys, keys
		if len(words) > 3 {
			if n, err := strconv.Atoi(words[2]); err == nil && n > 0 {
				c.key = words[3]
			}
		}
	case len(words) > 1:
		c.key = words[1]
	}
	if subscribes(c.op) {
		c.parts = max(1, len(words)-1) // one confirmation per channel
	}
	r.open = append(r.open, c)
	return Message{Op: c.op, Key: c.key, Call: c.number, Body: words}
}

func subscribes(op string) bool {
	return slices.Contains([]string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe"}, op)
}
