//go:build unix

package child

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"locklab/internal/require"
)

// TestKill ends a child that is stopped, and the child of one that is gone.
func TestKill(t *testing.T) {
	for _, then := range []string{"wait", "exit"} {
		cmd := exec.Command("sh", "-c", "sleep 600 & echo $!; "+then)
		out, in, err := os.Pipe()
		require.NoError(t, err)
		defer out.Close()
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = in, new(Output), time.Minute
		c, err := Start(cmd)
		in.Close()
		require.NoError(t, err)
		defer c.Kill()
		if n, err := out.Read(make([]byte, 16)); n == 0 || err != nil {
			t.Fatalf("the child says nothing: %v", err)
		}
		for then == "exit" && c.proc.Signal(unix.SIGCONT) == nil {
			runtime.Gosched()
		}
		_ = c.Signal(unix.SIGSTOP)
		select {
		case <-c.Done():
			t.Fatal("Done is closed while the output is held")
		default:
		}
		c.Kill()
		require.Equal(t, "killed: "+then, c.Err() != nil, then == "wait")
		out.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(out); err != nil { // ends when no process can write any more
			t.Errorf("a child of the child lives on: %v", err)
		}
	}
}

func TestCannotStart(t *testing.T) {
	if _, err := Start(exec.Command("/nonexistent/program")); err == nil {
		t.Error("a program that does not exist is started")
	}
}

func TestOutput(t *testing.T) {
	head, tail := Output{Most: 10}, Output{Most: 10, End: true}
	for _, part := range []string{"begin", "ning and ", "the end"} {
		for _, w := range []io.Writer{&head, &tail} {
			if n, err := io.WriteString(w, part); n != len(part) || err != nil {
				t.Errorf("wrote %d of %q, %v", n, part, err)
			}
		}
	}
	if head.String() != "beginning " || tail.String() != "nd the end" {
		t.Errorf("kept %q and %q", head.String(), tail.String())
	}
	for text, want := range map[string]string{
		"":                                   "",
		" \n":                                "",
		"bad\tport\nno":                      "bad port no",
		"Exception\n\tat java.lang.X\ncause": "Exception cause",
	} {
		require.Equal(t, text, LastWords(text), want)
	}
	if got := LastWords(strings.Repeat("ü ", 1000)); len(got) > 600 || !strings.HasPrefix(got, "…") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
