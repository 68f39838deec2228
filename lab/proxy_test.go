package lab

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"locklab/internal/leaktest"
)

func startEcho(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c) // one client at a time, until it goes
			c.Close()
		}
	}()
	return l.Addr().String()
}

func TestProxy(t *testing.T) {
	leaktest.All(t)
	const delay = 60 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	cmd := program().command(in)
	cmd.SetArgs([]string{"proxy", "--listen", "127.0.0.1:0", "--to", startEcho(t), "--delay", delay.String()})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasSuffix(line, ", a round trip 60ms longer\n") {
		t.Fatalf("it says %q, %v", line, err)
	}
	addr, _, _ := strings.Cut(line, " ")
	c, err := net.Dial("tcp", addr)
	requireNoError(t, err)
	defer c.Close()
	for _, text := range []string{"one\n", "\x00\xff two\n"} {
		asked := time.Now()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(text))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
			t.Fatalf("got %q, %v, want %q", got, err, text)
		}
		if took := time.Since(asked); took < delay {
			t.Errorf("a round trip took %v, want %v at least", took, delay)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection outlives the proxy")
	}
}
