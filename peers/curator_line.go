package peers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

type line struct {
	conn net.Conn
	in   *bufio.Reader

	mu sync.Mutex // for writers
}

func words(verb string, pairs ...string) string {
	var b strings.Builder
	b.WriteString(verb)
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, " %s=%s", pairs[i], url.QueryEscape(pairs[i+1]))
	}
	return b.String()
}

// dial opens a connection, states its purpose and returns the first answer.
func (j *javaProcess) dial(ctx context.Context, verb string, pairs ...string) (*line, string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", j.addr)
	if err != nil {
		return nil, "", fmt.Errorf("peers: %w", err)
	}
	l := &line{conn: conn, in: bufio.NewReader(conn)}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	answer, err := l.ask(words(verb, append([]string{"token", j.token}, pairs...)...))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, "", fmt.Errorf("peers: %s: %w", verb, err)
	}
	return l, answer, nil
}

func (l *line) write(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.conn.Write([]byte(text + "\n"))
	return err
}

// read returns the next line. A line that begins with "error" is an error.
func (l *line) read() (string, error) {
	text, err := l.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	text = strings.TrimSpace(text)
	if said, ok := strings.CutPrefix(text, "error "); ok {
		return "", &refusal{said}
	}
	return text, nil
}

func (l *line) ask(text string) (string, error) {
	if err := l.write(text); err != nil {
		return "", err
	}
	return l.read()
}

func (l *line) Close() { l.conn.Close() }

type refusal struct{ said string }

func (e *refusal) Error() string { return "Curator: " + e.said }
